"""Cells: a table cut into groups of nearby rows, each with the box around them.

Box distances add their terms in the order of the columns as row distances do; rounding is monotone,
so the distance to a box never exceeds the computed distance to a row inside. What a box excludes is
excluded for certain.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors.metrics import MANHATTAN, bring_first

Cells = tuple[NDArray, NDArray, NDArray, NDArray]  # order, cuts, low and high corners


def halve(points: NDArray, n_nodes: int) -> tuple[NDArray, NDArray, NDArray]:
    """Halve the rows along the widest side of their box until a leaf is small or without extent.

    Returns an order of the rows, the span of every node in it, and its box. The children of node
    ``i`` are ``2 i + 1`` and ``2 i + 2``; a node that does not exist has an empty span.
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
    """Fill order, but for that in leaves, spans and boxes; ``values`` is room for a column."""
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
    """Return how many nodes give leaves of at most so many rows."""
    levels = max(0, int(np.ceil(np.log2(max(1, n_rows / leaf)))))
    return 2 ** (levels + 1) - 1


@inner
def is_leaf(spans: NDArray, node: int) -> bool:
    """Tell whether a node has no children."""
    child = 2 * node + 1
    return child >= spans.shape[0] or spans[child, 0] == spans[child, 1]


@inner
def box_distance(box: NDArray, row: NDArray, metric: int) -> float:
    """Return the reduced distance of a row to the nearest corner, side or inside of a box."""
    total = 0.0
    for column in range(row.shape[0]):
        difference = max(box[0, column] - row[column], row[column] - box[1, column], 0.0)
        total += difference if metric == MANHATTAN else difference * difference
    return total


@inner
def box_lengths(
    low: NDArray, high: NDArray, rows: NDArray, row: int, metric: int, out: NDArray, to: int
) -> None:
    """Fill in a line: the lengths of the differences between a row and the boxes of all cells."""
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
    """Return cells of at most so many rows.

    Returns
    -------
    order
        Rows, cell after cell.
    cuts
        Cell ``i`` holds the rows ``cuts[i]`` to ``cuts[i + 1]`` of the order.
    low, high
        Corners of the boxes, one column of the table after the other: (columns, cells).
    """
    order, spans, boxes = halve(points, count_nodes(len(points), most_rows))
    cuts, nodes = _cells_of(spans, most_rows)
    low, high = (np.ascontiguousarray(boxes[nodes, side].T) for side in (0, 1))
    return order, cuts, low, high


def _leaves(spans: NDArray) -> NDArray:
    """Return the nodes without children, in the order of the rows."""
    sizes = spans[:, 1] - spans[:, 0]
    inside = np.zeros(len(sizes), bool)
    inside[: len(sizes) // 2] = sizes[1::2] > 0  # nodes with children
    leaves = np.flatnonzero((sizes > 0) & ~inside)
    return leaves[np.argsort(spans[leaves, 0])]


def _cells_of(spans: NDArray, most_rows: int) -> tuple[NDArray, NDArray]:
    """Return cuts and nodes of the leaves in order; large clumps of copies become several cells."""
    leaves = _leaves(spans)
    n_cells = -(-(spans[leaves, 1] - spans[leaves, 0]) // most_rows)
    nodes = np.repeat(leaves, n_cells)
    number = np.arange(len(nodes)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells)
    return np.append(spans[nodes, 0] + most_rows * number, spans[0, 1]), nodes
