"""Inverted lists: how much they find, of isolated rows too, and that nothing is left to chance."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod.neighbors import InvertedLists, NeighborGraph, is_exact, make_backend, measure_recall
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.faiss_ivf import FaissIVF
from boreod.neighbors.metrics import METRICS, embed
from boreod.parallel import Threads

pytest.importorskip("faiss")
K = 20


def clusters(n=6000, d=10):
    """Eight clusters and 1 % of scattered rows."""
    random = np.random.default_rng(3)
    points = random.normal(0, 5, (8, d))[random.integers(0, 8, n)] + random.normal(size=(n, d))
    points[: n // 100] = random.uniform(-20, 20, (n // 100, d))
    return points


@pytest.fixture(scope="module")
def points():
    return clusters()


@pytest.fixture(scope="module")
def backend(points):
    return make_backend("faiss-ivf", points, 0, K)


def radii_of(points, metric=0):
    return BruteForce(points, metric).nearest(points, K + 1)[0][:, -1]


def test_finds_nearly_all(points, backend):
    assert not is_exact(backend)
    assert backend.depth == K + 2
    recall = measure_recall(backend, points, 0, K, radii_of(points), seed=1)
    assert (recall.n_random, recall.n_isolated, recall.k) == (1000, 60, K)
    assert recall.random >= 0.99
    assert recall.isolated == 1.0
    assert backend.n_probe < backend.n_lists == int(4 * np.sqrt(6000))  # or it would prove nothing


def test_isolated_rows_are_exact_even_with_one_probe(points):
    poor = FaissIVF(points, 0, InvertedLists(n_probe=1), K + 1)
    recall = measure_recall(poor, points, 0, K, radii_of(points), seed=1)
    assert recall.random < 0.9
    assert recall.isolated == 1.0


def test_new_rows_from_elsewhere_are_exact(points, backend):
    rows = np.random.default_rng(0).uniform(-60, 60, (50, points.shape[1]))
    rows[0, 0] = 1e40  # beyond float32
    for mine, theirs in zip(
        backend.nearest(rows, K), BruteForce(points, 0).nearest(rows, K), strict=True
    ):
        assert_array_equal(mine, theirs)


def test_distances_are_true_and_in_order(points, backend):
    distances, indices = backend.nearest(points[:300], K)
    expected = np.linalg.norm(points[:300, None] - points[indices], axis=2)
    assert_allclose(distances, expected, rtol=1e-13)
    assert_array_equal(indices[:, 0], np.arange(300))
    assert_array_equal(distances[:, 0], 0)
    assert_array_equal(np.lexsort((indices, distances)), np.tile(np.arange(K), (300, 1)))


def test_cosine(points):
    rows = embed(points, METRICS["cosine"])
    backend = make_backend("faiss-ivf", rows, METRICS["cosine"], K)
    radii = radii_of(rows, METRICS["cosine"])
    recall = measure_recall(backend, rows, METRICS["cosine"], K, radii, seed=1)
    assert min(recall.random, recall.isolated) >= 0.99


def test_same_alone_in_blocks_and_with_threads(points, backend):
    whole = backend.nearest(points[:400], K)
    for row in (0, 1, 57, 399):
        alone = backend.nearest(points[row : row + 1], K)
        for mine, theirs in zip(alone, whole, strict=True):
            assert_array_equal(mine[0], theirs[row])
    blocks = [slice(start, start + 37) for start in range(0, 400, 37)]
    parts = Threads(4).map(lambda rows: backend.nearest(points[:400][rows], K), blocks, "search")
    for mine, theirs in zip(zip(*parts, strict=True), whole, strict=True):
        assert_array_equal(np.concatenate(mine), theirs)


def test_built_twice_is_built_alike(points, backend):
    again = make_backend(InvertedLists(), points, 0, K)
    assert again.settings == backend.settings
    assert_array_equal(again._home, backend._home)
    given = make_backend(backend.settings, points, 0, K)
    for mine, theirs in zip(
        given.nearest(points[:500], K), backend.nearest(points[:500], K), strict=True
    ):
        assert_array_equal(mine, theirs)


def test_survives_pickling(points, backend):
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.settings == backend.settings
    radii = radii_of(points)
    mine, theirs = (b.nearest_and_reverse(points[:200], K, radii) for b in (copy, backend))
    for one, other in zip((*mine[:2], *mine[2]), (*theirs[:2], *theirs[2]), strict=True):
        assert_array_equal(one, other)


def test_short_lists_begin_long_ones(points):
    """Training rows are searched one deeper than new rows; both must see the same."""
    poor = make_backend(InvertedLists(n_probe=2), points, 0, K)
    long, short = (poor.nearest(points[:500], k) for k in (K + 2, K + 1))
    assert_array_equal(long[0][:, :-1], short[0])
    assert_array_equal(long[1][:, :-1], short[1])


def test_reverse_neighbors_are_exact(points, backend):
    radii = radii_of(points)
    *lists, reverse = backend.nearest_and_reverse(points[:200], K, radii)
    for mine, theirs in zip(lists, backend.nearest(points[:200], K), strict=True):
        assert_array_equal(mine, theirs)
    _, _, expected = BruteForce(points, 0).nearest_and_reverse(points[:200], 1, radii)
    for mine, theirs in zip(reverse, expected, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "table",
    [
        np.ones((300, 3)),
        np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 30, axis=0),
        np.random.default_rng(0).integers(0, 4, (700, 4)).astype(float),
        np.random.default_rng(0).normal(1e6, 1, (500, 1)),
        np.random.default_rng(0).normal(size=(5, 2)),
        np.zeros((1, 2)),
    ],
    ids=["equal", "copies", "integers", "far away", "few", "one"],
)
def test_strange_tables(table, capfd):
    k = min(K, len(table))
    distances, indices = make_backend("faiss-ivf", table, 0, k).nearest(table, k)
    expected, _ = BruteForce(table, 0).nearest(table, k)
    assert (distances <= expected[:, -1:]).mean() >= 0.99
    assert all(len(set(row)) == k for row in indices.tolist())
    assert capfd.readouterr() == ("", "")


def test_pilot_probes_more_when_more_is_wanted(points):
    n_probe = [
        FaissIVF(points, 0, InvertedLists(min_recall=least), K + 1).n_probe
        for least in (0.5, 0.999)
    ]
    assert n_probe[0] < n_probe[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_lists": 0}, "`n_lists` must be a positive integer, or None.*got 0"),
        ({"n_probe": 2.5}, "`n_probe` must be a positive integer"),
        ({"n_probe": True}, "`n_probe` must be a positive integer"),
        ({"min_recall": 1.1}, "`min_recall` must be a number from 0 to 1; got 1.1"),
        ({"n_lists": 301}, "`n_lists` must be at most 300, the number of reference rows; got 301"),
        ({"n_lists": 8, "n_probe": 9}, "`n_probe` must be at most 8, the number of lists; got 9"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    table = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(ValueError, match=message):
        FaissIVF(table, 0, InvertedLists(**settings))


def test_graph(points):
    graph = NeighborGraph(points[:3000], (5, K), K, "euclidean", "faiss-ivf", Threads(2))
    distances, indices = graph.lists
    assert not (indices == np.arange(3000)[:, None]).any()
    truth = BruteForce(points[:3000], 0).nearest(points[:3000], K + 1)[0]
    assert (distances <= truth[:, -1:]).mean() >= 0.99
