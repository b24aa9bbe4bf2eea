"""The pilot of a fit: a little of its work, by the clock, tells how long all of it will take.

Blocks of rows are searched among all rows, by all threads together, as the neighbor graph does it.
A small sample is scored by the same plan: scores of a row do not depend on how many rows there are,
but for the time that memory takes to answer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import METRICS, SEARCH_ROWS, distinct_rows, is_exact, make_backend
from boreod.neighbors.backends import Backend
from boreod.neighbors.graph import LARGE_TABLE
from boreod.neighbors.metrics import embed
from boreod.parallel import Threads, one_blas_thread
from boreod.representation.plan import PlannedScore
from boreod.representation.scored_view import ScoredView
from boreod.representation.views import Space

ROUNDS = 3  # of which the fastest counts: the first may compile, and others use the machine too
BLOCKS = 4  # searched by every thread
SAMPLE_ROWS = 1000  # scored
COLD = 1.4  # scores of 50000 rows take that much longer per row than those of 2000: cache misses
NEWTON_STEPS = 22  # of one bag, as measured in units of the largest product of each

Result = TypeVar("Result")


@dataclass(frozen=True)
class ViewTimes:
    """Seconds that a view will take.

    Attributes
    ----------
    backend
        Kind and name of the search.
    search, scores
        Seconds for all rows.
    growth
        The time to search one row grows with this power of the number of reference rows.
    """

    backend: str
    search: float
    scores: float
    growth: float


def time_view(
    points: NDArray, space: Space, plan: list[PlannedScore], backend: Any, n_threads: int
) -> ViewTimes:
    """Search some rows among all reference rows, score a sample, and return the times of all.

    Parameters
    ----------
    points
        Rows to be fitted, float64 in C order.
    space, plan
        The view and its scores.
    backend
        The search that was asked for.
    n_threads
        Number of threads.
    """
    metric, k = METRICS[space.metric], max(p.ks[-1] for p in plan)
    reference = points if space.rows is None else points[space.rows]
    rows = embed(points.take(space.columns, axis=1), metric)
    among = rows if space.rows is None else np.ascontiguousarray(rows[space.rows])
    building, built = _timed(lambda: make_backend(backend, among, metric, k))
    search = _Search(built, among, rows, plan, n_threads)
    n_distinct, n_new = len(distinct_rows(among)[0]), 0 if space.rows is None else len(rows)
    few = _spread(reference, max(SAMPLE_ROWS, 2 * k))
    everything, each_of_few = _time_small_fit(few, replace(space, rows=None), plan, n_threads)
    each_score = max(0.0, everything / len(few) - each_of_few)
    ratio = len(reference) / len(few)
    growth = np.log(search.each / each_of_few) / np.log(ratio) if ratio > 1.0 else 1.0
    return ViewTimes(
        f"{'exact' if is_exact(built) else 'approximate'} search, {built.name}",
        search.seconds(n_distinct, n_new) + (0.0 if is_exact(built) else building),
        COLD * each_score * (n_distinct + n_new),
        float(np.clip(growth, 0.0, 1.0)),
    )


def time_bags(n_rows: int, n_columns: int, n_bags: int, bag_rows: int, n_threads: int) -> float:
    """Return the seconds that bags will take to be solved and to judge all rows.

    Parameters
    ----------
    n_rows, n_columns
        Size of the representation.
    n_bags, bag_rows
        Number of bags, and of the rows of one.
    n_threads
        Number of threads.
    """
    from scipy.special import expit

    table, coefficients = np.full((SAMPLE_ROWS, n_columns), 0.5), np.full((n_columns, n_bags), 0.1)
    narrow, wide = sorted((n_columns + 1, bag_rows))
    design = np.full((narrow, wide), 0.5)
    engine = Threads(n_threads)

    def judge() -> list[NDArray]:
        return [expit(side * (table @ coefficients)) for side in (1.0, -1.0)]

    def step() -> list[NDArray]:
        return engine.map(lambda _: design @ design.T, range(n_threads), "pilot")

    with one_blas_thread():
        judging, solving = _fastest(judge)[0], _fastest(step)[0]
    return judging * n_rows / SAMPLE_ROWS + solving * NEWTON_STEPS * n_bags / n_threads


class _Search:
    """The search of a view on some blocks of its rows.

    Attributes
    ----------
    each
        Seconds to search one row among the reference rows.
    """

    def __init__(
        self,
        built: Backend,
        reference: NDArray,
        rows: NDArray,
        plan: list[PlannedScore],
        n_threads: int,
    ) -> None:
        self.built, self._n_threads = built, n_threads
        self._radii = np.empty(len(reference))
        self._k = min(max(p.ks[-1] for p in plan) + 2, len(reference))  # itself, and one for ties
        order = np.arange(len(rows))
        if rows is reference and len(rows) >= LARGE_TABLE:  # the graph brings near rows together
            order = getattr(built, "order", order)
        n_blocks = BLOCKS * n_threads
        starts = max(0, len(rows) - SEARCH_ROWS) * (np.arange(n_blocks) + 0.5) / n_blocks
        self._blocks = [rows[order[start : start + SEARCH_ROWS]] for start in starts.astype(int)]
        self.each, found = self._time(partial(built.nearest, k=self._k))
        self._distances = np.vstack([distances for distances, _ in found])
        self._reverse_ks = [p.ks[-1] for p in plan if p.definition.reads == "reverse"]

    def seconds(self, n_training: int, n_new: int) -> float:
        """Return the seconds of all searches: of reference rows, and of others among them.

        Neighbor lists of reference rows are turned around, unless they end in ties or miss some:
        then every score that needs reverse neighbors searches them.
        """
        total = self.each * n_training
        if not self._reverse_ks:
            return total + self.each * n_new
        at_radius = self._distances[:, min(max(self._reverse_ks), self._k - 1)]
        some_missing = not is_exact(self.built) or (self._distances[:, -1] == at_radius).any()
        n_reverse = n_new + (len(self._reverse_ks) * n_training if some_missing else 0)
        if n_reverse == 0:
            return total
        self._radii[:] = np.median(at_radius)
        each, _ = self._time(partial(self.built.nearest_and_reverse, k=self._k, radii=self._radii))
        return total + each * n_reverse

    def _time(self, search: Callable[[NDArray], Result]) -> tuple[float, list[Result]]:
        """Return seconds per row, and what was found."""
        engine = Threads(self._n_threads)
        took, found = _fastest(lambda: engine.map(search, self._blocks, "pilot"))
        return took / sum(map(len, self._blocks)), found


def _time_small_fit(
    rows: NDArray, space: Space, plan: list[PlannedScore], n_threads: int
) -> tuple[float, float]:
    """Return the seconds of a fit by brute force, and those of its search per row."""
    engine = Threads(n_threads)
    k = max(p.ks[-1] for p in plan)
    took, _ = _fastest(lambda: ScoredView.fit(rows, space, plan, "brute", engine))
    embedded = embed(rows.take(space.columns, axis=1), METRICS[space.metric])
    brute = make_backend("brute", embedded, METRICS[space.metric], k)
    return took, _Search(brute, embedded, embedded, plan, n_threads).each


def _spread(rows: NDArray, number: int) -> NDArray:
    """Return so many rows, evenly spread over a table, or all."""
    places = np.linspace(0, len(rows) - 1, min(number, len(rows))).astype(int)
    return np.ascontiguousarray(rows[places])


def _fastest(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds of the fastest of some calls, and what the last one returned."""
    calls = [_timed(work) for _ in range(ROUNDS)]
    return min(took for took, _ in calls), calls[-1][1]


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result
