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

from boreod.engine import Engine
from boreod.neighbors.backends import BACKENDS, choose_backend
from boreod.neighbors.block import Block, Ks, Reverse
from boreod.neighbors.known_rows import distinct_rows
from boreod.neighbors.lists import copy_lists, leave_out, pick, turn_around, without_own
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
        self._distinct, self._place = distinct_rows(self.reference)
        self.backend = (
            choose_backend(self.reference, self.metric, self.k)
            if backend == "auto"
            else BACKENDS[backend](self.reference, self.metric)
        )
        self.lists: tuple[NDArray, NDArray] | None = self._search_all(engine)
        distances = self.lists[0]
        self._radii = {ks: np.ascontiguousarray(distances[:, [k - 1 for k in ks]])}
        self._inverse = self._invert()

    @classmethod
    def restore(
        cls,
        points: NDArray,
        ks: Ks,
        reverse_k: int,
        metric: str,
        backend: str,
        radii: dict[Ks, NDArray],
    ) -> "NeighborGraph":
        """Return a graph that finds neighbors of new rows, from some k-distances of its own."""
        graph = object.__new__(cls)
        graph.metric, graph.dimension = METRICS[metric], points.shape[1]
        graph.reference = embed(points, graph.metric)
        graph.k, graph.reverse_k, graph.ks = ks[-1], reverse_k, ks
        graph.backend = BACKENDS[backend](graph.reference, graph.metric)
        graph.lists, graph._radii = None, radii
        return graph

    def radii(self, ks: Ks) -> NDArray:
        """Return the k-distances of all reference rows, a column per k."""
        if ks not in self._radii:
            known, distances = next(iter(self._radii.items()))  # the first holds all
            self._radii[ks] = np.ascontiguousarray(distances[:, [known.index(k) for k in ks]])
        return self._radii[ks]

    def narrowed(self, ks: Ks, reverse_k: int) -> "NeighborGraph":
        """Return the same graph for some of its ks; nothing is searched again."""
        graph = object.__new__(NeighborGraph)
        graph.__dict__.update(self.__dict__)
        graph.__dict__.pop("_reverse_radii", None)
        kept = tuple(k for k in ks if k in next(iter(self._radii)))
        graph._radii = {kept: self.radii(kept)}
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
            reverse = Reverse(*without_own(*entries, own))
        distances, indices = leave_out(distances, indices, own, self.k)
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
            radii=self.radii,
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
            nearest, which = leave_out(*found, own, one_more)
            distances[own], indices[own] = nearest[:, : self.k], which[:, : self.k]
            if self.reverse_k == 0 or one_more == self.k:
                return False  # nobody asks, or the lists hold everything there is
            return bool((nearest[:, self.k] == nearest[:, self.reverse_k - 1]).any())

        ties = engine.map(search, list(blocks(self.n_distinct, SEARCH_ROWS)), "neighbor search")
        self._lists_end_in_ties = any(ties)
        copy_lists(distances, indices, self._distinct[self._place])
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
        inverse = turn_around(*self.lists, self._reverse_radii)
        return lambda own: Reverse(*pick(*inverse, own))

    @cached_property
    def _reverse_radii(self) -> NDArray:
        return self.radii((self.reverse_k,))[:, 0]

    def _search_reverse(self, own: NDArray) -> Reverse:
        points = self.reference[own]
        _, _, entries = self.backend.nearest_and_reverse(points, 1, self._reverse_radii)
        return Reverse(*without_own(*entries, own))


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut ``n`` rows into blocks."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
