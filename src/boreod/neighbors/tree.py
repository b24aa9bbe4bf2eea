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

from boreod.compiled import compiled, unset
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
    distances = np.full((rows.shape[0], k), np.inf)
    indices = np.full((rows.shape[0], k), np.iinfo(np.int32).max, np.int32)
    waiting, bound = unset(64, np.int64), unset(64)
    for row in range(rows.shape[0]):
        best, best_index = distances[row], indices[row]
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


@compiled
def _visit_leaf(
    tree: Tree, node: int, row: NDArray, metric: int, best: NDArray, best_index: NDArray
) -> None:
    """Offer every row of a leaf to the heap of the best."""
    points, order, spans, boxes = tree
    copies = (boxes[node, 0] == boxes[node, 1]).all()
    for place in range(spans[node, 0], spans[node, 1]):
        distance = reduced_distance(row, points[place], metric)
        if comes_before(distance, order[place], best[0], best_index[0]):
            replace_last(best, best_index, distance, order[place])
        elif copies:
            return


@compiled
def _largest_below(radii: NDArray, spans: NDArray) -> NDArray:
    """Return the largest radius below every node."""
    result = np.zeros(spans.shape[0])
    for node in range(spans.shape[0] - 1, -1, -1):
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
    offsets = np.zeros(rows.shape[0] + 1, np.int64)
    indices, distances, entries = unset(256, np.int32), unset(256), 0
    waiting = unset(64, np.int64)
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
                        indices = np.concatenate((indices, unset(entries, np.int32)))
                        distances = np.concatenate((distances, unset(entries)))
                    indices[entries], distances[entries] = order[place], distance
                    entries += 1
        found = np.argsort(indices[offsets[row] : entries])
        indices[offsets[row] : entries] = indices[offsets[row] : entries][found]
        distances[offsets[row] : entries] = distances[offsets[row] : entries][found]
        offsets[row + 1] = entries
    return offsets, indices[:entries].copy(), distances[:entries].copy()
