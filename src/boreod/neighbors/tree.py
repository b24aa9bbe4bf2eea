"""Exact search in a k-d tree for tables of few columns, and the cells of a table.

Every node stores the box around its rows. Distances to boxes add their terms in the order of the
columns, as distances of rows do. Rounding is monotone, so the computed distance to a box never
exceeds the computed distance to a row inside. A box that is too far away can therefore be skipped
without losing a neighbor, even in ties. A box without extent holds copies of one row. Such a box is
a leaf of any size. The search visits its copies in the order of their indices and stops at the
first copy that is not among the nearest rows, so copies do not slow down the search.

Reverse neighbors are found in the same tree: if the box of a node is farther away than the largest
radius of its rows, the node holds no reverse neighbor.

The leaves of a shallow tree are the cells in which brute force stores its table.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors.metrics import (
    MANHATTAN,
    bring_first,
    comes_before,
    finish,
    reduced_distance,
    reduced_reach,
    replace_last,
    sort_pairs,
)
from boreod.parallel import computed_once

LEAF_ROWS = 24
# An index that is larger than the index of every row.
NOBODY = np.iinfo(np.int32).max
# A tree: its rows in order, the order, and the spans and boxes of its nodes.
Tree = tuple[NDArray, NDArray, NDArray, NDArray]
# Cells: an order of the rows, the cuts in this order, and the low and high corners of boxes.
Cells = tuple[NDArray, NDArray, NDArray, NDArray]


class KDTree:
    """A balanced tree of boxes; the children of node ``i`` are ``2 i + 1`` and ``2 i + 2``."""

    name = "tree"

    def __init__(self, points: NDArray, metric: int) -> None:
        self.points = points
        self.metric = metric

    @computed_once
    def _tree(self) -> Tree:
        order, spans, boxes = halve(self.points, count_nodes(len(self.points), LEAF_ROWS))
        return self.points[order], order, spans, boxes

    @property
    def order(self) -> NDArray:
        """An order of the rows in which near rows are close together."""
        return self._tree[1]

    def reach(self, radii: NDArray) -> tuple[NDArray, NDArray]:
        """Return the radii in the order of the tree, and the largest radius below every node."""
        in_order = radii[self.order]
        return in_order, _largest_below(in_order, self._tree[2])

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the ``k`` nearest reference rows, nearest first."""
        return _nearest(self._tree, rows, k, self.metric)

    def nearest_and_reverse(
        self, rows: NDArray, k: int, reach: tuple[NDArray, NDArray]
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest rows, and all reference rows whose radius covers each row."""
        distances, indices = self.nearest(rows, k)
        return distances, indices, _reverse(self._tree, rows, *reach, self.metric)


@compiled
def _nearest(tree: Tree, rows: NDArray, k: int, metric: int) -> tuple[NDArray, NDArray]:
    """Search the neighbors of one row after the other; visit near boxes first."""
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
    """Offer every row of a leaf to the heap of the nearest rows."""
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
    """Find all reference rows whose radius covers each row; indices ascend within a row."""
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
    """Return copies with room for twice as many entries."""
    size = indices.shape[0]
    more_indices, more_distances = unset(2 * size, np.int32), unset(2 * size)
    for entry in range(size):
        more_indices[entry], more_distances[entry] = indices[entry], distances[entry]
    return more_indices, more_distances


def halve(points: NDArray, n_nodes: int) -> tuple[NDArray, NDArray, NDArray]:
    """Build a tree that halves rows along the widest side of their box.

    A node becomes a leaf if it is small or if its box has no extent. Return an order of the rows,
    and for every node its span in this order and its box. The children of node ``i`` are
    ``2 i + 1`` and ``2 i + 2``. A node that does not exist has an empty span.
    """
    n, d = points.shape
    order, values = np.arange(n, dtype=np.int32), unset(n)
    spans, boxes = np.zeros((n_nodes, 2), np.int64), unset((n_nodes, 2, d))
    spans[0, 1] = n
    _halve(points, order, values, spans, boxes)
    for start, stop in spans[_leaves(spans)]:
        order[start:stop].sort()
    return order, spans, boxes


@compiled
def _halve(
    points: NDArray, order: NDArray, values: NDArray, spans: NDArray, boxes: NDArray
) -> None:
    """Fill in spans, boxes, and the order; rows within a leaf stay unsorted.

    ``values`` is a buffer.
    """
    n_nodes, d = boxes.shape[0], boxes.shape[2]
    for node in range(n_nodes):
        start, stop = spans[node, 0], spans[node, 1]
        if start == stop:
            continue
        widest, extent = 0, 0.0
        for column in range(d):
            low = high = points[order[start], column]
            for place in range(start + 1, stop):
                value = points[order[place], column]
                low, high = value if value < low else low, value if value > high else high
            boxes[node, 0, column], boxes[node, 1, column] = low, high
            if high - low > extent:
                widest, extent = column, high - low
        if extent == 0.0 or 2 * node + 2 >= n_nodes:
            continue
        for place in range(start, stop):
            values[place] = points[order[place], widest]
        middle = (start + stop) // 2
        bring_first(values[start:stop], order[start:stop], middle - start, stop - start)
        spans[2 * node + 1, 0], spans[2 * node + 1, 1] = start, middle
        spans[2 * node + 2, 0], spans[2 * node + 2, 1] = middle, stop


def count_nodes(n_rows: int, leaf: int) -> int:
    """Return the number of nodes of a tree whose leaves have at most ``leaf`` rows."""
    levels = max(0, int(np.ceil(np.log2(max(1, n_rows / leaf)))))
    return 2 ** (levels + 1) - 1


@inner
def is_leaf(spans: NDArray, node: int) -> bool:
    """Return whether a node has no children."""
    child = 2 * node + 1
    return child >= spans.shape[0] or spans[child, 0] == spans[child, 1]


@inner
def box_distance(box: NDArray, row: NDArray, metric: int) -> float:
    """Return the reduced distance of a row to a box, which is 0 inside the box."""
    total = 0.0
    for column in range(row.shape[0]):
        difference = max(box[0, column] - row[column], row[column] - box[1, column], 0.0)
        total += difference if metric == MANHATTAN else difference * difference
    return total


@inner
def box_lengths(cells: Cells, rows: NDArray, row: int, metric: int, out: NDArray, to: int) -> None:
    """Fill line ``to`` of ``out`` with the lengths from a row to the boxes of all cells."""
    _, _, low, high = cells
    n_cells, line = low.shape[1], out[to]
    for cell in range(n_cells):
        line[cell] = 0.0
    for column in range(rows.shape[1]):
        lowest, highest, value = low[column], high[column], rows[row, column]
        for cell in range(n_cells):
            below, above = lowest[cell] - value, value - highest[cell]
            outside = below if below > above else above
            outside = outside if outside > 0.0 else 0.0
            line[cell] += outside if metric == MANHATTAN else outside * outside
    if metric != MANHATTAN:
        for cell in range(n_cells):
            line[cell] = np.sqrt(line[cell])


def cut_into_cells(points: NDArray, most_rows: int) -> Cells:
    """Return the leaves of a tree as cells of at most ``most_rows`` rows.

    Larger leaves, which hold copies, are cut. Cell ``i`` holds the rows ``cuts[i]`` to
    ``cuts[i + 1]`` of the order. Corners of boxes have the shape (columns, cells).
    """
    order, spans, boxes = halve(points, count_nodes(len(points), most_rows))
    leaves = _leaves(spans)
    n_cells = -(-(spans[leaves, 1] - spans[leaves, 0]) // most_rows)
    nodes = np.repeat(leaves, n_cells)
    number = np.arange(len(nodes)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells)
    cuts = np.append(spans[nodes, 0] + most_rows * number, spans[0, 1])
    low, high = (np.ascontiguousarray(boxes[nodes, side].T) for side in (0, 1))
    return order, cuts, low, high


def _leaves(spans: NDArray) -> NDArray:
    """Return the nodes without children, in the order of the rows."""
    sizes = spans[:, 1] - spans[:, 0]
    inside = np.zeros(len(sizes), bool)
    # Every node in the first half may have children.
    inside[: len(sizes) // 2] = sizes[1::2] > 0
    leaves = np.flatnonzero((sizes > 0) & ~inside)
    return leaves[np.argsort(spans[leaves, 0])]
