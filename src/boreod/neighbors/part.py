"""A neighbor graph of some reference rows, derived from the graph of all reference rows.

The lists of the whole graph are somewhat longer than k, so most lists still hold k neighbors after
the rows of a fold are removed. Only lists that become too short are searched again. So the graphs
of all folds together cost about one additional search. Each graph is bit-identical to the graph
that a search among its own rows would give.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.block import Ks
from boreod.neighbors.graph import (
    Copies,
    NeighborGraph,
    TrainingGraph,
    end_in_ties,
    keep_entries,
    leave_out,
    near_rows_together,
    turn_around,
)
from boreod.neighbors.known_rows import distinct_rows

# Lists are longer than the needed mean length, by this number of standard deviations.
DEVIATIONS = 2.5


def depth_for(k: int, share: float) -> int:
    """Return the length of lists that still hold k neighbors after a share of all rows is removed.

    The length is the mean number of draws until k of them are outside the share, plus DEVIATIONS
    standard deviations.

    Examples
    --------
    >>> depth_for(50, 0.2)
    73
    """
    return math.ceil((k + DEVIATIONS * math.sqrt(k * share)) / (1.0 - share))


class PartSearch:
    """A search back end for a part of the rows of another back end, in the same order."""

    def __init__(self, whole: NeighborGraph, rows: NDArray) -> None:
        self._backend, self._n_rows = whole.backend, len(whole.reference)
        self._rows = rows
        self._share = 1.0 - len(rows) / self._n_rows
        # The place of every row in the part, or -1 if the row is not in the part.
        self.place = np.full(self._n_rows, -1, np.int32)
        self.place[rows] = np.arange(len(rows))

    @property
    def order(self) -> NDArray:
        """An order of the rows in which near rows are close together."""
        places = self.place[self._backend.order]
        return places[places >= 0]

    def reach(self, radii: NDArray) -> Any:
        """Prepare the radii of the part for the back end of all rows."""
        of_all = np.zeros(self._n_rows)
        of_all[self._rows] = radii
        return self._backend.reach(of_all)

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the k nearest rows of the part."""
        depth = min(self._n_rows, depth_for(k, self._share))
        return self._complete(rows, k, depth, self._backend.nearest(rows, depth))

    def nearest_and_reverse(
        self, rows: NDArray, k: int, reach: Any
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the k nearest rows and the reverse neighbors, both in the part."""
        depth = min(self._n_rows, depth_for(k, self._share))
        *lists, entries = self._backend.nearest_and_reverse(rows, depth, reach)
        offsets, indices, of_part = keep_entries(entries, self.place[entries[1]] >= 0)
        reverse = offsets, self.place[indices], of_part
        return *self._complete(rows, k, depth, (lists[0], lists[1])), reverse

    def _complete(
        self, rows: NDArray, k: int, depth: int, lists: tuple[NDArray, NDArray]
    ) -> tuple[NDArray, NDArray]:
        """Cut lists to k rows of the part; search longer lists for rows that have fewer than k."""
        distances, indices, short = cut(*lists, self.place, k)
        while len(short):
            depth = min(self._n_rows, 2 * depth)
            longer: tuple[NDArray, NDArray] = self._backend.nearest(rows[short], depth)
            *found, still = cut(*longer, self.place, k)
            distances[short], indices[short] = found
            short = short[still]
        return distances, indices


def part_of(
    training: TrainingGraph, rows: NDArray, ks: Ks, reverse_k: int, copies: Copies | None = None
) -> TrainingGraph:
    """Return the training graph of some reference rows, whose positions must ascend.

    ``copies`` is the result of :func:`distinct_rows` for these rows, if the caller knows it.
    """
    whole = training.graph
    search = PartSearch(whole, rows)
    reference = np.ascontiguousarray(whole.reference[rows])
    k = ks[-1]
    # One extra neighbor shows whether a list ends in ties.
    one_more = min(k + 1, len(rows) - 1)
    distances, indices, short = cut(
        training.distances[rows], training.indices[rows], search.place, one_more
    )
    if len(short):
        found = search.nearest(reference[short], one_more + 1)
        distances[short], indices[short] = leave_out(*found, short, one_more)
    radii = np.ascontiguousarray(distances[:, [k - 1 for k in ks]])
    graph = NeighborGraph(
        reference, whole.metric, whole.dimension, ks, reverse_k, search, {ks: radii}
    )
    distinct, place = near_rows_together(copies or distinct_rows(reference), search)
    ties = end_in_ties(distances, k, reverse_k)
    distances, indices = (np.ascontiguousarray(array[:, :k]) for array in (distances, indices))
    result = TrainingGraph(graph, distances, indices, distinct, place)
    if reverse_k > 0 and not ties:
        result.inverse = turn_around(distances, indices, graph.reverse_radii)
    return result


@compiled
def cut(
    distances: NDArray, indices: NDArray, place: NDArray, k: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Cut each list to its first k entries that are in the part; return places in the part.

    Also return the rows whose lists have fewer than k such entries.
    """
    m = distances.shape[0]
    kept, kept_index = unset((m, k)), unset((m, k), np.int32)
    short = unset(m, np.int64)
    n_short = 0
    for row in range(m):
        found = 0
        for entry in range(distances.shape[1]):
            to = place[indices[row, entry]]
            if to >= 0 and found < k:
                kept[row, found], kept_index[row, found] = distances[row, entry], to
                found += 1
        if found < k:
            short[n_short] = row
            n_short += 1
    return kept, kept_index, short[:n_short]
