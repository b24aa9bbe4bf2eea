"""A block of rows and what surrounds them: all that a score may look at.

A block of training rows and a block of new rows look the same to a score; that is why one function
serves both. The geometry of a neighborhood, what lies between the neighbors of a row, is computed
once a block and shared by COF, LDOF and FastABOD.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, unset
from boreod.neighbors.metrics import distances_to_tile, finish

Ks = tuple[int, ...]


@dataclass(frozen=True)
class Reverse:
    """Reference rows that have a row within their k-distance, for a block of rows."""

    # entries ``offsets[i]`` to ``offsets[i + 1]`` belong to row ``i`` of the block
    offsets: NDArray
    indices: NDArray  # reference rows, ascending within a row of the block
    distances: NDArray  # distances to them

    def part(self, rows: slice) -> "Reverse":
        """Return the reverse neighbors of some rows of the block."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        inside = slice(offsets[0], offsets[-1])
        return Reverse(offsets - offsets[0], self.indices[inside], self.distances[inside])


@dataclass
class Block:
    """Rows, their neighbors in the reference table, and on demand what lies between those."""

    points: NDArray  # the rows as the metric embeds them
    reference: NDArray  # all reference rows, embedded likewise
    # the neighbors, nearest first; the row itself is not among them
    distances: NDArray
    indices: NDArray
    own: NDArray  # the rows themselves among the reference rows, -1 for rows that are not there
    metric: int  # code of the metric
    dimension: int  # number of columns of the view
    # gives the k-distances of all reference rows for some ks, a column per k
    radii: Callable[[Ks], NDArray]
    find_reverse: Callable[[], Reverse]  # gives the reverse neighbors of the rows of the block
    _among: NDArray | None = field(default=None, repr=False)

    def own_radii(self, ks: Ks) -> NDArray:
        """Return the k-distances of the rows of the block, a column per k."""
        return self.distances.take([k - 1 for k in ks], axis=1)

    def part(self, rows: slice) -> "Block":
        """Return some rows of the block."""
        return replace(
            self,
            points=self.points[rows],
            distances=self.distances[rows],
            indices=self.indices[rows],
            own=self.own[rows],
            find_reverse=lambda: self.reverse.part(rows),
            _among=None,
        )

    @cached_property
    def reverse(self) -> Reverse:
        """Reverse neighbors of the rows of the block."""
        return self.find_reverse()

    def distances_among(self, k: int) -> NDArray:
        """Return the distances among the first ``k`` neighbors, or among more of them."""
        if self._among is None or self._among.shape[1] < k:
            self._among = _distances_among(self.reference, self.indices, k, self.metric)
        return self._among

    def directions(self, k: int) -> NDArray:
        """Return the differences between the first ``k`` neighbors and the row."""
        return _directions(self.points, self.reference, self.indices, k)


@compiled
def _distances_among(reference: NDArray, indices: NDArray, k: int, metric: int) -> NDArray:
    """Return the (rows, k, k) distances among the first ``k`` neighbors of every row.

    Inner loops run over neighbors, not over columns: that keeps the order of additions and still
    fills vector registers.
    """
    m, d, start = indices.shape[0], reference.shape[1], ZERO
    result = unset((m, k, k))
    columns = unset((d, k))
    for row in range(m):
        for place in range(k):
            neighbor = reference[indices[row, place]]
            for column in range(d):
                columns[column, place] = neighbor[column]
        for first in range(k):
            line = result[row, first]
            distances_to_tile(columns, start, first, reference[indices[row, first]], metric, line)
            for second in range(first):
                line[second] = finish(line[second], metric)
            line[first] = 0.0
            for second in range(first):
                result[row, second, first] = line[second]
    return result


@compiled
def _directions(points: NDArray, reference: NDArray, indices: NDArray, k: int) -> NDArray:
    """Return the (rows, columns, k) differences between the first ``k`` neighbors and the row."""
    m, d = points.shape
    result = unset((m, d, k))
    for row in range(m):
        for place in range(k):
            neighbor = indices[row, place]
            for column in range(d):
                result[row, column, place] = reference[neighbor, column] - points[row, column]
    return result
