"""Heads and trees in a model file: entries in the manifest, arrays, and checks of both.

Trees are stored in preorder. The file holds the column that each node tests (-1 for a leaf), the
threshold of each inner node, and for each leaf the index of its value in a list of distinct values.
The order of nodes determines the positions of right children, so a file cannot hold a loop. A file
needs a quarter of the space that the trees take in memory.

Log-odds and all intermediate results must be finite for rows with scaled values up to LARGEST.
"""

from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import MIN_DEVIATION, ConsensusHead
from boreod.ensemble.calibration import Correction
from boreod.ensemble.heads import ClassifierHead, LogisticHead, TreeHead
from boreod.ensemble.members import CONSENSUS, KINDS, UNCHANGED, Member
from boreod.persistence.container import MOST, Arrays, ModelFileError, Tensor, Tensors, owned
from boreod.scores.trees import MAX_NODES, Trees
from boreod.validation import LARGEST

# A model without labels divides or multiplies scores by numbers that are at least this large.
SMALLEST_FACTOR = 1e-100
# A mean probability must not round to 0 or 1. So the distance of leaf values from 0 and 1 must be
# at least this number times (number of bags + number of trees per bag).
ROUNDING = 1e-15


@dataclass(frozen=True)
class StoredTrees:
    """The numbers of trees, of their nodes, and of distinct values in their leaves."""

    number: int
    nodes: int
    values: int

    @property
    def inner(self) -> int:
        """The number of inner nodes; every tree has one more leaf than inner nodes."""
        return (self.nodes - self.number) // 2


@dataclass(frozen=True)
class StoredMember:
    """A head, whose ``kind`` determines its arrays.

    ``features`` are the positions of the features that the head reads, or None for all features.
    Only a logistic regression has a ``penalty``. A logistic regression and a consensus have no
    ``trees``.
    """

    kind: str
    bags: int
    features: list[int] | None
    penalty: float | None
    trees: StoredTrees | None
    line: Correction
    weight: float


def wrong_numbers(name: str) -> ModelFileError:
    """Return the error for an array with impossible numbers."""
    return ModelFileError(f"its array {name!r} holds numbers that no model has")


def pack_trees(trees: Trees) -> tuple[StoredTrees, Arrays]:
    """Return the entry of trees in the manifest, and their arrays."""
    leaves = trees.value[trees.feature < 0]
    # Leaf values are compared bit by bit.
    bits, codes = np.unique(leaves.view(np.int64), return_inverse=True)
    arrays = {
        "starts": trees.starts,
        "feature": trees.feature,
        "value": bits.view(np.float64),
        "code": codes,
        "threshold": trees.threshold[trees.feature >= 0],
    }
    return StoredTrees(trees.n_trees, trees.n_nodes, len(bits)), arrays


def tree_tensors(stored: StoredTrees, n_columns: int, least: float, most: float) -> Tensors:
    """Return the tensors of trees on this many columns; leaves are from ``least`` to ``most``."""
    n_leaves = stored.nodes - stored.inner
    return {
        "starts": Tensor("I32", [stored.number + 1]),
        "feature": Tensor("I16" if n_columns < 2**15 else "I32", [stored.nodes], -1, n_columns - 1),
        "value": Tensor("F64", [stored.values], least, most),
        "code": Tensor(
            "U16" if stored.values <= 2**16 else "I32", [n_leaves], 0, stored.values - 1
        ),
        "threshold": Tensor("F32", [stored.inner]),
    }


def fits_trees(stored: StoredTrees) -> bool:
    """Return whether trees can have these numbers of nodes and of distinct leaf values."""
    conditions = (
        1 <= stored.number <= stored.nodes,
        (stored.nodes - stored.number) % 2 == 0,
        1 <= stored.values <= stored.number + stored.inner,
    )
    return all(conditions)


def unpack_trees(arrays: Arrays, owner: str) -> Trees:
    """Return trees; refuse arrays with which kernels might loop forever or read out of bounds.

    The caller has checked the range of every number. Errors name a wrong array, whose name begins
    with ``owner``.
    """
    starts = arrays["starts"]
    feature = arrays["feature"].astype(np.int32)
    codes = arrays["code"]
    inside = feature >= 0
    if not (starts[0] == 0 and starts[-1] == len(feature) and (starts[:-1] < starts[1:]).all()):
        raise wrong_numbers(f"{owner}.starts")
    n_leaves = len(feature) - np.count_nonzero(inside)
    if n_leaves != len(codes) or len(feature) > MAX_NODES or not _are_whole(starts, inside):
        raise wrong_numbers(f"{owner}.feature")
    value = np.zeros(len(feature))
    value[~inside] = arrays["value"][codes]
    threshold = np.zeros(len(feature), np.float32)
    threshold[inside] = arrays["threshold"]
    return Trees(starts, feature, threshold, value)


def _are_whole(starts: NDArray, inside: NDArray) -> bool:
    """Return whether the nodes of every tree form one tree, without missing or extra nodes."""
    # An inner node opens one more subtree, and a leaf closes one. So ``waiting``, the running sum,
    # falls by 1 over every whole tree, and reaches that value only at the last leaf of the tree.
    waiting = np.cumsum(np.where(inside, 1, -1))
    trees = np.arange(len(starts) - 1)
    last = starts[1:] - 1
    open_before = waiting + np.repeat(trees, np.diff(starts)) >= 0
    open_before[last] = True
    return bool((waiting[last] == -1 - trees).all() and open_before.all())


def describe_member(member: Member) -> tuple[StoredMember, Arrays]:
    """Return a member's entry in the manifest, and a dict of its arrays and other attributes."""
    head = member.head
    arrays = vars(head)
    n_bags = 1
    trees = None
    if isinstance(head, LogisticHead):
        n_bags = len(head.intercepts)
    elif isinstance(head, TreeHead):
        trees, arrays = pack_trees(head.trees)
        n_bags = head.n_bags
    elif isinstance(head, ClassifierHead):
        raise ModelFileError(
            f"`estimator` is a {type(head.models[0]).__name__}, which a model file cannot store "
            "without pickle. Fit with `estimator=None`, which uses boreod's own `heads`."
        )
    features = None if member.features is None else member.features.tolist()
    penalty = arrays.get("penalty")
    stored = StoredMember(member.kind, n_bags, features, penalty, trees, member.line, member.weight)
    return stored, arrays


def member_tensors(stored: StoredMember, n_features: int) -> Tensors:
    """Return the tensors of a member."""
    n_read = n_features if stored.features is None else len(stored.features)
    bags = stored.bags
    if stored.kind == CONSENSUS:
        return {
            "center": Tensor("F64", [n_read], -LARGEST, LARGEST),
            "spread": Tensor("F64", [n_read], 0.0, LARGEST),
            "mean": Tensor("F64", [n_read], -1.0, 1.0),
            "deviation": Tensor("F64", [n_read], 0.0, 1.0),
        }
    if stored.trees is None:
        return {
            "coefficients": Tensor("F64", [bags, n_read], -LARGEST, LARGEST),
            "intercepts": Tensor("F64", [bags], -LARGEST, LARGEST),
            "gradients": Tensor("F64", [bags], 0.0, MOST),
        }
    if stored.kind.startswith("boosted"):
        # The sum of leaves is the log-odds.
        return tree_tensors(stored.trees, n_read, -LARGEST, LARGEST)
    # The mean of leaves is a probability. The `min` is needed for hostile manifests, which may
    # claim any number of trees.
    least = ROUNDING * min(bags + stored.trees.number // bags, MAX_NODES)
    return tree_tensors(stored.trees, n_read, least, 1.0 - least)


def fits_member(stored: StoredMember, n_features: int) -> bool:
    """Return whether the entry of a member is possible."""
    kind = stored.kind
    trees = stored.trees
    places = range(n_features) if stored.features is None else stored.features
    conditions = (
        kind in (*KINDS, CONSENSUS),
        stored.bags >= 1 and (kind != CONSENSUS or stored.bags == 1),
        (stored.penalty is not None) == (kind == "logistic"),
        stored.penalty is None or stored.penalty > 0.0,
        (trees is None) == (kind in ("logistic", CONSENSUS)),
        trees is None or (fits_trees(trees) and trees.number % max(stored.bags, 1) == 0),
        stored.line.slope > 0.0 and 0.0 <= stored.weight <= 1.0,
        len(places) > 0 and set(places) <= set(range(n_features)),
        list(places) == sorted(set(places)),
    )
    return all(conditions)


def fits_together(members: list[StoredMember], untaught: bool) -> bool:
    """Return whether no kind occurs twice and the weights sum to 1.

    A single member has weight 1 and no line of its own, unless the model is ``untaught``, that is,
    fitted without labels.
    """
    kinds = {member.kind for member in members}
    conditions = (
        len(kinds) == len(members) > 0,
        kinds <= ({CONSENSUS, "trees"} if untaught else set(KINDS)),
        isclose(sum(member.weight for member in members), 1.0, rel_tol=1e-9),
        not untaught or all(member.line.slope >= SMALLEST_FACTOR for member in members),
        untaught
        or len(members) > 1
        or all(member.weight == 1.0 and member.line == UNCHANGED for member in members),
    )
    return all(conditions)


def build_member(stored: StoredMember, arrays: Arrays, owner: str) -> Member:
    """Return a member from its entry and arrays; trees are checked here."""
    features = None if stored.features is None else np.array(stored.features)
    head: LogisticHead | TreeHead | ConsensusHead
    if stored.kind == CONSENSUS:
        head = ConsensusHead(**arrays)
    elif stored.trees is None:
        assert stored.penalty is not None
        head = LogisticHead(**arrays, penalty=stored.penalty)
    else:
        head = TreeHead(unpack_trees(arrays, owner), stored.bags, stored.kind.startswith("boosted"))
    return Member(stored.kind, head, features, stored.line, stored.weight)


def check_reach(
    members: list[StoredMember], correction: Correction, owners: dict[str, Arrays]
) -> None:
    """Raise if the log-odds of a head, or the average of log-odds, might not be finite.

    ``owners`` maps each part of the model, such as ``members.0``, to its arrays.
    """
    total = 0.0
    for owner, stored in owned("members", members):
        arrays = owners[owner]
        with np.errstate(over="ignore"):
            total += _reach(stored, arrays) * max(1.0, stored.line.slope) + abs(stored.line.shift)
            total = total * max(1.0, correction.slope) + abs(correction.shift)
        if not np.isfinite(total) or not np.isfinite(total / min(1.0, correction.slope)):
            last = "coefficients" if stored.kind == "logistic" else "value"
            raise wrong_numbers(f"{owner}.{last}")
        spread = arrays.get("spread", np.zeros(1))
        if ((spread > 0.0) & (spread < SMALLEST_FACTOR)).any():
            raise wrong_numbers(f"{owner}.spread")
    _check_ranks(**owners["ranks"], reach=total)


@np.errstate(over="ignore")
def _check_ranks(scores: NDArray, odds: NDArray, reach: float) -> None:
    """Raise if lines between quantiles of scores, or their extensions, might not stay finite."""
    steepest = (np.diff(odds) / np.diff(scores)).max(initial=0.0)
    farthest = steepest * (reach + np.abs(scores).max(initial=0.0))
    if not farthest <= LARGEST:
        raise wrong_numbers("ranks.odds")


def _reach(stored: StoredMember, arrays: Arrays) -> float:
    """Return an upper bound of the sum of the bags' log-odds."""
    if stored.kind == CONSENSUS:
        # Softened values and their mean lie between -1 and 1; their difference is divided by a
        # deviation of at least MIN_DEVIATION.
        return 4.0 / MIN_DEVIATION
    if stored.trees is None:
        coefficients = np.abs(arrays["coefficients"])
        farthest = coefficients.sum(axis=1) * LARGEST + np.abs(arrays["intercepts"])
        return 2.0 * float(farthest.sum())
    if stored.kind.startswith("boosted"):
        return 2.0 * stored.trees.number * float(np.abs(arrays["value"]).max())
    return 80.0 * stored.bags
