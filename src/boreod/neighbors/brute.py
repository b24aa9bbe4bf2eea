"""Exact search by brute force: every distance is computed, tile by tile, and few are kept.

A block of rows meets one tile of the table after the other, so that a tile is read from memory once
per block. Whether a distance is kept is decided by a limit. The limit starts as a guess from a
sample of the table, which keeps nearly all distances out; a row whose guess was too low is searched
again without one, so the result is exact whatever the guess.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled
from boreod.neighbors.metrics import distances_to_tile, finish, reduced_reach
from boreod.neighbors.ordering import bring_first, group_by_row, largest, sort_pairs

TILE = 1024
NO_RADII = np.empty(0)


class BruteForce:
    """All distances, the nearest kept.

    Parameters
    ----------
    points
        Reference rows as :func:`boreod.neighbors.metrics.embed` returns them.
    metric
        Code of the metric.
    """

    name = "brute"

    def __init__(self, points: NDArray, metric: int) -> None:
        self.metric = metric
        self.columns = np.ascontiguousarray(points.T)
        # Rows of a table are often sorted, so the sample is spread over all of it.
        step = max(1, points.shape[0] // TILE)
        self.sample = np.ascontiguousarray(self.columns[:, ::step][:, :TILE])

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return the ``k`` nearest reference rows: distances and indices, in order."""
        distances, indices, _ = _search(self.columns, self.sample, rows, k, NO_RADII, self.metric)
        return distances, indices

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and every reference row that has the row within its radius.

        The second part is (offsets, indices, distances), indices ascending within a row.
        """
        return _search(self.columns, self.sample, rows, k, radii, self.metric)


@compiled
def _search(
    columns: NDArray, sample: NDArray, rows: NDArray, k: int, radii: NDArray, metric: int
) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
    """Search the nearest ``k`` and, if radii are given, the reverse neighbors, in one pass."""
    m, n = rows.shape[0], columns.shape[1]
    kept, kept_index = np.empty((m, 4 * k + 64)), np.empty((m, 4 * k + 64), np.int32)
    count, limit = np.zeros(m, np.int64), np.empty(m)
    tile = np.empty(TILE)
    for row in range(m):
        limit[row] = _guess_limit(sample, rows[row], k, n, metric, tile)
    reach = np.empty(radii.shape[0])
    for index in range(radii.shape[0]):
        reach[index] = reduced_reach(radii[index], metric)
    found_row, found = np.empty(256, np.int32), np.empty(256, np.int32)
    found_distance, n_found = np.empty(256), 0
    for start in range(0, n, TILE):
        stop = min(n, start + TILE)
        for row in range(m):
            distances_to_tile(columns, start, stop, rows[row], metric, tile)
            count[row], limit[row] = _keep(
                tile[: stop - start], start, kept[row], kept_index[row], count[row], limit[row], k
            )
            if radii.shape[0] > 0:
                if n_found + TILE > found.shape[0]:
                    found_row, found = _lengthen(found_row), _lengthen(found)
                    found_distance = _lengthen(found_distance)
                before = n_found
                n_found = _covering(
                    tile, start, stop, reach, radii, metric, found, found_distance, n_found
                )
                found_row[before:n_found] = row
    distances, indices = np.empty((m, k)), np.empty((m, k), np.int32)
    for row in range(m):
        if count[row] < k:  # the guess was too low
            count[row] = _keep_all(columns, rows[row], metric, tile, kept[row], kept_index[row], k)
        bring_first(kept[row], kept_index[row], k, count[row])
        sort_pairs(kept[row], kept_index[row], k)
        for place in range(k):
            distances[row, place] = finish(kept[row, place], metric)
            indices[row, place] = kept_index[row, place]
    offsets, order = group_by_row(found_row[:n_found], m)
    return distances, indices, (offsets, found[order], found_distance[order])


@compiled
def _covering(
    tile: NDArray,
    start: int,
    stop: int,
    reach: NDArray,
    radii: NDArray,
    metric: int,
    found: NDArray,
    found_distance: NDArray,
    n_found: int,
) -> int:
    """Note the reference rows of a tile whose radius covers the row; return how many so far."""
    for index in range(start, stop):
        if tile[index - start] <= reach[index]:
            distance = finish(tile[index - start], metric)
            if distance <= radii[index]:
                found[n_found], found_distance[n_found] = index, distance
                n_found += 1
    return n_found


@compiled
def _guess_limit(
    sample: NDArray, row: NDArray, k: int, n: int, metric: int, tile: NDArray
) -> float:
    """Guess a reduced distance that a little more than ``k`` reference rows stay below."""
    size = sample.shape[1]
    expected = k * size / n
    rank = int(expected + 2.5 * np.sqrt(expected) + 2.0)
    if rank > size // 8:  # so many of the table are kept that a guess saves nothing
        return np.inf
    distances_to_tile(sample, 0, size, row, metric, tile)
    lowest = np.full(rank, np.inf)
    for value in tile[:size]:
        if value < lowest[-1]:
            place = rank - 1
            while place > 0 and lowest[place - 1] > value:
                lowest[place] = lowest[place - 1]
                place -= 1
            lowest[place] = value
    return np.nextafter(lowest[-1], np.inf)  # keeps rows tied with the guess


@compiled
def _keep(
    tile: NDArray, start: int, kept: NDArray, kept_index: NDArray, count: int, limit: float, k: int
) -> tuple[int, float]:
    """Keep what lies below the limit; when the store is full, keep the best ``k`` of it."""
    for place in range(tile.shape[0]):
        if tile[place] < limit:
            if count == kept.shape[0]:
                bring_first(kept, kept_index, k, count)
                count, limit = k, largest(kept, k)
                if tile[place] >= limit:
                    continue
            kept[count], kept_index[count] = tile[place], start + place
            count += 1
    return count, limit


@compiled
def _keep_all(
    columns: NDArray,
    row: NDArray,
    metric: int,
    tile: NDArray,
    kept: NDArray,
    kept_index: NDArray,
    k: int,
) -> int:
    """Search one row with no limit to begin with."""
    count, limit = 0, np.inf
    for start in range(0, columns.shape[1], TILE):
        stop = min(columns.shape[1], start + TILE)
        distances_to_tile(columns, start, stop, row, metric, tile)
        count, limit = _keep(tile[: stop - start], start, kept, kept_index, count, limit, k)
    return count


@compiled
def _lengthen(values: NDArray) -> NDArray:
    """Return a longer array that begins with the values and has room for another tile."""
    longer = np.empty(2 * values.shape[0] + TILE, values.dtype)
    longer[: values.shape[0]] = values
    return longer
