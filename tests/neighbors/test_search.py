"""Every back end of the registry against sorted distance matrices, ties and all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from boreod.neighbors import BACKENDS, METRICS, NeighborGraph, TrainingGraph
from boreod.neighbors.graph import choose_backend
from boreod.neighbors.metrics import embed
from boreod.parallel import Threads

RANDOM = np.random.default_rng(11)
TABLES = {
    "scattered": RANDOM.normal(size=(2500, 6)),
    "sorted": np.sort(RANDOM.normal(size=(2500, 3)), axis=0),
    "integers": RANDOM.integers(0, 4, (700, 4)).astype(float),
    "copies": np.repeat(RANDOM.normal(size=(40, 2)), 30, axis=0),
    "equal": np.ones((200, 3)),
    "one column": RANDOM.normal(size=(300, 1)),
    "far away": RANDOM.normal(1e6, 1, (600, 5)),
    "tiny": RANDOM.normal(0, 1e-6, (600, 5)),
    "outlying": np.vstack([RANDOM.normal(size=(600, 5)), np.full((1, 5), 1e9)]),
}
SCIPY_NAMES = {"euclidean": "sqeuclidean", "manhattan": "cityblock", "cosine": "sqeuclidean"}


def expected_neighbors(points, queries, metric, k):
    """Sort all distances by (distance, index); distances of integers are exact in any order."""
    distances = cdist(queries, points, SCIPY_NAMES[metric])
    indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(distances, indices, axis=1)
    return {"euclidean": np.sqrt(nearest), "cosine": nearest / 2}.get(metric, nearest), indices


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("k", [1, 7, 60])
def test_nearest(table, backend, metric, k):
    points = embed(TABLES[table], METRICS[metric])
    queries = points[::7]
    distances, indices = BACKENDS[backend](points, METRICS[metric]).nearest(queries, k)
    expected, expected_indices = expected_neighbors(points, queries, metric, k)
    assert_allclose(distances, expected, rtol=1e-12, atol=1e-15)
    if table in ("scattered", "integers", "equal") and metric != "cosine":
        assert_array_equal(indices, expected_indices)
    order = np.lexsort((indices, distances))
    assert_array_equal(order, np.tile(np.arange(k), (len(queries), 1)))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("backend", list(BACKENDS)[1:])
@pytest.mark.parametrize("table", TABLES)
def test_backends_agree_to_the_bit(table, backend, metric):
    points = embed(TABLES[table], METRICS[metric])
    typical = BACKENDS["brute"](points, METRICS[metric]).nearest(points, 20)[0][:, -1]
    radii = typical * np.random.default_rng(0).uniform(0.2, 1.5, len(points))
    searches = [BACKENDS[name](points, METRICS[metric]) for name in (backend, "brute")]
    mine, theirs = (
        search.nearest_and_reverse(points[::3], 30, search.reach(radii)) for search in searches
    )
    for one, other in zip((*mine[:2], *mine[2]), (*theirs[:2], *theirs[2]), strict=True):
        assert_array_equal(one, other)
    for k in (1, 30):
        lists = BACKENDS[backend](points, METRICS[metric]).nearest(points[::3], k)
        assert_array_equal(lists[0], theirs[0][:, :k])
        assert_array_equal(lists[1], theirs[1][:, :k])


@pytest.mark.parametrize("backend", BACKENDS)
def test_reverse_neighbors(backend):
    points = TABLES["integers"]
    radii = np.random.default_rng(0).integers(0, 3, len(points)).astype(float)
    queries = points[:50]
    search = BACKENDS[backend](points, 0)
    _, _, found = search.nearest_and_reverse(queries, 1, search.reach(radii))
    offsets, indices, distances = found
    covered = cdist(queries, points) <= radii
    assert_array_equal(np.diff(offsets), covered.sum(axis=1))
    assert_array_equal(indices, np.nonzero(covered)[1])
    assert_array_equal(distances, cdist(queries, points)[covered])


def test_guess_that_fails_is_repaired():
    """A sample of the table that sees only far rows must not lose the near ones."""
    far = RANDOM.normal(100, 1, (4096, 5))
    points = far.copy()
    points[1::4] = RANDOM.normal(0, 1, (1024, 5))  # never in the sample, which takes every fourth
    backend = BACKENDS["brute"](points, 0)
    distances, indices = backend.nearest(points[1:80:4], 200)
    expected, expected_indices = expected_neighbors(points, points[1:80:4], "euclidean", 200)
    assert_allclose(distances, expected, rtol=1e-12, atol=1e-14)
    assert_array_equal(indices, expected_indices)


def test_cosine_of_zero_rows():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [3.0, 0.0]])
    graph = TrainingGraph.build(NeighborGraph.build(points, (4,), 0, "cosine", "brute"), Threads(1))
    distances, indices = graph.distances, graph.indices
    assert_array_equal(indices[0], [3, 1, 2, 4])
    assert_allclose(distances[0], [0, 1, 1, 1])
    assert_array_equal(indices[1], [4, 0, 2, 3])


def test_the_choice_is_a_working_backend():
    points = RANDOM.normal(size=(2500, 3))
    backend = choose_backend(points, 0, 10)
    assert backend.name in BACKENDS
    assert backend.nearest(points[:5], 3)[1][:, 0].tolist() == [0, 1, 2, 3, 4]
