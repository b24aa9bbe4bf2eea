"""Prices of calls: checks, and all other work that is done once per call.

Every part of a prediction is timed for calls of few rows, as :mod:`boreod.selection.measured` times
it for many rows. The time of a call beyond the prices of its rows is the price of the call, and a
row of a batch of b pays 1 / b of it. Calls of one row and of ten are timed, because several rows
are searched for copies, and because some kernels work on 16 rows at once. Parts that are timed one
after the other find their arrays in the cache, unlike those of a whole prediction. Their times are
therefore raised in proportion, so that they add up to the time of the whole detector.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.members import Member
from boreod.ensemble.tree_heads import TreeHead
from boreod.neighbors import Block
from boreod.parallel import current_engine
from boreod.representation.columns import FittedColumns
from boreod.selection.costs import FEW_ROWS, SECONDS, Costs, kind_of_tree
from boreod.selection.measured import RESERVE, Clock, Parts, Work, time_view
from boreod.validation import read_rows


@dataclass(frozen=True)
class Calls(Clock):
    """Times calls of ``size`` rows, instead of rows."""

    size: int

    def search(self, work: Work) -> float:
        """Time some work on the rows of a call."""
        return time_calls(work, cut(self.rows, self.size))

    def parts(self, block: Block, most: int) -> Parts:
        """Return parts of a block, as large as a call or at most ``most`` rows."""
        places = cut(np.arange(len(block.points)), min(self.size, most))
        return [block.part(slice(int(some[0]), int(some[-1]) + 1)) for some in places]

    def score(self, work: Callable[[Block], object], parts: Parts) -> float:
        """Time some work on parts of a block."""
        return time_calls(work, parts) * self.size / len(parts[0].points)


def time_calls(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Return the median of the processor's seconds over some items, with the reserve.

    It is the lowest of two rounds, because other processes may be at work.
    """
    # The first call may compile.
    work(items[0])
    rounds = []
    for _ in range(2):
        times = []
        for item in items:
            started = time.process_time()
            work(item)
            times.append(time.process_time() - started)
        rounds.append(float(np.median(times)))
    return RESERVE * min(rounds)


def cut(rows: NDArray, size: int) -> list[NDArray]:
    """Return the rows of up to 12 calls with one row, or of up to 5 calls with several rows."""
    starts = range(0, len(rows) - size + 1, size)
    return [rows[start : start + size] for start in starts][: max(5, 12 // size)]


def with_calls(
    prices: Costs, whole: Fitted, rows: NDArray, typical: NDArray, table: NDArray
) -> Costs:
    """Return prices with those of calls.

    ``whole`` has all columns and heads. ``rows`` are some as a user passes them, ``typical`` are
    values of columns, ``table`` some training rows as heads read them. The caller keeps linear
    algebra to one thread.
    """
    rows = rows[np.arange(max(len(rows), FEW_ROWS)) % len(rows)]

    def price_calls(size: int) -> Costs:
        parts = _time_parts(whole, Calls(rows, size), typical, table, prices)
        apart = parts.total() + parts.cost_of_trees(whole.tree_counts)
        together = time_whole(whole, cut(rows, size))
        factor = max(1.0, (together - parts.base) / (apart - parts.base))
        beyond = parts.joined(prices, lambda call, row: max(0.0, factor * call - size * row))
        return replace(beyond, base=max(0.0, parts.base - size * prices.base))

    return replace(prices, call=price_calls(1), few=price_calls(FEW_ROWS))


def time_whole(fitted: Fitted, calls: list[NDArray]) -> float:
    """Return the seconds of a call of ``predict_proba``, with the reserve."""

    def predict(rows: NDArray) -> NDArray:
        known = SimpleNamespace(n_features_in_=rows.shape[1])
        rows = read_rows(known, rows, fitting=False)
        return _as_pairs(fitted.log_odds(rows, current_engine(1, False)))

    return time_calls(predict, calls)


def _time_parts(
    whole: Fitted, clock: Calls, typical: NDArray, table: NDArray, prices: Costs
) -> Costs:
    """Return the seconds of all parts of a call."""
    columns = whole.columns
    points = whole.scale_input(clock.rows)
    # The scaling of columns is measured with the rest, and each column pays the price of rows.
    scaling = clock.size * min(prices.own.values())
    own = dict.fromkeys(columns.names, scaling)
    needs: dict[str, dict[str, float]] = {}
    for detector in columns.detectors:
        own[detector.label] += time_calls(detector.score, cut(points, clock.size))
    for view in columns.views:
        for name, work, needed in time_view(view, replace(clock, rows=points)):
            own[name] += work
            needs[name] = needed
    base = _time_rest(whole, clock, typical, table) - scaling * len(own)
    trees: dict[str, float] = {}
    heads: dict[str, float] = {}
    for member in whole.members:
        if isinstance(member.head, TreeHead):
            kind = kind_of_tree(member.kind)
            calls = cut(table, clock.size)
            tree, rest = _time_trees(member, member.head, calls)
            trees[kind] = max(tree, trees.get(kind, 0.0))
            heads[kind] = max(rest, heads.get(kind, 0.0))
    return Costs(own, needs, max(0.0, base), SECONDS, trees, heads)


def _time_rest(whole: Fitted, clock: Calls, typical: NDArray, table: NDArray) -> float:
    """Return the seconds of the work of every call, with all columns and heads but trees."""
    nothing = FittedColumns([], whole.columns.raw, [], [])
    engine = current_engine(1, False)
    size = clock.size
    known = SimpleNamespace(n_features_in_=clock.rows.shape[1])
    odds = np.zeros(size)

    def around(rows: NDArray) -> NDArray:
        nothing.compute(whole.scale_input(read_rows(known, rows, fitting=False)), engine)
        return _as_pairs(whole.correction.apply(odds))

    total = time_calls(around, cut(clock.rows, size))
    total += time_calls(whole.scaler.transform, cut(typical, size))
    for member in whole.members:
        if not isinstance(member.head, TreeHead):
            total += time_calls(_judged(member), cut(table, size))
    return total


def _time_trees(member: Member, head: TreeHead, calls: list[NDArray]) -> tuple[float, float]:
    """Return the seconds of one more tree, and those of a head without its trees."""
    least = time_calls(_judged(replace(member, head=head.keep(1))), calls)
    most = time_calls(_judged(member), calls)
    more = head.trees.n_trees - head.n_bags
    tree = max(0.0, (most - least) / more) if more > 0 else least / head.n_bags
    return tree, max(0.0, least - head.n_bags * tree)


def _judged(member: Member) -> Callable[[NDArray], NDArray]:
    return lambda row: member.weight * member.log_odds(row)


def _as_pairs(odds: NDArray) -> NDArray:
    """Return probabilities as ``predict_proba`` does."""
    outlier = expit(odds)
    result = np.empty((len(outlier), 2))
    result[:, 0] = 1.0 - outlier
    result[:, 1] = outlier
    return result
