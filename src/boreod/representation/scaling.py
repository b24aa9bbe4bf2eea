"""Scaling of the columns of a representation before a linear model reads them.

Scores have long tails: a row near a clump of copies can have a LOF of thousands. Min-max scaling,
which the paper uses, keeps the shape of such a column. Rank scaling replaces a value by the share
of training rows below it, so a long tail has no effect. The scaler ``"both"`` is for models that
can use both: it returns min-max scaled raw columns, ranks of scores, then ranks of raw columns.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
from boreod.validation import LARGEST

QUANTILES = 1000
NO_RANGE = np.empty(0)
NO_QUANTILES = np.empty((0, 0))
SCALERS = ("minmax", "rank", "both")


@dataclass(frozen=True, eq=False)
class Scaler:
    """Scales some columns by their range, and ranks some; see :func:`fit_scaler`.

    Scaled columns come first in a table. Scaled values of rows outside the training range may lie
    far outside [0, 1].
    """

    kind: str
    # The least value of every scaled column, which is subtracted.
    low: NDArray = field(default_factory=lambda: NO_RANGE)
    # The factor by which the rest is multiplied: 1 / (largest - least value); 0 if constant.
    factor: NDArray = field(default_factory=lambda: NO_RANGE)
    # Ascending quantiles, one row for each ranked column.
    quantiles: NDArray = field(default_factory=lambda: NO_QUANTILES)

    def transform(self, table: NDArray) -> NDArray:
        """Scale rows."""
        return _scale(np.ascontiguousarray(table), self.low, self.factor, self.quantiles)

    def keep(self, places: list[int]) -> "Scaler":
        """Return the scaler of the columns at these positions."""
        scaled = [place for place in places if place < len(self.low)]
        ranked = [place for place in places if place < len(self.quantiles)]
        return Scaler(self.kind, self.low[scaled], self.factor[scaled], self.quantiles[ranked])

    def sources(self, n_columns: int) -> NDArray:
        """Return, for each feature, the index of the column that it comes from."""
        return np.arange(len(self.low) + len(self.quantiles)) % n_columns


def fit_scaler(kind: str, table: NDArray, n_raw: int = 0) -> Scaler:
    """Learn a scaler of this kind; the first ``n_raw`` columns of the table are raw columns.

    ``"minmax"`` scales training rows to [0, 1] and constant columns to 0. ``"rank"`` replaces each
    value by the interpolated share of training rows below it. ``"both"`` returns min-max scaled raw
    columns, then ranks of scores, then ranks of raw columns.
    """
    quantiles = NO_QUANTILES
    if kind != "minmax":
        points = np.linspace(0.0, 1.0, min(QUANTILES, len(table) - 1) + 1)
        quantiles = np.ascontiguousarray(np.quantile(table, points, axis=0).T)
    if kind == "rank":
        return Scaler(kind, quantiles=quantiles)
    scaled = table[:, :n_raw] if kind == "both" else table
    low = scaled.min(axis=0)
    extent = scaled.max(axis=0) - low
    # The inverse of an extent below the smallest normal number overflows.
    usable = extent > np.finfo(np.float64).tiny
    factor = np.divide(1.0, extent, out=np.zeros_like(extent), where=usable)
    return Scaler(kind, low, factor, quantiles)


def standardize(table: NDArray) -> Scaler:
    """Return a scaler to mean 0 and standard deviation 1; constant columns become 0."""
    center = table.mean(axis=0)
    spread = table.std(axis=0)
    usable = spread > 1e-12 * np.abs(table).max(axis=0)
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=usable)
    return Scaler("minmax", center, inverse)


@compiled
def _scale(table: NDArray, low: NDArray, factor: NDArray, quantiles: NDArray) -> NDArray:
    """Return min-max scaled columns, then ranks.

    The first ``len(low)`` columns are scaled. The first ``len(quantiles)`` columns are ranked; the
    ranks of columns that were also scaled come last. One kernel does both, because the table may
    be a single row and a second call would take more time than its work.
    """
    n_scaled, n_ranked = low.shape[0], quantiles.shape[0]
    result = unset((table.shape[0], n_scaled + n_ranked))
    for row in range(table.shape[0]):
        for column in range(n_scaled):
            value = (table[row, column] - low[column]) * factor[column]
            # A very large factor could make the product infinite.
            value = LARGEST if value > LARGEST else value
            result[row, column] = -LARGEST if value < -LARGEST else value
        for place in range(n_ranked):
            column = (n_scaled + place) % n_ranked
            result[row, n_scaled + place] = _rank(quantiles[column], table[row, column])
    return result


@inner
def _rank(known: NDArray, value: float) -> float:
    """Return the rank of a value from the quantiles of its column.

    A value that equals several quantiles gets the mean of their ranks.
    """
    last = known.shape[0] - 1
    left = right = _bisect(known, value, ZERO)
    if left <= last and known[left] == value:
        right = _bisect(known, value, ZERO + 1)
    # The value is strictly between two quantiles.
    if right == left and 0 < left <= last:
        part = (value - known[left - 1]) / (known[left] - known[left - 1])
        return (left - 1 + part) / last
    return min(1.0, max(0.0, 0.5 * (left + right - 1) / last))


@inner
def _bisect(known: NDArray, value: float, behind: int) -> int:
    """Return the place of a value among ascending values: before or ``behind`` equal values."""
    low, high = 0, known.shape[0]
    while low < high:
        middle = (low + high) // 2
        if known[middle] < value or (behind == 1 and known[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low
