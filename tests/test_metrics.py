"""Measures of rankings, against scikit-learn where it has them and by hand where it has not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from boreod.metrics import (
    auc,
    auc_scorer,
    average_precision,
    average_precision_scorer,
    early_auc,
    precision_at,
)


@st.composite
def rankings(draw):
    n = draw(st.integers(2, 40))
    scores = np.array(draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)), float)
    outliers = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    outliers[:2] = [True, False]
    return scores, outliers


@given(rankings())
def test_scikit_learn_agrees(ranking):
    scores, outliers = ranking
    assert float(auc(outliers, scores)) == pytest.approx(roc_auc_score(outliers, scores))
    expected = average_precision_score(outliers, scores)
    assert average_precision(outliers, scores) == pytest.approx(expected)
    assert early_auc(outliers, scores, 1.0) == pytest.approx(roc_auc_score(outliers, scores))


@given(rankings(), st.floats(0.01, 0.99))
def test_early_auc_is_the_area_of_a_cut_curve(ranking, most):
    scores, outliers = ranking
    false, true, _ = roc_curve(outliers, scores, drop_intermediate=False)
    fine = np.linspace(0.0, most, 20001)
    rates = np.interp(fine, false, true)  # takes the upper end of vertical steps
    assert early_auc(outliers, scores, most) == pytest.approx(rates.mean(), abs=2e-3)


def test_early_auc_is_not_mcclish():
    random = np.random.default_rng(0)
    outliers = random.uniform(size=20000) < 0.5
    scores = random.uniform(size=20000)
    assert early_auc(outliers, scores) == pytest.approx(0.05, abs=0.01)
    assert roc_auc_score(outliers, scores, max_fpr=0.1) == pytest.approx(0.5, abs=0.01)
    assert early_auc(outliers, -scores * 0 + ~outliers) == 0.0  # the paper's table has zeros


@given(rankings(), st.randoms())
def test_ties_are_broken_without_looking_at_labels(ranking, random):
    """The mean over random orders of tied rows is what is returned."""
    scores, outliers = ranking
    number = int(outliers.sum())
    drawn = []
    generator = np.random.default_rng(random.randint(0, 2**31))
    for _ in range(300):
        order = np.lexsort((generator.permutation(len(scores)), -scores))
        drawn.append(outliers[order[:number]].mean())
    assert precision_at(outliers, scores) == pytest.approx(np.mean(drawn), abs=0.15)


def test_columns_of_a_table_are_judged_at_once():
    random = np.random.default_rng(1)
    table, outliers = random.normal(size=(50, 4)), np.arange(50) < 10
    expected = [roc_auc_score(outliers, column) for column in table.T]
    assert auc(outliers, table) == pytest.approx(expected)


@pytest.mark.parametrize("measure", [auc, early_auc, precision_at, average_precision])
def test_labels_may_be_numbers(measure):
    scores = np.random.default_rng(0).normal(size=50)
    labels = (np.arange(50) < 10).astype(int)
    assert measure(labels, scores) == measure(labels == 1, scores)


@pytest.mark.parametrize("wrong", [0.0, 1.5, np.nan])
def test_wrong_false_positive_rates(wrong):
    with pytest.raises(ValueError, match="`most` must be above 0"):
        early_auc(np.arange(50) < 10, np.arange(50.0), wrong)


@pytest.mark.parametrize("measure", [auc, early_auc, precision_at, average_precision])
def test_one_class_is_refused(measure):
    with pytest.raises(ValueError, match="both classes; got 0 outliers and 3 inliers"):
        measure(np.zeros(3, bool), np.arange(3.0))


def test_more_places_than_rows():
    with pytest.raises(ValueError, match="`number` must be from 1 to 3"):
        precision_at(np.array([True, False, False]), np.arange(3.0), 4)


def test_paired_intervals_know_what_rankings_have_in_common():
    from boreod.metrics import average_precision, compare_rankings

    random = np.random.default_rng(0)
    outliers = np.arange(300) < 30
    good = random.normal(size=300) + 2.0 * outliers
    same = compare_rankings(outliers, good, good)
    assert (same["AUC"].low, same["AUC"].high) == (0.0, 0.0)
    worse = good + random.normal(0, 1.5, 300)
    found = compare_rankings(outliers, good, worse)["average precision"]
    assert found.first == average_precision(outliers, good)
    assert found.second == average_precision(outliers, worse)
    assert 0.0 < found.low < found.first - found.second < found.high
    noise = compare_rankings(outliers, good, good + random.normal(0, 0.05, 300))
    assert noise["AUC"].low < 0.0 < noise["AUC"].high


SCORED = np.array([[3.0], [2.0], [9.0], [1.0]])


class Known:
    """A classifier whose score is the first column."""

    classes_ = np.array([0, 1])

    def decision_function(self, X):
        return np.asarray(X, float)[:, 0]


@pytest.mark.parametrize(
    ("scorer", "labels", "expected"),
    [
        (auc_scorer, [1, 0, -1, 0], 1.0),
        (average_precision_scorer, [1, None, 1, 0], 1.0),
        (auc_scorer, [1, -1, -1, -1], 2 / 3),
    ],
    ids=["-1", "None", "no inlier is known"],
)
def test_scorers_leave_unlabelled_rows_out(scorer, labels, expected):
    assert scorer(Known(), SCORED, labels) == pytest.approx(expected)


def test_scorers_need_both_classes():
    with pytest.raises(ValueError, match="both classes"):
        auc_scorer(Known(), SCORED, [0, 0, -1, 0])


def test_scorers_take_other_classifiers(labelled):
    X, y = labelled
    other = LogisticRegression().fit(X, y)
    assert 0.0 < average_precision_scorer(other, X, np.where(np.arange(len(y)) % 2, y, -1)) <= 1
