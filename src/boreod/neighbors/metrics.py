"""Metrics: the distance of two rows and the order of neighbors, which all kernels share.

Kernels compute *reduced* distances, which order rows in the same way as distances and are cheaper.
For ``euclidean``, the reduced distance is the square. Terms are always added in the order of the
columns. So the distance of two rows is the same float64 in a tree, in a tile of the brute-force
search and among neighbors.

``cosine`` is one minus the cosine of the angle, which is half the squared Euclidean distance
between rows of length 1. A row of zeros has no direction. It is placed on an additional axis, so it
is at distance 1 from every row with a direction, and at distance 0 from other rows of zeros.

If two rows have the same distance, the row with the lower index comes first. All searches sort
(distance, index) pairs with the functions of this module, so they order ties in the same way.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import inner

EUCLIDEAN, MANHATTAN, COSINE = 0, 1, 2
METRICS = {"euclidean": EUCLIDEAN, "manhattan": MANHATTAN, "cosine": COSINE}


def embed(points: NDArray, metric: int) -> NDArray:
    """Return the rows as kernels need them: float64 in C order; of length 1 for ``cosine``."""
    if metric != COSINE:
        return np.ascontiguousarray(points, dtype=np.float64)
    # In C order, NumPy's sums over columns always have the same order of additions.
    points = np.ascontiguousarray(points)
    largest_value = np.abs(points).max(axis=1, keepdims=True)
    # After scaling, the largest absolute value is 1, so the sum of squares cannot underflow.
    scaled = points / np.where(largest_value == 0, 1.0, largest_value)
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    has_no_direction = length == 0
    return np.hstack([scaled / np.where(has_no_direction, 1.0, length), has_no_direction])


@inner
def length(reduced: float, metric: int) -> float:
    """Return the length of the difference of two embedded rows, given their reduced distance."""
    return reduced if metric == MANHATTAN else np.sqrt(reduced)


@inner
def finish(reduced: float, metric: int) -> float:
    """Return the distance, given the reduced distance."""
    if metric == EUCLIDEAN:
        return np.sqrt(reduced)
    if metric == COSINE:
        return 0.5 * reduced
    return reduced


@inner
def reduced_reach(radius: float, metric: int) -> float:
    """Return an upper bound of the reduced distances within ``radius``, rounding included."""
    if metric == EUCLIDEAN:
        return radius * radius * (1.0 + 1e-15)
    if metric == COSINE:
        return 2.0 * radius
    return radius


@inner
def reduced_distance(first: NDArray, second: NDArray, metric: int) -> float:
    """Return the reduced distance of two rows."""
    total = 0.0
    for column in range(first.shape[0]):
        difference = first[column] - second[column]
        total += abs(difference) if metric == MANHATTAN else difference * difference
    return total


@inner
def reduced_distances(
    points: NDArray, lists: NDArray, rows: NDArray, row: int, size: int, metric: int, out: NDArray
) -> None:
    """Fill ``out`` with the reduced distances of one row to the rows of a table in its list.

    Four sums are computed at a time, because the processor can then add in parallel.
    """
    last = size - 1
    for start in range(0, size, 4):
        second, third, fourth = min(start + 1, last), min(start + 2, last), min(start + 3, last)
        i, j, k, m = lists[row, start], lists[row, second], lists[row, third], lists[row, fourth]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for column in range(rows.shape[1]):
            value = rows[row, column]
            e, f = points[i, column] - value, points[j, column] - value
            g, h = points[k, column] - value, points[m, column] - value
            if metric == MANHATTAN:
                a, b, c, d = a + abs(e), b + abs(f), c + abs(g), d + abs(h)
            else:
                a, b, c, d = a + e * e, b + f * f, c + g * g, d + h * h
        out[start], out[second], out[third], out[fourth] = a, b, c, d


@inner
def distances_to_tile(
    columns: NDArray, start: int, stop: int, rows: NDArray, row: int, d: int, metric: int,
    out: NDArray, to: int,
) -> None:  # fmt: skip
    """Fill line ``to`` of ``out`` with reduced distances of a row to rows ``start`` to ``stop``.

    ``columns`` holds ``d`` columns of the table one after the other, so that the inner loops run
    over contiguous memory and the compiler uses vector instructions. Indices are unsigned, because
    Numba compares signed indices with zero. No array is sliced, because slices count references.
    """
    width = stop - start
    for place in range(width):
        out[to, place] = 0.0
    whole = 0 if metric == MANHATTAN else d - d % 4
    # Handling four columns per pass saves loads and stores of `out`.
    for a in range(0, whole, 4):
        b, c, e = a + 1, a + 2, a + 3
        p, q, r, s = rows[row, a], rows[row, b], rows[row, c], rows[row, e]
        for place in range(width):
            at = np.uint64(start + place)
            f, g, h, i = (
                columns[a, at] - p,
                columns[b, at] - q,
                columns[c, at] - r,
                columns[e, at] - s,
            )
            out[to, place] = (((out[to, place] + f * f) + g * g) + h * h) + i * i
    for column in range(whole, d):
        value = rows[row, column]
        for place in range(width):
            difference = columns[column, np.uint64(start + place)] - value
            out[to, place] += abs(difference) if metric == MANHATTAN else difference * difference


@inner
def comes_before(distance: float, index: int, other_distance: float, other_index: int) -> bool:
    """Return whether the first (distance, index) pair sorts before the second."""
    return distance < other_distance or (distance == other_distance and index < other_index)


@inner
def bring_first(distances: NDArray, indices: NDArray, k: int, size: int) -> None:
    """Move the ``k`` smallest of ``size`` pairs to the front, and the k-th to position ``k - 1``.

    All other pairs are in any order (Hoare's selection).
    """
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


@inner
def sort_pairs(distances: NDArray, indices: NDArray, size: int) -> None:
    """Sort the first ``size`` pairs in place by Shell's method, which is fast below 1000 pairs.

    To sort pairs by index, swap the first two arguments.
    """
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


@inner
def replace_last(distances: NDArray, indices: NDArray, distance: float, index: int) -> None:
    """Replace the root of a heap, the pair that sorts last, by another pair."""
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
