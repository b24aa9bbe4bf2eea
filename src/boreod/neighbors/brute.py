"""Exact search by brute force: a float32 pass over the table, then float64 for the few that matter.

The first pass gives candidates and tells up to which distance they are complete. True distances of
the candidates then show that the k nearest lie below that; where ties left no space to note all
candidates, the cells of the table that are near enough are searched again in float64.
"""

from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
from boreod.neighbors.cells import Cells, box_lengths, cut_into_cells
from boreod.neighbors.metrics import (
    COSINE,
    MANHATTAN,
    bring_first,
    comes_before,
    finish,
    length,
    reduced_distance,
    reduced_distances,
    sort_pairs,
)
from boreod.neighbors.rough import TILE, TOGETHER, find_candidates, rough_reach
from boreod.neighbors.rounded import Rounded, growth_of, round_table
from boreod.parallel import computed_once, one_blas_thread

WORTH_PRODUCTS = 2**20  # rows times values of the table; less takes less than preparing BLAS
NO_RADII = np.empty(0)


class BruteForce:
    """All distances to reference rows that the metric has embedded, the nearest kept."""

    name = "brute"

    def __init__(self, points: NDArray, metric: int) -> None:
        self.points, self.metric = points, metric
        self._reach: tuple[NDArray, NDArray, NDArray] | None = None

    @computed_once
    def _table(self) -> tuple[Rounded, Cells]:
        cells = cut_into_cells(self.points, TILE)
        return round_table(self.points, cells, self.metric), cells

    @property
    def order(self) -> NDArray:
        """An order of the rows that brings near ones together."""
        return self._table[1][0]

    def uses_products(self, n_rows: int) -> bool:
        """Tell whether a search for so many rows may multiply matrices."""
        worth = n_rows >= TOGETHER and n_rows * self.points.size >= WORTH_PRODUCTS
        return worth and self.metric != MANHATTAN

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return the ``k`` nearest reference rows: distances and indices, in order."""
        distances, indices, _, _ = self._search(rows, k, NO_RADII)
        return distances, indices

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and every reference row that has the row within its radius.

        The second part is (offsets, indices, distances), indices ascending within a row.
        """
        distances, indices, source, covering = self._search(rows, k, radii)
        reverse = _truly_covering(self.points, rows, source, covering, radii, self.metric)
        return distances, indices, reverse

    def _search(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return the nearest, and pairs of which the one may lie within the other's radius."""
        table, cells = self._table
        reach = self._reach  # other threads may bring other radii
        if reach is None or reach[0] is not radii:  # the same for every block
            lengths = np.sqrt(2.0 * radii) if self.metric == COSINE else radii
            lengths = lengths[self.order] if len(radii) else radii
            rough = rough_reach(lengths, table[3], rows.shape[1], self.metric)
            self._reach = reach = (radii, rough, _largest_in(lengths, cells[1]))
        products = self.uses_products(len(rows))
        settings = (k, *reach[1:], self.metric, products)
        with one_blas_thread() if products else nullcontext():
            found = find_candidates(table, cells, growth_of(rows.shape[1]), rows, *settings)
        nearest = _nearest_of(self.points, rows, *found[:4], k, self.metric)
        distances, indices, unsure = nearest
        if len(unsure):
            again = (rows, unsure, found[3], self.metric, found[0].shape[1])
            _search_again(self.points, cells, *again, distances, indices)
        return distances, indices, found[4], found[5]


def _largest_in(lengths: NDArray, cuts: NDArray) -> NDArray:
    """Return the largest radius in every cell, negative if there are none."""
    if len(lengths) == 0:
        return np.full(len(cuts) - 1, -1.0)
    return np.maximum.reduceat(lengths, cuts[:-1])


@compiled
def _nearest_of(
    points: NDArray,
    rows: NDArray,
    candidates: NDArray,
    count: NDArray,
    complete: NDArray,
    complete_to: NDArray,
    k: int,
    metric: int,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the nearest ``k`` of the candidates, and the rows whose candidates may lack some."""
    m, first = rows.shape[0], ZERO
    distances, indices = unset((m, k)), unset((m, k), np.int32)
    unsure, n_unsure = unset(m, np.int64), 0
    kept = unset(candidates.shape[1])
    for row in range(m):
        size, sure = count[row], first
        if complete[row]:  # otherwise not all of them were noted
            reduced_distances(points, candidates[row], size, rows[row], metric, kept)
            for place in range(size):
                sure += length(kept[place], metric) <= complete_to[row]
        if sure < k:
            unsure[n_unsure] = row
            n_unsure += 1
            continue
        bring_first(kept, candidates[row], k, size)
        sort_pairs(kept, candidates[row], k)
        for place in range(k):
            distances[row, place] = finish(kept[place], metric)
            indices[row, place] = candidates[row, place]
    return distances, indices, unsure[:n_unsure]


@compiled
def _search_again(
    points: NDArray,
    cells: Cells,
    rows: NDArray,
    unsure: NDArray,
    farthest: NDArray,
    metric: int,
    room: int,
    distances: NDArray,
    indices: NDArray,
) -> None:
    """Search some of the rows in float64 and fill in their lists."""
    kept, kept_index, k = unset(room), unset(room, np.int32), distances.shape[1]
    for row in unsure:
        size = _nearest_in_cells(
            points, cells, rows[row], farthest[row], metric, kept, kept_index, k
        )
        bring_first(kept, kept_index, k, size)
        sort_pairs(kept, kept_index, k)
        for place in range(k):
            distances[row, place] = finish(kept[place], metric)
            indices[row, place] = kept_index[place]


@inner
def _nearest_in_cells(
    points: NDArray,
    cells: Cells,
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
    order, cuts, low, high = cells
    n_cells, count, limit, limit_index = cuts.shape[0] - 1, ZERO, np.inf, order[0]
    bounds, near = unset(n_cells), unset(n_cells, np.int32)
    box_lengths(low, high, row, metric, bounds)
    for cell in range(n_cells):
        near[cell] = cell
    sort_pairs(bounds, near, n_cells)
    for place in range(n_cells):
        cell = near[place]
        if count >= k and bounds[place] > min(farthest, length(limit, metric)):
            break
        for at in range(cuts[cell], cuts[cell + 1]):
            index = order[at]
            distance = reduced_distance(row, points[index], metric)
            if count >= k and not comes_before(distance, index, limit, limit_index):
                continue
            if count == kept.shape[0]:
                bring_first(kept, kept_index, k, count)
                count = k
                limit, limit_index = kept[k - 1], kept_index[k - 1]
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
    m, found = rows.shape[0], 0
    distances, offsets = unset(source.shape[0]), unset(m + 1, np.int64)
    for row in range(m + 1):
        offsets[row] = 0
    for entry in range(source.shape[0]):
        row, index = source[entry], covering[entry]
        distance = finish(reduced_distance(rows[row], points[index], metric), metric)
        if distance <= radii[index]:
            source[found], covering[found], distances[found] = row, index, distance
            offsets[row + 1] += 1
            found += 1
    for row in range(m):
        offsets[row + 1] += offsets[row]
    indices, lengths, place = unset(found, np.int32), unset(found), unset(m, np.int64)
    for row in range(m):
        place[row] = offsets[row]
    for entry in range(found):
        to = place[source[entry]]
        indices[to], lengths[to] = covering[entry], distances[entry]
        place[source[entry]] += 1
    for row in range(m):  # cells do not come in the order of indices
        start, stop = offsets[row], offsets[row + 1]
        sort_pairs(indices[start:stop], lengths[start:stop], stop - start)
    return offsets, indices, lengths
