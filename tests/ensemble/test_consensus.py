"""Rows without labels: the consensus, its quantiles, its thresholds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score

from boreod import BORE, Detector, Heads, OutlierRepresentation
from boreod.ensemble.assumptions import ConsensusHead, Quantiles, draw_top
from boreod.ensemble.bags import BagPlan


def table(seed, n=400, n_outliers=12):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 4)) @ np.diag([1.0, 5.0, 0.2, 1.0])
    rows[:n_outliers, :3] *= random.choice([-5.0, 5.0], (n_outliers, 3))
    return rows, np.arange(n) < n_outliers


@pytest.fixture(scope="module")
def model():
    return Detector(random_state=0).fit(table(0)[0])


def test_outliers_come_first(model):
    rows, outliers = table(1)
    forest = IsolationForest(n_estimators=300, random_state=0).fit(table(0)[0])
    ours = average_precision_score(outliers, model.predict_proba(rows)[:, 1])
    assert ours > average_precision_score(outliers, -forest.score_samples(rows))
    assert ours > 0.6


def test_probabilities_are_quantiles_of_the_training_rows(model):
    probabilities = np.sort(model.oob_proba_)
    assert_allclose(probabilities, (np.arange(400) + 0.5) / 400, atol=1e-9)
    assert model.oob_.summarize().auc is None
    assert model.oob_.judged()[0].size == 0
    assert model.threshold_ == model.choose_threshold("alerts:4")
    assert (model.oob_proba_ > model.threshold_).sum() == 4


@pytest.mark.parametrize("threshold", [0.5, "fpr:0.01", "precision:0.5"])
def test_thresholds_without_labels_are_numbers_of_alerts(model, threshold):
    with pytest.raises(ValueError, match="must be a number of alerts"):
        model.choose_threshold(threshold)


def test_unlabelled_rows_are_no_labels(model):
    rows = table(0)[0]
    same = Detector(random_state=0).fit(rows, np.full(400, -1))
    assert_array_equal(same.predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(ValueError, match="y to be passed"):
        BORE().fit(rows)
    with pytest.raises(ValueError, match="one class"):
        Detector().fit(rows, np.zeros(400))


def test_a_row_does_not_depend_on_its_batch_and_reasons_add_up(model):
    rows = table(2)[0]
    together = model.predict_proba(rows[:30])
    alone = np.vstack([model.predict_proba(row[np.newaxis]) for row in rows[:30]])
    assert_array_equal(alone, together)
    explained = model.explain(np.vstack([rows[:30], 100 * rows[:3]]))
    assert_allclose(
        explained.base + explained.contributions.sum(axis=1), explained.log_odds, rtol=0, atol=1e-9
    )
    assert set(explained.columns) >= {"x0", "iforest", "knn_50@ranked", "knn_50@standardized"}


def test_the_consensus_by_hand():
    scores = np.random.default_rng(0).gamma(1.0, size=(200, 2))
    head = ConsensusHead.fit(scores)
    r = (scores - np.median(scores, axis=0)) / np.abs(scores - np.median(scores, axis=0)).mean(0)
    u = r / (3 + np.abs(r))
    expected = ((u - u.mean(0)) / u.std(0)).mean(axis=1)
    assert_allclose(head.log_odds(scores)[:, 0], expected, rtol=1e-12)
    constant = ConsensusHead.fit(np.column_stack([scores[:, 0], np.full(200, 3.0)]))
    assert np.isfinite(constant.log_odds(np.array([[1.0, 1e300]]))).all()


def test_quantiles_go_on_beyond_the_training_rows():
    scores = np.random.default_rng(1).normal(size=3000)
    ranks = Quantiles.fit(scores)
    assert len(ranks.scores) <= 1000
    new = np.sort(np.concatenate([scores, [-50.0, 50.0, 1e6]]))
    assert (np.diff(ranks.apply(new)) > 0).all()
    shares = 1 / (1 + np.exp(-ranks.apply(scores)))
    assert np.abs(shares - (np.argsort(np.argsort(scores)) + 0.5) / 3000).max() < 1e-3
    flat = Quantiles.fit(np.full(10, 2.0))
    assert flat.apply(np.array([2.0])) == 0.0


def test_the_highest_rows_are_the_outliers_of_bags():
    bags, top = draw_top(np.arange(1000.0), BagPlan(6, 0.7, 10.0, 50), 0)
    assert np.flatnonzero(top).tolist() == list(range(990, 1000))
    assert (bags.rows[:, : bags.n_outliers] >= 990).all()
    assert (bags.rows[:, bags.n_outliers :] < 990).all()
    tiny, few = draw_top(np.arange(4.0), BagPlan(3, 0.7, 10.0, 50), 0)
    assert few.sum() == 2
    assert tiny.rows.shape[0] == 3


def test_scores_are_needed():
    raw = OutlierRepresentation([], views=[])
    with pytest.raises(ValueError, match="ranked by scores"):
        Detector(raw, heads=Heads(kinds=["logistic"]), random_state=0).fit(table(0)[0])


def test_budgets_keep_the_agreement_with_the_whole_ranking(model):
    rows = table(3)[0]
    whole = model.predict_proba(rows)[:, 1]
    costs = {"iforest": 5, "knn": 40, "tree": 0.1}
    found = {}
    for budget in (10, 60, 1000):
        fast = model.within(budget, costs=costs)
        assert fast.cost_ <= budget
        found[budget] = spearmanr(fast.predict_proba(rows)[:, 1], whole).statistic
    assert found[1000] > 1 - 1e-9
    assert 0.5 < found[10] <= found[60] + 0.02
    with pytest.raises(ValueError, match="the cheapest score costs 5"):
        model.within(3, costs=costs)
    with pytest.raises(ValueError, match="A budget curve needs out-of-bag scores"):
        model.budget_curve()


@pytest.mark.filterwarnings("ignore:`costs` has no price")
def test_ranks_tell_nothing_of_novelty(model):
    """They are bounded: no row is far from the others."""
    with pytest.raises(ValueError, match="no price for any of them"):
        model.within(20, costs={"tree": 0.1})
    ranked = model.within(50, costs={"knn_50@ranked": 10, "tree": 100})
    assert ranked.columns_ == ["knn_50@ranked"]
    assert ranked.novelty(np.full((1, 4), 1e6)).p_values is None
    assert model.novelty(np.full((1, 4), 1e6)).novel.all()
