"""Types of the arrays in a model file, and trees as arrays that cannot hold a loop.

Trees are stored in preorder: the column that every node asks for, -1 in a leaf; the thresholds of
inner nodes; the values of leaves. Where right children stand follows from that, so a file does not
say it. This takes half of the room that trees have in memory.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.persistence.archive import ModelFileError
from boreod.persistence.manifest import StoredTrees
from boreod.scores.tree_kernels import find_right
from boreod.scores.trees import Trees

FLOAT, SINGLE, INTEGER, LABEL = "F64", "F32", "I32", "I8"
TYPES: dict[str, np.dtype] = {
    FLOAT: np.dtype("<f8"),
    SINGLE: np.dtype("<f4"),
    INTEGER: np.dtype("<i4"),
    LABEL: np.dtype("i1"),
}

Arrays = dict[str, NDArray]
Tensor = tuple[str, list[int]]  # type and shape of an array


def wrong_numbers(name: str) -> ModelFileError:
    """Return the refusal of an array."""
    return ModelFileError(f"its array {name!r} holds numbers that no model has")


def describe_trees(trees: Trees) -> StoredTrees:
    """Return the numbers that the shapes of the arrays follow from."""
    return StoredTrees(trees.n_trees, trees.n_nodes)


def tree_tensors(stored: StoredTrees, prefix: str) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of trees."""
    inner = (stored.nodes - stored.number) // 2  # a leaf more than inner nodes in every tree
    tensors: dict[str, Tensor] = {
        f"{prefix}.starts": (INTEGER, [stored.number + 1]),
        f"{prefix}.feature": (INTEGER, [stored.nodes]),
        f"{prefix}.value": (FLOAT, [stored.nodes - inner]),
    }
    return tensors | ({f"{prefix}.threshold": (SINGLE, [inner])} if inner else {})


def fits_trees(stored: StoredTrees) -> bool:
    """Whether binary trees can have so many nodes."""
    number, nodes = stored.number, stored.nodes
    return 1 <= number <= nodes and (nodes - number) % 2 == 0


def pack_trees(trees: Trees, prefix: str) -> Arrays:
    """Return the arrays of trees."""
    inside = trees.feature >= 0
    arrays = {
        f"{prefix}.starts": trees.starts,
        f"{prefix}.feature": trees.feature,
        f"{prefix}.value": trees.value[~inside],
    }
    return arrays | ({f"{prefix}.threshold": trees.threshold[inside]} if inside.any() else {})


def unpack_trees(arrays: Arrays, prefix: str, n_columns: int) -> Trees:
    """Return trees over so many columns, or refuse what is none."""
    starts, feature = arrays[f"{prefix}.starts"], arrays[f"{prefix}.feature"]
    of_leaves = arrays[f"{prefix}.value"]
    inside = feature >= 0
    ends = starts[0] == 0 and starts[-1] == len(feature)
    if not ends or not (starts[:-1] < starts[1:]).all():
        raise wrong_numbers(f"{prefix}.starts")
    if len(feature) - np.count_nonzero(inside) != len(of_leaves):
        raise wrong_numbers(f"{prefix}.feature")
    threshold, value = np.zeros(len(feature), np.float32), np.zeros(len(feature))
    value[~inside] = of_leaves
    if inside.any():
        of_inner = arrays[f"{prefix}.threshold"]
        if not np.isfinite(of_inner).all():
            raise wrong_numbers(f"{prefix}.threshold")
        threshold[inside] = of_inner
    trees = Trees(starts, feature, threshold, find_right(starts, feature), value)
    try:
        trees.check(n_columns)
    except ValueError:
        raise wrong_numbers(f"{prefix}.feature") from None
    return trees
