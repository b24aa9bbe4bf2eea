"""The neighbor graph of a reference table.

The only place that leaves a row out of its own list, breaks ties (through the back ends' common
order) and cuts lists to k. Reverse neighbors are by distance: ``o`` is a reverse neighbor of ``p``
at k if ``d(p, o)`` is at most the k-distance of ``o``, for training rows and new rows alike.

Copies of a row have the same neighborhood, so only the first of them is searched and scored; a
table of many copies costs what its distinct rows cost.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled
from boreod.engine import Engine
from boreod.neighbors.backends import BACKENDS, choose_backend
from boreod.neighbors.block import Block, Ks, Reverse
from boreod.neighbors.known_rows import UNKNOWN, KnownRows
from boreod.neighbors.metrics import METRICS, embed

SEARCH_ROWS = 128  # rows a search handles together: their candidates stay in the cache
NO_REVERSE = Reverse(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


class NeighborGraph:
    """Neighbor lists of all reference rows, and the search for rows that come later.

    Parameters
    ----------
    points
        Reference rows, columns of one view only.
    ks
        All k in use, ascending.
    reverse_k
        Largest k for which reverse neighbors are needed, 0 for none.
    metric
        ``"euclidean"``, ``"manhattan"`` or ``"cosine"``.
    backend
        ``"brute"``, ``"tree"``, or ``"auto"`` for the faster on a pilot.
    engine
        Runs the search over blocks of rows.
    """

    def __init__(
        self,
        points: NDArray,
        ks: Ks,
        reverse_k: int,
        metric: str,
        backend: str,
        engine: Engine,
    ) -> None:
        self.metric = METRICS[metric]
        self.dimension = points.shape[1]
        self.reference = embed(points, self.metric)
        self.k, self.reverse_k, self.ks = ks[-1], reverse_k, ks
        first = KnownRows(self.reference).find(self.reference)
        self._distinct = np.flatnonzero(first == np.arange(len(first)))
        self._place = np.searchsorted(self._distinct, first)
        self.backend = (
            choose_backend(self.reference, self.metric, self.k)
            if backend == "auto"
            else BACKENDS[backend](self.reference, self.metric)
        )
        self.lists: tuple[NDArray, NDArray] | None = self._search_all(engine)
        distances = self.lists[0]
        self._radii = {ks: np.ascontiguousarray(distances[:, [k - 1 for k in ks]])}
        self._inverse = self._invert()

    def radii(self, ks: Ks) -> NDArray:
        """Return the k-distances of all reference rows, a column per k."""
        if ks not in self._radii:
            columns = [self.ks.index(k) for k in ks]
            self._radii[ks] = np.ascontiguousarray(self._radii[self.ks][:, columns])
        return self._radii[ks]

    def narrowed(self, ks: Ks, reverse_k: int) -> "NeighborGraph":
        """Return the same graph for some of its ks; nothing is searched again."""
        graph = object.__new__(NeighborGraph)
        graph.__dict__.update(self.__dict__)
        graph.__dict__.pop("_reverse_radii", None)
        graph._radii = {ks: self.radii(ks)}
        graph.k, graph.reverse_k, graph.ks = ks[-1], reverse_k, ks
        graph.forget_lists()
        return graph

    def forget_lists(self) -> None:
        """Drop what only the training rows need."""
        self.lists = None
        vars(self).pop("_inverse", None)

    @property
    def n_distinct(self) -> int:
        """Number of distinct reference rows."""
        return len(self._distinct)

    def spread(self, values: NDArray) -> NDArray:
        """Give values of the distinct reference rows to all reference rows."""
        return values if self.n_distinct == len(self._place) else values[self._place]

    def training_block(self, rows: slice) -> Block:
        """Return some distinct reference rows with their neighbors, themselves left out."""
        assert self.lists is not None
        own = self._distinct[rows]
        # without copies a slice does, which copies nothing
        chosen = rows if self.n_distinct == len(self._place) else own
        distances, indices = self.lists[0][chosen], self.lists[1][chosen]
        return self._block(
            self.reference[chosen], distances, indices, own, lambda: self._inverse(own)
        )

    def new_block(self, points: NDArray, own: NDArray) -> Block:
        """Search the neighbors of new rows; row ``own[i]`` is left out of the list of row ``i``."""
        rows = embed(points, self.metric)
        k = min(self.k + 1, self.reference.shape[0])
        if self.reverse_k == 0:
            distances, indices = self.backend.nearest(rows, k)
            reverse = NO_REVERSE
        else:
            distances, indices, entries = self.backend.nearest_and_reverse(
                rows, k, self._reverse_radii
            )
            reverse = Reverse(*_without_own(*entries, own))
        distances, indices = _leave_out(distances, indices, own, self.k)
        return self._block(rows, distances, indices, own, lambda: reverse)

    def _block(
        self,
        points: NDArray,
        distances: NDArray,
        indices: NDArray,
        own: NDArray,
        find_reverse: Callable[[], Reverse],
    ) -> Block:
        return Block(
            points=points,
            reference=self.reference,
            distances=distances,
            indices=indices,
            own=own,
            metric=self.metric,
            dimension=self.dimension,
            find_radii=self.radii,
            find_reverse=find_reverse,
        )

    def _search_all(self, engine: Engine) -> tuple[NDArray, NDArray]:
        """Search every distinct row; one neighbor more than k tells ties at the end of a list."""
        n = self.reference.shape[0]
        distances, indices = np.empty((n, self.k)), np.empty((n, self.k), np.int32)
        one_more = min(self.k + 1, n - 1)

        def search(rows: slice) -> bool:
            own = self._distinct[rows]
            found = self.backend.nearest(self.reference[own], one_more + 1)
            nearest, which = _leave_out(*found, own, one_more)
            distances[own], indices[own] = nearest[:, : self.k], which[:, : self.k]
            if self.reverse_k == 0 or one_more == self.k:
                return False  # nobody asks, or the lists hold everything there is
            return bool((nearest[:, self.k] == nearest[:, self.reverse_k - 1]).any())

        ties = engine.map(search, list(blocks(self.n_distinct, SEARCH_ROWS)), "neighbor search")
        self._lists_end_in_ties = any(ties)
        _copy_lists(distances, indices, self._distinct[self._place])
        return distances, indices

    def _invert(self) -> Callable[[NDArray], Reverse]:
        """Return what gives the reverse neighbors of training rows.

        Lists are turned around, unless some end in ties and so miss reverse neighbors; these are
        then searched, when they are asked for, because ties can make them as many as all pairs.
        """
        if self.reverse_k == 0:
            return lambda _: NO_REVERSE
        if self._lists_end_in_ties:
            return self._search_reverse
        assert self.lists is not None
        inverse = _turn_around(*self.lists, self._reverse_radii)
        return lambda own: Reverse(*_pick(*inverse, own))

    @cached_property
    def _reverse_radii(self) -> NDArray:
        return np.ascontiguousarray(self.radii(self.ks)[:, self.ks.index(self.reverse_k)])

    def _search_reverse(self, own: NDArray) -> Reverse:
        points = self.reference[own]
        _, _, entries = self.backend.nearest_and_reverse(points, 1, self._reverse_radii)
        return Reverse(*_without_own(*entries, own))


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut ``n`` rows into blocks."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


@compiled
def _leave_out(
    distances: NDArray, indices: NDArray, own: NDArray, k: int
) -> tuple[NDArray, NDArray]:
    """Cut lists to ``k`` entries without the row itself, or without the last if it is not there."""
    m = distances.shape[0]
    kept, kept_index = np.empty((m, k)), np.empty((m, k), np.int32)
    for row in range(m):
        place = 0
        for entry in range(distances.shape[1]):
            if place < k and (own[row] == UNKNOWN or indices[row, entry] != own[row]):
                kept[row, place], kept_index[row, place] = (
                    distances[row, entry],
                    indices[row, entry],
                )
                place += 1
    return kept, kept_index


@compiled
def _copy_lists(distances: NDArray, indices: NDArray, first: NDArray) -> None:
    """Give copies of a row its list, in which they stand back for the row itself."""
    for row in range(first.shape[0]):
        source = first[row]
        if source == row:
            continue
        distances[row], indices[row, 0] = distances[source], source
        place = 1
        for entry in range(indices.shape[1]):
            if place < indices.shape[1] and indices[source, entry] != row:
                indices[row, place] = indices[source, entry]
                place += 1


@compiled
def _pick(
    offsets: NDArray, sources: NDArray, from_source: NDArray, rows: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the reverse neighbors of some rows."""
    cut = np.zeros(rows.shape[0] + 1, np.int64)
    for place, row in enumerate(rows):
        cut[place + 1] = cut[place] + offsets[row + 1] - offsets[row]
    picked, distances = np.empty(cut[-1], np.int32), np.empty(cut[-1])
    for place, row in enumerate(rows):
        picked[cut[place] : cut[place + 1]] = sources[offsets[row] : offsets[row + 1]]
        distances[cut[place] : cut[place + 1]] = from_source[offsets[row] : offsets[row + 1]]
    return cut, picked, distances


@compiled
def _without_own(
    offsets: NDArray, indices: NDArray, distances: NDArray, own: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Take the row itself out of its reverse neighbors."""
    keep = np.ones(indices.shape[0], np.bool_)
    cut = np.zeros_like(offsets)
    for row in range(own.shape[0]):
        for entry in range(offsets[row], offsets[row + 1]):
            keep[entry] = indices[entry] != own[row]
            cut[row + 1] += keep[entry]
        cut[row + 1] += cut[row]
    return cut, indices[keep], distances[keep]


@compiled
def _turn_around(
    distances: NDArray, indices: NDArray, radii: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """List, for every row, the rows that have it within their radius."""
    n, k = indices.shape
    offsets = np.zeros(n + 1, np.int64)
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                offsets[indices[source, place] + 1] += 1
    for row in range(n):
        offsets[row + 1] += offsets[row]
    free = offsets[:-1].copy()
    sources, from_source = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                entry = free[indices[source, place]]
                sources[entry], from_source[entry] = source, distances[source, place]
                free[indices[source, place]] += 1
    return offsets, sources, from_source
