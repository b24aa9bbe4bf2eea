"""Novelty: how different a row is from the training rows, whatever its probability.

A detector may miss kinds of outliers of which no row is labelled. A row is therefore also compared
with the training rows themselves, by its *isolation*: the distance to its 10th nearest reference
row. Let d be the isolation of the row, and d_i the isolation of each of the n training rows that
are not labelled outliers. Then

    p = (1 + number of d_i that are at least d) / (n + 1)

is a valid p-value for a row that is exchangeable with these rows: at most a share x of such rows
have p <= x (Laxhammar and Falkman: Conformal prediction for distribution-independent anomaly
detection, 2010). A small p alone is no reason for an alert, because a share x of all ordinary rows
have p <= x. A row is *novel* if d is larger than all d_i (p has its lowest value) and more than
FACTOR times the 99th percentile of the d_i.

FACTOR was chosen on 21 public tables. On each table, 60 % of the training rows were reference rows,
and the remaining rows were compared with them. With a FACTOR of 2, 3, 4, 5 and 8, the share of
outliers among novel rows was 38, 52, 57, 54 and 53 %. With a FACTOR of 4, one ordinary row in 5,700
is novel. On every table, if one column of a row is moved 20 ranges outside its range, the isolation
of the row is at least 7 times the 99th percentile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from boreod.validation import OUTLIER

FACTOR = 4.0
MOST_RANGES = 1e300
MOST_NAMED = 3


@dataclass(frozen=True)
class Novelty:
    """How much some rows differ from the training rows.

    Attributes
    ----------
    columns
        Names of the raw columns.
    ranges
        (rows, columns): the distance of a value from the range of the training rows, in units of
        the length of this range. The distance is 0 inside the range, negative below the range, and
        infinite outside a range of a single value.
    distances
        Distances to the 10th nearest reference row; None if the model searches no neighbors.
    p_values
        The p-value of each row: about the share of training rows that are at least as isolated.
        None if the model searches no neighbors.
    novel
        Whether each row is novel, that is far more isolated than every training row.
    usual
        The usual distance: the 99th percentile of the distances of training rows; 0 if the model
        searches no neighbors.
    """

    columns: Sequence[str]
    ranges: NDArray = field(repr=False)
    distances: NDArray | None = field(repr=False)
    p_values: NDArray | None = field(repr=False)
    novel: NDArray = field(repr=False)
    usual: float

    @property
    @np.errstate(over="ignore")
    def times_usual(self) -> NDArray:
        """Distances as multiples of the usual distance."""
        distances = np.zeros(len(self.novel)) if self.distances is None else self.distances
        return np.minimum(distances / (self.usual or 1.0), MOST_RANGES)

    def outside(self) -> list[str | None]:
        """Return, for each row, a phrase about values outside the ranges; None if all are inside.

        Examples
        --------
        >>> ranges = np.array([[0.0, 20.25], [-0.5, 0.0], [0.0, 0.0]])
        >>> Novelty(["age", "amount"], ranges, None, None, np.zeros(3, bool), 0.0).outside()
        ['amount 20.2 ranges above', 'age 0.5 ranges below', None]
        """
        result: list[str | None] = [None] * len(self.ranges)
        for row in np.flatnonzero(self.ranges.any(axis=1)):
            far = np.argsort(-np.abs(self.ranges[row]), kind="stable")
            far = far[self.ranges[row, far] != 0.0]
            words = [_describe(self.columns[at], self.ranges[row, at]) for at in far[:MOST_NAMED]]
            if len(far) > MOST_NAMED:
                words.append(f"{len(far) - MOST_NAMED} more")
            result[row] = "; ".join(words)
        return result

    def words(self) -> list[str | None]:
        """Return, for each row, a phrase that says why the row is novel, or None if it is not.

        Examples
        --------
        >>> novel = np.array([True, False])
        >>> Novelty([], np.zeros((2, 0)), np.array([8.2, 1.0]), np.ones(2), novel, 2.0).words()
        ['novel: 4.1 times the usual distance', None]
        """
        return [
            f"novel: {times:.3g} times the usual distance" if novel else None
            for novel, times in zip(self.novel, self.times_usual.tolist(), strict=True)
        ]


def _describe(name: str, ranges: float) -> str:
    side = "above" if ranges > 0 else "below"
    if np.isinf(ranges):
        return f"{name} {side} its only value"
    return f"{name} {abs(ranges):.3g} ranges {side}"


@dataclass(frozen=True)
class SeenRows:
    """The facts about training rows that novelty needs.

    Attributes
    ----------
    columns
        Names of the raw columns.
    low, high
        Lowest and highest values of the columns.
    isolation
        Distance of every training row to its 10th neighbor; None if no neighbors are searched.
    codes
        Labels: 1 for outliers, 0 for inliers, -1 for unlabelled rows.
    scaled
        Whether raw columns are scaled to [0, 1] before distances are computed.
    """

    columns: Sequence[str]
    low: NDArray
    high: NDArray
    isolation: NDArray | None
    codes: NDArray = field(repr=False)
    scaled: bool = True

    @cached_property
    def usual(self) -> float:
        """The 99th percentile of the isolation of rows that are not labelled outliers.

        If nearly all rows have many copies, the percentile is 0. The largest isolation is then used
        instead or, if it is 0 too, the largest range of a column.
        """
        known = self._ascending
        if not len(known):
            return 0.0
        extent = 1.0 if self.scaled else float(np.max(self.high - self.low, initial=0.0)) or 1.0
        return float(np.quantile(known, 0.99) or known[-1] or extent)

    @property
    def limit(self) -> float:
        """The isolation beyond which a row is novel; infinite if no neighbors are searched."""
        known = self._ascending
        return max(FACTOR * self.usual, float(known[-1])) if len(known) else np.inf

    @cached_property
    def _ascending(self) -> NDArray:
        if self.isolation is None:
            return np.empty(0)
        return np.sort(self.isolation[self.codes != OUTLIER])

    def compare(self, rows: NDArray, isolation: NDArray | None) -> Novelty:
        """Return the novelty of rows, given their isolation."""
        ranges = self._ranges(rows)
        if isolation is None:
            return Novelty(self.columns, ranges, None, None, np.zeros(len(rows), bool), 0.0)
        known = self._ascending
        as_far = len(known) - np.searchsorted(known, isolation, side="left")
        p_values = (1.0 + as_far) / (len(known) + 1.0)
        return Novelty(
            self.columns, ranges, isolation, p_values, isolation > self.limit, self.usual
        )

    def novel_training_rows(self) -> NDArray:
        """Return a mask of the training rows that are novel compared with all other rows."""
        if self.isolation is None:
            return np.zeros(len(self.codes), bool)
        known = self._ascending
        # Only labelled outliers can exceed the limit, because the other rows define it. So the most
        # isolated of the other rows is compared with the next one.
        novel = self.isolation > self.limit
        if len(known) > 1 and known[-1] > max(FACTOR * self.usual, known[-2]):
            novel |= (self.isolation == known[-1]) & (self.codes != OUTLIER)
        return novel

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _ranges(self, rows: NDArray) -> NDArray:
        outside = np.maximum(rows - self.high, 0.0) + np.minimum(rows - self.low, 0.0)
        extent = self.high - self.low
        ranges = np.clip(outside / extent, -MOST_RANGES, MOST_RANGES)
        return np.where(
            outside == 0.0, 0.0, np.where(extent > 0.0, ranges, np.copysign(np.inf, outside))
        )
