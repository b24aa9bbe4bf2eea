"""The neighbor graph of a reference table.

A search returns lists of neighbors. This module removes each row from its own list and cuts the
lists to k. All back ends order ties in the same way. Reverse neighbors are defined by distance:
``o`` is a reverse neighbor of ``p`` at k if ``d(p, o)`` is at most the k-distance of ``o``. The
definition is the same for training rows and new rows.

Equal rows (*copies*) have the same neighborhood, so only the first copy is searched and scored.
Further copies take almost no time.

A search back end has three methods. ``nearest(rows, k)`` returns distances and indices of the k
nearest reference rows, sorted by (distance, index). ``reach(radii)`` prepares the radii of all
reference rows for a search. ``nearest_and_reverse(rows, k, reach)`` also returns offsets, indices
and distances of the reference rows that have a given row within their radius. The results of back
ends are bit-identical, so the choice of a back end affects only the running time.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.block import Block, Ks, Reverse
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.known_rows import UNKNOWN, distinct_rows
from boreod.neighbors.metrics import METRICS, embed
from boreod.neighbors.tree import KDTree
from boreod.parallel import Engine
from boreod.text import shorten

# From this number of rows on, the per-row arrays of a table do not fit into the processor's cache.
LARGE_TABLE = 20_000
# In a table with fewer rows, a tree cannot save as much time as comparing the back ends takes.
ALWAYS_BRUTE_BELOW = 2000
# In a table with more columns, a tree can skip hardly any box.
ALWAYS_BRUTE_ABOVE = 15
# Number of rows on which back ends are timed. In large tables the number is larger, because brute
# force is fastest on whole blocks.
TIMED_ROWS = 16
TIMED_ROWS_LARGE = 128
# Number of rows that are searched together. Their candidates stay in the cache.
SEARCH_ROWS = 128
# With at least this many columns, up to four times as many rows are searched together.
WIDE = 100
# Number of blocks that is enough to keep all threads busy.
ENOUGH_BLOCKS = 32
Backend = BruteForce | KDTree
# Copies hold the positions of distinct rows, and the place of every row among them.
Copies = tuple[NDArray, NDArray]
BACKENDS: dict[str, type[BruteForce] | type[KDTree]] = {"brute": BruteForce, "tree": KDTree}
NO_REVERSE: Reverse = (np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


@dataclass(eq=False)
class NeighborGraph:
    """The neighbor search of one view, and the k-distances of its reference rows.

    ``reference`` holds the embedded rows of a view with ``dimension`` columns. ``ks`` are all k in
    use, ascending. ``reverse_k`` is the largest k that needs reverse neighbors, or 0 if no k needs
    them. ``backend`` is None in a graph that other processes need only for its training rows.
    The first entry of ``known_radii`` holds all known k-distances.
    """

    reference: NDArray
    metric: int
    dimension: int
    ks: Ks
    reverse_k: int
    backend: Any
    known_radii: dict[Ks, NDArray]

    @classmethod
    def build(
        cls,
        points: NDArray,
        ks: Ks,
        reverse_k: int,
        metric: str,
        neighbors: Any,
        radii: dict[Ks, NDArray] | None = None,
    ) -> "NeighborGraph":
        """Return a graph of the rows of one view.

        ``neighbors`` is "auto" or a name of BACKENDS. ``radii`` holds the k-distances of the rows.
        If it is None, :meth:`TrainingGraph.build` computes them later.
        """
        code = METRICS[metric]
        reference = embed(points, code)
        backend = make_backend(neighbors, reference, code, ks[-1])
        return cls(reference, code, points.shape[1], ks, reverse_k, backend, radii or {})

    def radii(self, ks: Ks) -> NDArray:
        """Return the k-distances of all reference rows, one column per k."""
        if ks not in self.known_radii:
            # Copy the entries, because other threads may add entries at the same time.
            known, distances = list(self.known_radii.items())[0]  # noqa: RUF015
            self.known_radii[ks] = np.ascontiguousarray(distances[:, [known.index(k) for k in ks]])
        return self.known_radii[ks]

    @cached_property
    def reverse_radii(self) -> NDArray:
        """The k-distances at ``reverse_k``, which define reverse neighbors."""
        return self.radii((self.reverse_k,))[:, 0]

    @cached_property
    def reach(self) -> Any:
        """``reverse_radii``, prepared for the search back end."""
        return self.backend.reach(self.reverse_radii)

    def narrowed(self, ks: Ks, reverse_k: int) -> "NeighborGraph":
        """Return this graph for a subset of its ks, without a new search."""
        kept = tuple(k for k in ks if k in next(iter(self.known_radii)))
        return replace(self, ks=ks, reverse_k=reverse_k, known_radii={kept: self.radii(kept)})

    def new_block(self, points: NDArray, own: NDArray, depth: int = 0) -> Block:
        """Search the neighbors of new rows; the list of row ``i`` leaves out row ``own[i]``.

        Lists have the length of the largest k, or ``depth`` if that is larger.
        """
        rows = embed(points, self.metric)
        depth = max(self.ks[-1], depth)
        is_known = max(own.tolist(), default=UNKNOWN) != UNKNOWN
        k = min(depth + is_known, self.reference.shape[0])
        reverse = NO_REVERSE
        if self.reverse_k == 0:
            distances, indices = self.backend.nearest(rows, k)
        else:
            distances, indices, entries = self.backend.nearest_and_reverse(rows, k, self.reach)
            reverse = without_own(entries, own) if is_known else entries
        if is_known:
            distances, indices = leave_out(distances, indices, own, depth)
        return Block(
            rows, self.reference, distances, indices, own, self.metric, self.dimension, self.radii,
            lambda: reverse,
        )  # fmt: skip


@dataclass(eq=False)
class TrainingGraph:
    """The neighbor lists of the reference rows, which only a fit needs.

    ``graph`` searches the neighbors of new rows. ``distinct`` holds the positions of the distinct
    rows, in the order in which blocks are cut. ``place`` holds, for every row, the index of its
    first copy in ``distinct``. ``inverse`` lists all reverse neighbors. It is None if no score
    needs reverse neighbors, or if a list was cut within a tie and may miss some. In the case of
    ties, reverse neighbors are searched block by block, because their number can be as large as the
    number of all pairs.
    """

    graph: NeighborGraph
    distances: NDArray
    indices: NDArray
    distinct: NDArray
    place: NDArray
    inverse: Reverse | None = None

    @classmethod
    def build(
        cls, graph: NeighborGraph, engine: Engine, copies: Copies | None = None
    ) -> "TrainingGraph":
        """Search the neighbors of all reference rows, and store their k-distances in the graph.

        ``copies`` is the result of :func:`distinct_rows`, if the caller knows it already.
        """
        n = len(graph.reference)
        k = graph.ks[-1]
        copies = copies or distinct_rows(graph.reference)
        distinct, place = near_rows_together(copies, graph.backend)
        distances = unset((n, k))
        indices = unset((n, k), np.int32)
        ties: list[bool] = []
        # Number of rows of a block in the search.
        most = SEARCH_ROWS if graph.reference.shape[1] < WIDE else 4 * SEARCH_ROWS

        def take(rows: slice, found: tuple[NDArray, NDArray, bool]) -> None:
            own = distinct[rows]
            distances[own], indices[own] = found[:2]
            ties.append(found[2])

        engine.map_unordered(
            partial(_search, k=k, reverse_k=graph.reverse_k),
            list(blocks(len(distinct), min(most, max(SEARCH_ROWS, n // ENOUGH_BLOCKS)))),
            take,
            "neighbor search",
            # The back end and the reference share the rows, so both are sent as one object.
            [(graph.backend, graph.reference, distinct)],
        )
        if len(distinct) < n:
            copy_lists(distances, indices, distinct[place])
        graph.known_radii[graph.ks] = np.ascontiguousarray(distances[:, [k - 1 for k in graph.ks]])
        result = cls(graph, distances, indices, distinct, place)
        if graph.reverse_k > 0 and not any(ties):
            result.inverse = turn_around(distances, indices, graph.reverse_radii)
        return result

    def without_search(self) -> "TrainingGraph":
        """Return a copy without the search back end, which is faster to send to other processes."""
        # A graph without `inverse` still has to search reverse neighbors.
        if self.graph.reverse_k > 0 and self.inverse is None:
            return self
        return replace(self, graph=replace(self.graph, backend=None))

    def spread(self, values: NDArray) -> NDArray:
        """Return the values of all reference rows, given the values of the distinct rows."""
        is_plain = np.array_equal(self.distinct, np.arange(len(self.place)))
        return values if is_plain else values[self.place]

    def block(self, rows: slice) -> Block:
        """Return a block of distinct reference rows; no row is its own neighbor."""
        own = self.distinct[rows]
        graph = self.graph
        return Block(
            points=graph.reference[own],
            reference=graph.reference,
            distances=self.distances[own],
            indices=self.indices[own],
            own=own,
            metric=graph.metric,
            dimension=graph.dimension,
            radii=graph.radii,
            find_reverse=lambda: self._reverse_of(own),
        )

    def _reverse_of(self, own: NDArray) -> Reverse:
        graph = self.graph
        if graph.reverse_k == 0:
            return NO_REVERSE
        if self.inverse is not None:
            offsets, sources, from_source = self.inverse
            sizes = offsets[own + 1] - offsets[own]
            cuts = np.append(0, np.cumsum(sizes))
            entries = np.arange(cuts[-1]) + np.repeat(offsets[own] - cuts[:-1], sizes)
            return cuts, sources[entries], from_source[entries]
        _, _, entries = graph.backend.nearest_and_reverse(graph.reference[own], 1, graph.reach)
        return without_own(entries, own)


def check_neighbors(wanted: object) -> None:
    """Raise if ``neighbors`` is neither "auto" nor a name of BACKENDS."""
    if not isinstance(wanted, str) or wanted not in ("auto", *BACKENDS):
        raise ValueError(
            f"`neighbors` must be 'auto' or one of {list(BACKENDS)}; got {shorten(wanted)}."
        )


def make_backend(wanted: str, points: NDArray, metric: int, k: int) -> Backend:
    """Return the requested back end for embedded rows; "auto" compares back ends at this ``k``."""
    check_neighbors(wanted)
    if wanted == "auto":
        return choose_backend(points, metric, k)
    return BACKENDS[wanted](points, metric)


def choose_backend(points: NDArray, metric: int, k: int) -> Backend:
    """Return the faster of brute force and tree, timed on rows from all parts of the table.

    The number of columns alone does not determine which back end is faster.
    """
    n, d = points.shape
    brute = BruteForce(points, metric)
    if n < ALWAYS_BRUTE_BELOW or d > ALWAYS_BRUTE_ABOVE:
        return brute
    tree = KDTree(points, metric)
    size = TIMED_ROWS
    if n >= LARGE_TABLE or brute.uses_products(TIMED_ROWS_LARGE):
        size = TIMED_ROWS_LARGE
    rows = np.ascontiguousarray(points[:: max(1, n // size)][:size])
    return brute if _seconds(brute, rows, k) <= _seconds(tree, rows, k) else tree


def _seconds(backend: Backend, rows: NDArray, k: int) -> float:
    """Return the time of a second search, because the first may compile kernels and load BLAS."""
    backend.nearest(rows, k)
    started = time.perf_counter()
    backend.nearest(rows, k)
    return time.perf_counter() - started


def near_rows_together(copies: Copies, backend: Any) -> Copies:
    """Order the distinct rows of a large table so that near rows belong to the same block.

    Near rows share neighbors, so these neighbors are read from memory less often.
    """
    distinct, place = copies
    if len(place) < LARGE_TABLE:
        return copies
    by_rank = np.argsort(np.argsort(backend.order)[distinct])
    return distinct[by_rank], np.argsort(by_rank)[place]


def _search(
    searched: tuple[Backend, NDArray, NDArray], rows: slice, k: int, reverse_k: int
) -> tuple[NDArray, NDArray, bool]:
    """Return the lists of some distinct rows, and whether they may miss a reverse neighbor.

    The search returns one neighbor more than k, which shows whether a list ends in ties.
    """
    backend, reference, distinct = searched
    one_more = min(k + 1, reference.shape[0] - 1)
    own = distinct[rows]
    distances, indices = leave_out(*backend.nearest(reference[own], one_more + 1), own, one_more)
    return distances[:, :k], indices[:, :k], end_in_ties(distances, k, reverse_k)


def end_in_ties(distances: NDArray, k: int, reverse_k: int) -> bool:
    """Return whether lists that are cut to k rows may miss a reverse neighbor.

    ``distances`` has one column more than k, unless the lists hold all other rows. Lists of all
    other rows miss nothing. The result is also False if no score needs reverse neighbors.
    """
    if reverse_k == 0 or distances.shape[1] == k:
        return False
    return bool((distances[:, k] == distances[:, reverse_k - 1]).any())


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that together cover ``n`` rows."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


@compiled
def leave_out(
    distances: NDArray, indices: NDArray, own: NDArray, k: int
) -> tuple[NDArray, NDArray]:
    """Remove each row from its own list, and cut the lists to ``k`` entries."""
    m = distances.shape[0]
    kept, kept_index = unset((m, k)), unset((m, k), np.int32)
    for row in range(m):
        place = 0
        for entry in range(distances.shape[1]):
            if place < k and (own[row] == UNKNOWN or indices[row, entry] != own[row]):
                kept[row, place] = distances[row, entry]
                kept_index[row, place] = indices[row, entry]
                place += 1
    return kept, kept_index


def copy_lists(distances: NDArray, indices: NDArray, first: NDArray) -> None:
    """Fill in the lists of copies; ``first`` holds, for every row, the index of its first copy.

    The list of a copy is the list of the first copy, with the first copy in place of the copy.
    """
    copies = np.flatnonzero(first != np.arange(len(first)))
    for part in blocks(len(copies), LARGE_TABLE):
        own = copies[part]
        source = first[own]
        # The list of a copy starts with the first copy, at distance 0.
        longer = np.pad(distances[source], ((0, 0), (1, 0)))
        longer_index = np.column_stack([source.astype(np.int32), indices[source]])
        distances[own], indices[own] = leave_out(longer, longer_index, own, distances.shape[1])


def keep_entries(entries: Reverse, kept: NDArray) -> Reverse:
    """Return the reverse neighbors in the mask ``kept``."""
    offsets, indices, distances = entries
    return np.append(0, np.cumsum(kept))[offsets], indices[kept], distances[kept]


def without_own(entries: Reverse, own: NDArray) -> Reverse:
    """Remove each row from its own reverse neighbors."""
    offsets, indices, _ = entries
    return keep_entries(entries, indices != np.repeat(own, np.diff(offsets)))


@compiled
def turn_around(distances: NDArray, indices: NDArray, radii: NDArray) -> Reverse:
    """Return, from neighbor lists, the reverse neighbors: rows with a given row in their radius."""
    n, k = indices.shape
    offsets, free = unset(n + 1, np.int64), unset(n, np.int64)
    for row in range(n + 1):
        offsets[row] = 0
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                offsets[indices[source, place] + 1] += 1
    for row in range(n):
        free[row] = offsets[row]
        offsets[row + 1] += offsets[row]
    sources, from_source = unset(offsets[-1], np.int32), unset(offsets[-1])
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                entry = free[indices[source, place]]
                sources[entry], from_source[entry] = source, distances[source, place]
                free[indices[source, place]] += 1
    return offsets, sources, from_source
