"""A short profile of the training rows: quantiles of columns and some known outliers.

*Normal rows* are the training rows that are not labelled outliers. A model stores the quantiles of
the normal rows, to judge how unusual a value is and how much a later table differs. It also stores
up to 200 known outliers (*cases*), to name the case nearest to a row. A profile holds only plain
numbers and strings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import typed_json
from boreod.neighbors.known_rows import UNKNOWN, hash_rows
from boreod.validation import OUTLIER

SHARES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5,
          0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0)  # fmt: skip
FEW_SHARES = (0.0, 0.05, 0.5, 0.95, 1.0)
# Profiles of tables with at least this many columns have few quantiles. With five times as many
# columns, they have no quantiles.
MANY_COLUMNS = 2000
MAX_CASES = 200
# The largest total number of values of all cases.
MAX_NUMBERS = 20_000
MAX_COMPARED_ROWS = 5000
MAX_RANGES = 1e6


@dataclass(frozen=True)
class KnownCases:
    """Some labelled outliers, with their names.

    Values in ``rows`` are relative to the ranges of the columns, see :func:`in_ranges`. One normal
    row in a hundred is within the distance ``near`` of a case.
    """

    names: list[str]
    rows: list[list[float]]
    near: float

    def find(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """Return, for every row, the place of the nearest case and the distance to it."""
        from scipy.spatial.distance import cdist

        distances = cdist(points, np.array(self.rows))
        nearest = np.argmin(distances, axis=1)
        return nearest, distances[np.arange(len(points)), nearest]


@dataclass(frozen=True)
class TrainingProfile:
    """Means and quantiles of the normal rows for each column, and known outliers.

    Attributes
    ----------
    rows
        Number of normal rows.
    means
        Means of the columns; the mean of a column of zeros and ones is a share of rows.
    quantiles
        For every column, the quantiles (at ``shares``) of the normal rows that have a value; empty
        if there are very many columns.
    cases
        Known outliers; None if no row is labelled outlier.
    """

    rows: int
    means: list[float]
    quantiles: list[list[float]] = field(repr=False)
    cases: KnownCases | None = None

    @classmethod
    def learn(
        cls,
        matrix: NDArray,
        codes: NDArray,
        name: Callable[[int], str] | None = None,
        filled: Mapping[int, int] | None = None,
    ) -> "TrainingProfile":
        """Return the profile of training rows.

        Parameters
        ----------
        matrix
            Rows of numbers.
        codes
            Labels of the rows: 1 outlier, 0 inlier, -1 unlabelled.
        name
            Function that returns the name of the row at a place. None numbers the rows from 1.
        filled
            For each column whose missing values were filled, the column that marks these rows.
        """
        known = codes == OUTLIER
        normal = matrix if known.all() else matrix[~known]
        shares = _shares_of(matrix.shape[1])
        quantiles: list[list[float]] = [[]] * matrix.shape[1]
        if shares:
            found = np.quantile(normal, shares, axis=0, method="inverted_cdf")
            for column, mark in (filled or {}).items():
                there = normal[normal[:, mark] == 0.0, column]
                if len(there):
                    found[:, column] = np.quantile(there, shares, method="inverted_cdf")
            quantiles = [[_short(value) for value in column] for column in found.T.tolist()]
        means = [_short(value) for value in normal.mean(axis=0).tolist()]
        cases = _keep_cases(matrix, normal, np.flatnonzero(known), name)
        return cls(len(normal), means, quantiles, cases)

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of normal rows at or below each quantile."""
        return _shares_of(len(self.means))

    def compare(self, column: int, value: float) -> tuple[float, float]:
        """Return the approximate shares of the normal rows below and above a value.

        Examples
        --------
        >>> profile = TrainingProfile.learn(np.arange(1001.0)[:, np.newaxis], np.zeros(1001))
        >>> profile.compare(0, 2000.0), profile.compare(0, 990.0)
        ((1.0, 0.0), (0.98, 0.005))
        """
        known = np.array(self.quantiles[column])
        shares = self.shares
        if not len(known):
            return 0.0, 0.0
        value = _short(value)
        first = int(np.searchsorted(known, value, "left"))
        last = int(np.searchsorted(known, value, "right"))
        # If the value equals a quantile, rows with this value may extend to the quantiles beside
        # it. So return lower bounds of the two shares.
        if first < last or first in (0, len(known)):
            below = (0.0, *shares)[first]
            above = 1.0 - (*shares, 1.0)[last]
            return below, max(0.0, round(above, 12))
        start, end = known[first - 1], known[first]
        way = (value - start) / (end - start)
        share = shares[first - 1] + way * (shares[first] - shares[first - 1])
        return float(share), float(1.0 - share)

    def typical(self, column: int) -> tuple[float, float] | None:
        """Return the 5 % and 95 % quantiles of a column, or None if they are unknown."""
        known = self.quantiles[column]
        if not known:
            return None
        return known[self.shares.index(0.05)], known[self.shares.index(0.95)]

    @classmethod
    def from_dict(cls, data: Any, n_columns: int) -> "TrainingProfile":
        """Return a profile from untrusted data; raise a ``ValueError`` if the data are invalid."""
        found = typed_json(cls, data, "profile")
        sizes = {len(column) for column in found.quantiles}
        cases = found.cases
        for is_right, what in (
            (found.rows > 0, "no rows"),
            (len(found.means) == len(found.quantiles) == n_columns, "other columns"),
            (sizes == {len(_shares_of(n_columns))}, "another number of quantiles"),
            (all(column == sorted(column) for column in found.quantiles), "quantiles that descend"),
            (cases is None or 0 < len(cases.rows) <= MAX_CASES, "too many known outliers, or none"),
            (cases is None or len(cases.names) == len(cases.rows), "known outliers without names"),
            (cases is None or {len(row) for row in cases.rows} == {n_columns}, "a short row"),
            (cases is None or cases.near >= 0.0, "a negative distance"),
        ):
            if not is_right:
                raise ValueError(f"the profile of its training rows has {what}")
        return found


@dataclass(frozen=True)
class LearnedRows:
    """Hashes of the training rows, so that a detector is not evaluated on rows it was trained on.

    ``hashes`` has one hash for every training row, after the preparation that new rows get.

    Examples
    --------
    >>> learned = LearnedRows(hash_rows(np.array([[1.0], [2.0], [1.0]])))
    >>> learned.find(np.array([[2.0], [3.0], [1.0]])).tolist()
    [1, -1, 2]
    """

    hashes: NDArray = field(repr=False)

    def find(self, rows: NDArray, start: int = 0) -> NDArray:
        """Return the place of an equal training row for each row, or -1 if there is none.

        ``start`` is the place of the first row in its table. If several training rows are equal to
        a row, return the one at the same place as the row or, if there is none, the first.
        """
        wanted = hash_rows(rows)
        known = self.hashes[self._order]
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        places = np.where(known[at] == wanted, self._order[at], UNKNOWN)
        same = np.minimum(np.arange(start, start + len(wanted)), len(known) - 1)
        return np.where(self.hashes[same] == wanted, same, places)

    @property
    def n_copies(self) -> int:
        """Number of training rows that equal an earlier training row."""
        return len(self.hashes) - len(np.unique(self.hashes))

    @cached_property
    def copies(self) -> float:
        """Share of training rows that equal another training row.

        About the same share of new rows may equal a training row by chance.
        """
        times = np.unique(self.hashes, return_counts=True)[1]
        return float(times[times > 1].sum() / len(self.hashes))

    @cached_property
    def _order(self) -> NDArray:
        return np.argsort(self.hashes, kind="stable")


@np.errstate(over="ignore")
def in_ranges(rows: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """Return rows relative to the range of the training rows: ``low`` becomes 0, ``high`` 1."""
    return np.clip((rows - low) / np.where(high > low, high - low, 1.0), -MAX_RANGES, MAX_RANGES)


def _shares_of(n_columns: int) -> tuple[float, ...]:
    if n_columns < MANY_COLUMNS:
        return SHARES
    return FEW_SHARES if n_columns < 5 * MANY_COLUMNS else ()


def _keep_cases(
    matrix: NDArray, normal: NDArray, known: NDArray, name: Callable[[int], str] | None
) -> KnownCases | None:
    """Return some known outliers, from all parts of the table, or None."""
    if not len(known) or matrix.shape[1] >= 5 * MANY_COLUMNS:
        return None
    most = min(MAX_CASES, max(1, MAX_NUMBERS // matrix.shape[1]), len(known))
    kept = known[np.unique(np.linspace(0, len(known) - 1, most).astype(int))]
    low = matrix.min(axis=0)
    high = matrix.max(axis=0)
    points = in_ranges(matrix[kept], low, high)
    rows = [[_short(value) for value in row] for row in points.tolist()]
    called = [f"row {place + 1}" if name is None else name(place) for place in kept.tolist()]
    some = in_ranges(normal[:: -(-len(normal) // MAX_COMPARED_ROWS)], low, high)
    distances = KnownCases(called, rows, 0.0).find(some)[1]
    return KnownCases(called, rows, _short(float(np.quantile(distances, 0.01))))


def _short(value: float) -> float:
    """Return a number rounded to seven digits."""
    return float(f"{value:.7g}")
