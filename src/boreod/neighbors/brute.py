"""Exact search by brute force: a float32 pass over the table, then float64 for candidates.

The float32 pass returns candidates and a distance up to which the candidates are complete. The
float64 distances of the candidates must then show that the k nearest are within that distance. If
ties left no space for all candidates, this cannot be shown, and a tree searches the row again.
"""

from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, unset
from boreod.neighbors.metrics import (
    COSINE,
    MANHATTAN,
    bring_first,
    finish,
    length,
    reduced_distance,
    reduced_distances,
    sort_pairs,
)
from boreod.neighbors.rough import (
    COMPLETE,
    COMPLETE_TO,
    COUNT,
    NO_RADIUS,
    TOGETHER,
    find_candidates,
)
from boreod.neighbors.rounded import Rounded, rough_reach, round_table
from boreod.neighbors.tree import Cells, KDTree, cut_into_cells
from boreod.parallel import computed_once, one_blas_thread

# If the number of rows times the number of values of the table is smaller than this, preparing BLAS
# takes longer than the search itself.
WORTH_PRODUCTS = 2**20
# A cell has at most CELL_ROWS rows, or WIDE_CELL_ROWS in tables of at least WIDE_FROM columns.
CELL_ROWS = 256
WIDE_CELL_ROWS = 1024
WIDE_FROM = 500
# A reach holds the radii as the float32 pass needs them (in the order of cells), the largest radius
# in every cell, and the original radii.
Reach = tuple[NDArray, NDArray, NDArray]
NO_LIMIT = nullcontext()


class BruteForce:
    """A brute-force search among embedded reference rows; it skips cells that are too far away."""

    name = "brute"

    def __init__(self, points: NDArray, metric: int) -> None:
        self.points = points
        self.metric = metric
        # The tree is built only if a row must be searched again.
        self._tree = KDTree(points, metric)
        self._cell_rows = CELL_ROWS if points.shape[1] < WIDE_FROM else WIDE_CELL_ROWS

    @computed_once
    def _table(self) -> tuple[Rounded, Cells]:
        cells = cut_into_cells(self.points, self._cell_rows)
        return round_table(self.points, cells, self.metric), cells

    @property
    def order(self) -> NDArray:
        """An order of the rows in which near rows are close together."""
        return self._table[1][0]

    def uses_products(self, n_rows: int) -> bool:
        """Return whether a search for ``n_rows`` rows may use matrix products."""
        worth = n_rows >= TOGETHER and n_rows * self.points.size >= WORTH_PRODUCTS
        return worth and self.metric != MANHATTAN

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the ``k`` nearest reference rows, nearest first."""
        return self._search(rows, k, self._no_reach)[:2]

    @computed_once
    def _no_reach(self) -> Reach:
        return np.empty(0, np.float32), np.full(len(self._table[1][1]) - 1, NO_RADIUS), np.empty(0)

    def reach(self, radii: NDArray) -> Reach:
        """Prepare the radii of all reference rows for :meth:`nearest_and_reverse`."""
        table, cells = self._table
        lengths = (np.sqrt(2.0 * radii) if self.metric == COSINE else radii)[self.order]
        farthest = np.maximum.reduceat(lengths, cells[1][:-1])
        return rough_reach(lengths, table[-1], self.points.shape[1], self.metric), farthest, radii

    def nearest_and_reverse(
        self, rows: NDArray, k: int, reach: Reach
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest rows, and all reference rows whose radius covers each row.

        The last item is (offsets, indices, distances). Indices ascend within a row.
        """
        distances, indices, pairs, n_pairs = self._search(rows, k, reach)
        m = len(rows)
        room = unset(n_pairs)
        offsets = unset(m + 2, np.int64)
        covering = unset(n_pairs, np.int32)
        within = unset(n_pairs)
        _truly_covering(
            self.points, rows, pairs, reach[2], self.metric, room, offsets, covering, within
        )
        return distances, indices, (offsets[:-1], covering[: offsets[m]], within[: offsets[m]])

    def _search(self, rows: NDArray, k: int, reach: Reach) -> tuple[NDArray, NDArray, NDArray, int]:
        """Return the nearest rows, and pairs of a row and a reference row that may cover it.

        A reference row covers a row that lies within its radius. Also return the number of pairs.
        """
        table, cells = self._table
        with_products = self.uses_products(len(rows))
        with one_blas_thread() if with_products else NO_LIMIT:
            candidates, counts, known, pairs, n_pairs = find_candidates(
                table, cells, rows, k, reach[:2], self.metric, self._cell_rows, with_products
            )
        distances = unset((len(rows), k))
        indices = unset((len(rows), k), np.int32)
        room = unset(candidates.shape[1])
        n_unsure = _nearest_of(
            self.points, rows, candidates, counts, known, self.metric, distances, indices, room
        )
        if n_unsure:
            unsure = np.flatnonzero(counts[:, COUNT] < 0)
            distances[unsure], indices[unsure] = self._tree.nearest(rows[unsure], k)
        return distances, indices, pairs, n_pairs


@compiled
def _nearest_of(
    points: NDArray, rows: NDArray, candidates: NDArray, counts: NDArray,
    known: NDArray, metric: int, distances: NDArray, indices: NDArray, kept: NDArray,
) -> int:  # fmt: skip
    """Fill in the nearest candidates; return the number of rows whose lists may be incomplete.

    The counts of such rows become negative.
    """
    k = distances.shape[1]
    n_unsure = 0
    for row in range(rows.shape[0]):
        size = counts[row, COUNT]
        to = known[row, COMPLETE_TO]
        some = candidates[row]
        sure = ZERO
        # If the flag COMPLETE is not set, some candidates are missing.
        if counts[row, COMPLETE]:
            reduced_distances(points, candidates, rows, row, size, metric, kept)
            for place in range(size):
                sure += length(kept[place], metric) <= to
        if sure < k:
            counts[row, COUNT] = -1
            n_unsure += 1
            continue
        bring_first(kept, some, k, size)
        sort_pairs(kept, some, k)
        for place in range(k):
            distances[row, place] = finish(kept[place], metric)
            indices[row, place] = some[place]
    return n_unsure


@compiled
def _truly_covering(
    points: NDArray, rows: NDArray, pairs: NDArray, radii: NDArray,
    metric: int, distances: NDArray, offsets: NDArray, indices: NDArray, lengths: NDArray,
) -> None:  # fmt: skip
    """Keep the pairs whose exact distance is within the radius, and group them by row.

    ``offsets`` has one more element than the result needs. While pairs are sorted by row,
    ``offsets[row + 1]`` is the next free place of a row. At the end, the next row starts there.
    """
    m, n_kept = rows.shape[0], 0
    for row in range(m + 2):
        offsets[row] = 0
    for pair in range(distances.shape[0]):
        row, index = pairs[0, pair], pairs[1, pair]
        distance = finish(reduced_distance(rows[row], points[index], metric), metric)
        if distance <= radii[index]:
            pairs[0, n_kept] = row
            pairs[1, n_kept] = index
            distances[n_kept] = distance
            offsets[row + 2] += 1
            n_kept += 1
    for row in range(m):
        offsets[row + 2] += offsets[row + 1]
    for pair in range(n_kept):
        to = offsets[pairs[0, pair] + 1]
        indices[to] = pairs[1, pair]
        lengths[to] = distances[pair]
        offsets[pairs[0, pair] + 1] += 1
    # Pairs were found cell by cell, so their indices do not ascend yet.
    for row in range(m):
        start, stop = offsets[row], offsets[row + 1]
        sort_pairs(indices[start:stop], lengths[start:stop], stop - start)
