"""Metrics: how far apart two rows are, and the same numbers from every kernel.

A kernel works with *reduced* distances, which order rows in the same way and cost less (the square
for ``euclidean``). Terms are always added in the order of the columns, so the same two rows give
the same float64 in a tree, in a tile of the brute-force search and among neighbors.

``cosine`` is one minus the cosine of the angle, that is half the squared Euclidean distance between
rows of length one. A row of zeros has no direction; it is placed on an axis of its own, so it is at
distance 1 from every other direction and 0 from other rows of zeros.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled

EUCLIDEAN, MANHATTAN, COSINE = 0, 1, 2
METRICS = {"euclidean": EUCLIDEAN, "manhattan": MANHATTAN, "cosine": COSINE}


def embed(points: NDArray, metric: int) -> NDArray:
    """Return the rows as the kernels want them: float64, C order, of length one for cosine."""
    if metric != COSINE:
        return np.array(points, dtype=np.float64, order="C", copy=None)
    points = np.ascontiguousarray(points)  # so that sums over columns always have one order
    largest_value = np.abs(points).max(axis=1, keepdims=True)
    scaled = points / np.where(largest_value == 0, 1.0, largest_value)  # squares cannot underflow
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    has_no_direction = length == 0
    return np.hstack([scaled / np.where(has_no_direction, 1.0, length), has_no_direction])


def as_lengths(distances: NDArray, metric: int) -> NDArray:
    """Return distances as lengths of differences between embedded rows."""
    return np.sqrt(2.0 * distances) if metric == COSINE else distances


@compiled
def length(reduced: float, metric: int) -> float:
    """Turn a reduced distance into the length of the difference between embedded rows."""
    return reduced if metric == MANHATTAN else np.sqrt(reduced)


@compiled
def finish(reduced: float, metric: int) -> float:
    """Turn a reduced distance into the distance itself."""
    if metric == EUCLIDEAN:
        return np.sqrt(reduced)
    if metric == COSINE:
        return 0.5 * reduced
    return reduced


@compiled
def reduced_reach(radius: float, metric: int) -> float:
    """Return a reduced distance that nothing within ``radius`` exceeds, rounding included."""
    if metric == EUCLIDEAN:
        return radius * radius * (1.0 + 1e-15)
    if metric == COSINE:
        return 2.0 * radius
    return radius


@compiled
def reduced_distance(first: NDArray, second: NDArray, metric: int) -> float:
    """Return the reduced distance of two rows."""
    total = 0.0
    for column in range(first.shape[0]):
        difference = first[column] - second[column]
        total += abs(difference) if metric == MANHATTAN else difference * difference
    return total


@compiled
def distances_to_tile(
    columns: NDArray, start: int, stop: int, row: NDArray, metric: int, out: NDArray
) -> None:
    """Fill ``out`` with the reduced distances of one row to the rows ``start`` to ``stop``.

    ``columns`` holds one column of the table after the other, so that the inner loops run over
    neighboring memory and the compiler uses vector instructions.
    """
    width = stop - start
    for place in range(width):
        out[place] = 0.0
    if metric == MANHATTAN:
        for column in range(row.shape[0]):
            values, value = columns[column, start:stop], row[column]
            for place in range(width):
                out[place] += abs(values[place] - value)
        return
    whole = row.shape[0] - row.shape[0] % 4
    for column in range(0, whole, 4):  # four columns a pass: fewer loads and stores of `out`
        a, b = columns[column, start:stop], columns[column + 1, start:stop]
        c, d = columns[column + 2, start:stop], columns[column + 3, start:stop]
        p, q, r, s = row[column], row[column + 1], row[column + 2], row[column + 3]
        for place in range(width):
            e, f, g, h = a[place] - p, b[place] - q, c[place] - r, d[place] - s
            out[place] = (((out[place] + e * e) + f * f) + g * g) + h * h
    for column in range(whole, row.shape[0]):
        values, value = columns[column, start:stop], row[column]
        for place in range(width):
            difference = values[place] - value
            out[place] += difference * difference
