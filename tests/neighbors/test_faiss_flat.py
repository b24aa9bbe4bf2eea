"""The flat index of faiss: what its candidates prove, and what is searched again."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod.neighbors import BACKENDS, METRICS, NeighborGraph
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.faiss_flat import FaissFlat
from boreod.neighbors.metrics import embed
from boreod.neighbors.rounded import RoundedTable
from boreod.parallel import Threads

faiss = pytest.importorskip("faiss")
ONE_WAY, OTHER_WAY = sys.maxsize >> 33, 1  # sizes of a search from which faiss uses inner products


@pytest.fixture(params=[ONE_WAY, OTHER_WAY], ids=["differences", "inner products"])
def way(request, monkeypatch):
    """Both ways in which faiss computes a distance, whatever this version prefers."""
    monkeypatch.setattr(faiss.cvar, "distance_compute_blas_threshold", request.param)


def assert_same_as_brute_force(backend, rows, k):
    expected = BruteForce(backend.points, backend.metric).nearest(rows, k)
    for mine, theirs in zip(backend.nearest(rows, k), expected, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 33])
@pytest.mark.parametrize("k", [1, 40, 150])
def test_ordinary_tables_are_proven(metric, d, k):
    points = embed(np.random.default_rng(d).normal(size=(1500, d)), METRICS[metric])
    backend = FaissFlat(points, METRICS[metric])
    assert_same_as_brute_force(backend, points[:200], k)
    assert backend._brute is None  # not one row was searched again


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-9])
def test_tight_clusters_far_from_each_other(spread):
    """Distances are small beside lengths, and float32 cannot tell them apart."""
    random = np.random.default_rng(1)
    centers = np.repeat(random.normal(size=(4, 6)), 250, axis=0)
    points = centers + random.normal(0, spread, (1000, 6))
    assert_same_as_brute_force(FaissFlat(points, 0), points[::5], 30)


def test_what_float32_cannot_tell_is_searched_again(monkeypatch):
    monkeypatch.setattr(faiss.cvar, "distance_compute_blas_threshold", OTHER_WAY)
    random = np.random.default_rng(1)
    points = np.repeat([[-1.0], [1.0]], 500, axis=0) + random.normal(0, 1e-5, (1000, 4))
    backend = FaissFlat(points, 0)
    rounded, _ = backend._table.round(points[::5])
    _, candidates = backend._index.search(rounded, 30)
    truth = BruteForce(points, 0).nearest(points[::5], 30)[1]
    assert (np.sort(candidates) != np.sort(truth)).any()  # faiss alone is wrong here
    assert_same_as_brute_force(backend, points[::5], 30)
    assert backend._brute is not None


@pytest.mark.usefixtures("way")
def test_bound_holds_for_every_row():
    """No row within the proven length is missing from the candidates."""
    random = np.random.default_rng(5)
    points = random.normal(size=(800, 8)) * random.choice([1e-3, 1.0, 30.0], (800, 1))
    backend = FaissFlat(points, 0)
    rounded, lengths = backend._table.round(points)
    squares, candidates = backend._index.search(rounded, 20)
    proven = backend._complete_to(squares, lengths)
    assert (proven > 0).mean() > 0.9
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.put_along_axis(distances, candidates, np.inf, axis=1)
    assert (distances > proven[:, None]).all()


@pytest.mark.parametrize("distance", [1e4, 1e8, 1e30, 1e149])
def test_new_rows_far_away(distance):
    points = np.random.default_rng(0).normal(size=(500, 3))
    rows = np.array([[distance, 0.0, -distance], [0.0, 0.1, 0.2]])
    assert_same_as_brute_force(FaissFlat(points, 0), rows, 10)


def test_rounded_table_marks_what_it_cannot_hold():
    table = RoundedTable(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]))
    rounded, lengths = table.round(np.array([[4.0, 1.0], [1e300, 1.0]]))
    assert_array_equal(rounded, np.array([[1.0, 0.0], [0.0, 0.0]], np.float32))
    assert_array_equal(lengths, [1.0, np.inf])


def test_as_many_neighbors_as_rows():
    points = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    assert_same_as_brute_force(FaissFlat(points, 0), points, 60)


def test_survives_pickling():
    points = np.random.default_rng(0).normal(size=(300, 4))
    copy = pickle.loads(pickle.dumps(FaissFlat(points, 0)))
    assert_same_as_brute_force(copy, points[:20], 5)


def test_same_graph_with_threads():
    points = np.random.default_rng(0).normal(size=(1000, 5))
    plain, threaded = (
        NeighborGraph(points, (20,), 20, "euclidean", name, Threads(jobs))
        for name, jobs in (("brute", 1), ("faiss-flat", 3))
    )
    for mine, theirs in zip(plain.lists, threaded.lists, strict=True):
        assert_array_equal(mine, theirs)


def test_threads_of_faiss_are_as_before():
    points = np.random.default_rng(0).normal(size=(300, 4))
    before = faiss.omp_get_max_threads()
    FaissFlat(points, 0).nearest(points, 5)
    assert faiss.omp_get_max_threads() == before


@pytest.mark.parametrize("name", ["faiss-flat", "faiss-ivf"])
def test_manhattan_is_refused(name):
    with pytest.raises(
        ValueError, match=r"euclidean and cosine; got manhattan.*'brute' and 'tree'"
    ):
        BACKENDS[name](np.ones((30, 2)), METRICS["manhattan"])


@pytest.mark.parametrize("name", ["faiss-flat", "faiss-ivf"])
def test_missing_package(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install boreod\[ann\]"):
        BACKENDS[name](np.ones((30, 2)), 0)
