"""Measured costs: the seconds that each part of a prediction takes on this machine.

Searches and scores are timed separately, on a few training rows and one thread. A score is timed at
its smallest, a middle and its largest k, and at all k together. If all k together take less time
than the sum of the times of single k, the columns share work, and the difference is the time of
the shared work.
Prices include a reserve of a quarter.

Calls with few rows are also timed part by part. The price of a call is its time beyond the prices
of its rows: the time of checks and all other work that is done once per call. A row in a batch of b
rows pays 1 / b of this price. Calls with one row and calls with ten rows are timed, because their
work differs: a call with several rows searches for copies, and some kernels handle 16 rows at once.

When the same part is timed again and again, its arrays stay in the cache, unlike in a whole
prediction. The times of parts are therefore scaled up until their sum is the whole detector's time.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import TreeHead
from boreod.ensemble.members import Member
from boreod.neighbors import SEARCH_ROWS, Block, Ks, distinct_rows
from boreod.parallel import current_engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import ScoredView
from boreod.scores.base import FittedScore
from boreod.selection.costs import FEW_ROWS, SECONDS, Costs, kind_of_tree
from boreod.validation import read_rows

# The work of every prediction is timed repeatedly for up to this many seconds, because other
# processes disturb the measurement.
PATIENCE = 0.02
SCORE_ROWS = 64
# Times are multiplied by this factor, because predictions with cold caches take longer.
RESERVE = 1.25
# Number of rows on which work is timed that takes long even for few rows, so that the price is the
# price in a large batch.
CALL_ROWS = 1024
# The smallest price of a column, so that no column is free.
MIN_SECONDS = 1e-9

ByK = dict[int, float]
Work = Callable[[NDArray], object]


@dataclass(frozen=True)
class Clock:
    """A clock whose times include the reserve.

    If ``size`` is None, times are per row of a large batch. Otherwise, they are per call with
    ``size`` rows.
    """

    size: int | None = None

    def time(self, work: Work, rows: NDArray) -> float:
        """Return the time of some work on rows."""
        parts = [rows] if self.size is None else cut(rows, self.size)
        return self.time_parts(work, parts, len(parts[0]))

    def parts(self, block: Block, most: int) -> list[Block]:
        """Return parts of a block with the rows of a call each, but at most ``most`` rows."""
        n_rows = len(block.points)
        places = cut(np.arange(n_rows), min(self.size or n_rows, most))
        return [block.part(slice(int(some[0]), int(some[-1]) + 1)) for some in places]

    def time_parts(self, work: Callable[[Any], object], parts: Sequence[Any], n_rows: int) -> float:
        """Return the time of some work on parts with ``n_rows`` rows each, with the reserve.

        If ``size`` is None, only the first part is timed. Otherwise the median of all parts is
        taken, in two rounds because other processes may disturb one.
        """
        if self.size is None:
            return seconds(work, parts[0]) / n_rows
        # The first call may compile kernels.
        work(parts[0])
        rounds = [[_time_call(work, part) for part in parts] for _ in range(2)]
        return RESERVE * float(np.median(rounds, axis=1).min()) * self.size / n_rows


def cut(rows: NDArray, size: int) -> list[NDArray]:
    """Cut rows into up to 12 calls with one row, or into fewer calls with several rows."""
    starts = range(0, len(rows) - size + 1, size)
    return [rows[start : start + size] for start in starts][: max(5, 12 // size)]


def seconds(work: Callable[[Any], object], item: Any, patience: float = 0.0) -> float:
    """Return the seconds of the fastest of several calls, with the reserve.

    Calls end when the two fastest agree, or after at least three calls that took ``patience``
    seconds together. The first call may be slow, because it may compile kernels.
    """
    times: list[float] = []
    while True:
        times.append(_time_call(work, item))
        fastest = sorted(times)[:2]
        agree = len(times) > 1 and fastest[1] <= 1.1 * fastest[0]
        if agree or (len(times) > 2 and sum(times) >= patience):
            return RESERVE * fastest[0]


def _time_call(work: Callable[[Any], object], item: Any) -> float:
    """Return the processor time of a call in seconds, summed over threads.

    Other libraries may use several threads.
    """
    started = time.process_time()
    work(item)
    return time.process_time() - started


def measured_costs(
    fitted: FittedColumns, sample: NDArray, per_row: Work, per_column: Work, typical: NDArray
) -> Costs:
    """Return costs in seconds per row, with shared parts, measured on distinct training rows.

    ``per_row`` takes rows and does the work that does not depend on the columns. ``per_column``
    takes a table of ``typical`` values and does the work that is the same for each column.
    """
    many = repeated(sample)
    each = seconds(per_column, typical, PATIENCE) / typical.size
    base = seconds(lambda rows: (distinct_rows(rows), per_row(rows)), many, PATIENCE) / CALL_ROWS
    own, needs = _time_columns(fitted, sample, Clock(), max(each, MIN_SECONDS))
    return Costs(own, needs, base, SECONDS)


def measured_trees(whole: Fitted, table: NDArray) -> dict[str, float]:
    """Return the seconds per row of one tree, by kind; the slowest head of a kind counts.

    ``table`` holds CALL_ROWS training rows, as heads read them.
    """
    prices: dict[str, float] = {}
    for member in whole.members:
        if isinstance(member.head, TreeHead):
            kind = kind_of_tree(member.kind)
            taken = seconds(member.log_odds, table, PATIENCE)
            each = taken / (CALL_ROWS * member.head.trees.n_trees)
            prices[kind] = max(each, prices.get(kind, MIN_SECONDS))
    return prices


def with_calls(
    prices: Costs, whole: Fitted, rows: NDArray, typical: NDArray, table: NDArray
) -> Costs:
    """Return the given prices with the prices of calls added.

    ``whole`` has all columns and heads. ``rows`` are rows as a user passes them, ``typical`` holds
    values of columns before scaling, and ``table`` holds training rows as heads read them.
    """
    rows = rows[np.arange(max(len(rows), FEW_ROWS)) % len(rows)]

    def price_calls(size: int) -> Costs:
        # Scaling is timed together with the base; each column pays the price of rows for it.
        parts = _time_parts(whole, rows, typical, table, size, size * min(prices.own.values()))
        apart = parts.total() + parts.cost_of_trees(whole.tree_counts)
        factor = max(1.0, (time_whole(whole, rows, size) - parts.base) / (apart - parts.base))
        beyond = parts.joined(prices, lambda call, row: max(0.0, factor * call - size * row))
        return replace(beyond, base=max(0.0, parts.base - size * prices.base))

    return replace(prices, call=price_calls(1), few=price_calls(FEW_ROWS))


def time_whole(fitted: Fitted, rows: NDArray, size: int) -> float:
    """Return the seconds of a call of ``predict_proba`` with ``size`` rows, with the reserve."""

    def predict(some: NDArray) -> NDArray:
        return _as_pairs(fitted.log_odds(_checked(some), current_engine(1, False)))

    return Clock(size).time(predict, rows)


def _time_parts(
    whole: Fitted, rows: NDArray, typical: NDArray, table: NDArray, size: int, scaling: float
) -> Costs:
    """Return the seconds of all parts of a call with ``size`` rows, as costs."""
    clock = Clock(size)
    nothing = FittedColumns([], whole.columns.raw, [], [])
    engine = current_engine(1, False)
    odds = np.zeros(size)

    def around(rows: NDArray) -> NDArray:
        nothing.compute(whole.scale_input(_checked(rows)), engine)
        return _as_pairs(whole.correction.apply(odds))

    own, needs = _time_columns(whole.columns, whole.scale_input(rows), clock, scaling)
    base = clock.time(around, rows) + clock.time(whole.scaler.transform, typical)
    trees: dict[str, float] = {}
    heads: dict[str, float] = {}
    for member in whole.members:
        taken = _time_member(member, clock, table)
        if not isinstance(member.head, TreeHead):
            base += taken
            continue
        kind = kind_of_tree(member.kind)
        n_bags = member.head.n_bags
        least = _time_member(replace(member, head=member.head.keep(1)), clock, table)
        more = member.head.trees.n_trees - n_bags
        tree = max(0.0, (taken - least) / more) if more > 0 else least / n_bags
        trees[kind] = max(tree, trees.get(kind, 0.0))
        # The rest of the time is work of the head besides its trees.
        heads[kind] = max(0.0, least - n_bags * tree, heads.get(kind, 0.0))
    return Costs(own, needs, max(0.0, base - scaling * len(own)), SECONDS, trees, heads)


def _time_member(member: Member, clock: Clock, table: NDArray) -> float:
    return clock.time(lambda rows: member.weight * member.log_odds(rows), table)


def _checked(rows: NDArray) -> NDArray:
    """Check rows as a detector with this number of columns does."""
    return read_rows(SimpleNamespace(n_features_in_=rows.shape[1]), rows, fitting=False)


def _as_pairs(odds: NDArray) -> NDArray:
    """Return probabilities as ``predict_proba`` does."""
    outlier = expit(odds)
    return np.column_stack([1.0 - outlier, outlier])


def sample_rows(points: NDArray) -> NDArray:
    """Return SEARCH_ROWS distinct rows, or all if there are fewer, from all parts of a table."""
    distinct = distinct_rows(points)[0]
    chosen = distinct[:: max(1, len(distinct) // SEARCH_ROWS)][:SEARCH_ROWS]
    return np.ascontiguousarray(points[chosen])


def repeated(rows: NDArray) -> NDArray:
    """Return CALL_ROWS rows; if there are fewer, rows are repeated."""
    return rows[np.arange(CALL_ROWS) % len(rows)]


def _time_columns(
    fitted: FittedColumns, rows: NDArray, clock: Clock, scaling: float
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the own work and the needs of all columns; ``scaling`` is the time to scale one."""
    own = dict.fromkeys(fitted.names, scaling)
    needs: dict[str, dict[str, float]] = {}
    for detector in fitted.detectors:
        own[detector.label] += clock.time(detector.score, repeated(rows))
    for view in fitted.views:
        for name, work, needed in _time_view(view, rows, clock):
            own[name] += work
            needs[name] = needed
    return own, needs


def _time_view(
    view: ScoredView, rows: NDArray, clock: Clock
) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Time the search and the scores of a view; yield name, own work and needs of its columns."""
    name = view.space.name

    def search(k: int, reverse_k: int) -> float:
        return clock.time(replace(view, graph=view.graph.narrowed((k,), reverse_k)).search, rows)

    # A view from a file may not search as far as novelty needs.
    ks = tuple(sorted({*view.graph.ks, view.near}))
    searches = _at_all(ks, lambda k: search(k, 0))
    reading = [s.ks for s in view.scores if s.definition.reads == "reverse"]
    reverse_ks = tuple(sorted(set().union(*reading)))
    reverse = _at_all(reverse_ks, lambda k: max(0.0, search(k, k) - searches[k]))
    block = view.search(rows[:SCORE_ROWS])
    for s in view.scores:
        alone, together, geometry = _time_score(view, s, block, clock)
        for k, column in zip(s.ks, s.column_names(name), strict=True):
            # Novelty needs `near` neighbors of every row, whatever the scores.
            depth = max(k, view.near)
            needs = {f"search@{name}": searches[depth], f"{s.label} scores@{name}": together[k]}
            if s.definition.reads == "reverse":
                needs[f"reverse@{name}"] = reverse[k]
            if s.definition.reads == "geometry":
                needs[f"geometry@{name}"] = geometry[k]
            yield column, alone[k], needs


def _time_score(
    view: ScoredView, s: FittedScore, block: Block, clock: Clock
) -> tuple[ByK, ByK, ByK]:
    """Return the seconds of own work, of work shared with smaller k, and of geometry, by k."""
    reads_geometry = s.definition.reads == "geometry"
    most = min(view.geometry_rows, 6) if reads_geometry else SCORE_ROWS
    # The known parts store the geometry after the first call. New parts must compute it again.
    known = clock.parts(block, most)

    def work(ks: Ks) -> tuple[float, float]:
        narrow = replace(view, scores=[s.keep(ks)])
        n_rows = len(known[0].points)
        fresh = lambda part: narrow.score(part.part(slice(0, n_rows)))  # noqa: E731
        everything = clock.time_parts(fresh, known, n_rows)
        if not reads_geometry:
            return everything, 0.0
        scoring = clock.time_parts(narrow.score, known, n_rows)
        return scoring, max(0.0, everything - scoring)

    timed = {k: work((k,)) for k in _probes(s.ks)}
    single = _at_all(s.ks, lambda k: timed[k][0])
    geometry = _at_all(s.ks, lambda k: timed[k][1])
    share = 1.0
    if len(s.ks) > 1:
        # `extra` is the time that the columns of smaller k add to the column of the largest k,
        # which is only a share of their time alone.
        deepest = single[s.ks[-1]]
        extra = work(s.ks)[0] - deepest
        share = min(1.0, max(0.0, extra / (sum(single.values()) - deepest)))
    alone = {k: share * seconds_at_k for k, seconds_at_k in single.items()}
    return alone, {k: single[k] - alone[k] for k in s.ks}, geometry


def _probes(ks: Ks) -> Ks:
    """Return the smallest, a middle and the largest k."""
    return tuple(sorted({ks[0], ks[len(ks) // 2], ks[-1]})) if ks else ()


def _at_all(ks: Ks, measure: Callable[[int], float]) -> ByK:
    """Measure at a few ks and interpolate linearly, which never underestimates convex times.

    A smaller k never takes longer than a larger k. If it seems to, its time is lowered.
    """
    probes = _probes(ks)
    if not probes:
        return {}
    times = np.minimum.accumulate([measure(k) for k in probes][::-1])[::-1]
    return dict(zip(ks, np.interp(ks, probes, times).tolist(), strict=True))
