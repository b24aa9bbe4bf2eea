"""Rows without any label: a consensus of scores, sharpened by trees.

Every score column is brought to a common scale that no tail can stretch: with r the distance from
the median in mean absolute deviations, r / (3 + |r|), then to mean 0 and deviation 1 among the
training rows. The consensus is their mean. Trees then learn to separate the rows that are highest
in it from the others, on bags, so that each row is judged by trees that did not see it; where
columns are noise these trees do not split. The score of a row is the mean of both, standardized.

A ranking is no probability, so the result is the quantile of the score among the training rows.
Between two of these, and beyond the last one, log-odds follow a straight line. A row that is more
outlying than all training rows therefore still ranks above them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import BagPlan, Bags, draw_bags
from boreod.ensemble.calibration import logit

MOST_KNOTS = 1000
# A column with a smaller deviation on the common scale is constant.
MIN_DEVIATION = 1e-12


@dataclass(frozen=True, eq=False)
class ConsensusHead:
    """The mean of score columns on a common scale.

    ``center`` and ``spread`` are the median of every column and the mean absolute deviation from
    it; ``mean`` and ``deviation`` are those of the softened column.
    """

    center: NDArray
    spread: NDArray
    mean: NDArray
    deviation: NDArray

    @classmethod
    def fit(cls, table: NDArray) -> "ConsensusHead":
        """Learn the scale of every column."""
        if table.shape[1] == 0:
            raise ValueError(
                "Without labels rows are ranked by scores, and there is none among the columns. "
                "Name one in `representation`, for example 'iforest', or pass labels."
            )
        center = np.median(table, axis=0)
        spread = np.abs(table - center).mean(axis=0)
        soft = _soften(table, center, spread)
        return cls(center, spread, soft.mean(axis=0), soft.std(axis=0))

    def log_odds(self, table: NDArray) -> NDArray:
        """Return the consensus as the only bag, (rows, 1)."""
        return self.parts(table).mean(axis=1, keepdims=True)

    def parts(self, table: NDArray) -> NDArray:
        """Return every column on the common scale; a constant one is 0."""
        soft = _soften(table, self.center, self.spread) - self.mean
        usable = self.deviation > MIN_DEVIATION
        return np.divide(soft, self.deviation, out=np.zeros_like(soft), where=usable)

    def contribute(self, table: NDArray, base: NDArray) -> NDArray:
        """Return what each column adds beyond the base row."""
        return (self.parts(table) - self.parts(base[np.newaxis])) / len(self.center)


def _soften(table: NDArray, center: NDArray, spread: NDArray) -> NDArray:
    way = np.divide(table - center, spread, out=np.zeros_like(table), where=spread > 0.0)
    return way / (3.0 + np.abs(way))


@dataclass(frozen=True, eq=False)
class Quantiles:
    """From scores to log-odds of their quantile among the training rows."""

    scores: NDArray  # ascending
    odds: NDArray

    @classmethod
    def fit(cls, scores: NDArray) -> "Quantiles":
        """Learn quantiles; equal scores share their middle."""
        values, counts = np.unique(scores, return_counts=True)
        middle = (np.cumsum(counts) - 0.5 * counts) / len(scores)
        if len(values) == 1:
            return cls(values + np.array([0.0, 1.0]), logit(np.array([0.5, 0.75])))
        if len(values) > MOST_KNOTS:
            some = np.unique(np.linspace(0, len(values) - 1, MOST_KNOTS).round().astype(int))
            return cls(values[some], logit(middle[some]))
        return cls(values, logit(middle))

    def apply(self, scores: NDArray) -> NDArray:
        """Return log-odds; beyond the ends, lines through the upper and lower half continue.

        Examples
        --------
        >>> Quantiles.fit(np.arange(5.0)).apply(np.array([-1.0, 2.0, 9.0])).round(2)
        array([-3.3 ,  0.  ,  7.69])
        """
        result = np.interp(scores, self.scores, self.odds)
        for end, beyond in (0, scores < self.scores[0]), (-1, scores > self.scores[-1]):
            middle = len(self.scores) // 2 - (len(self.scores) == 2 and end == -1)
            slope = (self.odds[end] - self.odds[middle]) / (self.scores[end] - self.scores[middle])
            result += np.where(beyond, slope * (scores - self.scores[end]), 0.0)
        return result

    def secants(self, start: float, ends: NDArray) -> NDArray:
        """Return the change of log-odds per change of scores, from ``start`` on."""
        way = ends - start
        change = self.apply(ends) - self.apply(np.array([start]))
        return np.divide(change, way, out=np.ones_like(way), where=way != 0.0)


def draw_top(scores: NDArray, how: BagPlan, seed: int) -> tuple[Bags, NDArray]:
    """Draw bags in which the highest rows of a consensus are the outliers, and mark these.

    These are one row in a hundred, but at least five and at most half of all.
    """
    number = min(max(5, round(0.01 * len(scores))), max(1, len(scores) // 2))
    top = np.argsort(-scores, kind="stable")[:number]
    marked = np.zeros(len(scores), dtype=bool)
    marked[top] = True
    return draw_bags(np.sort(top), np.flatnonzero(~marked), len(scores), how, seed), marked
