"""BORE from end to end: seeds, unlabelled rows, heads, probabilities, scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from boreod import BORE, Bagging, Heads, OutlierRepresentation, Reference, load, save
from boreod.parallel import Threads
from boreod.predictor import prepare

SMALL = OutlierRepresentation(["knn", "lof", "odin", "cof"], [5, 10])


def table(n=240, n_outliers=24, seed=0):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 4))
    rows[:n_outliers] += random.normal(0, 3, (n_outliers, 4))
    return rows, (np.arange(n) < n_outliers).astype(int)


@pytest.fixture
def data():
    return table()


def fit(data, **options):
    return BORE(**{"representation": SMALL, "random_state": 0, **options}).fit(*data)


def test_probabilities(data):
    model = BORE(random_state=0).fit(*data)
    new, truth = table(seed=1)
    probabilities = model.predict_proba(new)
    assert probabilities.shape == (240, 2)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert roc_auc_score(truth, probabilities[:, 1]) > 0.8
    odds = model.decision_function(new)
    assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-odds)))
    assert_array_equal(model.predict(new), (odds > 0).astype(int))
    assert model.columns_[:5] == ["x0", "x1", "x2", "x3", "knn_1"]
    assert model.fitted_.logistic.gradients.max() <= 1e-8


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"heads": Heads(penalty="auto")},
        {"scaling": "rank", "calibration": "platt"},
        {"estimator": ExtraTreesClassifier(10)},
        {"representation": OutlierRepresentation(["knn"], [5], ["subspaces:3", "sample:99"])},
    ],
    ids=["default", "auto", "rank", "trees", "views"],
)
def test_same_seed_same_bits(options, data):
    new, _ = table(seed=1)
    models = (
        fit(data, n_jobs=1, **options),
        fit(data, n_jobs=2, **options),
        clone(fit(data, n_jobs=2, **options)).fit(*data),
    )
    results = [(m.predict_proba(new), m.oob_proba_, m.predict_proba(new)) for m in models]
    for other in results:
        for mine, theirs in zip(results[0], other, strict=True):
            assert_array_equal(mine, theirs)
    different = fit(data, **{**options, "random_state": 1})
    assert not np.array_equal(different.predict_proba(new), results[0][0])


def test_batch_of_one(data):
    model = BORE(random_state=0).fit(*data)
    new, _ = table(seed=1)
    one_by_one = [model.decision_function(row[None])[0] for row in new[:20]]
    assert_allclose(one_by_one, model.decision_function(new)[:20], rtol=1e-12)


def test_unlabelled_rows_join_the_graph_and_no_bag(data):
    X, y = data
    partly = y.copy()
    partly[::3] = -1
    model = fit((X, partly))
    without = fit((X[partly >= 0], y[partly >= 0]))
    assert not np.allclose(model.predict_proba(X), without.predict_proba(X))
    # what the unlabelled rows' labels would have been cannot matter
    assert_allclose(model.oob_proba_[::3], model.predict_proba(X[::3])[:, 1], rtol=1e-9)


def test_training_rows_again(data):
    """The transductive protocol: rows of the fit are scored as they were in it."""
    X, y = data
    y = y.copy()
    y[::2] = -1
    model = fit((X, y))
    assert_allclose(model.predict_proba(X)[::2, 1], model.oob_proba_[::2], rtol=1e-9)


def test_out_of_bag_scores_are_honest():
    """On labels without meaning, training scores look good and out-of-bag scores do not."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 30)), np.repeat([1, 0], [60, 240])
    model = BORE(OutlierRepresentation(["knn"], [5]), random_state=0).fit(X, y)
    assert roc_auc_score(y, model.predict_proba(X)[:, 1]) > 0.7
    assert abs(roc_auc_score(y, model.oob_proba_) - 0.5) < 0.1


def test_out_of_bag_by_hand(data):
    X, y = data
    model = fit((X, y), n_estimators=30)
    odds = model.fitted_.logistic.log_odds(model.fitted_.represent(prepare(model, X), Threads(1)))
    from boreod.ensemble.bags import BagPlan, draw_bags

    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3)
    bags = draw_bags(
        np.flatnonzero(y == 1), np.flatnonzero(y == 0), 240, BagPlan(30, 0.7), seeds[1]
    )
    row = 100
    outside = [number for number in range(30) if row not in bags.rows[number]]
    mean = (1 / (1 + np.exp(-odds[row, outside]))).mean()
    expected = np.log(mean / (1 - mean)) + np.log((17 / 216) / (17 / 24))
    assert_allclose(model.oob_proba_[row], 1 / (1 + np.exp(-expected)))


def test_prior_correction_keeps_the_ranking_and_calibrates():
    """Held-out real data: corrected probabilities are better, the order is the same."""
    data = load_breast_cancer()
    malignant = np.flatnonzero(data.target == 0)[:60]
    rows = np.concatenate([np.flatnonzero(data.target == 1), malignant])
    X, y = data.data[rows], 1 - data.target[rows]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    model = BORE(random_state=0).fit(X_train, y_train)
    corrected = model.predict_proba(X_test)[:, 1]
    raw = model.predict_proba(X_test, raw=True)[:, 1]
    assert brier_score_loss(y_test, corrected) < brier_score_loss(y_test, raw)
    assert log_loss(y_test, corrected) < log_loss(y_test, raw)
    assert spearmanr(corrected, raw).statistic > 1 - 1e-9
    assert abs(corrected.mean() - y_test.mean()) < abs(raw.mean() - y_test.mean())


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_any_classifier(kind, data):
    trees = kind(20)
    model = fit(data, estimator=trees)
    new, truth = table(seed=1)
    probabilities = model.predict_proba(new)[:, 1]
    assert roc_auc_score(truth, probabilities) > 0.8
    assert np.isfinite(model.decision_function(new)).all()
    assert not hasattr(trees, "estimators_")
    with pytest.raises(TypeError, match="own heads only"):
        model.explain(new)
    with pytest.raises(TypeError, match="must have `predict_proba`"):
        fit(data, estimator=LinearSVC())


@pytest.mark.parametrize("threshold", ["alerts:30", "fpr:0.05", "precision:0.7", 0.2])
def test_thresholds(threshold, data):
    model = fit(data, threshold=threshold)
    alerts = model.oob_proba_ > model.threshold_
    kind = str(threshold).split(":")[0]
    assert {
        "alerts": alerts.sum() == 30,
        "fpr": alerts[data[1] == 0].mean() <= 0.05,
        "precision": (data[1][alerts] == 1).mean() >= 0.7,
        "0.2": model.threshold_ == 0.2,
    }[kind]
    assert model.choose_threshold(threshold) == model.threshold_
    new, _ = table(seed=1)
    assert_array_equal(
        model.predict(new), (model.predict_proba(new)[:, 1] > model.threshold_).astype(int)
    )


@pytest.mark.parametrize("n_outliers", [2, 3])
def test_few_outliers(n_outliers):
    X, y = table(60, 6)
    y[n_outliers:] = 0
    model = BORE(SMALL, random_state=0).fit(X, y)
    assert np.isfinite(model.oob_proba_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_outlier_is_in_every_bag():
    X, y = table(60, 1)
    with pytest.warns(UserWarning, match="1 labelled row is in every bag"):
        model = BORE(SMALL, random_state=0).fit(X, y)
    assert np.flatnonzero(np.isnan(model.oob_proba_)).tolist() == [0]
    assert np.isfinite(model.predict_proba(X)).all()


def test_more_outliers_than_inliers(data):
    X, y = data
    with pytest.warns(UserWarning, match="More rows are labelled outliers"):
        model = fit((X, 1 - y))
    assert roc_auc_score(1 - y, model.oob_proba_) > 0.6


@pytest.mark.parametrize("X", [np.ones((40, 3)), np.eye(40, 3) * 0 + [1, 2, 3]])
def test_equal_rows_and_constant_columns(X):
    y = np.repeat([1, 0], [5, 35])
    model = BORE(SMALL, random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], 5 / 40)
    with_constant = np.column_stack([X, table(40)[0]])
    assert np.isfinite(BORE(SMALL).fit(with_constant, y).predict_proba(with_constant)).all()


def test_string_labels(data):
    X, y = data
    words = np.where(y == 1, "fraud", "ok").astype(object)
    words[200:] = None
    model = fit((X, words), outlier_label="fraud")
    assert model.classes_.tolist() == ["ok", "fraud"]
    assert set(model.predict(X)) == {"ok", "fraud"}
    numbers = y.copy()
    numbers[200:] = -1
    assert_array_equal(model.predict_proba(X), fit((X, numbers)).predict_proba(X))


def test_boolean_labels(data, tmp_path):
    """They come back as booleans, also from a file."""
    X, y = data
    model = fit((X, y == 1))
    save(model, tmp_path / "a")
    for found in (model, load(tmp_path / "a")):
        assert found.classes_.tolist() == [False, True]
        assert found.predict(X).dtype == bool
        assert_array_equal(found.predict(X), fit((X, y)).predict(X))
        assert found.score(X, y == 1) == found.score(X, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame, data):
    X, y = data
    named = frame(dict(zip("abcd", X.T, strict=True)))
    model = fit((named, y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    assert model.columns_[:4] == ["a", "b", "c", "d"]
    assert_array_equal(model.predict_proba(named), fit(data).predict_proba(X))


def test_scikit_learn_tools(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), BORE(SMALL, n_estimators=30, random_state=0))
    scores = cross_val_predict(pipeline, X, y, cv=3, method="predict_proba")[:, 1]
    assert roc_auc_score(y, scores) > 0.7
    search = GridSearchCV(
        BORE(SMALL, n_estimators=30, random_state=0),
        {"scaling": ["minmax", "rank"], "representation__ks": [[5], [10]]},
        scoring="roc_auc",
        cv=3,
    ).fit(X, y)
    assert set(search.best_params_) == {"scaling", "representation__ks"}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict_proba(X), search.best_estimator_.predict_proba(X))


def test_penalty_is_chosen_out_of_bag():
    """Many useless columns and few labels ask for a stronger penalty."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 60)), np.repeat([1, 0], [40, 160])
    X[:, 0] += 2 * y
    model = BORE(
        OutlierRepresentation(["knn"], [5]),
        heads=Heads(penalty="auto", fit_intercept=True),
        random_state=0,
    ).fit(X, y)
    assert model.fitted_.logistic.penalty >= 1e-2
    plain = clone(model).set_params(heads__penalty=1e-6).fit(X, y)
    assert log_loss(y, model.oob_proba_) < log_loss(y, plain.oob_proba_)


def test_parameters_are_never_changed(data):
    model = BORE(SMALL, random_state=0)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(*data)
    assert {name: repr(value) for name, value in model.get_params().items()} == before
    assert not hasattr(SMALL, "n_features_in_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scaling": "z"}, r"`scaling` must be one of \['minmax', 'rank', 'both'\]; got 'z'"),
        ({"reference": Reference(input_scaling="z")}, "`input_scaling`"),
        ({"calibration": "isotonic"}, "`calibration`"),
        ({"calibration": "oob"}, "`calibration`"),
        ({"heads": Heads(kinds=())}, "`heads`"),
        ({"heads": Heads(kinds=["forest"])}, "`heads`"),
        ({"heads": Heads(kinds=5)}, "`heads`"),
        ({"heads": Heads(n_trees=0)}, "`n_trees`"),
        ({"bagging": Bagging(ratio=0.5)}, "`ratio`"),
        ({"bagging": Bagging(min_inliers=0)}, "`min_inliers`"),
        ({"prior": 1.0}, "`prior`"),
        ({"bagging": Bagging(inliers="all")}, "`inliers`"),
        ({"reference": Reference(outliers=1)}, "`outliers`"),
        ({"n_estimators": 0}, "`n_estimators` must be a positive integer; got 0"),
        ({"n_estimators": 2.5}, "`n_estimators`"),
        ({"bagging": Bagging(max_samples=0)}, "`max_samples`"),
        (
            {"heads": Heads(penalty=0)},
            "`penalty` must be 'auto' or a finite number from 1e-12 on; got 0",
        ),
        (
            {"heads": Heads(penalty=1e-300)},
            "`penalty` must be 'auto' or a finite number from 1e-12 on",
        ),
        ({"heads": Heads(penalty="some")}, "`penalty`"),
        ({"threshold": "fpr"}, "`threshold`"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"heads": Heads(penalty=np.inf)}, "`penalty`"),
        ({"bagging": Bagging(max_samples="0.7")}, "`max_samples`"),
        ({"n_estimators": True}, "`n_estimators`"),
        ({"scaling": np.array(["minmax"])}, "`scaling`"),
        ({"representation": StandardScaler()}, "`representation` must be an OutlierRepresentation"),
        ({"outlier_label": ["a"]}, "`outlier_label` must be one label"),
        ({"random_state": "x"}, "`random_state`"),
    ],
)
def test_wrong_parameters(options, message, data):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(data, **options)


def test_wrong_input(data):
    X, y = data
    with pytest.raises(NotFittedError):
        BORE().predict_proba(X)
    with pytest.raises(ValueError, match="contains infinity in 1 of 240 rows"):
        fit((np.where(np.arange(4) + 4 * np.arange(240)[:, None] == 7, np.inf, X), y))
    with pytest.raises(ValueError, match="240 rows"):
        fit((X, y[:100]))
    with pytest.raises(ValueError, match="3 features, but BORE is expecting 4"):
        fit(data).predict_proba(X[:, :3])
    with pytest.raises(TypeError, match="does not take sample_weight"):
        BORE().fit(X, y, sample_weight=np.ones(240))


@pytest.mark.parametrize("factors", [[1e-12, 1, 1, 1], [1e-200, 1, 1, 1e12], [1, 1, 1, 0]])
def test_rows_absurdly_far_outside(factors, data):
    X, y = data
    model = fit((X * factors, y))
    far = np.array([[1e149] * 4, [-1e149, 1, 1, 1], [1.0, 0, 0, 0]])
    for odds in (model.decision_function(far), model.explain(far).contributions.sum(axis=1)):
        assert np.isfinite(odds).all()


def test_column_of_subnormal_numbers(data):
    X, y = data
    model = fit((np.column_stack([X, (np.arange(240) == 0) * 1e-310]), y))
    assert np.isfinite(model.predict_proba(np.ones((2, 5)))).all()


class SinglePrecision(ExtraTreesClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X).astype(np.float32)


class NotSure(ExtraTreesClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) * np.nan


def test_manners_of_classifiers(data):
    single = fit(data, estimator=SinglePrecision(5))
    assert np.isfinite(single.decision_function(data[0])).all()
    assert np.isfinite(single.oob_proba_).all()
    with pytest.raises(ValueError, match="returned NaN as a probability"):
        fit(data, estimator=NotSure(5))


def test_nested_classifiers_get_seeds(data):
    nested = make_pipeline(StandardScaler(), ExtraTreesClassifier(5))
    first, second = (fit(data, estimator=nested).oob_proba_ for _ in range(2))
    assert_array_equal(first, second)


def test_parameters_changed_after_fit_do_not_matter(data):
    model = fit(data)
    expected = model.decision_function(data[0])
    model.set_params(heads__penalty=1.0)
    assert_array_equal(model.decision_function(data[0]), expected)
    model.set_params(estimator=ExtraTreesClassifier(5)).fit(*data)
    assert model.fitted_.logistic is None


@pytest.mark.parametrize("bad", [{"threshold": "precision:1"}, {"representation__ks": [999]}])
def test_failed_refit_leaves_the_old_model(bad, data):
    X, y = data
    model = fit(data, representation=clone(SMALL))
    expected = model.predict_proba(X)
    model.set_params(**bad)
    with pytest.raises(ValueError, match=r"precision|from 1 to"):
        model.fit(np.random.default_rng(1).normal(size=(240, 3)), y)
    assert_array_equal(model.predict_proba(X), expected)
    first = BORE(SMALL, threshold="precision:1")
    with pytest.raises(ValueError, match="only one class"):
        first.fit(X, y * 0)
    with pytest.raises(NotFittedError):
        first.predict(X)


def test_thresholds_without_out_of_bag_scores():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    for options in ({"threshold": "precision:0.8"}, {"threshold": "fpr:0.01"}):
        with (
            pytest.raises(ValueError, match="needs out-of-bag scores"),
            pytest.warns(UserWarning, match="in every bag"),
        ):
            BORE(OutlierRepresentation(["knn_1"]), **options).fit(X, y)
    with pytest.warns(UserWarning, match="in every bag"):
        BORE(OutlierRepresentation(["knn_1"]), calibration="platt").fit(X, y)


def test_unfinished_bags_warn(data, monkeypatch):
    # not the number of steps: that is compiled into the kernel, and kept on disk
    monkeypatch.setattr("boreod.ensemble.heads.SMALL_GRADIENT", -1.0)
    with pytest.warns(UserWarning, match=r"50 of 50 bags did not converge"):
        fit(data)
