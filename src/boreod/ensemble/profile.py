"""What the training rows held, in few numbers: quantiles of columns and some known outliers.

*Normal rows* are the training rows that are not labelled outlier. A model keeps their quantiles, so
that it can say how unusual a value is and how far a later table has moved, and up to 200 known
outliers, so that it can name the one that a row is close to. All of it is plain numbers and words.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
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
MANY_COLUMNS = 2000  # from here on few quantiles are kept, and from five times as many on none
DIGITS = 7  # that are kept of a number
MAX_CASES = 200
MAX_NUMBERS = 20_000  # of all known outliers together
NEAR = 0.01  # share of the normal rows that are near a known outlier
COMPARED = 5000  # normal rows, to find out how far that is
FARTHEST = 1e6  # ranges; what is beyond counts as that far


@dataclass(frozen=True)
class KnownCases:
    """Some labelled outliers, in ranges of the columns, and what users call them."""

    names: list[str]
    rows: list[list[float]]
    near: float  # distance that a hundredth of the normal rows have to one of them

    def find(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """Return the place of the nearest case of every row, and its distance."""
        from scipy.spatial.distance import cdist

        distances = cdist(points, np.array(self.rows))
        nearest = np.argmin(distances, axis=1)
        return nearest, distances[np.arange(len(points)), nearest]


@dataclass(frozen=True)
class TrainingProfile:
    """Quantiles of the normal rows, by column of numbers, and known outliers.

    Attributes
    ----------
    rows
        Number of normal rows.
    means
        Of every column; that of a column of zeros and ones is a share of rows.
    quantiles
        For every column those at ``shares`` of the rows that have a value; none if columns are
        very many.
    cases
        Known outliers; None if no row is labelled so.
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
        """Return what is to be kept of training rows.

        Parameters
        ----------
        matrix
            Rows of numbers.
        codes
            Their labels: 1 outlier, 0 inlier, -1 unlabelled.
        name
            Tells what users call the row at a place; None for row numbers from 1 on.
        filled
            By columns the columns that mark where they have no value, but were filled.
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
        """Shares of normal rows that are at most at the quantiles."""
        return _shares_of(len(self.means))

    def compare(self, column: int, value: float) -> tuple[float, float]:
        """Return about which shares of the normal rows are below and above a value.

        Examples
        --------
        >>> profile = TrainingProfile.learn(np.arange(1001.0)[:, np.newaxis], np.zeros(1001))
        >>> profile.compare(0, 2000.0), profile.compare(0, 990.0)
        ((1.0, 0.0), (0.98, 0.005))
        """
        known, shares = np.array(self.quantiles[column]), self.shares
        if not len(known):
            return 0.0, 0.0
        value = _short(value)
        first, last = (int(np.searchsorted(known, value, side)) for side in ("left", "right"))
        if first == len(known):
            return 1.0, 0.0
        if last == 0:
            return 0.0, 1.0
        if first < last:  # it is a quantile: between them nobody knows where it begins and ends
            below = shares[first - 1] if first else 0.0
            above = 1.0 - shares[last] if last < len(known) else 0.0
            return below, max(0.0, round(above, 12))
        start, end = known[first - 1], known[first]
        way = (value - start) / (end - start)
        share = shares[first - 1] + way * (shares[first] - shares[first - 1])
        return float(share), float(1.0 - share)

    def typical(self, column: int) -> tuple[float, float] | None:
        """Return the values between which nine of ten normal rows are; None if unknown."""
        known, shares = self.quantiles[column], self.shares
        if not known:
            return None
        return known[shares.index(0.05)], known[shares.index(0.95)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any, n_columns: int) -> "TrainingProfile":
        """Return a profile from what may be anything, or say in a ``ValueError`` what is wrong."""
        found = typed_json(cls, data, "profile")
        found._check(n_columns)
        return found

    def _check(self, n_columns: int) -> None:
        """Refuse what ``learn`` cannot have returned."""
        sizes = {len(column) for column in self.quantiles}
        cases = self.cases
        for is_right, what in (
            (self.rows > 0, "no rows"),
            (len(self.means) == len(self.quantiles) == n_columns, "other columns"),
            (sizes == {len(_shares_of(n_columns))}, "another number of quantiles"),
            (all(column == sorted(column) for column in self.quantiles), "quantiles that descend"),
            (cases is None or 0 < len(cases.rows) <= MAX_CASES, "too many known outliers, or none"),
            (cases is None or len(cases.names) == len(cases.rows), "known outliers without names"),
            (cases is None or {len(row) for row in cases.rows} == {n_columns}, "a short row"),
            (cases is None or cases.near >= 0.0, "a negative distance"),
        ):
            if not is_right:
                raise ValueError(f"the profile of its training rows has {what}")


@dataclass(frozen=True)
class LearnedRows:
    """Which rows a detector has learned from, so that it is not judged by what it knows.

    ``hashes`` are those of the training rows, as new rows would be prepared, in their order.

    Examples
    --------
    >>> learned = LearnedRows.of(np.array([[1.0], [2.0], [1.0]]))
    >>> learned.find(np.array([[2.0], [3.0], [1.0]])).tolist()
    [1, -1, 2]
    """

    hashes: NDArray = field(repr=False)

    @classmethod
    def of(cls, rows: NDArray) -> "LearnedRows":
        """Return what is to be remembered of rows."""
        return cls(hash_rows(rows))

    def find(self, rows: NDArray, start: int = 0) -> NDArray:
        """Return the place of an equal training row, -1 if there is none.

        Of several it is the one at the same place, if ``start`` is that of the first row, or else
        the first.
        """
        wanted, known = hash_rows(rows), self.hashes[self._order]
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        places = np.where(known[at] == wanted, self._order[at], UNKNOWN)
        same = np.minimum(np.arange(start, start + len(wanted)), len(known) - 1)
        return np.where(self.hashes[same] == wanted, same, places)

    @cached_property
    def copies(self) -> float:
        """Share of the training rows that equal another one: so many new rows may, by chance."""
        times = np.unique(self.hashes, return_counts=True)[1]
        return float(times[times > 1].sum() / len(self.hashes))

    @cached_property
    def _order(self) -> NDArray:
        return np.argsort(self.hashes, kind="stable")


def in_ranges(rows: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """Return rows as distances from the lowest training row, in ranges of the training rows."""
    extent = np.where(high > low, high - low, 1.0)
    with np.errstate(over="ignore"):
        return np.clip((rows - low) / extent, -FARTHEST, FARTHEST)


def _shares_of(n_columns: int) -> tuple[float, ...]:
    if n_columns < MANY_COLUMNS:
        return SHARES
    return FEW_SHARES if n_columns < 5 * MANY_COLUMNS else ()


def _keep_cases(
    matrix: NDArray, normal: NDArray, known: NDArray, name: Callable[[int], str] | None
) -> KnownCases | None:
    """Return known outliers from everywhere in the table, and how near is near."""
    most = min(MAX_CASES, max(1, MAX_NUMBERS // matrix.shape[1]))
    if not len(known) or matrix.shape[1] >= 5 * MANY_COLUMNS:
        return None
    kept = known[np.unique(np.linspace(0, len(known) - 1, min(most, len(known))).astype(int))]
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    points = in_ranges(matrix[kept], low, high)
    rows = [[_short(value) for value in row] for row in points.tolist()]
    called = [f"row {place + 1}" if name is None else name(place) for place in kept.tolist()]
    some = normal[:: -(-len(normal) // COMPARED)]
    cases = KnownCases(called, rows, 0.0)
    near = float(np.quantile(cases.find(in_ranges(some, low, high))[1], NEAR))
    return KnownCases(called, rows, _short(near))


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
