"""Kernels of trees: sums of leaf values, and interventional Shapley values.

A kernel looks up the next node in an array instead of branching. Rows go left or right almost at
random, so the processor would mispredict every second branch. Sixteen descents run at once, which
hides the latency of look-ups. A packed node has four fields of 32 bits: column, threshold, left
child and right child. A child is stored as the index of its first field, and a leaf is its own
child. The leaf values of a row are added in the order of the trees, so the sum of a row does not
depend on the number of rows.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset

# Values are clipped to this magnitude before they are compared with thresholds.
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
# Number of descents that run at once.
LANES = 16
# Number of levels after which a kernel checks whether all descents have reached leaves.
CHECK_EVERY = 4
# With fewer rows than this, each row descends many trees at once. With more rows, many rows descend
# one tree at once.
FEW_ROWS = 6
# Number of rows that go through all trees before the next rows do.
BLOCK = 512
# On a path, the value of a column comes from the row or from the base, or is undecided.
UNDECIDED, OF_ROW, OF_BASE = 0, 1, 2
# Starts and depths of trees, packed nodes, and values of leaves. There are two arrays of packed
# nodes: one of integers, and a view of the same bits as float32 numbers.
PackedTrees = tuple[NDArray, NDArray, tuple[NDArray, NDArray], NDArray]


def narrow(table: NDArray) -> NDArray:
    """Return values as float32, which trees compare; values out of range are clipped."""
    result = np.empty(table.shape, np.float32)
    # Clipping into an array of this type takes no copy in float64.
    return np.clip(table, -LARGEST_FLOAT32, LARGEST_FLOAT32, out=result, casting="unsafe")


def pack(feature: NDArray, threshold: NDArray, right: NDArray) -> NDArray:
    """Return the fields of all nodes as one array of 32-bit integers."""
    packed = unset((len(feature), 4), np.uint32)
    inside, place = feature >= 0, 4 * np.arange(len(feature), dtype=np.uint32)
    packed[:, 0] = np.where(inside, feature, 0)
    packed.view(np.float32)[:, 1] = np.where(inside, threshold, 0.0)
    packed[:, 2] = np.where(inside, place + 4, place)
    packed[:, 3] = np.where(inside, 4 * right, place)
    return packed.ravel()


@compiled
def find_right(starts: NDArray, feature: NDArray) -> tuple[NDArray, NDArray]:
    """Return the right child of every node and the depth of every tree; nodes are in preorder.

    The right child of a leaf is 0. ``starts`` must ascend and end with the number of nodes. If
    ``feature`` is invalid, an inner node may lack a right child and then gets 0, too.
    """
    right, sizes = unset(len(feature), np.int32), unset(len(feature), np.int32)
    steps, deepest = unset(len(feature), np.int32), unset(len(starts) - 1, np.int32)
    for tree in range(len(starts) - 1):
        end, deepest[tree] = starts[tree + 1], 0
        for node in range(end - 1, starts[tree] - 1, -1):
            right[node], sizes[node], steps[node] = 0, 1, 0
            if feature[node] >= 0 and node + 1 < end:
                child = node + 1 + sizes[node + 1]
                if child < end:
                    right[node] = child
                    sizes[node] = child - node + sizes[child]
                    lower = steps[node + 1] > steps[child]
                    steps[node] = 1 + steps[node + 1 if lower else child]
            deepest[tree] = steps[node]
    return right, deepest


@compiled
def add_up(table: NDArray, trees: PackedTrees, n_groups: int) -> NDArray:
    """Return the sum of leaf values over each group of trees: (rows, groups).

    A block of rows goes through one tree after the other.
    """
    starts, depths, nodes, value = trees
    n_rows, n_columns = table.shape
    result = np.zeros((n_rows, n_groups))
    tree_size = depths.shape[0] // n_groups
    part = unset((min(n_rows, BLOCK), n_columns), np.float32)
    at, offsets, values = unset(LANES, np.uint64), unset(LANES, np.uint64), part.ravel()
    for start in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - start)
        for row in range(size):
            _narrow(table[start + row], part[row])
        for tree in range(n_groups * tree_size):
            root = np.uint64(4 * starts[tree])
            for first in range(0, size, LANES):
                for lane in range(LANES):
                    at[lane] = root
                    offsets[lane] = np.uint64(min(first + lane, size - 1) * n_columns)
                _descend(values, offsets, at, nodes, ZERO + depths[tree])
                for lane in range(min(LANES, size - first)):
                    leaf = value[at[lane] >> np.uint64(2)]
                    result[start + first + lane, tree // tree_size] += leaf
    return result


@compiled
def add_up_few(table: NDArray, trees: PackedTrees, n_groups: int) -> NDArray:
    """Return the same sums as :func:`add_up`; each row goes through several trees at once."""
    starts, depths, nodes, value = trees
    n_trees = depths.shape[0]
    size = n_trees // n_groups
    result = np.zeros((table.shape[0], n_groups))
    values = unset(table.shape[1], np.float32)
    at, offsets = unset(LANES, np.uint64), unset(LANES, np.uint64)
    for lane in range(LANES):
        offsets[lane] = np.uint64(0)
    for row in range(table.shape[0]):
        _narrow(table[row], values)
        for first in range(0, n_trees, LANES):
            deepest = ZERO
            for lane in range(LANES):
                tree = min(first + lane, n_trees - 1)
                at[lane] = np.uint64(4 * starts[tree])
                deepest = max(deepest, ZERO + depths[tree])
            _descend(values, offsets, at, nodes, deepest)
            for lane in range(min(LANES, n_trees - first)):
                result[row, (first + lane) // size] += value[at[lane] >> np.uint64(2)]
    return result


@inner
def _narrow(row: NDArray, out: NDArray) -> None:
    for column in range(row.shape[0]):
        out[column] = np.float32(min(max(row[column], -LARGEST_FLOAT32), LARGEST_FLOAT32))


@inner
def _descend(
    values: NDArray, offsets: NDArray, at: NDArray, nodes: tuple[NDArray, NDArray], depth: int
) -> None:
    """Move all entries of ``at``, which are indices of packed nodes, down to leaves."""
    packed, thresholds = nodes
    for _ in range(0, depth, CHECK_EVERY):
        moved = np.uint64(0)
        for _ in range(CHECK_EVERY):
            moved = np.uint64(0)
            for lane in range(LANES):
                place = at[lane]
                x = values[offsets[lane] + np.uint64(packed[place])]
                side = np.uint64(not x <= thresholds[place + np.uint64(1)])
                child = np.uint64(packed[place + np.uint64(2) + side])
                moved |= child ^ place
                at[lane] = child
        if moved == np.uint64(0):
            break


@compiled
def contribute(
    table: NDArray,
    base: NDArray,
    multipliers: NDArray,
    starts: NDArray,
    nodes: tuple[NDArray, NDArray, NDArray, NDArray],
    most: int,
) -> NDArray:
    """Return Shapley values of weighted sums over trees: (rows, columns).

    ``table`` and ``base`` are float32. A block of rows goes through one tree after the other.
    ``most`` is an upper bound of the number of distinct columns on one path.
    """
    n_rows, n_columns = table.shape
    n_trees = starts.shape[0] - 1
    size = n_trees // multipliers.shape[1]
    result = np.zeros((n_rows, n_columns))
    decided = unset(n_columns, np.int8)
    splits = unset((most, 2), np.int64), unset((most, 3))
    for column in range(n_columns):
        decided[column] = UNDECIDED
    for start in range(0, n_rows, BLOCK):
        for tree in range(n_trees):
            for row in range(start, min(start + BLOCK, n_rows)):
                weight, out = multipliers[row, tree // size], result[row]
                _share(table[row], base, weight, starts[tree], nodes, decided, splits, out)
    return result


@inner
def _share(
    row: NDArray,
    base: NDArray,
    weight: float,
    root: int,
    nodes: tuple[NDArray, NDArray, NDArray, NDArray],
    decided: NDArray,
    splits: tuple[NDArray, NDArray],
    out: NDArray,
) -> None:
    """Add the Shapley values of one tree for one row.

    A mixture takes some columns from the row and all other columns from the base. Every leaf that
    some mixture reaches is visited once. On the path to the leaf, ``a`` columns are from the row
    and ``b`` are from the base. A column of the row gains the leaf's value times
    (a-1)! b! / (a+b)!, and a column of the base loses the value times a! (b-1)! / (a+b)!. If
    ``ways`` is the number of ways to choose ``a`` of ``a + b`` columns, these factors are
    1 / (a ways) and 1 / (b ways). A column needs only the sums of gains and losses over all leaves
    below its split. So each leaf is added to running sums once, not to every column of its path.
    """
    feature, threshold, right, value = nodes
    # For each open split, `places` holds (column, child of the base), and `sums` holds
    # (ways, gain, loss).
    places, sums = splits
    node, n_open, a, b, ways = root, 0, 0, 0, 1.0
    while True:
        column = feature[node]
        while column >= 0:
            side = row[column] <= threshold[node]
            other = base[column] <= threshold[node]
            if decided[column] == OF_BASE:
                side = other
            elif decided[column] == UNDECIDED and side != other:
                places[n_open, 0], places[n_open, 1] = column, node + 1 if other else right[node]
                sums[n_open, 0] = ways
                decided[column] = OF_ROW
                n_open, a = n_open + 1, a + 1
                ways = ways * (a + b) / a
            node = node + 1 if side else right[node]
            column = feature[node]
        gain = value[node] / (a * ways) if a > 0 else 0.0
        loss = value[node] / (b * ways) if b > 0 else 0.0
        # Close the splits whose two sides have both been visited.
        while n_open > 0 and decided[places[n_open - 1, 0]] == OF_BASE:
            n_open, b = n_open - 1, b - 1
            column, ways = places[n_open, 0], sums[n_open, 0]
            decided[column] = UNDECIDED
            out[column] += weight * (sums[n_open, 1] - loss)
            gain, loss = gain + sums[n_open, 1], loss + sums[n_open, 2]
        if n_open == 0:
            return
        # Visit the side of the base next.
        last = n_open - 1
        sums[last, 1], sums[last, 2] = gain, loss
        decided[places[last, 0]] = OF_BASE
        a, b, node = a - 1, b + 1, places[last, 1]
        ways = sums[last, 0] * (a + b) / b
