"""Ordering of (distance, index) pairs: the rule that makes every search deterministic.

Of two rows at the same distance the one with the lower index comes first. Both back ends go
through these functions, so they agree on ties to the last row.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset


@compiled
def comes_before(distance: float, index: int, other_distance: float, other_index: int) -> bool:
    """Tell whether the first pair comes before the second."""
    return distance < other_distance or (distance == other_distance and index < other_index)


@compiled
def bring_first(distances: NDArray, indices: NDArray, k: int, size: int) -> None:
    """Move the first ``k`` of ``size`` pairs to the front, in any order (Hoare's selection)."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        pivot, pivot_index = distances[middle], indices[middle]
        left, right = low, high
        while left <= right:
            while comes_before(distances[left], indices[left], pivot, pivot_index):
                left += 1
            while comes_before(pivot, pivot_index, distances[right], indices[right]):
                right -= 1
            if left <= right:
                distances[left], distances[right] = distances[right], distances[left]
                indices[left], indices[right] = indices[right], indices[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            return


@compiled
def sort_pairs(distances: NDArray, indices: NDArray, size: int) -> None:
    """Sort the first ``size`` pairs in place (Shell's method: short, and fast below 1000)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for position in range(gap, size):
            distance, index = distances[position], indices[position]
            place = position
            while place >= gap and comes_before(
                distance, index, distances[place - gap], indices[place - gap]
            ):
                distances[place] = distances[place - gap]
                indices[place] = indices[place - gap]
                place -= gap
            distances[place], indices[place] = distance, index
        gap //= 3


@compiled
def replace_last(distances: NDArray, indices: NDArray, distance: float, index: int) -> None:
    """Put a pair in the place of the last one of a heap, whose last pair is at the root."""
    size = distances.shape[0]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and comes_before(
            distances[child], indices[child], distances[child + 1], indices[child + 1]
        ):
            child += 1
        if not comes_before(distance, index, distances[child], indices[child]):
            break
        distances[place], indices[place] = distances[child], indices[child]
        place = child
    distances[place], indices[place] = distance, index


@compiled
def largest(values: NDArray, size: int) -> float:
    """Return the largest of the first ``size`` values."""
    result = values[0]
    for position in range(1, size):
        result = max(result, values[position])
    return result


@compiled
def last_of(distances: NDArray, indices: NDArray, size: int) -> tuple[float, int]:
    """Return the pair that comes last among the first ``size``."""
    last = 0
    for position in range(1, size):
        if comes_before(distances[last], indices[last], distances[position], indices[position]):
            last = position
    return distances[last], indices[last]


@compiled
def group_by_row(rows: NDArray, n_rows: int) -> tuple[NDArray, NDArray]:
    """Return offsets and an order that put entries of the same row together, order kept."""
    offsets = np.zeros(n_rows + 1, np.int64)
    for row in rows:
        offsets[row + 1] += 1
    for row in range(n_rows):
        offsets[row + 1] += offsets[row]
    place = offsets[:-1].copy()
    order = unset(rows.shape[0], np.int64)
    for entry, row in enumerate(rows):
        order[place[row]] = entry
        place[row] += 1
    return offsets, order
