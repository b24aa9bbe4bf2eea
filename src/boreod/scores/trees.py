"""Many binary trees in flat arrays: sums of their leaf values, and contributions of columns.

The nodes of a tree are in preorder, so the left child of node ``i`` is ``i + 1``. Right children
are not stored, because the positions of the leaves determine them. As in scikit-learn, a row goes
left if its value, rounded to float32, is at most the threshold. Trees are stored in groups of equal
size. A group holds the trees of one bag, or of a whole forest.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.scores.tree_kernels import (
    FEW_ROWS,
    LARGEST_FLOAT32,
    PackedTrees,
    add_up,
    add_up_few,
    contribute,
    find_right,
    narrow,
    pack,
)

# The largest total number of nodes: each node has four fields, and indices of fields have 32 bits.
MAX_NODES = 2**28


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees, stored one after the other in flat arrays."""

    # int32: the index of the first node of every tree, then the number of nodes.
    starts: NDArray
    # int32: the index of the column that a node compares, -1 in a leaf.
    feature: NDArray
    # float32: rows with a value at or below the threshold go left; 0 in a leaf.
    threshold: NDArray
    # float64: the value of a leaf; 0 in an inner node.
    value: NDArray

    @classmethod
    def build(cls, parts: Iterable[tuple[Any, ArrayLike]]) -> "Trees":
        """Copy fitted trees of scikit-learn (``tree_``), each with the values of its nodes.

        The trees must have been grown depth first; scikit-learn does so unless ``max_leaf_nodes``
        is set. Only the values of leaves are read. Thresholds are rounded down to float32. This
        leaves every float32 value on the same side of the threshold.
        """
        return cls.join(cls._copy(tree, np.asarray(values)) for tree, values in parts)

    @classmethod
    def _copy(cls, tree: Any, values: NDArray) -> "Trees":
        leaf = tree.children_left < 0
        feature = np.where(leaf, -1, tree.feature).astype(np.int32)
        threshold = round_down(np.where(leaf, 0.0, tree.threshold))
        starts = np.array([0, tree.node_count], np.int32)
        return cls(starts, feature, threshold, np.where(leaf, values, 0.0))

    @classmethod
    def join(cls, parts: Iterable["Trees"]) -> "Trees":
        """Return the trees of all parts, one part after the other."""
        found = list(parts)
        if not found:
            raise ValueError("There is no tree. Pass at least one.")
        sizes = np.concatenate([np.diff(trees.starts) for trees in found])
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        if starts[-1] > MAX_NODES:
            raise ValueError(
                f"The trees have {starts[-1]:,} nodes; at most {MAX_NODES:,} are possible. "
                "Use fewer or smaller trees."
            )
        return cls(
            starts.astype(np.int32),
            np.concatenate([trees.feature for trees in found]),
            np.concatenate([trees.threshold for trees in found]),
            np.concatenate([trees.value for trees in found]),
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @property
    def n_nodes(self) -> int:
        """Total number of nodes."""
        return len(self.feature)

    @property
    def depths(self) -> NDArray:
        """Number of steps to the deepest leaf of every tree."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[NDArray, NDArray]:
        """Right child of every node (0 in a leaf) and depth of every tree, as int32."""
        return find_right(self.starts, self.feature)

    @cached_property
    def n_columns(self) -> int:
        """Smallest number of columns that a table must have."""
        return int(self.feature.max()) + 1

    def add_up(self, table: NDArray, n_groups: int = 1) -> NDArray:
        """Return the sum of leaf values over the trees of each group, (rows, groups)."""
        self._check_call(table, n_groups)
        table = np.ascontiguousarray(table, dtype=np.float64)
        kernel = add_up if len(table) >= FEW_ROWS else add_up_few
        return kernel(table, self._packed, n_groups)

    def contribute(self, table: NDArray, base: NDArray, multipliers: NDArray) -> NDArray:
        """Return the contribution of each column to the weighted sum of groups, (rows, columns).

        The contributions are interventional Shapley values: a column that is left out takes its
        value from the base row. For every row, they add up to the weighted sum of the row minus the
        weighted sum of the base row. ``multipliers`` holds the weights, (rows, groups).
        """
        self._check_call(table, multipliers.shape[1])
        weights = np.ascontiguousarray(multipliers, dtype=np.float64)
        nodes = self.feature, self.threshold, self._found[0], self.value
        most = min(table.shape[1], int(self.depths.max())) + 1
        return contribute(narrow(table), narrow(base), weights, self.starts, nodes, most)

    def keep_per_group(self, n_groups: int, n: int) -> "Trees":
        """Return the first ``n`` trees of every group."""
        size = self._size_of_group(n_groups)
        if not 1 <= n <= size:
            raise ValueError(f"The number of trees must be from 1 to {size}; got {n}.")
        keep = np.arange(self.n_trees) % size < n
        sizes = np.diff(self.starts)
        nodes = np.repeat(keep, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int32)
        return Trees(starts, self.feature[nodes], self.threshold[nodes], self.value[nodes])

    def _check_call(self, table: NDArray, n_groups: int) -> None:
        self._size_of_group(n_groups)
        if table.ndim != 2 or table.shape[1] < self.n_columns:
            raise ValueError(
                f"Trees need tables of at least {self.n_columns} columns; got {table.shape}."
            )

    def _size_of_group(self, n_groups: int) -> int:
        if n_groups < 1 or self.n_trees % n_groups:
            raise ValueError(
                f"{self.n_trees} trees cannot be cut into {n_groups} groups of equal size."
            )
        return self.n_trees // n_groups

    @cached_property
    def _packed(self) -> PackedTrees:
        right, depths = self._found
        packed = pack(self.feature, self.threshold, right)
        return self.starts, depths, (packed, packed.view(np.float32)), self.value

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the trees without the arrays that are computed from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def round_down(values: NDArray) -> NDArray:
    """Return the largest float32 at or below each number."""
    bounded = np.clip(values, -LARGEST_FLOAT32, LARGEST_FLOAT32)
    near = bounded.astype(np.float32)
    above = near > bounded
    near[above] = np.nextafter(near[above], np.float32(-np.inf))
    return near
