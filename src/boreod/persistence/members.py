"""Heads of a model file: what the manifest says of them, their arrays, and how far they may reach.

Log-odds must be finite for all rows, of which no scaled value exceeds LARGEST; and so must be all
numbers on the way there.
"""

from math import isclose

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.consensus import MIN_DEVIATION, ConsensusHead
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.members import CONSENSUS, KINDS, UNCHANGED, Member
from boreod.ensemble.tree_heads import TreeHead
from boreod.persistence.archive import ModelFileError
from boreod.persistence.arrays import (
    FLOAT,
    Arrays,
    Tensor,
    describe_trees,
    fits_trees,
    pack_trees,
    tree_tensors,
    unpack_trees,
    wrong_numbers,
)
from boreod.persistence.manifest import Manifest, StoredMember
from boreod.validation import LARGEST

LEAST = 1e-100  # of what scores of a ranking are divided by or multiplied with
SCALES = {  # ranges of the arrays of a consensus
    "center": (-LARGEST, LARGEST),
    "spread": (0.0, LARGEST),
    "mean": (-1.0, 1.0),
    "deviation": (0.0, 1.0),
}
KNOTS = "ranks.scores", "ranks.odds"  # of a model without labels
OF_BAGS = "coefficients", "intercepts", "gradients"  # arrays of logistic regressions
ROUNDING = 1e-15  # of every tree and bag: mean probabilities must not be rounded to 0 or 1


def name_of(place: int) -> str:
    """Return the prefix of the arrays of a member."""
    return f"members.{place}"


def describe_member(member: Member) -> StoredMember:
    """Return what the manifest says of a member, or say that a model file cannot hold it."""
    head, penalty, trees = member.head, None, None
    if isinstance(head, LogisticHead):
        penalty, n_bags = float(head.penalty), len(head.intercepts)
    elif isinstance(head, TreeHead):
        trees, n_bags = describe_trees(head.trees), head.n_bags
    elif isinstance(head, ConsensusHead):
        n_bags = 1
    else:
        raise ModelFileError(
            f"`estimator` is a {type(head.models[0]).__name__}, which a model file cannot store "
            "without pickle. Fit with `estimator=None`, boreod's own `heads`, in its place."
        )
    features = None if member.features is None else member.features.tolist()
    return StoredMember(
        member.kind, n_bags, features, penalty, trees, member.line, float(member.weight)
    )


def member_arrays(member: Member, prefix: str, n_features: int) -> Arrays:
    """Return the arrays of a member that was described."""
    if isinstance(member.head, TreeHead):
        read = n_features if member.features is None else len(member.features)
        return pack_trees(member.head.trees, prefix, read)
    if isinstance(member.head, ConsensusHead):
        return {f"{prefix}.{name}": getattr(member.head, name) for name in SCALES}
    return {f"{prefix}.{name}": getattr(member.head, name) for name in OF_BAGS}


def member_tensors(stored: StoredMember, prefix: str, n_features: int) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of a member."""
    read = n_features if stored.features is None else len(stored.features)
    if stored.trees is not None:
        return tree_tensors(stored.trees, prefix, read)
    if stored.kind == CONSENSUS:
        return {f"{prefix}.{name}": (FLOAT, [read]) for name in SCALES}
    return {
        f"{prefix}.coefficients": (FLOAT, [stored.bags, read]),
        f"{prefix}.intercepts": (FLOAT, [stored.bags]),
        f"{prefix}.gradients": (FLOAT, [stored.bags]),
    }


def fits_member(stored: StoredMember, n_features: int) -> bool:
    """Whether what a manifest says of a member can be."""
    trees, penalty = stored.trees, stored.penalty
    if stored.kind not in (*KINDS, CONSENSUS) or stored.bags < 1 or stored.line.slope <= 0.0:
        return False
    if stored.kind == "logistic":
        right = trees is None and penalty is not None and penalty > 0.0
    elif stored.kind == CONSENSUS:
        right = trees is None and penalty is None and stored.bags == 1
    else:
        right = penalty is None and trees is not None and fits_trees(trees)
        right = right and trees is not None and trees.number % stored.bags == 0
    places = stored.features
    if places is not None:
        ascend = places == sorted(set(places)) and len(places) > 0
        right = right and ascend and places[0] >= 0 and places[-1] < n_features
    return right and 0.0 <= stored.weight <= 1.0


def fits_together(members: list[StoredMember], untaught: bool) -> bool:
    """Whether kinds are there once, and weights sum up to 1; a member alone is taken as it is.

    Without labels there are lines for a member alone, too.
    """
    kinds = {member.kind for member in members}
    if not (kinds <= {CONSENSUS, "trees"} if untaught else CONSENSUS not in kinds):
        return False
    if untaught and not all(member.line.slope >= LEAST for member in members):
        return False
    if len(members) == 1 and not untaught:
        return members[0].weight == 1.0 and members[0].line == UNCHANGED
    distinct = len(kinds) == len(members) > 0
    return distinct and isclose(sum(member.weight for member in members), 1.0, rel_tol=1e-9)


def build_member(stored: StoredMember, arrays: Arrays, prefix: str, n_features: int) -> Member:
    """Return a member from arrays that were checked."""
    features = None if stored.features is None else np.array(stored.features)
    head: LogisticHead | TreeHead | ConsensusHead
    if stored.kind == CONSENSUS:
        head = ConsensusHead(*(arrays[f"{prefix}.{name}"] for name in SCALES))
    elif stored.trees is None:
        assert stored.penalty is not None  # as it was checked
        coefficients, intercepts, gradients = (arrays[f"{prefix}.{name}"] for name in OF_BAGS)
        head = LogisticHead(coefficients, intercepts, gradients, stored.penalty)
    else:
        trees = unpack_trees(arrays, prefix, n_features if features is None else len(features))
        head = TreeHead(trees, stored.bags, stored.kind.startswith("boosted"))
    return Member(stored.kind, head, features, stored.line, stored.weight)


def check_reach(arrays: Arrays, manifest: Manifest, n_features: int) -> None:
    """Refuse heads whose log-odds, or those of the average, would not be finite."""
    total, correction = 0.0, manifest.correction
    for place, stored in enumerate(manifest.members):
        prefix = name_of(place)
        with np.errstate(over="ignore"):
            reach = _reach(stored, arrays, prefix, n_features)
            total += reach * max(1.0, stored.line.slope) + abs(stored.line.shift)
            total = total * max(1.0, correction.slope) + abs(correction.shift)
        if not np.isfinite(total) or not np.isfinite(total / min(1.0, correction.slope)):
            last = "coefficients" if stored.kind == "logistic" else "value"
            raise wrong_numbers(f"{prefix}.{last}")
    if manifest.knots:
        _check_ranks(arrays[KNOTS[0]], arrays[KNOTS[1]], total)


def _check_ranks(scores: NDArray, odds: NDArray, reach: float) -> None:
    """Quantiles of scores must ascend, and lines between and beyond them stay finite."""
    steps, rises = np.diff(scores), np.diff(odds)
    if not (steps > 0.0).all():
        raise wrong_numbers(KNOTS[0])
    with np.errstate(over="ignore"):
        farthest = float((rises / steps).max()) * (reach + float(np.abs(scores).max()))
    if not (rises > 0.0).all() or not farthest <= LARGEST:
        raise wrong_numbers(KNOTS[1])


def _reach(stored: StoredMember, arrays: Arrays, prefix: str, n_features: int) -> float:
    """Return a number that no sum of the bags' log-odds exceeds."""
    if stored.kind == CONSENSUS:  # every column ends up between -1 and 1, in deviations
        for name, (least, most) in SCALES.items():
            values = arrays[f"{prefix}.{name}"]
            right = values.min() >= least and values.max() <= most  # neither if one is NaN
            if not right or (name == "spread" and ((values > 0.0) & (values < LEAST)).any()):
                raise wrong_numbers(f"{prefix}.{name}")
        return 4.0 / MIN_DEVIATION
    if stored.trees is None:
        coefficients, intercepts = (arrays[f"{prefix}.{name}"] for name in OF_BAGS[:2])
        farthest = np.abs(coefficients).sum(axis=1) * LARGEST + np.abs(intercepts)
        return 2.0 * float(farthest.sum())
    values = arrays[f"{prefix}.value"]
    low, high = float(values.min()), float(values.max())
    if stored.kind.startswith("boosted"):  # leaves add up to log-odds
        least, most, reach = -LARGEST, LARGEST, stored.trees.number * max(abs(low), abs(high))
    else:  # their mean is a probability
        least = ROUNDING * (stored.bags + stored.trees.number // stored.bags)
        most, reach = 1.0 - least, 40.0 * stored.bags
    if not (least <= low and high <= most):
        raise wrong_numbers(f"{prefix}.value")
    unpack_trees(arrays, prefix, n_features if stored.features is None else len(stored.features))
    return 2.0 * reach
