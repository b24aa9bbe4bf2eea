import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import boosting as oracle

from boreod.ensemble import boosting
from boreod.ensemble.boosting import MAX_BINS, find_edges, grow_boosted
from boreod.persistence.members import pack_trees, unpack_trees
from boreod.scores.tree_kernels import find_right


def draw(n_rows=60, n_columns=3, seed=0, n_outliers=12):
    random = np.random.default_rng(seed)
    targets = (np.arange(n_rows) < n_outliers).astype(float)
    part = random.normal(size=(n_rows, n_columns)) + targets[:, None] * random.random(n_columns)
    return part.astype(np.float32), targets


def odds_of(trees, part):
    return trees.add_up(part.astype(np.float64))[:, 0]


@pytest.mark.parametrize("n_rows", [2, 7, 30, MAX_BINS])
@pytest.mark.parametrize("digits", [0, 5])
def test_cuts_and_leaves_are_the_oracles(n_rows, digits, monkeypatch):
    """With every value in a bin of its own and nothing random; cuts are often equally good."""
    monkeypatch.setattr(boosting, "NOISE", 0.0)
    monkeypatch.setattr(boosting, "ROW_SHARE", 1.0)
    for seed in range(3):
        part, targets = draw(n_rows, 3, seed, n_outliers=max(1, n_rows // 5))
        part = part.round(digits)
        trees = grow_boosted(part, targets, 8, seed, n_tried=3)
        right, _ = find_right(trees.starts, trees.feature)
        odds = np.full(n_rows, np.log(targets.mean() / (1.0 - targets.mean())))
        for root in trees.starts[:-1]:
            gradient = targets - 1.0 / (1.0 + np.exp(-odds))
            added = np.full(n_rows, np.nan)
            waiting = [(root, np.arange(n_rows), 0)]
            while waiting:
                node, rows, level = waiting.pop()
                column = trees.feature[node]
                best = oracle.best_worth(part[rows], gradient[rows], boosting.L2)
                if column < 0:
                    assert level == boosting.DEPTH or best is None
                    how = boosting.L2, boosting.NEWTON_STEPS, boosting.LONGEST_STEP
                    leaf = oracle.solve_leaf(targets[rows], odds[rows], *how)
                    value = boosting.LEARNING_RATE * leaf
                    assert trees.value[node] == pytest.approx(value, rel=1e-9, abs=1e-12)
                    added[rows] = value
                    continue
                left = part[rows, column] <= trees.threshold[node]
                assert oracle.worth(gradient[rows], left, boosting.L2) == pytest.approx(best)
                waiting += [(node + 1, rows[left], level + 1),
                            (right[node], rows[~left], level + 1)]  # fmt: skip
            odds += added
        start = np.log(targets.mean() / (1.0 - targets.mean()))
        assert_allclose(odds_of(trees, part), odds - start, rtol=1e-9, atol=1e-12)


def test_the_first_trees_are_those_of_fewer():
    part, targets = draw()
    many, few = (grow_boosted(part, targets, n, 3) for n in (30, 7))
    assert_array_equal(odds_of(many.keep_per_group(1, 7), part), odds_of(few, part))


def test_seeds_matter():
    part, targets = draw()
    found = [odds_of(grow_boosted(part, targets, 20, seed), part) for seed in (0, 0, 1)]
    assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize(("name", "value"), [("NOISE", 0.0), ("ROW_SHARE", 1.0)])
def test_randomness_matters(name, value, monkeypatch):
    part, targets = draw()
    found = odds_of(grow_boosted(part, targets, 20, 0), part)
    monkeypatch.setattr(boosting, name, value)
    assert (odds_of(grow_boosted(part, targets, 20, 0), part) != found).any()


def test_the_number_of_tried_columns_matters():
    part, targets = draw()
    found = odds_of(grow_boosted(part, targets, 20, 0), part)
    assert (odds_of(grow_boosted(part, targets, 20, 0, n_tried=3), part) != found).any()


def test_cuts_are_between_rows_and_depend_on_order_alone():
    """Whatever grows with a column gives the same trees but for the places of their cuts."""
    part, targets = draw(500, 4)
    trees = grow_boosted(part, targets, 20, 0)
    other = grow_boosted(np.exp(part), targets, 20, 0)
    assert_array_equal(trees.feature, other.feature)
    assert_array_equal(odds_of(trees, part), odds_of(other, np.exp(part)))


def test_the_column_that_matters_comes_first():
    random = np.random.default_rng(0)
    targets = (np.arange(400) < 60).astype(float)
    part = random.normal(size=(400, 6)).astype(np.float32)
    part[:60, 2] += 3.0
    trees = grow_boosted(part, targets, 50, 0, n_tried=6)
    assert (trees.feature[trees.starts[:10]] == 2).all()
    odds = odds_of(trees, part)
    assert odds[:60].mean() > 1.0
    assert odds[60:].mean() < -1.0


@pytest.mark.parametrize(
    "values", [[0.0], [1.0, 1.0], [-3.4e38, 3.4e38], [0.0, 1e-45], [1e-30, 1.0, 1e30]]
)
def test_odd_columns(values):
    part = np.resize(np.array(values, dtype=np.float32), (40, 1))
    targets = (np.arange(40) % 2).astype(float)
    trees = grow_boosted(part, targets, 50, 0)
    again = unpack_trees(pack_trees(trees)[1], "a")
    assert_array_equal(again.feature, trees.feature)
    odds = odds_of(trees, part)
    assert np.isfinite(odds).all()
    if len(values) == 2 and values[0] < values[1]:
        assert odds[1] > 2.0 > -2.0 > odds[0]


@pytest.mark.parametrize(
    ("outliers", "inliers"), [((60, 40), (60, 3940)), ((300, 200), (300, 19700))]
)
def test_large_leaves_of_both_classes(outliers, inliers):
    """Newton steps as they are would swing to and fro, and end with the wrong sign."""
    flagged = np.repeat([1, 0, 1, 0], [*outliers, *inliers]).astype(np.float32)
    targets = np.repeat([1.0, 0.0], [sum(outliers), sum(inliers)])
    part = flagged[:, np.newaxis]
    losses = []
    for n_trees in range(1, 101, 9):
        odds = odds_of(grow_boosted(part, targets, n_trees, 0), part)
        odds += np.log(targets.mean() / (1.0 - targets.mean()))
        losses.append((np.logaddexp(0.0, odds) - targets * odds).mean())
    assert (np.diff(losses) < 1e-9).all()
    true = [np.log(outliers[0] / inliers[0]), np.log(outliers[1] / inliers[1])]
    assert_allclose(odds[[0, -1]], true, atol=0.1)


def test_constant_columns_take_no_place():
    part, targets = draw(300, 3)
    wide = np.zeros((300, 100), np.float32)
    wide[:, [5, 50, 99]] = part
    trees, of_wide = (grow_boosted(table, targets, 30, 0) for table in (part, wide))
    assert_array_equal(odds_of(trees, part), odds_of(of_wide, wide))
    assert set(of_wide.feature[of_wide.feature >= 0].tolist()) == {5, 50, 99}


def test_many_trees_of_a_bag_that_is_separable():
    part = np.arange(2000, dtype=np.float32)[:, np.newaxis]
    trees = grow_boosted(part, (part[:, 0] == 1999.0).astype(float), 1000, 0)
    odds = odds_of(trees, part)
    assert np.isfinite(odds).all()
    assert odds[-1] == odds.max() > 3.0


def test_edges():
    assert find_edges(np.array([5, 5, 5], dtype=np.float32)).tolist() == []
    column = np.sort(np.random.default_rng(0).normal(size=1000)).astype(np.float32)
    edges = find_edges(column)
    assert edges.dtype == np.float32
    assert len(edges) == MAX_BINS - 1
    sizes = np.bincount(np.searchsorted(edges, column))
    assert sizes.min() >= 1000 // MAX_BINS - 1
    assert sizes.max() <= 1000 // MAX_BINS + 2
    neighbors = np.array([1.0, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32)
    assert np.searchsorted(find_edges(neighbors), neighbors).tolist() == [0, 1]


def test_edges_where_one_value_is_most_of_a_column():
    column = np.sort(np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])).astype(np.float32)
    edges = find_edges(column)
    assert edges[0] == 0.5
    assert len(edges) < MAX_BINS
    assert len(np.unique(edges)) == len(edges)
