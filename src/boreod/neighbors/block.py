"""A block of rows and what surrounds them: all that a score may look at.

A block of training rows and a block of new rows look the same to a score; that is why one function
serves both.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from numpy.typing import NDArray

from boreod.neighbors.geometry import directions, distances_among

Ks = tuple[int, ...]


@dataclass(frozen=True)
class Reverse:
    """Reference rows that have a row within their k-distance, for a block of rows.

    Attributes
    ----------
    offsets
        Entries ``offsets[i]`` to ``offsets[i + 1]`` belong to row ``i`` of the block.
    indices
        Reference rows, ascending within a row of the block.
    distances
        Distances to them.
    """

    offsets: NDArray
    indices: NDArray
    distances: NDArray

    def part(self, rows: slice) -> "Reverse":
        """Return the reverse neighbors of some rows of the block."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        inside = slice(offsets[0], offsets[-1])
        return Reverse(offsets - offsets[0], self.indices[inside], self.distances[inside])


@dataclass
class Block:
    """Rows, their neighbors in the reference table, and on demand what lies between those.

    Attributes
    ----------
    points
        The rows as the metric embeds them.
    reference
        All reference rows, embedded likewise.
    distances, indices
        The neighbors, nearest first; the row itself is not among them.
    own
        The rows themselves among the reference rows, -1 for rows that are not there.
    metric
        Code of the metric.
    dimension
        Number of columns of the view.
    radii
        Gives the k-distances of all reference rows for some ks, a column per k.
    find_reverse
        Gives the reverse neighbors of the rows of the block.
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
            self._among = distances_among(self.reference, self.indices, k, self.metric)
        return self._among

    def directions(self, k: int) -> NDArray:
        """Return the differences between the first ``k`` neighbors and the row."""
        return directions(self.points, self.reference, self.indices, k)
