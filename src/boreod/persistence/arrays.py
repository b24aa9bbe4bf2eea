"""Types of the arrays in a model file, and trees as arrays that cannot hold a loop.

Trees are stored in preorder: the column that every node asks for, -1 in a leaf; the thresholds of
inner nodes; which of a few values every leaf has. Where right children stand follows from that, so
a file does not say it. This takes a quarter of the room that trees have in memory.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.persistence.archive import ModelFileError
from boreod.persistence.manifest import StoredTrees
from boreod.scores.trees import Trees

FLOAT, SINGLE, INTEGER, SHORT, CODE, LABEL = "F64", "F32", "I32", "I16", "U16", "I8"
HASH = "I64"
TYPES: dict[str, np.dtype] = {
    FLOAT: np.dtype("<f8"),
    SINGLE: np.dtype("<f4"),
    INTEGER: np.dtype("<i4"),
    SHORT: np.dtype("<i2"),
    CODE: np.dtype("<u2"),
    LABEL: np.dtype("i1"),
    HASH: np.dtype("<i8"),
}

OF_TREES = ("starts", "feature", "threshold", "value", "code")
Arrays = dict[str, NDArray]
Tensor = tuple[str, list[int]]  # type and shape of an array


def wrong_numbers(name: str) -> ModelFileError:
    """Return the refusal of an array."""
    return ModelFileError(f"its array {name!r} holds numbers that no model has")


def describe_trees(trees: Trees) -> StoredTrees:
    """Return the numbers that types and shapes of the arrays follow from."""
    return StoredTrees(trees.n_trees, trees.n_nodes, len(_distinct_values(trees)[0]))


def tree_tensors(stored: StoredTrees, prefix: str, n_columns: int) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of trees over so many columns."""
    inner = (stored.nodes - stored.number) // 2  # a leaf more than inner nodes in every tree
    tensors: dict[str, Tensor] = {
        f"{prefix}.starts": (INTEGER, [stored.number + 1]),
        f"{prefix}.feature": (SHORT if n_columns < 2**15 else INTEGER, [stored.nodes]),
        f"{prefix}.value": (FLOAT, [stored.values]),
        f"{prefix}.code": (CODE if stored.values <= 2**16 else INTEGER, [stored.nodes - inner]),
    }
    return tensors | ({f"{prefix}.threshold": (SINGLE, [inner])} if inner else {})


def fits_trees(stored: StoredTrees) -> bool:
    """Whether binary trees can have so many nodes, and leaves so many values."""
    number, nodes = stored.number, stored.nodes
    right = 1 <= number <= nodes and (nodes - number) % 2 == 0
    return right and 1 <= stored.values <= (nodes + number) // 2


def pack_trees(trees: Trees, prefix: str, n_columns: int) -> Arrays:
    """Return the arrays of trees over so many columns."""
    inside = trees.feature >= 0
    values, codes = _distinct_values(trees)
    arrays = {
        f"{prefix}.starts": trees.starts,
        f"{prefix}.feature": trees.feature,
        f"{prefix}.value": values,
        f"{prefix}.code": codes,
        f"{prefix}.threshold": trees.threshold[inside],
    }
    tensors = tree_tensors(describe_trees(trees), prefix, n_columns)
    return {name: arrays[name].astype(TYPES[kind]) for name, (kind, _) in tensors.items()}


def _distinct_values(trees: Trees) -> tuple[NDArray, NDArray]:
    """Return the values that leaves have, by their bits, and which of them each leaf has."""
    of_leaves = trees.value[trees.feature < 0]
    bits, codes = np.unique(of_leaves.view(np.int64), return_inverse=True)
    return bits.view(np.float64), codes


def unpack_trees(arrays: Arrays, prefix: str, n_columns: int) -> Trees:
    """Return trees over so many columns, or refuse what is none."""
    starts, feature = arrays[f"{prefix}.starts"], arrays[f"{prefix}.feature"].astype(np.int32)
    values, codes = arrays[f"{prefix}.value"], arrays[f"{prefix}.code"]
    if codes.min() < 0 or codes.max() >= len(values):
        raise wrong_numbers(f"{prefix}.code")
    inside = feature >= 0
    ends = starts[0] == 0 and starts[-1] == len(feature)
    if not ends or not (starts[:-1] < starts[1:]).all():
        raise wrong_numbers(f"{prefix}.starts")
    if len(feature) - np.count_nonzero(inside) != len(codes):
        raise wrong_numbers(f"{prefix}.feature")
    threshold, value = np.zeros(len(feature), np.float32), np.zeros(len(feature))
    value[~inside] = values[codes]
    if inside.any():
        of_inner = arrays[f"{prefix}.threshold"]
        if not np.isfinite(of_inner).all():
            raise wrong_numbers(f"{prefix}.threshold")
        threshold[inside] = of_inner
    trees = Trees(starts, feature, threshold, value)
    try:
        trees.check(n_columns)
    except ValueError:
        raise wrong_numbers(f"{prefix}.feature") from None
    return trees
