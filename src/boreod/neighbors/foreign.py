"""Neighbor searches of other libraries: candidates from there, distances and order from here.

An approximate search that finds 99 % of all neighbors may find far fewer of those of outliers. But
it never understates the k-distance of a row, because it can only miss near rows. So a row whose
k-distance is beyond a limit that few reference rows exceed may be isolated, and is searched again
by brute force: reference rows and new ones alike. What is found then is measured, on random rows
and on the most isolated ones, and the lower of the two shares counts.
"""

import threading
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.metrics import finish, reduced_distance
from boreod.text import shorten

SAMPLE = 2000  # reference rows that show how far neighbors usually are
USUAL = 0.97  # share of them whose k-distance is not taken for an isolated row's
MAX_MEASURED = 1000  # random rows, and isolated ones, whose recall is measured
ISOLATED = 0.01  # share of the reference rows, but at least
MIN_ISOLATED = 10
SEED = 0  # the same rows in every process
NOBODY = -1  # in the place of a candidate
ONE_AT_A_TIME = threading.Lock()  # not every library can be asked by several threads at once


class RecallError(ValueError):
    """A search misses more neighbors than is allowed."""


@dataclass(frozen=True)
class Recall:
    """Shares of the true ``k`` neighbors that were found, for random and for isolated rows."""

    random: float
    isolated: float
    k: int

    def __str__(self) -> str:
        """Say it in a sentence, rounded down."""
        random, isolated = (np.floor(1e4 * x) / 1e4 for x in (self.random, self.isolated))
        return (
            f"found {random:.4f} of the {self.k} nearest neighbors of random rows and "
            f"{isolated:.4f} of those of the most isolated rows"
        )


@dataclass(frozen=True)
class ForeignNeighbors:
    """A neighbor search of another library, and how good it must be.

    Parameters
    ----------
    search
        An object like scikit-learn's ``KNeighborsTransformer``: ``fit(X)``, ``transform(X)``, which
        returns a sparse graph of distances, and a parameter ``n_neighbors``. A copy of it is
        fitted; for the metric manhattan it must be set to that metric.
    min_recall
        Least share of the true neighbors that must be found, of random rows and of the most
        isolated ones.
    """

    search: Any
    min_recall: float = 0.99

    def __post_init__(self) -> None:
        least = self.min_recall
        if not isinstance(least, Real) or isinstance(least, bool) or not 0 <= least <= 1:
            raise ValueError(f"`min_recall` must be a number from 0 to 1; got {shorten(least)}.")


def is_foreign_search(search: Any) -> bool:
    """Tell whether an object can be asked for neighbors."""
    methods = ("fit", "transform", "get_params")
    can = not isinstance(search, type) and all(hasattr(search, name) for name in methods)
    return can and "n_neighbors" in search.get_params()


class ForeignSearch:
    """Neighbors among the candidates of another library, for lists of length ``k``."""

    name = "foreign"

    def __init__(self, points: NDArray, metric: int, settings: ForeignNeighbors, k: int) -> None:
        self.points, self.metric, self.settings = points, metric, settings
        self.brute = BruteForce(points, metric)
        self.order, n = self.brute.order, len(points)
        # Training rows are searched to k + 2 (themselves, and one that tells ties), new rows to
        # k or k + 1; always to the same depth, or their lists could differ. Some more are asked
        # for: distances in float32 may change places with the next ones.
        self.depth = min(k + 2, n)
        self._fitted = _copy(settings.search, min(n, self.depth + self.depth // 8 + 16)).fit(points)
        sample = np.random.default_rng(SEED).choice(n, min(SAMPLE, n), replace=False)
        radii = np.sort(self._near(points[sample])[0][:, -1])
        self._limit = radii[int(USUAL * (len(radii) - 1))]

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return ``k`` near reference rows, at most ``depth``: distances and indices, in order."""
        distances, indices = self._near(rows)
        # an infinite distance says that there were too few candidates
        again = (distances[:, -1] > self._limit) | (distances[:, -1] == np.inf)
        if again.any():
            distances[again], indices[again] = self.brute.nearest(rows[again], self.depth)
        return np.ascontiguousarray(distances[:, :k]), np.ascontiguousarray(indices[:, :k])

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return near rows, and every reference row that has the row within its radius.

        The second part is exact: rows that have a row within their radius may be far down its own
        list, and candidates enough for 99 % of them took longer than brute force.
        """
        _, _, reverse = self.brute.nearest_and_reverse(rows, 1, radii)
        return (*self.nearest(rows, k), reverse)

    def check_recall(self, k: int, radii: NDArray) -> Recall:
        """Measure what is found, given k-distances of this search; raise if it is too little."""
        recall = measure_recall(self, self.brute, k, radii)
        if min(recall.random, recall.isolated) < self.settings.min_recall:
            raise RecallError(
                f"{shorten(self.settings.search)} {recall}; both must be at least "
                f"{self.settings.min_recall:g}. Let it search more, accept less with "
                "ForeignNeighbors(search, min_recall=...), or search exactly with neighbors='auto'."
            )
        return recall

    def _near(self, rows: NDArray) -> tuple[NDArray, NDArray]:
        """Return the nearest candidates, at infinity where there are too few."""
        with ONE_AT_A_TIME:
            graph = self._fitted.transform(rows)
        if not hasattr(graph, "tocsr") or graph.shape[0] != len(rows):
            raise ValueError(
                "`transform` of a neighbor search must return a sparse graph of distances, a row "
                f"for each of {len(rows)} rows, as KNeighborsTransformer does; got a "
                f"{type(graph).__name__} of shape {np.shape(graph)}."
            )
        candidates = self._candidates(graph.tocsr())
        reduced, distances = _distances(self.points, rows, candidates, self.metric)
        first = np.lexsort((candidates, reduced))[:, : self.depth]
        return (
            np.take_along_axis(distances, first, axis=1),
            np.take_along_axis(candidates, first, axis=1),
        )

    def _candidates(self, graph: Any) -> NDArray:
        """Return lists without repetitions and without rows that do not exist, long enough."""
        counts = np.diff(graph.indptr)
        width = max(self.depth, int(counts.max(initial=0)))
        result = np.full((len(counts), width), NOBODY, np.int32)
        exists = (graph.indices >= 0) & (graph.indices < len(self.points))
        result[np.arange(width) < counts[:, np.newaxis]] = np.where(exists, graph.indices, NOBODY)
        result.sort(axis=1)
        result[:, 1:][result[:, 1:] == result[:, :-1]] = NOBODY
        return result


def measure_recall(search: Any, exact: BruteForce, k: int, radii: NDArray) -> Recall:
    """Compare a search with brute force, on reference rows that leave themselves out.

    A neighbor counts if it is not farther than the true k-th one, so it does not matter which of
    several rows at the same distance a search takes. ``radii`` are k-distances of the reference
    rows as the search found them; they tell who is isolated.

    Examples
    --------
    >>> brute = BruteForce(np.arange(20.0)[:, np.newaxis], 0)
    >>> measure_recall(brute, brute, 2, np.ones(20))
    Recall(random=1.0, isolated=1.0, k=2)
    """
    n = len(exact.points)
    random = np.random.default_rng(SEED).choice(n, min(MAX_MEASURED, n), replace=False)
    shares = []
    for own in (random, most_isolated(radii)):
        found, truth = (_without_own(s.nearest(exact.points[own], k + 1)) for s in (search, exact))
        shares.append(float((found <= truth[:, -1:]).mean()))
    return Recall(shares[0], shares[1], k)


def _without_own(lists: tuple[NDArray, NDArray]) -> NDArray:
    """Return distances without the row itself, or without the last one if it was not found."""
    distances = lists[0]
    return np.where(distances[:, :1] == 0, distances[:, 1:], distances[:, :-1])


def most_isolated(radii: NDArray) -> NDArray:
    """Return rows that are evenly spread over the 1 % with the largest k-distances."""
    size = min(len(radii), max(MIN_ISOLATED, int(np.ceil(ISOLATED * len(radii)))))
    farthest = np.argsort(-radii, kind="stable")[:size]
    places = np.linspace(0, size - 1, min(MAX_MEASURED, size)).round().astype(np.intp)
    return farthest[places]


def _copy(search: Any, n_neighbors: int) -> Any:
    """Return an unfitted copy that gives so many neighbors, with a seed if it wants one."""
    from sklearn.base import clone

    copy = clone(search).set_params(n_neighbors=n_neighbors)
    if copy.get_params().get("random_state", SEED) is None:
        copy.set_params(random_state=SEED)
    return copy


@compiled
def _distances(
    points: NDArray, rows: NDArray, candidates: NDArray, metric: int
) -> tuple[NDArray, NDArray]:
    """Return reduced distances of rows to their candidates, infinity to nobody, and distances."""
    reduced, distances = unset(candidates.shape), unset(candidates.shape)
    for row in range(rows.shape[0]):
        for place in range(candidates.shape[1]):
            candidate = candidates[row, place]
            reduced[row, place] = distances[row, place] = np.inf
            if candidate != NOBODY:
                reduced[row, place] = reduced_distance(rows[row], points[candidate], metric)
                distances[row, place] = finish(reduced[row, place], metric)
    return reduced, distances
