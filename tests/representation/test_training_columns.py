"""Columns of training rows: scored as new rows where some rows are kept apart."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod import Detector, Heads, OutlierRepresentation
from boreod.metrics import auc
from boreod.neighbors import KnownRows
from boreod.parallel import Threads
from boreod.representation.columns import _deal, fit_view
from boreod.representation.plan import make_plan, read_scores
from boreod.representation.views import Space

SCORES = ["knn_5", "lof_20", "cof_10", "kdeos_20", "odin_10", "iforest"]


def fit_apart(rows, apart, scores=SCORES, seed=0):
    """Return the columns of training rows, and the fitted representation."""
    table = OutlierRepresentation(scores, passthrough=False, random_state=seed)
    names = [f"x{place}" for place in range(rows.shape[1])]
    return table.fit_compute(rows, names, apart=apart), table


def test_being_apart_tells_nothing():
    """Rows that are apart at random have the scores of the others; inside the graph they have not.

    The second is what makes this test able to fail.
    """
    found, inside = [], []
    for seed in range(12):
        random = np.random.default_rng(seed)
        rows, apart = random.normal(size=(300, 2)), random.permutation(300) < 30
        columns, table = fit_apart(rows, apart, seed=seed)
        found.append([auc(apart, column) for column in columns.T])
        inside.append([auc(apart, column) for column in table.transform(rows).T])
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - 0.5) < 3.0 * error).all()
    change = np.mean(inside, axis=0) - np.mean(found, axis=0)
    cof, iforest = SCORES.index("cof_10"), SCORES.index("iforest")
    assert np.abs(change[[cof, iforest]]).min() > 0.025


@pytest.mark.parametrize("sampled", [False, True])
def test_each_row_is_compared_with_other_folds(sampled):
    """The slow way: a representation of its own for every fold."""
    random = np.random.default_rng(0)
    rows, apart = random.normal(size=(120, 3)), np.arange(120) < 11
    rows[60:64] = rows[64:68]  # copies: one of two equal rows is left out
    reference = np.flatnonzero(~apart)
    if sampled:
        reference = np.sort(random.choice(reference, 50, replace=False))
    scores = ["knn_3", "lof_10", "odin_5"]
    plan, _ = make_plan(read_scores(scores)[0], None, len(reference), "")
    space = Space("", np.arange(3), "euclidean", reference)
    how = "brute", apart, np.random.RandomState(7), Threads(1)
    view, found = fit_view(KnownRows(rows), space, plan, *how)
    folds = _deal(reference, plan, apart, np.random.RandomState(7))
    assert set(folds) == set(range(5))
    for fold in range(5):
        others = OutlierRepresentation(scores, passthrough=False)
        others.fit(rows[reference[folds[reference] != fold]])
        assert_array_equal(found[folds == fold], others.transform(rows[folds == fold]))
    assert np.isfinite(view.isolation).all()
    whole = OutlierRepresentation(scores, passthrough=False).fit(rows[reference])
    assert view.score(view.search(rows[:9])).tobytes() == whole.transform(rows[:9]).tobytes()


@pytest.mark.parametrize(("n_rows", "n_folds"), [(200, 5), (24, 8), (22, 22), (21, None)])
def test_every_fold_leaves_enough_rows_for_the_largest_k(n_rows, n_folds):
    plan, _ = make_plan(read_scores(["knn_20"])[0], None, n_rows, "")
    apart = np.arange(n_rows + 4) >= n_rows
    folds = _deal(np.arange(n_rows), plan, apart, np.random.RandomState(0))
    assert (folds is None) if n_folds is None else (folds.max() + 1 == n_folds)
    assert _deal(np.arange(n_rows), plan, None, np.random.RandomState(0)) is None
    rows = np.random.default_rng(0).normal(size=(n_rows + 4, 2))
    columns, table = fit_apart(rows, apart, ["knn_20", "iforest"])
    assert table.columns_ == ["knn_20", "iforest"]
    assert np.isfinite(columns).all()


@pytest.mark.parametrize("n_rows", [3, 4, 6])
def test_tiny_tables(n_rows):
    rows = np.random.default_rng(0).normal(size=(n_rows, 2))
    apart = np.arange(n_rows) < 1
    columns, _ = fit_apart(rows, apart, ["knn_1", "iforest"])
    assert np.isfinite(columns).all()


def test_equal_rows_have_equal_columns():
    """Also where they are in other folds and trees; new rows like them have about these."""
    random = np.random.default_rng(4)
    rows = np.vstack([random.normal(size=(150, 2)), np.zeros((150, 2)), np.ones((3, 2))])
    apart = random.permutation(len(rows)) < 20
    columns, table = fit_apart(rows, apart)
    assert len(np.unique(columns[150:300], axis=0)) == len(np.unique(columns[300:], axis=0)) == 1
    assert len(np.unique(columns[:150], axis=0)) > 140
    iforest = SCORES.index("iforest")
    assert abs(columns[150, iforest] - table.transform(np.zeros((1, 2)))[0, iforest]) < 0.02


def test_one_labelled_copy_does_not_make_outliers_of_all_others():
    """Of 150 equal rows one is labelled an outlier; a new copy is one with a chance like that."""
    random = np.random.default_rng(5)
    far = 4.0 + np.eye(3)[[0, 1, 2] * 5]
    rows = np.vstack([random.normal(size=(250, 3)), np.zeros((150, 3)), far])
    labels = np.r_[np.zeros(399), np.ones(16)].astype(int)  # the last of the copies, too
    model = Detector(n_estimators=30, heads=Heads(n_trees=3), random_state=0).fit(rows, labels)
    assert model.predict_proba(np.zeros((1, 3)))[0, 1] < 0.03  # 0.06 if copies differ


def test_a_mask_of_no_row_changes_nothing():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    fitted = [
        OutlierRepresentation(["lof", "iforest"], [3], random_state=0).fit_compute(
            rows, ["a", "b"], apart=apart
        )
        for apart in (None, np.zeros(40, bool))
    ]
    assert_array_equal(*fitted)
