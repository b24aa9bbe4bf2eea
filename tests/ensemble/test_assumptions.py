"""Who counts as an inlier: few labels, hidden outliers, wrong labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from boreod import BORE, Bagging, Detector, Heads, OutlierRepresentation
from boreod.ensemble.assumptions import assume_inliers, widen
from boreod.ensemble.bags import BagPlan, Shares

RAW = OutlierRepresentation([], views=[])
SMALL = {"representation": RAW, "n_estimators": 20, "heads": Heads(n_trees=5), "random_state": 0}


def contaminated(n_hidden=30, n_known=5):
    """Ordinary rows, outliers that nobody has found, known outliers."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(600, 3))
    rows[: n_hidden + n_known] += 5.0
    labels = np.zeros(600, dtype=int)
    labels[:n_known] = 1
    return rows, labels, np.arange(n_known, n_known + n_hidden)


def test_unlabelled_rows_count_where_labelled_inliers_are_few():
    how = BagPlan(50, 0.7, 10.0, 50)
    many = assume_inliers(np.repeat([1, 0, -1], [3, 60, 40]), how, allowed=True)
    assert not many.unlabelled
    assert (many.codes == -1).sum() == 40
    few = assume_inliers(np.repeat([1, 0, -1], [3, 40, 60]), how, allowed=True)
    assert few.unlabelled
    assert (few.codes == 0).sum() == 100
    assert not assume_inliers(np.repeat([1, 0, -1], [3, 40, 60]), how, allowed=False).unlabelled


def test_hidden_outliers_are_left_out_of_the_bags():
    rows, labels, hidden = contaminated()
    model = Detector(**SMALL).fit(rows, labels)
    left_out = np.flatnonzero(model.training_.assumed.left_out)
    assert np.isin(hidden, left_out).mean() > 0.3  # about those above the median
    assert np.isin(left_out, hidden).mean() > 0.9
    by_group = model.training_.assumed.suspicious_by_group
    for number, rows_of_bag in enumerate(model.training_.bags.rows):
        suspicious = np.arange(5, 600)[by_group[number % 10]]
        assert len(suspicious) == len(left_out)
        assert not np.isin(suspicious, rows_of_bag).any()
    assert np.isin(np.arange(5, 600)[by_group.mean(axis=0) > 0.5], hidden).mean() > 0.9
    assert model.oob_.summarize().left_out == len(left_out) <= 60
    assert (model.oob_.codes == 0).sum() == 595  # they still count in the precision
    others = np.setdiff1d(np.arange(35, 600), left_out)
    probabilities = model.predict_proba(rows)[:, 1]
    assert probabilities[hidden].min() > np.quantile(probabilities[others], 0.95)


def test_nothing_is_left_out_of_clean_rows():
    rows, labels, _ = contaminated(n_hidden=0, n_known=20)
    assert Detector(**SMALL).fit(rows, labels).oob_.left_out == 0


@pytest.mark.parametrize(
    ("n_hidden", "n_known", "n_inliers"),
    [(0, 10, 280), (60, 12, 80), (0, 4, 50), (0, 60, 378)],
    ids=["complete", "contaminated", "too few to judge", "more than there are"],
)
def test_bags_hold_more_inliers_where_labels_look_complete(n_hidden, n_known, n_inliers):
    rows, labels, _ = contaminated(n_hidden, n_known)
    training = Detector(**SMALL).fit(rows, labels).training_
    assert training.bags.rows.shape[1] - training.bags.n_outliers == n_inliers


def test_bags_do_not_grow_without_end():
    assert widen(BagPlan(50, 0.7, 10.0, 50), 10**6).min_inliers == 4000


def test_outliers_and_unlabelled_rows_are_enough():
    rows, labels, _ = contaminated()
    given = np.where(labels == 1, 1, -1)
    model, plain = Detector(**SMALL).fit(rows, given), Detector(**SMALL).fit(rows, labels)
    assert_array_equal(model.predict_proba(rows), plain.predict_proba(rows))
    assert model.classes_.tolist() == [-1, 1]
    assert set(model.predict(rows)) <= {-1, 1}
    assert model.oob_.summarize().unlabelled == 595
    with pytest.warns(UserWarning, match="-1 is read as inlier"):
        BORE(RAW, random_state=0).fit(rows, given)


def test_a_prior_moves_log_odds_by_a_constant():
    rows, labels, _ = contaminated()
    plain = Detector(**SMALL).fit(rows, labels)
    known = Detector(prior=0.5, **SMALL).fit(rows, labels)
    assert set(known.predict(rows[:100])) == {0, 1}
    shift = known.decision_function(rows) - plain.decision_function(rows)
    assert_allclose(shift, -np.log(5 / 595), rtol=1e-9)


def test_permuted_labels_teach_nothing():
    """Out-of-bag scores are honest: without a signal they rank at random.

    Neither how training rows are scored nor which rows are left out may know their labels.
    """
    found = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        rows, labels = random.normal(size=(400, 2)), np.zeros(400, dtype=int)
        labels[random.permutation(400)[:30]] = 1
        model = Detector(n_estimators=25, heads=Heads(n_trees=2), random_state=seed).fit(
            rows, labels
        )
        found.append(model.oob_.summarize().auc)
    assert abs(np.mean(found) - 0.5) < 3.0 * np.std(found, ddof=1) / np.sqrt(8)


@pytest.mark.parametrize("step", [1e-9, 1e-6, 1e-3])
def test_known_outliers_do_not_hide_their_likes(step):
    """A fraud like one of last week is found, although that one is in the training table."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 5))
    labels = (np.arange(500) < 25).astype(int)
    rows[:25] += random.choice([-3.0, 3.0], size=(25, 5))
    few = OutlierRepresentation(["knn_5", "lof_20", "ldof_20", "iforest"])
    model = Detector(few, threshold="fpr:0.02", random_state=0).fit(rows, labels)
    alerts = model.predict(rows) == 1
    moved = rows + step * np.ptp(rows, axis=0) * random.choice([-1.0, 1.0], size=rows.shape)
    still = model.predict(moved) == 1
    assert alerts[:25].sum() >= 20
    assert still[:25][alerts[:25]].all()
    assert not still[25:][~alerts[25:]].any()
    scores = OutlierRepresentation(["knn_1"], passthrough=False)
    printed = BORE(scores, threshold="fpr:0.02", random_state=0).fit(rows, labels)
    lost = (printed.predict(rows) == 1)[:25] & (printed.predict(moved) != 1)[:25]
    assert lost.any()  # the fault that this is about


def test_probabilities_and_thresholds_count_rows_of_the_whole_table(monkeypatch):
    """Labelled inliers and unlabelled rows of a sample may stand for different numbers of rows."""
    random = np.random.default_rng(0)
    near, far = random.normal(3, 1, (100, 3)), random.normal(-3, 1, (200, 3))
    labels = np.repeat([1, 0, -1], [20, 80, 200])
    shares = Shares(20_100, 1.0, 0.01)
    # The rows are a sample of a larger table.
    drawn = "boreod.ensemble.training_rows.draw_reference"
    monkeypatch.setattr(drawn, lambda *_: (None, shares))
    model = Detector(**SMALL).fit(np.vstack([near, far]), labels)
    weights, odds = shares.weigh(labels), model.oob_proba_
    assert_allclose(weights @ odds, 20, rtol=0.15)
    inliers = model.oob_.codes == 0
    alerts = odds > model.choose_threshold("fpr:0.1")
    assert 0.05 < (weights * alerts)[inliers].sum() / weights[inliers].sum() <= 0.1


def test_what_has_no_meaning_without_labels_is_refused():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(ValueError, match="`prior` has no meaning without labels"):
        Detector(prior=0.1).fit(rows)
    with pytest.raises(ValueError, match="`estimator` has no meaning without labels"):
        Detector(estimator=LogisticRegression()).fit(rows)


def test_classifiers_need_weights_in_unbalanced_bags():
    rows, labels, _ = contaminated(n_hidden=0, n_known=30)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        BORE(RAW, bagging=Bagging(ratio=10), estimator=KNeighborsClassifier()).fit(rows, labels)
    own = BORE(RAW, bagging=Bagging(ratio=5), random_state=0).fit(rows, labels)
    other = BORE(RAW, bagging=Bagging(ratio=5), estimator=LogisticRegression(C=1e3), random_state=0)
    assert abs(np.nansum(other.fit(rows, labels).oob_proba_) - np.nansum(own.oob_proba_)) < 3
