"""A block of rows with their neighbors, which is the only input of a score.

Blocks of training rows and blocks of new rows have the same form, so a score needs only one
function for both. The distances among the neighbors of a row are computed once per block and shared
by the scores that read them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
from boreod.neighbors.metrics import distances_to_tile, finish

Ks = tuple[int, ...]
# The reverse neighbors of the rows of a block, as offsets, indices and distances. Entries
# ``offsets[i]`` to ``offsets[i + 1]`` belong to row ``i``: they are the reference rows that have
# row ``i`` within their k-distance. Indices ascend within a row.
Reverse = tuple[NDArray, NDArray, NDArray]
# The largest number of values that a vector instruction handles at once.
LANES = 8


@dataclass
class Block:
    """Rows, their neighbors in the reference table, and on demand the distances among neighbors.

    ``points`` and ``reference`` are embedded by the metric. ``distances`` and ``indices`` list the
    neighbors of each row, nearest first, without the row itself. ``own`` holds the position of each
    row among the reference rows, or -1 if the row is no reference row. ``dimension`` is the number
    of columns of the view. The function ``radii`` returns the k-distances of all reference rows for
    some ks, one column per k. The function ``find_reverse`` returns reverse neighbors.
    """

    points: NDArray
    reference: NDArray
    distances: NDArray
    indices: NDArray
    own: NDArray
    metric: int
    dimension: int
    radii: Callable[[Ks], NDArray]
    find_reverse: Callable[[], Reverse]
    _among: NDArray | None = field(default=None, repr=False)

    def own_radii(self, ks: Ks) -> NDArray:
        """Return the k-distances of the rows of the block, one column per k."""
        return self.distances.take([k - 1 for k in ks], axis=1)

    def part(self, rows: slice) -> "Block":
        """Return some rows of the block."""
        return replace(
            self,
            points=self.points[rows],
            distances=self.distances[rows],
            indices=self.indices[rows],
            own=self.own[rows],
            find_reverse=lambda: self._reverse_of(rows),
            _among=None,
        )

    @cached_property
    def reverse(self) -> Reverse:
        """Reverse neighbors of the rows of the block."""
        return self.find_reverse()

    def _reverse_of(self, rows: slice) -> Reverse:
        offsets, indices, distances = self.reverse
        cuts = offsets[rows.start : rows.stop + 1]
        inside = slice(cuts[0], cuts[-1])
        return cuts - cuts[0], indices[inside], distances[inside]

    def distances_among(self, k: int) -> NDArray:
        """Return the distances among at least the first ``k`` neighbors."""
        if self._among is None or self._among.shape[1] < k:
            self._among = _distances_among(self.reference, self.indices, k, self.metric)
        return self._among


@inner
def whole_vectors(n: int) -> int:
    """Return the smallest multiple of LANES that is at least ``n``."""
    return (n + LANES - 1) // LANES * LANES


@compiled
def _distances_among(reference: NDArray, indices: NDArray, k: int, metric: int) -> NDArray:
    """Return the distances among the first ``k`` neighbors of every row: (rows, k, at least k).

    The last axis is padded to whole vectors; only its first ``k`` values have a meaning. Inner
    loops run over neighbors, not over columns, which keeps the order of additions and fills vector
    registers. The distance of a neighbor to itself is -0.0. Read as an integer, -0.0 is less than
    all other distances.
    """
    m, d, start = indices.shape[0], reference.shape[1], ZERO
    width = whole_vectors(k)
    result = unset((m, k, width))
    columns = unset((d, width))
    for column in range(d):
        for place in range(width):
            columns[column, place] = 0.0
    for row in range(m):
        for place in range(k):
            neighbor = indices[row, place]
            for column in range(d):
                columns[column, place] = reference[neighbor, column]
        among = result[row]
        for first in range(k):
            neighbor, stop = indices[row, first], whole_vectors(first)
            distances_to_tile(columns, start, stop, reference, neighbor, d, metric, among, first)
            for second in range(stop):
                among[first, second] = finish(among[first, second], metric)
            among[first, first] = -0.0
            for second in range(first):
                among[second, first] = among[first, second]
    return result
