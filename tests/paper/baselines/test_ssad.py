"""SSAD as a user meets it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from boreod.paper.baselines import ssad
from boreod.paper.baselines.ssad import SSAD, sample_rows

RANDOM = np.random.default_rng(0)
X = np.vstack([RANDOM.normal(size=(120, 3)), RANDOM.normal(2.5, 1.0, size=(15, 3))])
TRUTH = np.repeat([0, 1], [120, 15])
SOME = np.where(np.arange(135) % 3 == 0, TRUTH, -1)
NEW = RANDOM.normal(1.0, 2.0, size=(50, 3))


@pytest.mark.filterwarnings("ignore:.*is taken for the outlier")
@pytest.mark.filterwarnings("ignore:.*-1 is read as inlier")
@parametrize_with_checks([SSAD()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("labels", [TRUTH, SOME], ids=["all", "some"])
@pytest.mark.parametrize("max_rows", [None, 90])
def test_finds_outliers(labels, max_rows):
    model = SSAD(max_rows=max_rows, random_state=0).fit(X, labels)
    assert roc_auc_score(TRUTH, model.decision_function(X)) > 0.93
    far = model.decision_function([[1e3, 0, 0], [1e149, 0, 0]])
    assert_array_equal(far, model.rho_)


def test_scores_of_training_rows_are_those_of_the_solution():
    model = SSAD(kappa=3, sigma=1.0).fit(X, SOME)
    scores = model.decision_function(X)
    free = (np.abs(model.weights_) > 1e-6) & (np.abs(model.weights_) < 1 - 1e-6)
    assert model.gamma_ > 0
    for code, level in ((-1, 0.0), (0, -model.gamma_), (1, model.gamma_)):
        assert_allclose(scores[free & (code == SOME)], level, atol=1e-7)
    assert_allclose(model.weights_.sum(), 1, atol=1e-9)


def test_predict_is_the_sign_of_the_score():
    words = np.where(TRUTH == 1, "fraud", "fine")
    model = SSAD(kappa=4, outlier_label="fraud").fit(X, words)
    assert model.classes_.tolist() == ["fine", "fraud"]
    expected = np.where(model.decision_function(NEW) > 0, "fraud", "fine")
    assert_array_equal(model.predict(NEW), expected)


def test_order_of_rows_does_not_matter():
    order = np.random.default_rng(5).permutation(len(X))
    one, other = SSAD(kappa=2).fit(X, SOME), SSAD(kappa=2).fit(X[order], SOME[order])
    assert_allclose(one.decision_function(NEW), other.decision_function(NEW), atol=1e-8)
    assert_allclose(one.weights_[order], other.weights_, atol=1e-4)


def test_units_do_not_matter_with_scaling():
    factors, shift = np.array([1e-3, 1.0, 1e5]), np.array([5.0, -2.0, 1e6])
    one = SSAD(sigma=0.8).fit(X, SOME).decision_function(NEW)
    other = SSAD(sigma=0.8).fit(X * factors + shift, SOME).decision_function(NEW * factors + shift)
    assert_allclose(one, other, atol=1e-7)


def test_scale_is_that_of_scikit_learn_on_standardized_columns():
    every = SSAD(kappa=1.0).fit(X, SOME)
    scaler = StandardScaler().fit(X)
    gamma = 1 / (3 * scaler.transform(X).var())
    similar = rbf_kernel(scaler.transform(NEW), scaler.transform(X), gamma)
    expected = every.rho_ - similar @ every.weights_
    assert_allclose(every.decision_function(NEW), expected, atol=1e-9)


def test_a_sample_is_learned_from_above_the_limit():
    every = SSAD(kappa=3, sigma=0.8, max_rows=135).fit(X, SOME)
    assert_array_equal(
        SSAD(kappa=3, sigma=0.8, max_rows=None).fit(X, SOME).weights_, every.weights_
    )
    some = SSAD(kappa=3, sigma=0.8, max_rows=100, random_state=0).fit(X, SOME)
    assert len(some.weights_) == 135
    assert (some.weights_ != 0).sum() < (every.weights_ != 0).sum()
    assert_allclose(some.weights_.sum(), 1, atol=1e-9)
    scores = [model.decision_function(NEW) for model in (every, some)]
    assert np.corrcoef(scores)[0, 1] > 0.95


@pytest.mark.parametrize("max_rows", [None, 60])
def test_cross_validation(max_rows):
    model = SSAD("cv", sigma="cv", max_rows=max_rows, random_state=1, n_jobs=2).fit(X, SOME)
    results = model.cv_results_
    # 4 of 5 labelled outliers in a fold reach a total of 9
    assert sorted(set(results["kappa"])) == pytest.approx([0.5, 1.257, 3.162, 7.953], abs=1e-3)
    assert len(set(results["sigma"])) == 7
    assert results["auc"][0] == results["auc"].max() > 0.8
    assert (model.sigma_, model.kappa_) == (results["sigma"][0], results["kappa"][0])
    again = clone(model).set_params(n_jobs=1).fit(X, SOME)
    assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    again.set_params(sigma=1.0, kappa=1.0).fit(X, SOME)
    assert not hasattr(again, "cv_results_")


@pytest.mark.parametrize(("kappa", "sigma"), [(2.0, "cv"), ("cv", 1.5)])
def test_cross_validation_of_one_of_the_two(kappa, sigma):
    model = SSAD(kappa, sigma=sigma, random_state=0).fit(X, TRUTH)
    assert kappa in ("cv", model.kappa_)
    assert sigma in ("cv", model.sigma_)


def test_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SSAD().fit(frame, pd.Series(SOME))
    scores = model.decision_function(pd.DataFrame(NEW, columns=["a", "b", "c"]))
    assert_array_equal(scores, SSAD().fit(X, SOME).decision_function(NEW))
    with pytest.raises(ValueError, match="feature names"):
        model.decision_function(pd.DataFrame(NEW, columns=["c", "b", "a"]))


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((20, 2)),
        np.repeat(np.arange(4.0), 5)[:, np.newaxis],
        np.where(np.arange(20)[:, np.newaxis] == 3, 1e149, np.ones((20, 2))),
        np.random.default_rng(0).normal(size=(20, 40)),
    ],
    ids=["constant", "copies", "one far row", "wide"],
)
@pytest.mark.parametrize("sigma", ["scale", 1e-200, 1e200])
@pytest.mark.parametrize("max_rows", [None, 12])
def test_scores_are_finite(rows, sigma, max_rows):
    labels = np.tile([0, 0, 0, 1, -1], 4)
    model = SSAD(sigma=sigma, max_rows=max_rows, random_state=0)
    scores = model.fit(rows, labels).decision_function(rows)
    assert np.isfinite(scores).all()
    assert np.isfinite([model.rho_, model.gamma_, model.sigma_]).all()
    assert model.gap_ < 1e-5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kappa": -1}, "`kappa` must be a nonnegative number or 'cv'; got -1"),
        ({"kappa": np.nan}, "`kappa` must be"),
        ({"kappa": "scale"}, "`kappa` must be"),
        ({"kappa": True}, "`kappa` must be"),
        ({"kappa": 200}, "120 inliers and 15 outliers reach at most 31. Lower `kappa`"),
        ({"sigma": 0}, "`sigma` must be a positive number or 'scale' or 'cv'; got 0"),
        ({"sigma": [1.0]}, "`sigma` must be"),
        ({"sigma": np.inf}, "`sigma` must be"),
        ({"max_rows": 1}, "`max_rows` must be an integer from 2, or None; got 1"),
        ({"max_rows": 2.5}, "`max_rows` must be"),
        ({"max_rows": "all"}, "`max_rows` must be"),
        ({"n_jobs": 0}, "`n_jobs` must be"),
        ({"random_state": "x"}, "`random_state` must be"),
        ({"outlier_label": 7}, "No row of `y` has the label 7"),
        ({"kappa": 30, "sigma": "cv"}, "No fold of the cross-validation"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SSAD(**parameters).fit(X, TRUTH)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y"),
        (TRUTH[:-1], "134 labels for 135 rows"),
        (TRUTH + 2.5 * (TRUTH == 1), "continuous|Unknown label type"),
        (np.full(135, np.nan), "All of `y` is NaN"),
        (np.full(135, -1), "All rows are unlabelled"),
        (np.minimum(SOME, 0), "no outlier"),
        (np.arange(135), "Pass `outlier_label`"),
        (np.ones(135), "one class"),
        (["a"] * 135, "needs at least one of each"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        SSAD().fit(X, labels)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((400, 500, 60), (400, 500, 60)),  # all
        ((2000, 3000, 50), (475, 475, 50)),  # inliers take half of the rest
        ((0, 3000, 2000), (0, 500, 500)),  # outliers take half
        ((30000, 400, 50), (550, 400, 50)),
        ((0, 200, 3000), (0, 200, 800)),  # too few other rows for the second half
    ],
)
def test_sample(counts, expected):
    codes = np.random.default_rng(0).permutation(np.repeat([-1, 0, 1], counts))
    rows, caps = sample_rows(codes, 1000, seed=3)
    assert (np.diff(rows) > 0).all()
    for code, count in zip((-1, 0, 1), expected, strict=True):
        assert (codes[rows] == code).sum() == count
        assert_allclose(caps[codes[rows] == code].sum(), (codes == code).sum())
    assert_array_equal(sample_rows(codes, 1000, seed=3)[0], rows)


@pytest.mark.parametrize("unlabelled", [0, 300])
def test_tuning_above_the_limit_of_rows(monkeypatch, unlabelled):
    random = np.random.default_rng(2)
    codes = np.repeat([-1, 0, 1], [unlabelled, 200, 40])
    points = random.normal(size=(len(codes), 2)) + 1.5 * (codes == 1)[:, np.newaxis]
    model = SSAD("cv", sigma="cv", max_rows=None, random_state=0)
    every = model.fit(points, codes).cv_results_
    seen = []
    plain = ssad.gaussian
    monkeypatch.setattr(
        ssad, "gaussian", lambda *given: seen.append(given[0].shape) or plain(*given)
    )
    some = model.set_params(max_rows=150).fit(points, codes).cv_results_
    assert seen == [(150, 150)] * 8  # seven widths, and the best of them
    assert set(some["kappa"]) == set(every["kappa"])
    assert some["auc"][0] > every["auc"][0] - 0.1
    is_outlier = np.arange(400) % 4 == 0
    new = np.random.default_rng(9).normal(size=(400, 2)) + 1.5 * is_outlier[:, np.newaxis]
    assert roc_auc_score(is_outlier, model.decision_function(new)) > 0.8
    again = clone(model).set_params(n_jobs=1)
    assert_array_equal(again.fit(points, codes).cv_results_["auc"], some["auc"])


def test_too_few_labels_for_cross_validation():
    labels = np.where(np.arange(135) == 134, 1, np.minimum(SOME, 0))
    with pytest.raises(ValueError, match="at least 2 labelled inliers and 2 labelled outliers"):
        SSAD("cv").fit(X, labels)


def test_a_failed_fit_changes_nothing():
    model = SSAD("cv", random_state=0).fit(X, TRUTH)
    before = model.decision_function(NEW)
    with pytest.raises(ValueError, match="reach at most"):
        model.set_params(kappa=500).fit(X * 2, TRUTH)
    assert_array_equal(model.decision_function(NEW), before)
    assert hasattr(model, "cv_results_")


def test_not_fitted():
    with pytest.raises(NotFittedError):
        SSAD().decision_function(X)


def test_a_gap_is_reported(monkeypatch):
    monkeypatch.setattr(ssad, "LARGEST_GAP", 0.0)
    with pytest.warns(UserWarning, match="duality gap"):
        SSAD().fit(X, TRUTH)
