"""Searches of other libraries: good ones, careless ones and wrong ones, and how they are judged.

Recall is compared with numbers found by hand.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from boreod import OutlierRepresentation
from boreod.neighbors import (
    ForeignNeighbors,
    NeighborGraph,
    Recall,
    RecallError,
    TrainingGraph,
    make_backend,
)
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.foreign import measure_recall, most_isolated
from boreod.neighbors.metrics import METRICS, embed
from boreod.parallel import Threads

K = 12
LINE = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 20.0])[:, np.newaxis]


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

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X):
        self.n_ = len(X)
        return self

    def transform(self, X):
        some = np.random.default_rng(0).integers(0, self.n_, len(X) * self.n_neighbors)
        offsets = np.arange(0, len(some) + 1, self.n_neighbors)
        return csr_matrix((np.zeros(len(some)), some, offsets), (len(X), self.n_))


def assert_same_as_brute_force(backend, rows, k):
    expected = BruteForce(backend.points, backend.metric).nearest(rows, k)
    for mine, theirs in zip(backend.nearest(rows, k), expected, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize("metric", METRICS)
def test_exact_candidates_give_exact_neighbors(points, metric):
    """Including ties: the rows are on a grid."""
    search = KNeighborsTransformer(metric="manhattan" if metric == "manhattan" else "euclidean")
    grid = embed(np.round(points * 2), METRICS[metric])
    backend = make_backend(search, grid, METRICS[metric], K)
    assert backend.name == "foreign"
    distances, _ = backend.nearest(grid, K)
    assert_array_equal(distances, BruteForce(grid, METRICS[metric]).nearest(grid, K)[0])
    scattered = embed(points, METRICS[metric])
    backend = make_backend(search, scattered, METRICS[metric], K)
    assert_same_as_brute_force(backend, scattered, K)


def test_the_object_itself_stays_as_it_was(points):
    search = Wrong()
    make_backend(search, points, 0, K)
    assert search.n_neighbors == 5
    assert not hasattr(search, "n_")


def test_too_few_neighbors_are_completed_exactly(points):
    backend = make_backend(Careless(), points, 0, K)
    assert_same_as_brute_force(backend, points, K)
    _, indices = backend.nearest(points, K)
    assert all(len(set(row)) == K for row in indices.tolist())


def test_isolated_rows_are_exact_whatever_is_proposed(points):
    """Also new rows from elsewhere, whose neighbors are all far away."""
    backend = make_backend(Wrong(), points, 0, K)
    radii = backend.nearest(points, K + 1)[0][:, -1]
    assert_same_as_brute_force(backend, points[most_isolated(radii)[:5]], K)
    assert_same_as_brute_force(backend, np.full((3, 4), 40.0), K)


def test_short_lists_begin_long_ones(points):
    """Training rows are searched one deeper than new rows; both must see the same."""
    backend = make_backend(Wrong(), points, 0, K)
    long, short = (backend.nearest(points, k) for k in (K + 2, K + 1))
    assert_array_equal(long[0][:, :-1], short[0])
    assert_array_equal(long[1][:, :-1], short[1])


def test_wrong_search_is_refused_with_its_figures(points):
    def build(search):
        graph = NeighborGraph.build(points, (5, K), K, "euclidean", search)
        return TrainingGraph.build(graph, Threads(1)).graph

    with pytest.raises(RecallError, match=r"Wrong\(\) found 0\.\d+ of ") as said:
        build(Wrong())
    for part in ("both must be at least 0.99.", f"the {K} nearest", "min_recall", "'auto'"):
        assert part in str(said.value)
    recall = build(ForeignNeighbors(Wrong(), 0.05)).recall
    assert 0.05 <= recall.random < 0.5


def test_recall_is_told_and_kept(points, capsys):
    search = KNeighborsTransformer()
    views = ("full", "sample:300")
    model = OutlierRepresentation(["knn"], [5], views=views, neighbors=search).fit(points)
    assert model.recall_ == {"": Recall(1.0, 1.0, 10)}  # samples are searched exactly
    assert capsys.readouterr().err == (
        "KNeighborsTransformer() found 1.0000 of the 10 nearest neighbors of random rows and "
        "1.0000 of those of the most isolated rows.\n"
    )
    assert OutlierRepresentation(["knn"], [5]).fit(points).recall_ == {}


def test_training_rows_come_back_as_they_were(points):
    for search in (KNeighborsTransformer(), ForeignNeighbors(Wrong(), 0.05)):
        model = OutlierRepresentation(["knn", "lof", "odin"], [5], neighbors=search)
        assert_array_equal(model.fit_transform(points), model.transform(points))


def test_reverse_neighbors_are_exact(points):
    radii = BruteForce(points, 0).nearest(points, K + 1)[0][:, -1]
    _, _, reverse = make_backend(Wrong(), points, 0, K).nearest_and_reverse(points, K, radii)
    _, _, expected = BruteForce(points, 0).nearest_and_reverse(points, 1, radii)
    for mine, theirs in zip(reverse, expected, strict=True):
        assert_array_equal(mine, theirs)


def test_threads_wait_for_a_search_that_may_not_bear_them(points):
    class Alone(KNeighborsTransformer):
        busy = False

        def transform(self, X):
            assert not self.busy
            self.busy = True
            found = super().transform(X)
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


def test_settings_that_cannot_be():
    with pytest.raises(ValueError, match="`min_recall` must be a number from 0 to 1; got 'high'"):
        ForeignNeighbors(Wrong(), min_recall="high")


def test_what_is_no_graph_is_refused(points):
    class Dense(Wrong):
        def transform(self, X):
            return np.ones((len(X), self.n_neighbors))

    class Short(Wrong):
        def transform(self, X):
            return super().transform(X)[:3]

    for search, got in ((Dense(), r"ndarray of shape \(40, 21\)"), (Short(), r"\(3, 40\)")):
        with pytest.raises(ValueError, match=rf"a sparse graph.* each of 40 rows.*got.*{got}"):
            make_backend(search, points[:40], 0, 3)


class Forgetful(BruteForce):
    """Never finds the row it is told to forget."""

    forgotten = 1

    def nearest(self, rows, k):
        distances, indices = super().nearest(rows, len(self.points))
        keep = indices != self.forgotten
        keep[(rows == self.points[self.forgotten]).all(axis=1)] = True
        places = np.argsort(~keep, axis=1, kind="stable")[:, :k]
        return tuple(np.take_along_axis(a, places, axis=1) for a in (distances, indices))


def test_recall_by_hand():
    """Without row 1, rows 0, 2, 3 miss one of their two neighbors; 4 and 5 never had it.

    Row 0 has 1, 2 (at 1 and 2) and gets 2, 3 (at 2 and 3): one of two. Row 2 has 1, 3 and gets
    3, 0 (at 1 and 2): one of two. Row 3 has 2, 1 and gets 2, 0: one of two.
    """
    radii = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    recall = measure_recall(Forgetful(LINE, 0), BruteForce(LINE, 0), 2, radii)
    assert recall == Recall(random=9 / 12, isolated=9 / 12, k=2)


def test_only_isolated_rows_suffer():
    """Mean recall hides them: two far rows of 2000 that are near each other only."""
    points = np.random.default_rng(0).normal(size=(2000, 2))
    points[[7, 8]] = [[50.0, 0.0], [50.5, 0.0]]
    backend = Forgetful(points, 0)
    backend.forgotten = 8
    brute = BruteForce(points, 0)
    recall = measure_recall(backend, brute, 1, brute.nearest(points, 2)[0][:, -1])
    assert recall.isolated == pytest.approx(19 / 20)
    assert recall.random > 0.998


def test_ties_do_not_count_against_a_search():
    """Of several rows at the same distance it may take any."""

    class LastFirst(BruteForce):
        def nearest(self, rows, k):
            distances, indices = super().nearest(rows, len(self.points))
            order = np.lexsort((-indices, distances))[:, :k]
            return tuple(np.take_along_axis(a, order, axis=1) for a in (distances, indices))

    cross = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    backend = LastFirst(cross, 0)
    assert backend.nearest(cross[:1], 3)[1].tolist() == [[0, 4, 3]]
    assert measure_recall(backend, BruteForce(cross, 0), 2, np.ones(5)).random == 1.0


def test_who_is_isolated():
    radii = np.random.default_rng(0).permutation(3000).astype(float)
    assert np.array_equal(np.sort(radii[most_isolated(radii)]), np.arange(2970.0, 3000.0))
    assert len(most_isolated(radii[:40])) == 10
    assert len(most_isolated(radii[:4])) == 4
    many = most_isolated(-np.arange(250_000.0))
    assert (len(many), many[0], many[-1]) == (1000, 0, 2499)
    assert np.diff(many).min() >= 2
    assert np.diff(many).max() <= 3


def test_shares_are_rounded_down():
    recall = Recall(random=0.999, isolated=0.98996, k=100)
    assert "found 0.9990 of the 100" in str(recall)
    assert "0.9899 of those" in str(recall)
