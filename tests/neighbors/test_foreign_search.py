"""Searches of other libraries: good ones, careless ones and wrong ones."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from boreod.neighbors import (
    ForeignNeighbors,
    RecallError,
    check_recall,
    is_exact,
    make_backend,
    measure_recall,
)
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.metrics import METRICS, embed
from boreod.parallel import Threads

K = 12


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(4)
    return np.vstack([random.normal(size=(500, 4)), random.uniform(-9, 9, (20, 4))])


class Careless(BaseEstimator):
    """Only `transform`; repeats itself, and gives too few rows and fillers to every third row."""

    def __init__(self, n_neighbors=5, random_state=None):
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def fit(self, X):
        assert self.random_state is not None, "a seed must be set"
        self.search_ = NearestNeighbors().fit(X)
        return self

    def transform(self, X):
        distances, indices = self.search_.kneighbors(X, self.n_neighbors)
        offsets, columns, values = [0], [], []
        for row in range(len(X)):
            count = 3 if row % 3 == 0 else self.n_neighbors
            if row % 3 == 0:
                columns += [-1, len(self.search_._fit_X) + 7]  # fillers of some libraries
                values += [np.inf, np.nan]
            columns += [*indices[row, :count], indices[row, 0]]
            values += [*distances[row, :count], distances[row, 0]]
            offsets.append(len(columns))
        graph = csr_matrix((len(X), len(self.search_._fit_X)))
        graph.indptr, graph.indices, graph.data = map(np.array, (offsets, columns, values))
        return graph


class Wrong(BaseEstimator):
    """Any rows."""

    def fit(self, X):
        self.n_ = len(X)
        return self

    def kneighbors(self, X, n_neighbors):
        some = np.random.default_rng(0).integers(0, self.n_, (len(X), n_neighbors))
        return np.zeros(some.shape), some


def assert_same_as_brute_force(backend, rows, k):
    expected = BruteForce(backend.points, backend.metric).nearest(rows, k)
    for mine, theirs in zip(backend.nearest(rows, k), expected, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [KNeighborsTransformer, NearestNeighbors])
def test_exact_candidates_give_exact_neighbors(points, kind, metric):
    """Including ties: the rows are on a grid."""
    search = kind(metric="manhattan" if metric == "manhattan" else "euclidean")
    grid = embed(np.round(points * 2), METRICS[metric])
    backend = make_backend(search, grid, METRICS[metric], K)
    assert backend.name == "foreign"
    assert not is_exact(backend)
    distances, _ = backend.nearest(grid, K)
    assert_array_equal(distances, BruteForce(grid, METRICS[metric]).nearest(grid, K)[0])
    scattered = embed(points, METRICS[metric])
    backend = make_backend(search, scattered, METRICS[metric], K)
    assert_same_as_brute_force(backend, scattered, K)


def test_transform_without_kneighbors(points):
    class OnlyTransform(BaseEstimator):
        def __init__(self, n_neighbors=5):
            self.n_neighbors = n_neighbors

        def fit(self, X):
            self.inner_ = KNeighborsTransformer(n_neighbors=self.n_neighbors).fit(X)
            return self

        def transform(self, X):
            return self.inner_.transform(X)

    search = OnlyTransform()
    assert_same_as_brute_force(make_backend(search, points, 0, K), points, K)
    assert search.n_neighbors == 5  # the user's own object is as it was
    assert not hasattr(search, "inner_")


def test_too_few_neighbors_are_completed_exactly(points):
    backend = make_backend(Careless(), points, 0, K)
    assert_same_as_brute_force(backend, points, K)
    _, indices = backend.nearest(points, K)
    assert all(len(set(row)) == K for row in indices.tolist())


def test_wrong_search_is_found_out(points):
    backend = make_backend(Wrong(), points, 0, K)
    radii = backend.nearest(points, K + 1)[0][:, -1]
    recall = measure_recall(backend, points, 0, K, radii, seed=0)
    assert recall.random < 0.5
    with pytest.raises(RecallError, match=r"'foreign' found 0.* must be at least 0.99"):
        check_recall(recall, backend.min_recall, backend.name)


def test_reverse_neighbors_are_exact(points):
    radii = BruteForce(points, 0).nearest(points, K + 1)[0][:, -1]
    _, _, reverse = make_backend(Wrong(), points, 0, K).nearest_and_reverse(points, K, radii)
    _, _, expected = BruteForce(points, 0).nearest_and_reverse(points, 1, radii)
    for mine, theirs in zip(reverse, expected, strict=True):
        assert_array_equal(mine, theirs)


def test_threads_wait_for_a_search_that_may_not_bear_them(points):
    class Alone(NearestNeighbors):
        busy = False

        def kneighbors(self, X, n_neighbors):
            assert not self.busy
            self.busy = True
            found = super().kneighbors(X, n_neighbors)
            self.busy = False
            return found

    backend = make_backend(Alone(), points, 0, K)
    blocks = [slice(start, start + 10) for start in range(0, 520, 10)]
    parts = Threads(4).map(lambda rows: backend.nearest(points[rows], K)[1], blocks, "search")
    assert_array_equal(np.concatenate(parts), BruteForce(points, 0).nearest(points, K)[1])


def test_survives_pickling(points):
    for search in (KNeighborsTransformer(), Careless()):
        copy = pickle.loads(pickle.dumps(make_backend(search, points, 0, K)))
        assert_same_as_brute_force(copy, points, K)


def test_how_good_it_must_be(points):
    search = ForeignNeighbors(Wrong(), min_recall=0.1)
    assert make_backend(search, points, 0, K).min_recall == 0.1
    with pytest.raises(ValueError, match="`min_recall` must be a number from 0 to 1; got 'high'"):
        ForeignNeighbors(Wrong(), min_recall="high")
    with pytest.raises(ValueError, match=r"must have `fit` and `kneighbors`.*got 3"):
        ForeignNeighbors(3)


def test_dense_graph_is_refused(points):
    class Dense(Careless):
        def transform(self, X):
            return np.ones((len(X), self.n_neighbors))

    with pytest.raises(ValueError, match=r"must return a sparse graph.*got ndarray"):
        make_backend(Dense(), points[:40], 0, 3).nearest(points[1:2], 3)


def test_lists_of_another_shape_are_refused(points):
    class Flat(Wrong):
        def kneighbors(self, X, n_neighbors):
            return None, np.zeros(len(X))

    with pytest.raises(ValueError, match=r"row numbers for each of 5 rows; got .* shape \(5,\)"):
        make_backend(Flat(), points, 0, K).find_candidates(points[:5], 3)
