"""From candidates of any search to neighbors of this house: float64, by (distance, index)."""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.metrics import distances_to_tile, finish, length
from boreod.neighbors.ordering import bring_first, sort_pairs

NOBODY = -1  # in the place of a candidate


def with_spare(k: int, n: int) -> int:
    """Return how many candidates to ask for: float32 may change places with the next ones."""
    return min(n, k + k // 8 + 16)


def search_again(
    distances: NDArray, indices: NDArray, rows: NDArray, again: NDArray, brute: BruteForce
) -> None:
    """Search some rows exactly and put their neighbors in place."""
    if again.any():
        distances[again], indices[again] = brute.nearest(rows[again], distances.shape[1])


@compiled
def nearest_among(
    points: NDArray,
    rows: NDArray,
    candidates: NDArray,
    complete_to: NDArray,
    k: int,
    metric: int,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the nearest ``k`` of every row's candidates.

    Parameters
    ----------
    points, rows
        Reference rows and rows to search for.
    candidates
        Distinct reference rows for every row, or -1 for nobody.
    complete_to
        Length of difference up to which the candidates of a row are all there are.
    k
        Number of neighbors.
    metric
        Code of the metric.

    Returns
    -------
    distances, indices
        In order; infinite and -1 where there are fewer than ``k`` candidates.
    sure
        How many candidates lie within ``complete_to``; from ``k`` on the neighbors are exact.
    """
    m, width = candidates.shape
    distances, indices = np.full((m, k), np.inf), np.full((m, k), np.int32(NOBODY))
    sure = np.zeros(m, np.int64)
    kept, kept_index = unset(width), unset(width, np.int32)
    gathered = unset((points.shape[1], width))
    for row in range(m):
        size = 0
        for candidate in candidates[row]:
            if candidate != NOBODY:
                for column in range(points.shape[1]):
                    gathered[column, size] = points[candidate, column]
                kept_index[size] = candidate
                size += 1
        distances_to_tile(gathered, 0, size, rows[row], metric, kept)
        for place in range(size):
            sure[row] += length(kept[place], metric) <= complete_to[row]
        first = min(k, size)
        bring_first(kept, kept_index, first, size)
        sort_pairs(kept, kept_index, first)
        for place in range(first):
            distances[row, place] = finish(kept[place], metric)
            indices[row, place] = kept_index[place]
    return distances, indices, sure
