"""The neighbor graph of a reference table.

The only place that leaves a row out of its own list, breaks ties (through the back ends' common
order) and cuts lists to k. Reverse neighbors are by distance: ``o`` is a reverse neighbor of ``p``
at k if ``d(p, o)`` is at most the k-distance of ``o``, for training rows and new rows alike.

Copies of a row have the same neighborhood, so only the first of them is searched and scored; a
table of many copies costs what its distinct rows cost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import unset
from boreod.neighbors.backends import Backend, make_backend
from boreod.neighbors.block import Block, Ks, Reverse
from boreod.neighbors.foreign import ForeignSearch, Recall
from boreod.neighbors.known_rows import distinct_rows
from boreod.neighbors.lists import copy_lists, leave_out, pick, turn_around, without_own
from boreod.neighbors.metrics import METRICS, embed
from boreod.parallel import Engine

LARGE_TABLE = 20_000  # rows whose descriptions do not fit into the cache
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
    neighbors
        How to search, see :func:`boreod.neighbors.backends.make_backend`.
    engine
        Runs the search over blocks of rows.

    Attributes
    ----------
    recall
        What a search of another library found of the true neighbors; None for our own.
    """

    def __init__(
        self,
        points: NDArray,
        ks: Ks,
        reverse_k: int,
        metric: str,
        neighbors: Any,
        engine: Engine,
    ) -> None:
        self.metric = METRICS[metric]
        self.dimension = points.shape[1]
        self.reference = embed(points, self.metric)
        self.k, self.reverse_k, self.ks = ks[-1], reverse_k, ks
        self._distinct, self._place = distinct_rows(self.reference)
        self.backend = make_backend(neighbors, self.reference, self.metric, self.k)
        self._bring_near_rows_together()
        self.lists: tuple[NDArray, NDArray] | None = self._search_all(engine)
        distances = self.lists[0]
        self._radii = {ks: np.ascontiguousarray(distances[:, [k - 1 for k in ks]])}
        self._inverse = self._turn_around()
        self.recall: Recall | None = None
        if isinstance(self.backend, ForeignSearch):
            self.recall = self.backend.check_recall(self.k, self.radii((self.k,))[:, 0])

    @classmethod
    def restore(
        cls,
        points: NDArray,
        ks: Ks,
        reverse_k: int,
        metric: str,
        neighbors: Any,
        radii: dict[Ks, NDArray],
    ) -> "NeighborGraph":
        """Return a graph that finds neighbors of new rows, from some k-distances of its own."""
        graph = object.__new__(cls)
        graph.metric, graph.dimension = METRICS[metric], points.shape[1]
        graph.reference = embed(points, graph.metric)
        graph.k, graph.reverse_k, graph.ks = ks[-1], reverse_k, ks
        graph.backend = make_backend(neighbors, graph.reference, graph.metric, graph.k)
        graph.lists, graph._radii, graph.recall = None, radii, None
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

    def of_training_rows(self) -> "NeighborGraph":
        """Return the part of the graph that blocks of training rows need: a smaller parcel."""
        graph = object.__new__(NeighborGraph)
        graph.__dict__.update(self.__dict__)
        if not self._lists_miss_some:  # otherwise reverse neighbors are still to be searched
            del graph.backend
        return graph

    def forget_lists(self) -> None:
        """Drop what only the training rows need."""
        self.lists = None
        vars(self).pop("_inverse", None)

    def _bring_near_rows_together(self) -> None:
        """Let blocks of training rows be near each other: they then look up the same neighbors.

        What does not fit into the cache is so read from memory less often.
        """
        order = getattr(self.backend, "order", None)
        self._in_order = order is None or len(order) < LARGE_TABLE
        if not self._in_order:
            rank = unset(len(self.reference), np.int64)
            rank[order] = np.arange(len(rank))
            by_rank = np.argsort(rank[self._distinct])
            self._distinct = self._distinct[by_rank]
            self._place = np.argsort(by_rank)[self._place]

    @property
    def n_distinct(self) -> int:
        """Number of distinct reference rows."""
        return len(self._distinct)

    @property
    def _is_plain(self) -> bool:
        """Whether distinct rows are simply all rows."""
        return self._in_order and self.n_distinct == len(self._place)

    def spread(self, values: NDArray) -> NDArray:
        """Give values of the distinct reference rows to all reference rows."""
        return values if self._is_plain else values[self._place]

    def training_block(self, rows: slice) -> Block:
        """Return some distinct reference rows with their neighbors, themselves left out."""
        assert self.lists is not None
        own = self._distinct[rows]
        chosen = rows if self._is_plain else own  # a slice copies nothing
        distances, indices = self.lists[0][chosen], self.lists[1][chosen]
        return self._block(
            self.reference[chosen], distances, indices, own, lambda: self._reverse_of(own)
        )

    def new_block(self, points: NDArray, own: NDArray, depth: int = 0) -> Block:
        """Search the neighbors of new rows; row ``own[i]`` is left out of the list of row ``i``.

        Lists are as long as the largest k, or as ``depth`` if that is more.
        """
        rows = embed(points, self.metric)
        depth = max(self.k, depth)
        k = min(depth + 1, self.reference.shape[0])
        if self.reverse_k == 0:
            distances, indices = self.backend.nearest(rows, k)
            reverse = NO_REVERSE
        else:
            distances, indices, entries = self.backend.nearest_and_reverse(
                rows, k, self._reverse_radii
            )
            reverse = Reverse(*without_own(*entries, own))
        distances, indices = leave_out(distances, indices, own, depth)
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
        """Search every distinct row."""
        n = self.reference.shape[0]
        distances, indices = unset((n, self.k)), unset((n, self.k), np.int32)
        ties: list[bool] = []

        def take(rows: slice, found: tuple[NDArray, NDArray, bool]) -> None:
            own = self._distinct[rows]
            distances[own], indices[own] = found[:2]
            ties.append(found[2])

        engine.map_unordered(
            _search,
            list(blocks(self.n_distinct, SEARCH_ROWS)),
            take,
            "neighbor search",
            [_Search(self.backend, self.reference, self._distinct, self.k, self.reverse_k)],
        )
        self._lists_miss_some = any(ties) or isinstance(self.backend, ForeignSearch)
        copy_lists(distances, indices, self._distinct[self._place])
        return distances, indices

    def _turn_around(self) -> tuple[NDArray, NDArray, NDArray] | None:
        """Return the reverse neighbors of all rows, None if some lists end in ties.

        Such lists miss reverse neighbors, and so do those of an approximate search. These are then
        searched, when they are asked for, because ties can make them as many as all pairs.
        """
        if self.reverse_k == 0 or self._lists_miss_some:
            return None
        assert self.lists is not None
        return turn_around(*self.lists, self._reverse_radii)

    def _reverse_of(self, own: NDArray) -> Reverse:
        """Return the reverse neighbors of training rows."""
        if self.reverse_k == 0:
            return NO_REVERSE
        if self._inverse is not None:
            return Reverse(*pick(*self._inverse, own))
        points = self.reference[own]
        _, _, entries = self.backend.nearest_and_reverse(points, 1, self._reverse_radii)
        return Reverse(*without_own(*entries, own))

    @cached_property
    def _reverse_radii(self) -> NDArray:
        return self.radii((self.reverse_k,))[:, 0]


@dataclass(frozen=True, eq=False)
class _Search:
    """What the search of training rows needs of their graph."""

    backend: Backend
    reference: NDArray
    distinct: NDArray
    k: int
    reverse_k: int


def _search(of: _Search, rows: slice) -> tuple[NDArray, NDArray, bool]:
    """Return lists of some distinct rows, and whether a reverse neighbor may be missing.

    One neighbor more than k tells ties at the end of a list.
    """
    one_more = min(of.k + 1, of.reference.shape[0] - 1)
    own = of.distinct[rows]
    found = of.backend.nearest(of.reference[own], one_more + 1)
    distances, indices = leave_out(*found, own, one_more)
    # nobody asks, or the lists hold everything there is
    complete = of.reverse_k == 0 or one_more == of.k
    ties = not complete and bool((distances[:, of.k] == distances[:, of.reverse_k - 1]).any())
    return distances[:, : of.k], indices[:, : of.k], ties


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut ``n`` rows into blocks."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
