"""The isolation forest as a column: scikit-learn's scores from plain arrays, without neighbors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import IsolationForest

from boreod import BORE, OutlierRepresentation
from boreod.scores import SCORES
from boreod.scores.detectors import N_TREES, IsolationTrees, mean_splits
from boreod.selection.costs import RAW, complexity_costs
from boreod.selection.prices import facts_of_prices


def represent(**options):
    return OutlierRepresentation(["iforest"], **{"passthrough": False, "random_state": 0} | options)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    return np.vstack([random.normal(size=(600, 4)), random.uniform(-6, 6, size=(20, 4))])


@pytest.fixture(scope="module")
def model(table):
    return represent().fit(table)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100, 620])
def test_scores_are_those_of_scikit_learn(n_rows, table):
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
    theirs = IsolationForest(n_estimators=N_TREES, random_state=seed).fit(table[:n_rows])
    ours, _ = IsolationTrees.fit("iforest", table[:n_rows], None, np.random.RandomState(3))
    new = np.vstack([table[::5], 3 * table[::5]])
    assert_allclose(ours.score(new), -theirs.score_samples(new), rtol=1e-12)


def test_mean_splits_of_random_trees():
    """Exactly 2 (H(n) - 1) with the harmonic number H, which the formula comes close to."""
    for n in (10, 256, 5000):
        harmonic = np.sum(1.0 / np.arange(1, n + 1))
        assert_allclose(mean_splits([n]), 2 * (harmonic - 1), rtol=0.05)


def test_nothing_is_searched_and_nothing_foreign_is_kept(model, table):
    fitted = model.fitted_columns_
    assert fitted.views == []
    assert model.columns_ == ["iforest"]
    (forest,) = fitted.detectors
    assert forest.trees.n_trees == N_TREES
    assert forest.n_sampled == 256
    assert not [value for value in vars(forest).values() if "sklearn" in type(value).__module__]
    assert np.median(model.transform(table[600:])) > np.quantile(model.transform(table), 0.9)


def test_rows_alone_copies_and_extremes(model, table):
    rows = np.vstack([table[:40], table[:3], 1e150 * np.eye(4), -1e150 * np.eye(4)])
    whole = model.transform(rows)
    assert ((whole > 0.0) & (whole < 1.0)).all()
    alone = np.vstack([model.transform(rows[place : place + 1]) for place in range(len(rows))])
    assert alone.tobytes() == whole.tobytes()


def test_seeds_and_names(table):
    first = represent().fit_transform(table)
    assert_array_equal(represent().fit_transform(table), first)
    assert not np.array_equal(represent(random_state=1).fit_transform(table), first)
    both = OutlierRepresentation(
        ["knn_5", ("alone", "iforest"), "iforest"], passthrough=False, random_state=0
    ).fit(table)
    assert both.columns_ == ["knn_5", "alone", "iforest"]
    assert_array_equal(both.transform(table)[:, [1]], first)
    assert_array_equal(both.keep(["alone"]).transform(table), first)
    assert both.keep(["alone"]).fitted_columns_.views == []
    assert both.keep(["knn_5"]).fitted_columns_.detectors == []


def test_rows_apart_are_in_no_tree(table):
    """Forty copies are no outliers, unless they are kept out."""
    points = np.vstack([table, np.full((40, 4), 7.0)])
    apart = np.arange(660) >= 620
    together = represent().fit_compute(points, list("abcd"))
    scores = represent().fit_compute(points, list("abcd"), apart=apart)
    assert scores[-1] > together[-1] + 0.1
    together_with_none = represent().fit_compute(points, list("abcd"), apart=apart & False)
    assert_array_equal(together_with_none, together)
    assert_array_equal(represent().fit_compute(points, list("abcd"), apart=apart | True), together)


@pytest.mark.parametrize("n_rows", [60, 620])
def test_training_rows_are_scored_by_trees_that_do_not_know_them(n_rows, table):
    points, apart = table[:n_rows], np.arange(n_rows) % 10 == 0
    forest, scores = IsolationTrees.fit("i", points, apart, np.random.RandomState(3))
    assert forest.n_sampled == min(256, (~apart).sum() // 2)
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
    theirs = IsolationForest(n_estimators=N_TREES, max_samples=forest.n_sampled, random_state=seed)
    theirs.fit(points[~apart])
    assert_allclose(forest.score(points), -theirs.score_samples(points), rtol=1e-12)
    splits, number = np.zeros(n_rows), np.zeros(n_rows)
    for tree, sample in zip(theirs.estimators_, theirs.estimators_samples_, strict=True):
        unknown = np.ones(n_rows, dtype=bool)
        unknown[np.flatnonzero(~apart)[sample]] = False
        leaves = tree.apply(points[unknown])
        in_leaf = tree.tree_.n_node_samples[leaves]
        splits[unknown] += tree.tree_.compute_node_depths()[leaves] - 1 + mean_splits(in_leaf)
        number[unknown] += 1
    expected = 2 ** (-splits / number / float(mean_splits(forest.n_sampled)))
    assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 1e150])
def test_constant_rows(constant):
    scores = represent().fit_transform(np.full((30, 2), constant))
    assert_allclose(scores, np.full((30, 1), 0.5), rtol=1e-12)


def test_all_stays_the_papers_grid(table):
    columns = OutlierRepresentation(ks=[3], passthrough=False).fit(table).columns_
    assert columns == [f"{name}_3" for name in SCORES]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (["iforest", "iforest"], "'iforest' twice"),
        (["iforest_10"], "names among knn.*iforest.*got 'iforest_10'"),
        (["forest"], "names among knn.*iforest.*got 'forest'"),
    ],
)
def test_wrong_names(scores, message, table):
    with pytest.raises(ValueError, match=message):
        OutlierRepresentation(scores).fit(table)


def test_prices(model, table):
    """Each comparison counts, and a raw column is the least."""
    fitted = model.fitted_columns_
    n_steps = fitted.detectors[0].trees.depths.sum()
    unit = 10.0 / (200 * 4)
    assert complexity_costs(fitted, 200, 4).own == {"iforest": n_steps * unit}
    assert complexity_costs(fitted, 10**6, 100).own == {"iforest": RAW}
    again = represent(random_state=7).fit(table[::-1]).fitted_columns_
    assert facts_of_prices(again, (620, 4), {}) == facts_of_prices(fitted, (620, 4), {})


def test_a_detector_learns_from_it_and_buys_it(labelled):
    X, y = labelled
    representation = OutlierRepresentation(["iforest", "knn_5"])
    model = BORE(representation, n_estimators=30, random_state=0).fit(X, y)
    assert model.columns_[-1] == "iforest"
    bought = model.within(5, costs={"iforest": 3, "knn_5": 90})
    assert "knn_5" not in bought.columns_
    explanation = model.explain(X[:3])
    assert_allclose(
        explanation.contributions.sum(axis=1), model.decision_function(X[:3]) - explanation.base
    )
