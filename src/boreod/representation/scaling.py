"""Scaling of the columns of a representation before a linear model reads them.

Scores have long tails: one row beside a clump of copies can have a LOF of thousands. Min-max
scaling (the paper's) keeps their shape; rank scaling replaces a value by the share of training rows
below it, which no tail can stretch.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.validation import LARGEST

QUANTILES = 1000


@dataclass(frozen=True, eq=False)
class MinMax:
    """Training rows go to [0, 1], constant columns to 0; new rows may lie far outside."""

    # least value of every column, and one over its extent
    low: NDArray
    factor: NDArray

    @classmethod
    def fit(cls, table: NDArray) -> "MinMax":
        """Learn the range of every column."""
        low = table.min(axis=0)
        extent = table.max(axis=0) - low
        usable = extent > np.finfo(np.float64).tiny  # smaller ones have no inverse
        return cls(low, np.divide(1.0, extent, out=np.zeros_like(extent), where=usable))

    def transform(self, table: NDArray) -> NDArray:
        """Scale rows."""
        result = table - self.low
        with np.errstate(over="ignore"):  # a factor may be as large as 1 / the smallest number
            result *= self.factor
        np.minimum(result, LARGEST, out=result)  # twice as fast as np.clip for one row
        return np.maximum(result, -LARGEST, out=result)

    def keep(self, places: list[int]) -> "MinMax":
        """Return the same for some of the columns."""
        return MinMax(self.low[places], self.factor[places])


@dataclass(frozen=True, eq=False)
class Rank:
    """The share of training rows below a value, between 0 and 1, interpolated."""

    quantiles: NDArray  # of every column, one after the other

    @classmethod
    def fit(cls, table: NDArray) -> "Rank":
        """Learn the quantiles of every column."""
        points = np.linspace(0.0, 1.0, min(QUANTILES, len(table) - 1) + 1)
        return cls(np.ascontiguousarray(np.quantile(table, points, axis=0).T))

    def transform(self, table: NDArray) -> NDArray:
        """Scale rows."""
        return _interpolate(np.ascontiguousarray(table), self.quantiles)

    def keep(self, places: list[int]) -> "Rank":
        """Return the same for some of the columns."""
        return Rank(self.quantiles[places])


Scaler = MinMax | Rank
SCALERS: dict[str, type[MinMax] | type[Rank]] = {"minmax": MinMax, "rank": Rank}


@compiled
def _interpolate(table: NDArray, quantiles: NDArray) -> NDArray:
    """Find values among the quantiles of their columns; equal to several means their middle."""
    result = unset(table.shape)
    last = quantiles.shape[1] - 1
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            known, value = quantiles[column], table[row, column]
            right = np.searchsorted(known, value, side="right")
            left = np.searchsorted(known, value, side="left")
            if right == left and 0 < left <= last:  # strictly between two quantiles
                part = (value - known[left - 1]) / (known[left] - known[left - 1])
                result[row, column] = (left - 1 + part) / last
            else:
                result[row, column] = min(1.0, max(0.0, 0.5 * (left + right - 1) / last))
    return result
