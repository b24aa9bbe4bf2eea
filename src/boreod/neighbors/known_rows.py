"""Finding rows that are already in the reference table, whatever its size.

Scoring the table that a model was fitted on is the commonest thing a user does. A row that is in
the reference must leave that one row out of its neighbors, or it would be its own nearest neighbor.
Rows are compared by value over all columns: a 64-bit hash finds the candidate, equality decides.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.parallel import computed_once

UNKNOWN = -1


class KnownRows:
    """The index of every distinct row of a table, float64 in C order.

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
        hashes, order = self._hashes
        return _find(self.rows, hashes, order, rows)

    @computed_once
    def _hashes(self) -> tuple[NDArray, NDArray]:
        """Hashes of all rows, ascending, and the rows that have them."""
        hashes = _hash_rows(self.rows)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order


def hash_rows(rows: NDArray) -> NDArray:
    """Return 64 bits of every row, by which equal rows are found where the rows are not kept."""
    return _hash_rows(np.ascontiguousarray(rows, np.float64)).view(np.int64)


def distinct_rows(rows: NDArray) -> tuple[NDArray, NDArray]:
    """Return the positions of distinct rows, and for every row its place among these.

    Examples
    --------
    >>> distinct, place = distinct_rows(np.array([[1.0], [2.0], [1.0]]))
    >>> distinct.tolist(), place.tolist()
    ([0, 1], [0, 1, 0])
    """
    first = KnownRows(rows).find(rows)
    distinct = np.flatnonzero(first == np.arange(len(rows)))
    return distinct, np.searchsorted(distinct, first)


@compiled
def _hash_row(row: NDArray) -> np.uint64:
    """Mix the bits of all values (multiply and shift, as in splitmix64)."""
    bits = (row + 0.0).view(np.uint64)  # adding zero makes -0.0 and 0.0 the same bits
    state = np.uint64(0x9E3779B97F4A7C15)
    for value in bits:
        state = (state ^ value) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return state


@compiled
def _hash_rows(rows: NDArray) -> NDArray:
    hashes = unset(rows.shape[0], np.uint64)
    for index in range(rows.shape[0]):
        hashes[index] = _hash_row(rows[index])
    return hashes


@compiled
def _find(reference: NDArray, hashes: NDArray, order: NDArray, rows: NDArray) -> NDArray:
    found = np.full(rows.shape[0], UNKNOWN, np.int64)
    for row in range(rows.shape[0]):
        wanted = _hash_row(rows[row])
        place = np.searchsorted(hashes, wanted)
        while place < hashes.shape[0] and hashes[place] == wanted:
            if (reference[order[place]] == rows[row]).all():
                found[row] = order[place]
                break
            place += 1
    return found
