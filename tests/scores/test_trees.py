"""Trees in flat arrays do what scikit-learn's do, explain themselves, and refuse what is none."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.shapley import shapley
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, IsolationForest
from sklearn.tree import DecisionTreeRegressor

from boreod.persistence.members import pack_trees, unpack_trees
from boreod.scores.tree_kernels import narrow
from boreod.scores.trees import Trees, round_down

MODELS = {
    "extra trees": ExtraTreesRegressor(40, max_depth=7, random_state=0),
    "deep trees": ExtraTreesRegressor(12, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=30, random_state=0),
    "stumps": ExtraTreesRegressor(20, max_depth=1, random_state=0),
}
FOREST = ExtraTreesRegressor(24, max_depth=6, max_features=0.5, random_state=0)


def build(model):
    members = [member.tree_ for member in np.ravel(model.estimators_)]
    return Trees.build((tree, tree.value[:, 0, 0]) for tree in members)


def each(model, X):
    """Return what scikit-learn's trees say, (rows, trees)."""
    return np.column_stack([member.predict(X) for member in np.ravel(model.estimators_)])


def same(one, other):
    for field in fields(Trees):
        assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def check(trees):
    """A model file refuses arrays that are no trees, and gives the same trees back."""
    same(unpack_trees(pack_trees(trees)[1], "a"), trees)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 6))
    X[:, 4] = random.integers(0, 3, 300)
    return X, X[:, 0] * (X[:, 1] > 0) + X[:, 4] + random.normal(0, 0.1, 300)


@pytest.fixture(scope="module")
def trees(data):
    return build(FOREST.fit(*data))


@pytest.mark.parametrize("name", MODELS)
def test_same_leaves_as_scikit_learn(name, data):
    """Single trees are compared, so that no rounding of sums is in between."""
    model = MODELS[name].fit(*data)
    found = build(model)
    check(found)
    new = np.random.default_rng(4).normal(0, 2, size=(601, 6))
    for X in (data[0], new, new[:1], new[:5], new[:17]):
        assert_array_equal(found.add_up(X, found.n_trees), each(model, X))


def test_values_at_thresholds(data):
    """Also one step of float32 and one of float64 beside them."""
    model = MODELS["extra trees"].fit(*data)
    found = build(model)
    X = data[0].copy()
    of_column = [
        np.concatenate([e.tree_.threshold[e.tree_.feature == c] for e in model.estimators_])
        for c in range(6)
    ]
    for column, thresholds in enumerate(of_column):
        X[:, column] = np.resize(thresholds, len(X))
    narrowed = X.astype(np.float32)
    infinity = np.float32(np.inf)
    beside = [np.nextafter(narrowed, side).astype(np.float64) for side in (-infinity, infinity)]
    beside += [np.nextafter(X, side) for side in (-np.inf, np.inf)]
    for table in (X, narrowed.astype(np.float64), *beside):
        assert_array_equal(found.add_up(table, found.n_trees), each(model, table))


def test_isolation_forest(data):
    """Its trees have no value of their own; here a leaf stands for itself."""
    model = IsolationForest(n_estimators=50, random_state=0).fit(data[0])
    found = Trees.build((e.tree_, np.arange(e.tree_.node_count)) for e in model.estimators_)
    leaves = np.column_stack([e.tree_.apply(data[0].astype(np.float32)) for e in model.estimators_])
    assert_array_equal(found.add_up(data[0], 50), leaves)


def test_groups_are_sums_in_order(data, trees):
    single = trees.add_up(data[0], 24)
    for n_groups in (1, 4, 8):
        expected = np.zeros((300, n_groups))
        for tree in range(24):
            expected[:, tree * n_groups // 24] += single[:, tree]
        assert_array_equal(trees.add_up(data[0], n_groups), expected)


def test_a_row_does_not_depend_on_the_others(data, trees):
    X = np.vstack([data[0]] * 4)  # more than a block
    whole = trees.add_up(X, 3)
    for rows in (slice(0, 1), slice(7, 12), slice(7, 13), slice(510, 530), slice(1195, 1200)):
        assert_array_equal(trees.add_up(X[rows], 3), whole[rows])
    assert_array_equal(trees.add_up(np.asfortranarray(X), 3), whole)
    assert trees.add_up(X[:0], 3).shape == (0, 3)


def test_huge_values_go_where_large_ones_go(trees):
    large, huge = 3e38 * np.eye(6), 1e300 * np.eye(6)
    assert_array_equal(trees.add_up(huge), trees.add_up(large))
    assert_array_equal(trees.add_up(-huge), trees.add_up(-large))
    assert_array_equal(trees.add_up(5e-324 * np.eye(6)), trees.add_up(np.zeros((6, 6))))
    assert np.isfinite(narrow(np.array([[1e300, -1e300, 3.5e38, -np.inf]]))).all()


def test_thresholds_are_rounded_down():
    numbers = np.array([0.1, -0.1, 1e-46, -1e-46, 16777217.0, 0.5])
    rounded = round_down(numbers)
    assert rounded.dtype == np.float32
    above = np.nextafter(rounded, np.float32(np.inf)).astype(np.float64)
    assert (rounded.astype(np.float64) <= numbers).all()
    assert (above > numbers).all()
    assert np.isfinite(round_down(np.array([3.41e38, 1e300, -3.41e38, -1e300]))).all()


@pytest.mark.parametrize("name", MODELS)
def test_shares_are_those_of_all_subsets(name, data):
    model = MODELS[name].fit(*data)
    random = np.random.default_rng(8)
    X, base = random.normal(0, 2, size=(4, 6)), data[0].mean(axis=0)
    weights = random.normal(size=(4, 2))
    single = each(model, X).shape[1] // 2

    def weighted(of_row):
        return lambda table: each(model, table) @ np.repeat(of_row, single)

    expected = [shapley(weighted(w), row, base) for row, w in zip(X, weights, strict=True)]
    assert_allclose(build(model).contribute(X, base, weights), expected, rtol=1e-9, atol=1e-12)


def test_shares_add_up(data, trees):
    X, weights = np.vstack([data[0]] * 2), np.random.default_rng(0).uniform(-3, 3, (600, 8))
    base = np.full(6, 0.3)
    shares = trees.contribute(X, base, weights)
    difference = trees.add_up(X, 8) - trees.add_up(base.reshape(1, -1), 8)
    assert_allclose(shares.sum(axis=1), (weights * difference).sum(axis=1), rtol=1e-12, atol=1e-12)
    assert_array_equal(trees.contribute(X[590:591], base, weights[590:591]), shares[590:591])
    assert_array_equal(trees.contribute(base.reshape(1, -1), base, weights[:1]), np.zeros((1, 6)))


def test_very_many_columns_decide_on_one_path():
    """A chain of 1500 columns: factorials overflow, shares do not."""
    n = 1500
    feature = np.full(2 * n + 1, -1, np.int32)
    feature[0 : 2 * n : 2] = np.arange(n)
    value = np.zeros(2 * n + 1)
    value[-1] = 1.0  # all columns must be above their threshold
    starts, threshold = np.array([0, 2 * n + 1], np.int32), np.zeros(2 * n + 1, np.float32)
    chain = Trees(starts, feature, threshold, value)
    check(chain)
    shares = chain.contribute(np.ones((1, n)), np.zeros(n), np.ones((1, 1)))
    assert_allclose(shares, np.full((1, n), 1 / n), rtol=1e-12)
    chain = replace(chain, value=1.0 - value)
    assert_allclose(chain.contribute(np.zeros((1, n)), np.ones(n), np.ones((1, 1))), shares)


def test_first_trees_of_every_group(data, trees):
    kept = trees.keep_per_group(4, 2)
    check(kept)
    single = trees.add_up(data[0], 24)
    assert_array_equal(kept.add_up(data[0], 8), single[:, [0, 1, 6, 7, 12, 13, 18, 19]])
    same(trees.keep_per_group(4, 6), trees)
    for n in (0, 7):
        with pytest.raises(ValueError, match=f"from 1 to 6; got {n}"):
            trees.keep_per_group(4, n)
    with pytest.raises(ValueError, match="24 trees cannot be cut into 5 groups"):
        trees.keep_per_group(5, 1)


def test_what_travels_is_what_is_stored(data, trees):
    trees.add_up(data[0])
    sent = pickle.dumps(trees)
    n_bytes = sum(getattr(trees, field.name).nbytes for field in fields(Trees))
    assert len(sent) < n_bytes + 2000
    same(pickle.loads(sent), trees)
    assert n_bytes == 16 * trees.n_nodes + 4 * 25
    assert trees.depths.max() == 6


def test_a_tree_can_be_one_leaf():
    model = DecisionTreeRegressor().fit(np.zeros((5, 2)), np.ones(5))
    found = Trees.build([(model.tree_, [2.5])] * 20)
    check(found)
    assert_array_equal(found.add_up(np.zeros((3, 1)), 2), np.full((3, 2), 25.0))
    assert not found.contribute(np.ones((2, 2)), np.zeros(2), np.ones((2, 4))).any()


def test_parts_and_the_whole(data, trees):
    parts = [trees.keep_per_group(1, 5), trees.keep_per_group(1, 24), trees.keep_per_group(1, 1)]
    joined = Trees.join(parts)
    check(joined)
    assert joined.n_trees == 30
    rows = data[0]
    assert_allclose(joined.add_up(rows), sum(part.add_up(rows) for part in parts), rtol=1e-12)
    assert_array_equal(trees.keep_per_group(1, 8).add_up(rows)[:, 0], trees.add_up(rows, 3)[:, 0])
    assert_array_equal(Trees.join([trees]).add_up(rows), trees.add_up(rows))


def test_calls_that_do_not_fit(data, trees):
    with pytest.raises(ValueError, match=r"at least 6 columns; got \(300, 5\)"):
        trees.add_up(data[0][:, :5])
    with pytest.raises(ValueError, match="24 trees cannot be cut into 0 groups"):
        trees.add_up(data[0], 0)
    with pytest.raises(ValueError, match="no tree"):
        Trees.build([])
    with pytest.raises(ValueError, match="no tree"):
        Trees.join([])
