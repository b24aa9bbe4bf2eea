"""Heads averaged: lines, weights, features, reasons."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from boreod import BORE, Detector, Heads, OutlierRepresentation
from boreod.ensemble.bags import Bags
from boreod.ensemble.heads import combine
from boreod.ensemble.members import KINDS, BaggedTable, Recipe, fit_line, learn_members
from boreod.metrics import average_precision
from boreod.parallel import Threads
from boreod.predictor import prepare, settings_of

FEW = OutlierRepresentation(["knn_5", "lof_10"])


def table(seed, n=300):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 4))
    labels = (random.random(n) < 0.08).astype(int)
    rows[labels == 1, :2] += 2.5
    return rows, labels


@pytest.fixture(scope="module")
def model():
    return Detector(FEW, n_estimators=30, heads=Heads(n_trees=3), random_state=0).fit(*table(0))


def test_detector_with_the_parameters_of_the_paper_is_the_paper():
    X, y = table(1)
    paper = BORE(FEW, n_estimators=30, random_state=3).fit(X, y)
    same = Detector(**paper.get_params(deep=False) | vars(settings_of(paper))).fit(X, y)
    assert_array_equal(same.predict_proba(X), paper.predict_proba(X))
    assert_array_equal(same.oob_proba_, paper.oob_proba_)
    assert BORE().get_params().keys() == Detector().get_params().keys()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 700.0, 1e4])
@pytest.mark.parametrize("shift", [0.0, 5.0, -5.0])
def test_log_odds_of_the_mean_probability(scale, shift):
    """Against exact sums, in numbers of 50 digits; some bags left out, and all of one row."""
    random = np.random.default_rng(0)
    log_odds = scale * (random.normal(size=(12, 7)) + shift)
    use = random.random(log_odds.shape) < 0.6
    use[0], use[1] = False, True
    for mask in (use, None):
        found = combine(log_odds, mask)
        for row, odds in enumerate(log_odds):
            used = odds if mask is None else odds[mask[row]]
            assert_allclose(found[row], exact_log_odds(used), rtol=1e-13, atol=1e-16)


def exact_log_odds(log_odds):
    if len(log_odds) == 0:
        return np.nan
    with localcontext(prec=50):
        numbers = [Decimal(odds) for odds in log_odds]
        outlier, inlier = (sum(1 / (1 + (side * x).exp()) for x in numbers) for side in (-1, 1))
        return float((outlier / inlier).ln())


def mean_over_bags(member, features, use=None):
    """Boosted trees are averaged as log-odds, others as probabilities."""
    odds = member.head.log_odds(member.read(features))
    use = np.ones(odds.shape, bool) if use is None else use[:, : odds.shape[1]]
    if member.kind.startswith("boosted"):
        return np.ma.array(odds, mask=~use).mean(axis=1).filled(np.nan)
    return combine(odds, use)


def test_log_odds_are_the_weighted_mean_of_lines(model):
    new = table(2)[0]
    fitted, features = model.fitted_, model.fitted_.represent(prepare(model, new), Threads(1))
    assert [member.kind for member in fitted.members] == list(KINDS)
    assert_allclose(sum(member.weight for member in fitted.members), 1.0)
    expected = np.zeros(len(new))
    for member in fitted.members:
        odds = mean_over_bags(member, features)
        assert member.line.slope > 0
        expected += member.weight * (member.line.slope * odds + member.line.shift)
    expected = fitted.correction.slope * expected + fitted.correction.shift
    assert_allclose(model.decision_function(new), expected, rtol=1e-12)


def test_weights_are_those_of_a_regression_on_out_of_bag_log_odds():
    """Another solver, another start: the same weights, and no head without a say."""
    X, y = table(0, 900)
    model = Detector(FEW, n_estimators=30, heads=Heads(n_trees=3), random_state=0).fit(X, y)
    training, fitted = model.training_, model.fitted_
    outside, odds = ~training.bags.holds, []
    for member in fitted.members:
        mean = mean_over_bags(member, training.table, outside)
        odds.append(member.line.slope * mean + member.line.shift)
    odds = np.column_stack(odds)
    outliers = training.codes == 1
    judged = (training.codes == 0) & ~training.assumed.left_out | outliers
    evidence = []
    for column in odds.T:
        rows = np.isfinite(column) & judged
        evidence.append(average_precision(outliers[rows], column[rows]))
    start = np.array(evidence) / sum(evidence)
    rows = np.isfinite(odds).all(axis=1) & judged

    def loss(point):
        z = odds[rows] @ point[:5] + point[5]
        fit = np.logaddexp(0.0, np.where(outliers[rows], -z, z)).sum()
        return fit + 0.5 * ((point[:5] - start) ** 2).sum() / 0.2**2

    bounds = [(0.1 * weight, None) for weight in start] + [(None, None)]
    options = {"ftol": 1e-15, "maxiter": 1000}
    found = minimize(loss, np.full(6, 0.3), method="SLSQP", bounds=bounds, options=options).x[:5]
    weights = np.array([member.weight for member in fitted.members])
    assert_allclose(weights, found / found.sum(), atol=1e-3)
    assert (weights > 0).all()


def test_what_heads_read(model):
    by_kind = {member.kind: member for member in model.fitted_.members}
    assert by_kind["logistic"].features is None  # four scaled, two scores, four ranked
    assert (
        by_kind["trees"].features.tolist() == by_kind["boosted"].features.tolist() == [0, 1, 2, 3]
    )
    assert by_kind["trees+scores"].features.tolist() == [0, 1, 2, 3, 4, 5]
    assert model.fitted_.represent(prepare(model, table(0)[0]), Threads(1)).shape == (300, 10)


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_reasons_add_up(calibration):
    X, y = table(3)
    options = {"heads": Heads(n_trees=2), "calibration": calibration, "random_state": 0}
    model = Detector(FEW, n_estimators=30, **options)
    explained = model.fit(X, y).explain(np.vstack([X[:40], 50.0 * X[:5]]))
    assert explained.columns == ["x0", "x1", "x2", "x3", "knn_5", "lof_10"]
    assert_allclose(
        explained.base + explained.contributions.sum(axis=1), explained.log_odds, rtol=0, atol=1e-9
    )
    assert (
        np.abs(explained.contributions[:, :2]).mean()
        > 2 * np.abs(explained.contributions[:, 2:4]).mean()
    )


def test_without_scores_no_head_is_fitted_twice():
    X, y = table(4)
    raw = Detector(
        OutlierRepresentation([], views=[]), n_estimators=30, heads=Heads(n_trees=2), random_state=0
    )
    kinds = [member.kind for member in raw.fit(X, y).fitted_.members]
    assert kinds == ["logistic", "trees", "boosted"]


def test_a_line_is_that_of_a_general_optimizer():
    random = np.random.default_rng(0)
    odds = random.normal(size=200)
    outliers = random.random(200) < 1 / (1 + np.exp(1 - 2 * odds))
    weights = np.where(outliers, 0.5 / outliers.sum(), 0.5 / (~outliers).sum())
    found = fit_line(odds, outliers, weights)
    n1, n0 = outliers.sum(), (~outliers).sum()
    targets = np.where(outliers, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(line):
        z = line[0] + line[1] * odds
        return weights @ (np.logaddexp(0, z) - targets * z)

    assert_allclose([found.shift, found.slope], minimize(loss, [0.0, 1.0]).x, atol=1e-4)


def test_two_rows_that_can_be_told_apart_make_no_vertical_line():
    odds = np.array([5.0, 6.0, *np.linspace(-4, -2, 50)])
    outliers = np.arange(52) < 2
    line = fit_line(odds, outliers, np.full(52, 1 / 52))
    assert 0 < line.slope < 3
    backwards = fit_line(-odds, outliers, np.full(52, 1 / 52))
    assert 0 < backwards.slope < 0.1


def test_same_seed_same_bits_over_threads():
    X, y = table(5)
    one, two = (
        Detector(FEW, n_estimators=30, heads=Heads(n_trees=2), n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2)
    )
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    alone = np.vstack([one.predict_proba(X[i : i + 1]) for i in range(20)])
    assert_array_equal(alone, one.predict_proba(X[:20]))


def test_a_head_without_evidence_is_left_out():
    """Boosted trees have few bags, and here every one of them holds the only two outliers."""
    codes = np.array([1, 1, 0, 0, 0, 0])
    rows = np.vstack([np.tile([0, 1, 2, 3], (10, 1)), [[0, 0, 2, 4], [1, 1, 3, 5]]])
    bags = Bags(rows, n_outliers=2, n_rows=6, kept_outliers=1.0, kept_inliers=0.5)
    table = np.random.default_rng(0).normal(size=(6, 2)) + codes[:, np.newaxis]
    recipe = Recipe(("trees", "boosted"), None, 1e-3, 2)
    members, odds = learn_members(recipe, BaggedTable(table, 2, 2, bags, codes, 0), Threads(1))
    assert [member.kind for member in members] == ["trees"]
    assert members[0].weight == 1.0
    assert np.isfinite(odds[:2]).all()
