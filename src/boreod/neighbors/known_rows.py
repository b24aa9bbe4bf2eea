"""The search for rows that are already in the reference table.

Users often score the table to which a model was fitted. A row that is in the reference table must
not be its own nearest neighbor, so it is left out of its own list. Rows are compared by the values
of all columns: a 64-bit hash finds candidates, and then all values must be equal.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.parallel import computed_once

UNKNOWN = -1
# The bits of -0.0.
MINUS_ZERO = np.uint64(1 << 63)


class KnownRows:
    """An index of the distinct rows of a table, which is float64 in C order.

    Examples
    --------
    >>> known = KnownRows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> known.find(np.array([[3.0, 4.0], [1.0, 2.0], [9.0, 9.0]])).tolist()
    [1, 0, -1]
    """

    def __init__(self, rows: NDArray) -> None:
        self.rows = rows

    def find(self, rows: NDArray) -> NDArray:
        """Return the lowest index of an identical reference row, or -1, for every row."""
        hashes, order = self._sorted
        return _find(self.rows, hashes, order, rows, rows.view(np.uint64))

    def distinct(self) -> tuple[NDArray, NDArray]:
        """Return what :func:`distinct_rows` returns, for the rows of the index."""
        first = self.find(self.rows)
        distinct = np.flatnonzero(first == np.arange(len(first)))
        return distinct, np.searchsorted(distinct, first)

    @computed_once
    def _sorted(self) -> tuple[NDArray, NDArray]:
        """Return the hashes of all rows, ascending, and the positions of the rows in this order."""
        hashes = _hash_rows(self.rows.view(np.uint64))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order


def hash_rows(rows: NDArray) -> NDArray:
    """Return a 64-bit hash of every row; hashes identify equal rows when rows are not stored."""
    return _hash_rows(np.ascontiguousarray(rows, np.float64).view(np.uint64)).view(np.int64)


def distinct_rows(rows: NDArray) -> tuple[NDArray, NDArray]:
    """Return the positions of the distinct rows, and for every row its index in this list.

    Examples
    --------
    >>> distinct, place = distinct_rows(np.array([[1.0], [2.0], [1.0]]))
    >>> distinct.tolist(), place.tolist()
    ([0, 1], [0, 1, 0])
    """
    return KnownRows(rows).distinct()


@inner
def _hash_row(bits: NDArray, row: int) -> np.uint64:
    """Return a hash of the bits of a row (multiply and shift, as in splitmix64)."""
    state = np.uint64(0x9E3779B97F4A7C15)
    for column in range(bits.shape[1]):
        value = bits[row, column]
        # The number -0.0 equals 0.0.
        if value == MINUS_ZERO:
            value = np.uint64(0)
        state = (state ^ value) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return state


@compiled
def _hash_rows(bits: NDArray) -> NDArray:
    hashes = unset(bits.shape[0], np.uint64)
    for row in range(bits.shape[0]):
        hashes[row] = _hash_row(bits, row)
    return hashes


@compiled
def _find(table: NDArray, hashes: NDArray, order: NDArray, rows: NDArray, bits: NDArray) -> NDArray:
    """Return the first equal reference row of each row, or UNKNOWN.

    Only reference rows with the same hash are compared.
    """
    found = unset(rows.shape[0], np.int64)
    for row in range(rows.shape[0]):
        found[row] = UNKNOWN
        wanted = _hash_row(bits, row)
        # A bisection finds the first hash that is not smaller.
        place = 0
        stop = hashes.shape[0]
        while place < stop:
            middle = (place + stop) // 2
            if hashes[middle] < wanted:
                place = middle + 1
            else:
                stop = middle
        while place < hashes.shape[0] and hashes[place] == wanted and found[row] == UNKNOWN:
            equal = True
            for column in range(rows.shape[1]):
                equal &= table[order[place], column] == rows[row, column]
            if equal:
                found[row] = order[place]
            place += 1
    return found
