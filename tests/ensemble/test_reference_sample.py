"""Learning from a sample: who is in it, and that the table it stands for is not forgotten."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod import BORE, OutlierRepresentation, Reference
from boreod.ensemble.bags import Shares, draw_reference
from boreod.ensemble.calibration import choose_threshold
from boreod.metrics import auc

FEW = OutlierRepresentation(["knn", "lof"], [5, 10])


def table(n, seed=0, share=0.02):
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(int)
    X = random.normal(size=(n, 4)) * np.where(y == 1, 2.5, 1.0)[:, np.newaxis]
    return X, y


@pytest.mark.parametrize("sampling", ["random", "stratified"])
def test_all_outliers_and_a_sample_of_the_rest(sampling):
    codes = np.random.default_rng(0).choice([1, 0, -1], p=[0.01, 0.2, 0.79], size=10_000)
    rows, shares = draw_reference(codes, 1000, sampling, seed=3)
    assert len(rows) == len(set(rows.tolist())) == 1000
    assert_array_equal(rows, np.sort(rows))
    assert set(np.flatnonzero(codes == 1)) <= set(rows.tolist())
    assert_allclose(shares.weigh(codes[rows]).sum(), len(codes))
    for code, share in ((0, shares.inliers), (-1, shares.unlabelled)):
        assert_allclose(share, (codes[rows] == code).sum() / (codes == code).sum())
    again, _ = draw_reference(codes, 1000, sampling, seed=3)
    other, _ = draw_reference(codes, 1000, sampling, seed=4)
    assert_array_equal(rows, again)
    assert not np.array_equal(rows, other)


def test_strata():
    codes = np.repeat([1, 0, -1], [10, 40, 5000])
    rows, shares = draw_reference(codes, 1010, "stratified", seed=0)
    assert shares.inliers == 1.0
    assert (codes[rows] == -1).sum() == 960
    codes = np.repeat([1, 0, -1], [10, 5000, 40])
    rows, shares = draw_reference(codes, 1010, "stratified", seed=0)
    assert shares.unlabelled == 1.0
    codes = np.repeat([1, 0, -1], [10, 5000, 5000])
    rows, _ = draw_reference(codes, 1010, "stratified", seed=0)
    assert [(codes[rows] == code).sum() for code in (1, 0, -1)] == [10, 500, 500]


def test_random_sample_is_uniform():
    """Every row is in about one of ten samples."""
    codes = np.zeros(1000, int)
    codes[:5] = 1
    counts = np.zeros(1000)
    for seed in range(400):
        counts[draw_reference(codes, 104, "random", seed)[0]] += 1
    assert (counts[:5] == 400).all()
    expected, deviation = 400 * 99 / 995, np.sqrt(400 * 0.1 * 0.9)
    assert np.abs(counts[5:] - expected).max() < 5 * deviation


@pytest.mark.parametrize("size", [None, 23, 1000])
def test_nothing_to_leave_out(size):
    codes = np.repeat([1, 0], [3, 20])
    assert draw_reference(codes, size, "random", 0) == (None, Shares(23))


@pytest.mark.parametrize("size", [0, 1, -5, 2.5, "100", True])
def test_wrong_sizes(size):
    X, y = table(300)
    with pytest.raises(ValueError, match="must be 'auto', None or a number of rows from 2 on"):
        BORE(FEW, reference=Reference(size=size)).fit(X, y)


def test_wrong_sampling():
    X, y = table(300)
    with pytest.raises(ValueError, match="must be one of \\['stratified', 'random'\\]; got 'best'"):
        BORE(FEW, reference=Reference(sampling="best")).fit(X, y)


def test_more_outliers_than_places():
    X, y = table(300, share=0.2)
    with pytest.raises(ValueError, match="must exceed the number of labelled outliers"):
        BORE(FEW, reference=Reference(size=20)).fit(X, y)


def test_random_sample_without_labelled_inliers():
    codes = np.repeat([1, 0, -1], [5, 1, 5000])
    with pytest.raises(ValueError, match="sampling='stratified'"):
        draw_reference(codes, 20, "random", 0)
    assert (codes[draw_reference(codes, 20, "stratified", 0)[0]] == 0).sum() == 1


def test_a_model_of_a_sample_is_the_model_of_these_rows():
    X, y = table(3000)
    model = BORE(FEW, reference=Reference(size=600), n_estimators=20, random_state=1).fit(X, y)
    rows = model.reference_rows_
    assert len(rows) == len(model.oob_proba_) == 600
    plain = BORE(FEW, n_estimators=20, random_state=1).fit(X[rows], y[rows])
    new, _ = table(200, seed=5)
    assert_array_equal(model.predict_proba(new, raw=True), plain.predict_proba(new, raw=True))
    shares = model.oob_.shares
    difference = model.decision_function(new) - plain.decision_function(new)
    assert_allclose(difference, np.log(shares.inliers), rtol=1e-9)


def test_rows_outside_the_sample_do_not_matter():
    X, y = table(2000)
    model = BORE(FEW, reference=Reference(size=500), n_estimators=20, random_state=1).fit(X, y)
    outside = np.setdiff1d(np.arange(2000), model.reference_rows_)
    changed = X.copy()
    changed[outside] *= 100
    same = BORE(FEW, reference=Reference(size=500), n_estimators=20, random_state=1).fit(changed, y)
    assert_array_equal(model.predict_proba(X[:50]), same.predict_proba(X[:50]))


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_probabilities_are_those_of_the_table(calibration):
    """The mean probability is about the share of outliers, which is four times that in a sample."""
    X, y = table(8000)
    new, of_new = table(4000, seed=9)
    model = BORE(FEW, reference=Reference(size=2000), calibration=calibration, random_state=0).fit(
        X, y
    )
    full = BORE(FEW, calibration=calibration, random_state=0).fit(X, y)
    means = [one.predict_proba(new)[:, 1].mean() for one in (model, full)]
    assert means[0] / means[1] == pytest.approx(1.0, abs=0.4)
    areas = [auc(of_new == 1, one.decision_function(new)) for one in (model, full)]
    assert areas[0] > areas[1] - 0.03


def test_alerts_count_rows_of_the_table():
    X, y = table(8000)
    alerts = BORE(FEW, reference=Reference(size=2000), threshold="alerts:400", random_state=0).fit(
        X, y
    )
    raised = (alerts.predict(X) == 1).sum()
    assert 250 < raised < 600


def test_weighted_thresholds():
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    codes = np.array([1, 0, 1, 0, 0])
    weights = np.array([1.0, 10.0, 1.0, 10.0, 10.0])
    assert choose_threshold("alerts:12", scores, codes, weights) == pytest.approx(0.65)
    assert choose_threshold("alerts:1", scores, codes, weights) == pytest.approx(0.85)
    assert choose_threshold("alerts:9", scores, codes, weights) == pytest.approx(0.75)
    assert choose_threshold("precision:0.16", scores, codes, weights) == pytest.approx(0.65)
    assert choose_threshold("precision:0.5", scores, codes, weights) == pytest.approx(0.85)
