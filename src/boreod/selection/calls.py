"""What a call costs, however many rows it brings: checks, and everything that is done once a call.

Every part of a prediction is timed for rows that come alone, as :mod:`boreod.selection.measured`
times it for rows that come together. What a call takes beyond the prices of its rows is its own
price, and a row of a batch of b pays 1 / b of it. Calls of one row and of ten are timed, because
several rows are looked through for copies, and some kernels work on 16 rows at once, which fewer do
not fill. Parts that are timed one after the other find their arrays in the cache, which those of a
whole prediction do not: their times are raised in proportion, so that together they are what the
whole detector takes.
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

CALLS, FEWEST = 12, 5  # that are timed, of one row and of several
ROUNDS = 2  # over them


@dataclass(frozen=True)
class Calls(Clock):
    """Takes times of calls with so many rows, not of their rows."""

    size: int

    def search(self, work: Work) -> float:
        """Time some work on the rows of a call."""
        return time_calls(work, cut(self.rows, self.size))

    def parts(self, block: Block, most: int) -> Parts:
        """Return the rows of a block, as many as a call has or at most so many at once."""
        places = cut(np.arange(len(block.points)), min(self.size, most))
        return [block.part(slice(int(of[0]), int(of[-1]) + 1)) for of in places]

    def score(self, work: Callable[[Block], object], parts: Parts) -> float:
        """Time some work on parts of a block."""
        return time_calls(work, parts) * self.size / len(parts[0].points)


def time_calls(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Return the median of the processor's seconds over some items, with the reserve.

    It is the lowest of some rounds: others may be at work on the same processor.
    """
    work(items[0])  # may compile
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for item in items:
            started = time.process_time()
            work(item)
            times.append(time.process_time() - started)
        rounds.append(float(np.median(times)))
    return RESERVE * min(rounds)


def cut(rows: NDArray, size: int) -> list[NDArray]:
    """Return the rows of calls with so many each, as many calls as are timed or as there are."""
    starts = range(0, len(rows) - size + 1, size)
    return [rows[start : start + size] for start in starts][: max(FEWEST, CALLS // size)]


def with_calls(
    prices: Costs, whole: Fitted, rows: NDArray, typical: NDArray, table: NDArray
) -> Costs:
    """Return prices with those of calls: the seconds of rows that come alone beyond their own.

    ``whole`` has all columns and heads; ``rows`` are some as a user passes them, ``typical`` are
    values of columns, ``table`` some training rows as heads read them. The caller keeps linear
    algebra to one thread.
    """

    def total(costs: Costs) -> float:
        return costs.total() + costs.cost_of_trees(whole.tree_counts)

    def of_calls(size: int) -> Costs:
        parts = _time_parts(whole, Calls(rows, size), typical, table, prices)
        together = time_whole(whole, cut(rows, size))
        factor = max(1.0, (together - parts.base) / (total(parts) - parts.base))
        beyond = parts.joined(prices, lambda of, of_row: max(0.0, factor * of - size * of_row))
        return replace(beyond, base=max(0.0, parts.base - size * prices.base))

    many = [row % len(rows) for row in range(max(len(rows), FEW_ROWS))]
    rows = rows[many]
    return replace(prices, call=of_calls(1), few=of_calls(FEW_ROWS))


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
    columns, points = whole.columns, whole.scale_input(clock.rows)
    each = clock.size * min(prices.own.values())  # what is done with every column
    own, needs = dict.fromkeys(columns.names, each), dict[str, dict[str, float]]()
    for detector in columns.detectors:
        own[detector.label] += time_calls(detector.score, cut(points, clock.size))
    for view in columns.views:
        for name, work, needed in time_view(view, replace(clock, rows=points)):
            own[name] += work
            needs[name] = needed
    base = _time_rest(whole, clock, typical, table) - each * len(own)
    trees, heads = dict[str, float](), dict[str, float]()
    for member in whole.members:
        if isinstance(member.head, TreeHead):
            kind, rows = kind_of_tree(member.kind), cut(table, clock.size)
            of_tree, of_head = _time_trees(member, member.head, whole.aggregation, rows)
            trees[kind] = max(of_tree, trees.get(kind, 0.0))
            heads[kind] = max(of_head, heads.get(kind, 0.0))
    return Costs(own, needs, max(0.0, base), SECONDS, trees, heads)


def _time_rest(whole: Fitted, clock: Calls, typical: NDArray, table: NDArray) -> float:
    """Return the seconds of what every call does, with all columns and heads but trees."""
    nothing = FittedColumns([], whole.columns.raw, [], [])
    engine, size = current_engine(1, False), clock.size
    known, odds = SimpleNamespace(n_features_in_=clock.rows.shape[1]), np.zeros(size)

    def around(rows: NDArray) -> NDArray:
        nothing.compute(whole.scale_input(read_rows(known, rows, fitting=False)), engine)
        return _as_pairs(whole.correction.apply(odds))

    others = [member for member in whole.members if not isinstance(member.head, TreeHead)]
    return (
        time_calls(around, cut(clock.rows, size))
        + time_calls(whole.scaler.transform, cut(typical, size))
        + sum(time_calls(_judged(m, whole.aggregation), cut(table, size)) for m in others)
    )


def _time_trees(
    member: Member, head: TreeHead, aggregation: str, calls: list[NDArray]
) -> tuple[float, float]:
    """Return the seconds of one more tree, and those of a head beside its trees."""
    few = replace(member, head=head.keep(1))
    least, most = (time_calls(_judged(of, aggregation), calls) for of in (few, member))
    n_few, n_trees = head.n_bags, head.trees.n_trees
    of_tree = max(0.0, (most - least) / (n_trees - n_few)) if n_trees > n_few else least / n_few
    return of_tree, max(0.0, least - n_few * of_tree)


def _judged(member: Member, aggregation: str) -> Callable[[NDArray], NDArray]:
    return lambda row: member.weight * member.log_odds(row, aggregation)


def _as_pairs(odds: NDArray) -> NDArray:
    """Return probabilities as ``predict_proba`` does."""
    outlier = expit(odds)
    result = np.empty((len(outlier), 2))
    result[:, 0], result[:, 1] = 1.0 - outlier, outlier
    return result
