"""Exact search in a k-d tree, for tables of few columns.

Every node knows the box around its rows, and what a box excludes is excluded for certain
(:mod:`boreod.neighbors.cells`): pruning loses nothing, not even ties. A box without extent (many
copies of one row) is a leaf of any size, and its copies are taken in the order of their indices
until one is refused: copies do not slow the search for neighbors down.

Reverse neighbors are found in the same tree: a node whose box is farther away than the largest
radius inside cannot hold one.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors.cells import box_distance, count_nodes, halve, is_leaf
from boreod.neighbors.metrics import (
    comes_before,
    finish,
    reduced_distance,
    reduced_reach,
    replace_last,
    sort_pairs,
)
from boreod.parallel import computed_once

LEAF = 24
NOBODY = np.iinfo(np.int32).max  # comes after every row
Tree = tuple[NDArray, NDArray, NDArray, NDArray]  # rows in order, order, spans and boxes of nodes


class KDTree:
    """A balanced tree of boxes; the children of node ``i`` are ``2 i + 1`` and ``2 i + 2``."""

    name = "tree"

    def __init__(self, points: NDArray, metric: int) -> None:
        self.points, self.metric = points, metric
        self._reach: tuple[NDArray, NDArray, NDArray] | None = None

    @computed_once
    def _tree(self) -> Tree:
        order, spans, boxes = halve(self.points, count_nodes(len(self.points), LEAF))
        return self.points[order], order, spans, boxes

    @property
    def order(self) -> NDArray:
        """An order of the rows that brings near ones together."""
        return self._tree[1]

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return the ``k`` nearest reference rows: distances and indices, in order."""
        return _nearest(self._tree, rows, k, self.metric)

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and every reference row that has the row within its radius."""
        distances, indices = self.nearest(rows, k)
        known = self._reach  # other threads may bring other radii
        if known is None or known[0] is not radii:  # the same for every block
            in_order = radii[self.order]
            self._reach = known = (radii, in_order, _largest_below(in_order, self._tree[2]))
        return distances, indices, _reverse(self._tree, rows, known[1], known[2], self.metric)


@compiled
def _nearest(tree: Tree, rows: NDArray, k: int, metric: int) -> tuple[NDArray, NDArray]:
    """Search one row after the other, near boxes first."""
    _, _, spans, boxes = tree
    distances, indices = unset((rows.shape[0], k)), unset((rows.shape[0], k), np.int32)
    waiting, bound = unset(64, np.int64), unset(64)
    for row in range(rows.shape[0]):
        best, best_index = distances[row], indices[row]
        for place in range(k):
            best[place], best_index[place] = np.inf, NOBODY
        waiting[0], bound[0], depth = 0, 0.0, 1
        while depth > 0:
            depth -= 1
            node = waiting[depth]
            if bound[depth] > best[0]:
                continue
            if is_leaf(spans, node):
                _visit_leaf(tree, node, rows[row], metric, best, best_index)
                continue
            near, far = 2 * node + 1, 2 * node + 2
            to_near = box_distance(boxes[near], rows[row], metric)
            to_far = box_distance(boxes[far], rows[row], metric)
            if to_far < to_near:
                near, far, to_near, to_far = far, near, to_far, to_near
            waiting[depth], bound[depth] = far, to_far
            waiting[depth + 1], bound[depth + 1] = near, to_near
            depth += 2
        sort_pairs(best, best_index, k)
        for place in range(k):
            best[place] = finish(best[place], metric)
    return distances, indices


@inner
def _visit_leaf(
    tree: Tree, node: int, row: NDArray, metric: int, best: NDArray, best_index: NDArray
) -> None:
    """Offer every row of a leaf to the heap of the best."""
    points, order, spans, boxes = tree
    copies = True
    for column in range(row.shape[0]):
        copies &= boxes[node, 0, column] == boxes[node, 1, column]
    for place in range(spans[node, 0], spans[node, 1]):
        distance = reduced_distance(row, points[place], metric)
        if comes_before(distance, order[place], best[0], best_index[0]):
            replace_last(best, best_index, distance, order[place])
        elif copies:
            return


@compiled
def _largest_below(radii: NDArray, spans: NDArray) -> NDArray:
    """Return the largest radius below every node."""
    result = unset(spans.shape[0])
    for node in range(spans.shape[0] - 1, -1, -1):
        result[node] = 0.0
        if is_leaf(spans, node):
            for place in range(spans[node, 0], spans[node, 1]):
                result[node] = max(result[node], radii[place])
        else:
            result[node] = max(result[2 * node + 1], result[2 * node + 2])
    return result


@compiled
def _reverse(
    tree: Tree, rows: NDArray, radii: NDArray, reach: NDArray, metric: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Find every reference row whose radius covers the row; indices ascend within a row."""
    points, order, spans, boxes = tree
    offsets, waiting = unset(rows.shape[0] + 1, np.int64), unset(64, np.int64)
    indices, distances, entries = unset(256, np.int32), unset(256), 0
    offsets[0] = 0
    for row in range(rows.shape[0]):
        waiting[0], depth = 0, 1
        while depth > 0:
            depth -= 1
            node = waiting[depth]
            bound = box_distance(boxes[node], rows[row], metric)
            if bound > reduced_reach(reach[node], metric):
                continue
            if not is_leaf(spans, node):
                waiting[depth], waiting[depth + 1] = 2 * node + 1, 2 * node + 2
                depth += 2
                continue
            for place in range(spans[node, 0], spans[node, 1]):
                distance = finish(reduced_distance(rows[row], points[place], metric), metric)
                if distance <= radii[place]:
                    if entries == indices.shape[0]:
                        indices, distances = _double(indices, distances)
                    indices[entries], distances[entries] = order[place], distance
                    entries += 1
        start = offsets[row]
        sort_pairs(indices[start:entries], distances[start:entries], entries - start)
        offsets[row + 1] = entries
    return offsets, indices[:entries], distances[:entries]


@inner
def _double(indices: NDArray, distances: NDArray) -> tuple[NDArray, NDArray]:
    """Return copies with room for as many entries again."""
    size = indices.shape[0]
    more_indices, more_distances = unset(2 * size, np.int32), unset(2 * size)
    for entry in range(size):
        more_indices[entry], more_distances[entry] = indices[entry], distances[entry]
    return more_indices, more_distances
