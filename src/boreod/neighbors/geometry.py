"""Geometry of a neighborhood: what lies between the neighbors of one row.

Computed once per block of rows and shared by COF, LDOF (distances among neighbors) and FastABOD
(inner products of the directions to them). Inner loops run over neighbors, not over columns, which
keeps the order of additions and still fills vector registers.
"""

from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.metrics import distances_to_tile, finish


@compiled
def distances_among(reference: NDArray, indices: NDArray, k: int, metric: int) -> NDArray:
    """Return the (rows, k, k) distances among the first ``k`` neighbors of every row."""
    m, d = indices.shape[0], reference.shape[1]
    result = unset((m, k, k))
    columns = unset((d, k))
    for row in range(m):
        for place in range(k):
            neighbor = reference[indices[row, place]]
            for column in range(d):
                columns[column, place] = neighbor[column]
        for first in range(k):
            line = result[row, first]
            distances_to_tile(columns, 0, first, reference[indices[row, first]], metric, line)
            for second in range(first):
                line[second] = finish(line[second], metric)
            line[first] = 0.0
            for second in range(first):
                result[row, second, first] = line[second]
    return result


@compiled
def directions(points: NDArray, reference: NDArray, indices: NDArray, k: int) -> NDArray:
    """Return the (rows, columns, k) differences between the first ``k`` neighbors and the row."""
    m, d = points.shape
    result = unset((m, d, k))
    for row in range(m):
        for place in range(k):
            neighbor = indices[row, place]
            for column in range(d):
                result[row, column, place] = reference[neighbor, column] - points[row, column]
    return result
