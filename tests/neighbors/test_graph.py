"""The neighbor graph: who is left out, ties at the end of lists, reverse neighbors."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from boreod.neighbors import KnownRows, NeighborGraph, TrainingGraph
from boreod.parallel import Threads


def graph_of(points, k, reverse_k=0, backend="brute", threads=1):
    ks = tuple(sorted({1, k, *([reverse_k] if reverse_k else [])}))
    graph = NeighborGraph.build(points, ks, reverse_k, "euclidean", backend)
    return TrainingGraph.build(graph, Threads(threads))


def test_no_row_is_its_own_neighbor(grid):
    graph = graph_of(grid, 20)
    distances, indices = graph.distances, graph.indices
    assert not (indices == np.arange(len(grid))[:, None]).any()
    assert (np.diff(distances, axis=1) >= 0).all()
    assert [len(set(row)) for row in indices.tolist()] == [20] * len(grid)


def test_as_many_neighbors_as_there_are(rows):
    indices = graph_of(rows, len(rows) - 1).indices
    assert_array_equal(np.sort(indices[5]), np.delete(np.arange(len(rows)), 5))


@pytest.mark.parametrize("table", ["rows", "grid"])
@pytest.mark.parametrize("backend", ["brute", "tree"])
def test_reverse_neighbors_of_training_rows(table, backend, request):
    """Turned-around lists, or a search where lists end in ties: the same rule."""
    points = request.getfixturevalue(table)
    k = 7
    graph = graph_of(points, 12, k, backend)
    block = graph.block(slice(0, len(graph.distinct)))
    reverse = block.reverse
    assert_array_equal(
        points[block.own],
        np.unique(points, axis=0)[np.argsort(np.unique(points, axis=0, return_index=True)[1])],
    )
    distances = cdist(points, points)
    radii = graph.distances[:, k - 1]
    expected = distances <= radii
    np.fill_diagonal(expected, False)
    expected = expected[block.own]
    assert_array_equal(reverse[1], np.nonzero(expected)[1])
    assert_array_equal(np.diff(reverse[0]), expected.sum(axis=1))


def test_copies_share_one_search(grid):
    """Lists of copies are those of an ordinary search, each without the row itself."""
    points = np.vstack([grid, np.repeat(grid[:3], 30, axis=0)])
    graph = graph_of(points, 15)
    expected = cdist(points, points)
    np.fill_diagonal(expected, np.inf)
    order = np.argsort(expected, axis=1, kind="stable")[:, :15]
    assert_array_equal(graph.indices, order)
    assert_array_equal(graph.distances, np.take_along_axis(expected, order, axis=1))


def test_blocks_and_threads_change_nothing(rows, monkeypatch):
    import boreod.neighbors.graph as module

    before = graph_of(rows, 20, 20)
    monkeypatch.setattr(module, "SEARCH_ROWS", 7)
    after = graph_of(rows, 20, 20, threads=3)
    assert_array_equal(after.distances, before.distances)
    assert_array_equal(after.indices, before.indices)
    everyone = slice(0, len(rows))
    for mine, theirs in zip(*(g.block(everyone).reverse for g in (before, after)), strict=True):
        assert_array_equal(mine, theirs)


def test_known_rows():
    points = np.array([[1.0, 0.0], [2.0, -0.0], [1.0, 0.0], [3.0, 5.0]])
    known = KnownRows(points)
    queries = np.array([[1.0, -0.0], [2.0, 0.0], [3.0, 5.0], [3.0, 5.000001]])
    assert known.find(queries).tolist() == [0, 1, 3, -1]


def test_known_rows_with_equal_hashes(monkeypatch):
    import boreod.neighbors.known_rows as module

    points = np.arange(20.0).reshape(10, 2)
    known = KnownRows(points)
    bits = points[3:4].view(np.uint64)
    hashes = np.repeat(module._hash_rows(bits), 10)
    found = module._find(points, hashes, np.arange(10), points[3:4], bits)
    assert found.tolist() == [3]
    assert known.find(points).tolist() == list(range(10))


def test_different_rows_with_the_same_hash_are_distinct():
    """A second column that makes up for what the first one does to the hash."""
    import boreod.neighbors.known_rows as module

    def state(value):
        return module.hash_rows([[value]]).view(np.uint64)[0]

    points = np.array([[1.0, 2.0], [4.0, 0.0], [1.0, 2.0]])
    bits = points.view(np.uint64)
    with np.errstate(over="ignore"):
        bits[1, 1] = bits[0, 1] ^ state(1.0) ^ state(4.0)
    assert np.isfinite(points).all()
    known = KnownRows(points)
    assert len(set(module.hash_rows(points).tolist())) == 1
    assert known.find(points).tolist() == [0, 1, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_distinct_rows(n):
    points = np.random.default_rng(0).integers(0, 5, (n, 3)).astype(float)
    points[::2] *= -1.0  # -0.0 is the same as 0.0
    known = KnownRows(points)
    first = [next(i for i in range(n) if (points[i] == row).all()) for row in points]
    assert known.find(points).tolist() == first
    distinct, place = known.distinct()
    assert distinct.tolist() == sorted(set(first))
    assert distinct[place].tolist() == first


def test_row_equal_in_one_view_only_keeps_its_neighbor(rows):
    """A new row that agrees with a training row in some columns is still a new row."""
    from boreod import OutlierRepresentation, View

    view = View("pair", columns=(0, 1))
    model = OutlierRepresentation(["knn"], [1], views=[view], passthrough=False).fit(rows)
    twin_in_view = rows[[3]].copy()
    assert model.transform(twin_in_view)[0, 0] > 0
    twin_in_view[0, 3] += 1
    assert model.transform(twin_in_view)[0, 0] == 0
