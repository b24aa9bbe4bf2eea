"""Exact search by brute force: a float32 pass over the table, then float64 for the few that matter.

The first pass gives candidates and tells up to which distance they are complete. True distances of
the candidates then show that the k nearest lie below that; where ties left no room to note all
candidates, the cells of the table that are near enough are searched again in float64.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.metrics import distances_to_tile, finish, length, reduced_distance
from boreod.neighbors.ordering import bring_first, comes_before, group_by_row, last_of, sort_pairs
from boreod.neighbors.rough import RoughTable, box_lengths

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
        self.points = points
        self.rough = RoughTable(points, metric)
        cells = self.rough.cells
        self.order = cells.order  # brings near rows together
        self._cells = (cells.order, cells.cuts, cells.low, cells.high)

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return the ``k`` nearest reference rows: distances and indices, in order."""
        found = self.rough.find_candidates(rows, k, NO_RADII)
        return _nearest_of(self.points, *self._cells, rows, *found[:4], k, self.metric)

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and every reference row that has the row within its radius.

        The second part is (offsets, indices, distances), indices ascending within a row.
        """
        found = self.rough.find_candidates(rows, k, radii)
        distances, indices = _nearest_of(
            self.points, *self._cells, rows, *found[:4], k, self.metric
        )
        reverse = _truly_covering(self.points, rows, *found[4:], radii, self.metric)
        return distances, indices, reverse


@compiled
def _nearest_of(
    points: NDArray,
    order: NDArray,
    cuts: NDArray,
    low: NDArray,
    high: NDArray,
    rows: NDArray,
    candidates: NDArray,
    count: NDArray,
    complete: NDArray,
    complete_to: NDArray,
    k: int,
    metric: int,
) -> tuple[NDArray, NDArray]:
    """Return the nearest ``k``, from the candidates if these must hold them."""
    m = rows.shape[0]
    distances, indices = unset((m, k)), unset((m, k), np.int32)
    kept = unset(candidates.shape[1])
    gathered = unset((points.shape[1], candidates.shape[1]))
    for row in range(m):
        size, sure = count[row], 0
        if complete[row]:  # otherwise not all of them were noted
            for place in range(size):
                candidate = candidates[row, place]
                for column in range(points.shape[1]):
                    gathered[column, place] = points[candidate, column]
            distances_to_tile(gathered, 0, size, rows[row], metric, kept)
            for place in range(size):
                sure += length(kept[place], metric) <= complete_to[row]
        if sure < k:
            size = _search_again(
                points,
                order,
                cuts,
                low,
                high,
                rows[row],
                complete_to[row],
                metric,
                kept,
                candidates[row],
                k,
            )
        bring_first(kept, candidates[row], k, size)
        sort_pairs(kept, candidates[row], k)
        for place in range(k):
            distances[row, place] = finish(kept[place], metric)
            indices[row, place] = candidates[row, place]
    return distances, indices


@compiled
def _search_again(
    points: NDArray,
    order: NDArray,
    cuts: NDArray,
    low: NDArray,
    high: NDArray,
    row: NDArray,
    farthest: float,
    metric: int,
    kept: NDArray,
    kept_index: NDArray,
    k: int,
) -> int:
    """Search one row in float64; return how many are kept, the nearest ``k`` among them.

    These lie within ``farthest``; a cell that is farther away is only met if there are fewer.
    """
    count, limit, limit_index = 0, np.inf, 0
    bounds = unset(cuts.shape[0] - 1)
    box_lengths(low, high, row, metric, bounds)
    for cell in np.argsort(bounds):
        if count >= k and bounds[cell] > min(farthest, length(limit, metric)):
            break
        for index in order[cuts[cell] : cuts[cell + 1]]:
            distance = reduced_distance(row, points[index], metric)
            if count >= k and not comes_before(distance, index, limit, limit_index):
                continue
            if count == kept.shape[0]:
                bring_first(kept, kept_index, k, count)
                count = k
                limit, limit_index = last_of(kept, kept_index, k)
                if not comes_before(distance, index, limit, limit_index):
                    continue
            kept[count], kept_index[count] = distance, index
            count += 1
    return count


@compiled
def _truly_covering(
    points: NDArray,
    rows: NDArray,
    source: NDArray,
    covering: NDArray,
    radii: NDArray,
    metric: int,
) -> tuple[NDArray, NDArray, NDArray]:
    """Keep the pairs whose true distance is within the radius, grouped by row."""
    distances, found = unset(source.shape[0]), 0
    for entry in range(source.shape[0]):
        index = covering[entry]
        distance = finish(reduced_distance(rows[source[entry]], points[index], metric), metric)
        if distance <= radii[index]:
            source[found], covering[found], distances[found] = source[entry], index, distance
            found += 1
    offsets, order = group_by_row(source[:found], rows.shape[0])
    covering, distances = covering[order], distances[order]
    for row in range(rows.shape[0]):  # cells do not come in the order of indices
        span = slice(offsets[row], offsets[row + 1])
        by_index = np.argsort(covering[span])
        covering[span], distances[span] = covering[span][by_index], distances[span][by_index]
    return offsets, covering, distances
