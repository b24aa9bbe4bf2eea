"""Heads and trees of a model file: their place in the manifest, their arrays, and their checks.

Trees are stored in preorder: the column that every node asks for, -1 in a leaf; the thresholds of
inner nodes; and, for every leaf, the index of its value in a list of distinct values. The positions
of right children follow from that, so a file cannot hold a loop. This takes a quarter of the room
that trees have in memory.

Log-odds must be finite for all rows with scaled values up to LARGEST, and so must be all numbers
on the way there.
"""

from math import isclose

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import MIN_DEVIATION, ConsensusHead
from boreod.ensemble.heads import ClassifierHead, LogisticHead
from boreod.ensemble.members import CONSENSUS, KINDS, UNCHANGED, Member
from boreod.ensemble.tree_heads import TreeHead
from boreod.persistence.manifest import (
    TYPES,
    Arrays,
    Manifest,
    ModelFileError,
    StoredMember,
    StoredTrees,
    Tensor,
)
from boreod.scores.trees import Trees
from boreod.validation import LARGEST

OF_TREES = ("starts", "feature", "threshold", "value", "code")
OF_REGRESSIONS = ("coefficients", "intercepts", "gradients")
# Arrays of a consensus and their ranges.
OF_CONSENSUS = {
    "center": (-LARGEST, LARGEST),
    "spread": (0.0, LARGEST),
    "mean": (-1.0, 1.0),
    "deviation": (0.0, 1.0),
}
# Arrays of the quantiles of a model without labels.
KNOTS = ("ranks.scores", "ranks.odds")
# Scores of a ranking are divided by or multiplied with numbers that are no smaller than this.
SMALLEST_FACTOR = 1e-100
# A mean probability must not round to 0 or 1. So the values of leaves keep a distance from 0 and 1:
# this much for every tree of a bag, and again for every bag.
ROUNDING = 1e-15


def wrong_numbers(name: str) -> ModelFileError:
    """Return the refusal of an array."""
    return ModelFileError(f"its array {name!r} holds numbers that no model has")


def describe_trees(trees: Trees) -> StoredTrees:
    """Return the counts that determine the types and shapes of the arrays."""
    return StoredTrees(trees.n_trees, trees.n_nodes, len(_distinct_values(trees)[0]))


def tree_tensors(stored: StoredTrees, prefix: str, n_columns: int) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of trees over ``n_columns`` columns."""
    # Every tree has one leaf more than inner nodes.
    inner = (stored.nodes - stored.number) // 2
    tensors: dict[str, Tensor] = {
        f"{prefix}.starts": ("I32", [stored.number + 1]),
        f"{prefix}.feature": ("I16" if n_columns < 2**15 else "I32", [stored.nodes]),
        f"{prefix}.value": ("F64", [stored.values]),
        f"{prefix}.code": ("U16" if stored.values <= 2**16 else "I32", [stored.nodes - inner]),
    }
    if inner:
        tensors[f"{prefix}.threshold"] = ("F32", [inner])
    return tensors


def fits_trees(stored: StoredTrees) -> bool:
    """Whether trees can have this number of nodes, and leaves this number of distinct values."""
    inner, rest = divmod(stored.nodes - stored.number, 2)
    right = stored.number >= 1 and inner >= 0 and rest == 0
    return right and 1 <= stored.values <= stored.number + inner


def pack_trees(trees: Trees, prefix: str, n_columns: int) -> Arrays:
    """Return the arrays of trees over ``n_columns`` columns."""
    values, codes = _distinct_values(trees)
    arrays = {
        f"{prefix}.starts": trees.starts,
        f"{prefix}.feature": trees.feature,
        f"{prefix}.value": values,
        f"{prefix}.code": codes,
        f"{prefix}.threshold": trees.threshold[trees.feature >= 0],
    }
    stored = StoredTrees(trees.n_trees, trees.n_nodes, len(values))
    tensors = tree_tensors(stored, prefix, n_columns)
    return {name: arrays[name].astype(TYPES[kind]) for name, (kind, _) in tensors.items()}


def _distinct_values(trees: Trees) -> tuple[NDArray, NDArray]:
    """Return the distinct leaf values, compared bit by bit, and each leaf's index among them."""
    leaves = trees.value[trees.feature < 0]
    bits, codes = np.unique(leaves.view(np.int64), return_inverse=True)
    return bits.view(np.float64), codes


def unpack_trees(arrays: Arrays, prefix: str, n_columns: int) -> Trees:
    """Return trees over ``n_columns`` columns, or refuse arrays that hold none."""
    starts = arrays[f"{prefix}.starts"]
    feature = arrays[f"{prefix}.feature"].astype(np.int32)
    values = arrays[f"{prefix}.value"]
    codes = arrays[f"{prefix}.code"]
    # If every tree is a single leaf, there are no thresholds.
    thresholds = arrays.get(f"{prefix}.threshold", np.empty(0))
    inside = feature >= 0
    ends = starts[0] == 0 and starts[-1] == len(feature)
    conditions = {
        "code": codes.min() >= 0 and codes.max() < len(values),
        "starts": ends and (starts[:-1] < starts[1:]).all(),
        "feature": len(feature) - np.count_nonzero(inside) == len(codes),
        "threshold": np.isfinite(thresholds).all(),
    }
    for name, holds in conditions.items():
        if not holds:
            raise wrong_numbers(f"{prefix}.{name}")
    value = np.zeros(len(feature))
    value[~inside] = values[codes]
    threshold = np.zeros(len(feature), np.float32)
    threshold[inside] = thresholds
    trees = Trees(starts, feature, threshold, value)
    try:
        trees.check(n_columns)
    except ValueError:
        raise wrong_numbers(f"{prefix}.feature") from None
    return trees


def describe_member(member: Member) -> StoredMember:
    """Return the entry of a member in the manifest, or say that a model file cannot hold it."""
    head = member.head
    n_bags = 1
    penalty = None
    trees = None
    if isinstance(head, LogisticHead):
        penalty = head.penalty
        n_bags = len(head.intercepts)
    elif isinstance(head, TreeHead):
        trees = describe_trees(head.trees)
        n_bags = head.n_bags
    elif isinstance(head, ClassifierHead):
        raise ModelFileError(
            f"`estimator` is a {type(head.models[0]).__name__}, which a model file cannot store "
            "without pickle. Fit with `estimator=None`, boreod's own `heads`, in its place."
        )
    features = None if member.features is None else member.features.tolist()
    return StoredMember(member.kind, n_bags, features, penalty, trees, member.line, member.weight)


def member_arrays(member: Member, prefix: str, n_features: int) -> Arrays:
    """Return the arrays of a member that has an entry in the manifest."""
    if isinstance(member.head, TreeHead):
        n_read = n_features if member.features is None else len(member.features)
        return pack_trees(member.head.trees, prefix, n_read)
    names = OF_CONSENSUS if isinstance(member.head, ConsensusHead) else OF_REGRESSIONS
    return {f"{prefix}.{name}": getattr(member.head, name) for name in names}


def member_tensors(stored: StoredMember, prefix: str, n_features: int) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of a member."""
    n_read = n_features if stored.features is None else len(stored.features)
    if stored.trees is not None:
        return tree_tensors(stored.trees, prefix, n_read)
    if stored.kind == CONSENSUS:
        return {f"{prefix}.{name}": ("F64", [n_read]) for name in OF_CONSENSUS}
    return {
        f"{prefix}.coefficients": ("F64", [stored.bags, n_read]),
        f"{prefix}.intercepts": ("F64", [stored.bags]),
        f"{prefix}.gradients": ("F64", [stored.bags]),
    }


def fits_member(stored: StoredMember, n_features: int) -> bool:
    """Whether the entry of a member is possible."""
    trees = stored.trees
    penalty = stored.penalty
    if stored.kind == "logistic":
        right = trees is None and penalty is not None and penalty > 0.0
    elif stored.kind == CONSENSUS:
        right = trees is None and penalty is None and stored.bags == 1
    else:
        right = trees is not None and fits_trees(trees) and trees.number % max(stored.bags, 1) == 0
        right = right and penalty is None and stored.kind in KINDS
    places = range(n_features) if stored.features is None else stored.features
    ascend = list(places) == sorted(set(places)) and set(places) <= set(range(n_features))
    positive = stored.bags >= 1 and stored.line.slope > 0.0 and 0.0 <= stored.weight <= 1.0
    return right and positive and ascend and len(places) > 0


def fits_together(members: list[StoredMember], untaught: bool) -> bool:
    """Whether every kind occurs once and the weights sum up to 1.

    A single member has weight 1 and no line, unless the model is ``untaught``: it had no labels.
    """
    kinds = {member.kind for member in members}
    if not (kinds <= {CONSENSUS, "trees"} if untaught else CONSENSUS not in kinds):
        return False
    if untaught and not all(member.line.slope >= SMALLEST_FACTOR for member in members):
        return False
    if len(members) == 1 and not untaught:
        return members[0].weight == 1.0 and members[0].line == UNCHANGED
    distinct = len(kinds) == len(members) > 0
    return distinct and isclose(sum(member.weight for member in members), 1.0, rel_tol=1e-9)


def build_member(stored: StoredMember, arrays: Arrays, prefix: str, n_features: int) -> Member:
    """Return a member from its entry and arrays; trees are checked here."""
    features = None if stored.features is None else np.array(stored.features)
    head: LogisticHead | TreeHead | ConsensusHead
    if stored.kind == CONSENSUS:
        head = ConsensusHead(*(arrays[f"{prefix}.{name}"] for name in OF_CONSENSUS))
    elif stored.trees is None:
        assert stored.penalty is not None
        own = {name: arrays[f"{prefix}.{name}"] for name in OF_REGRESSIONS}
        head = LogisticHead(**own, penalty=stored.penalty)
    else:
        trees = unpack_trees(arrays, prefix, n_features if features is None else len(features))
        head = TreeHead(trees, stored.bags, stored.kind.startswith("boosted"))
    return Member(stored.kind, head, features, stored.line, stored.weight)


def check_reach(arrays: Arrays, manifest: Manifest) -> None:
    """Refuse heads whose log-odds, or those of the average, would not be finite."""
    total = 0.0
    correction = manifest.correction
    for place, stored in enumerate(manifest.members):
        prefix = f"members.{place}"
        with np.errstate(over="ignore"):
            reach = _reach(stored, arrays, prefix)
            total += reach * max(1.0, stored.line.slope) + abs(stored.line.shift)
            total = total * max(1.0, correction.slope) + abs(correction.shift)
        if not np.isfinite(total) or not np.isfinite(total / min(1.0, correction.slope)):
            last = "coefficients" if stored.kind == "logistic" else "value"
            raise wrong_numbers(f"{prefix}.{last}")
    if manifest.knots:
        _check_ranks(arrays[KNOTS[0]], arrays[KNOTS[1]], total)


def _check_ranks(scores: NDArray, odds: NDArray, reach: float) -> None:
    """Quantiles of scores must ascend, and lines between and beyond them stay finite."""
    steps = np.diff(scores)
    rises = np.diff(odds)
    if not (steps > 0.0).all():
        raise wrong_numbers(KNOTS[0])
    with np.errstate(over="ignore"):
        farthest = float((rises / steps).max()) * (reach + float(np.abs(scores).max()))
    if not (rises > 0.0).all() or not farthest <= LARGEST:
        raise wrong_numbers(KNOTS[1])


def _reach(stored: StoredMember, arrays: Arrays, prefix: str) -> float:
    """Return a number that no sum of the bags' log-odds exceeds."""
    if stored.kind == CONSENSUS:
        _check_consensus(arrays, prefix)
        # Softened values and their mean lie between -1 and 1; their difference is divided by a
        # deviation of at least MIN_DEVIATION.
        return 4.0 / MIN_DEVIATION
    if stored.trees is None:
        coefficients = np.abs(arrays[f"{prefix}.coefficients"])
        farthest = coefficients.sum(axis=1) * LARGEST + np.abs(arrays[f"{prefix}.intercepts"])
        return 2.0 * float(farthest.sum())
    values = arrays[f"{prefix}.value"]
    if stored.kind.startswith("boosted"):
        # Leaves add up to log-odds.
        if not np.abs(values).max() <= LARGEST:
            raise wrong_numbers(f"{prefix}.value")
        return 2.0 * stored.trees.number * float(np.abs(values).max())
    # The mean of leaves is a probability.
    least = ROUNDING * (stored.bags + stored.trees.number // stored.bags)
    if not (values.min() >= least and values.max() <= 1.0 - least):
        raise wrong_numbers(f"{prefix}.value")
    return 80.0 * stored.bags


def _check_consensus(arrays: Arrays, prefix: str) -> None:
    for name, (least, most) in OF_CONSENSUS.items():
        values = arrays[f"{prefix}.{name}"]
        # Neither comparison holds if one value is NaN.
        right = values.min() >= least and values.max() <= most
        if name == "spread":
            right = right and not ((values > 0.0) & (values < SMALLEST_FACTOR)).any()
        if not right:
            raise wrong_numbers(f"{prefix}.{name}")
