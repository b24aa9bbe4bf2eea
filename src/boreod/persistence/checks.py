"""Checks that manifest and arrays of a model file fit together, before a model is built from them.

The manifest determines the names, types and shapes of all arrays.
"""

import re
from collections.abc import Callable
from math import isclose, prod

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import MOST_KNOTS
from boreod.ensemble.calibration import count_as_inliers
from boreod.ensemble.members import KINDS, UNCHANGED
from boreod.neighbors import BACKENDS
from boreod.persistence.columns import view_tensors
from boreod.persistence.manifest import (
    TYPES,
    Arrays,
    Manifest,
    ModelFileError,
    Tensor,
)
from boreod.persistence.members import (
    KNOTS,
    OF_TREES,
    check_reach,
    fits_member,
    fits_together,
    fits_trees,
    member_tensors,
    tree_tensors,
    wrong_numbers,
)
from boreod.persistence.parameters import decode
from boreod.representation.plan import read_scores
from boreod.representation.scaling import SCALERS
from boreod.representation.views import VIEW_METRICS
from boreod.scores import DETECTORS, SCORES
from boreod.scores.base import PlannedScore
from boreod.selection.costs import MAX_PRICE, Costs, kind_of_tree
from boreod.validation import INLIER, LARGEST, OUTLIER, UNLABELLED

# Arrays with one number for every training row.
PROBABILITIES = "oob.probabilities"
LABELS = "oob.labels"
ISOLATION = "seen.isolation"
HASHES = "seen.hashes"

CLASS_KINDS: dict[str, Callable[[object], bool]] = {
    "int64": lambda label: type(label) is int and abs(label) < 2**63,
    "float64": lambda label: type(label) in (int, float),
    "bool": lambda label: type(label) is bool,
    "object": lambda label: type(label) in (int, float, bool, str),
}


def check_manifest(manifest: Manifest, arrays_size: int) -> None:
    """Raise for a manifest that contradicts itself or the size of the file."""
    names = manifest.feature_names
    labels = manifest.classes.values
    is_label = CLASS_KINDS.get(manifest.classes.kind, lambda _: False)
    shares = manifest.shares
    conditions = {
        "feature_names": len(set(names)) == len(names) > 0
        and (manifest.named or names == [f"x{number}" for number in range(len(names))]),
        "scaling": manifest.scaling in SCALERS,
        "quantiles": manifest.scaling == "minmax" or manifest.quantiles >= 2,
        "threshold": 0.0 <= manifest.threshold <= 1.0,
        "correction": manifest.correction.slope > 0.0,
        "classes": len(labels) == 2 and labels[0] != labels[1] and all(map(is_label, labels)),
        "rows": shares.n_rows >= manifest.rows >= 2,
        "left_out": 0 <= manifest.left_out < manifest.rows,
        "shares": 0.0 < shares.inliers <= 1.0 and 0.0 < shares.unlabelled <= 1.0,
    }
    for where, holds in conditions.items():
        _require(holds, where)
    _check_views(manifest)
    _check_columns(manifest)
    _check_members(manifest)
    _check_prices(manifest)
    tensors = expected_tensors(manifest).values()
    wanted = sum(TYPES[kind].itemsize * prod(shape) for kind, shape in tensors)
    if wanted != arrays_size:
        raise ModelFileError(
            f"its manifest asks for {wanted} bytes of arrays, and there are {arrays_size}"
        )


def _require(holds: bool, where: str) -> None:
    if not holds:
        raise ModelFileError(f"manifest.{where} does not fit the rest")


def _check_views(manifest: Manifest) -> None:
    views = manifest.representation.views
    rows = manifest.representation.reference_rows
    _require(rows >= 2 if views else rows == 0, "representation.reference_rows")
    _require(len({view.name for view in views}) == len(views), "representation.views")
    for number, view in enumerate(views):
        where = f"representation.views.{number}"
        _require(view.rows is None or 2 <= view.rows <= rows, f"{where}.rows")
        _require(view.metric in VIEW_METRICS and view.backend in BACKENDS, where)
        distinct = sorted(set(view.columns))
        _require(len(distinct) == len(view.columns) > 0, f"{where}.columns")
        inside = distinct[0] >= 0 and distinct[-1] < len(manifest.feature_names)
        _require(inside and len(view.scores) > 0, where)
        for stored in view.scores:
            ks = stored.ks
            _require(len(ks) > 0 and ks == sorted(set(ks)), f"{where}.scores.ks")
            fit = stored.make().min_k <= ks[0] and ks[-1] < (view.rows or rows)
            _require(fit, f"{where}.scores.ks")


def _check_columns(manifest: Manifest) -> None:
    scores = []
    for view in manifest.representation.views:
        for stored in view.scores:
            planned = PlannedScore(stored.label, stored.make(), tuple(stored.ks))
            scores += planned.column_names(view.name)
    for number, forest in enumerate(manifest.representation.forests):
        right = fits_trees(forest.trees) and 1 <= forest.sampled <= manifest.rows
        _require(right, f"representation.forests.{number}")
        scores.append(forest.label)
    raw = set(manifest.raw_names)
    columns = set(manifest.columns)
    computed = set(scores)
    _require(len(columns) == len(manifest.columns) > 0, "columns")
    _require(len(computed) == len(scores) and not raw & computed, "columns")
    _require(computed <= columns <= computed | raw, "columns")
    # With both scalings raw columns come first.
    _require(
        manifest.scaling != "both" or set(manifest.columns[: manifest.n_raw]) <= raw, "columns"
    )


def _check_members(manifest: Manifest) -> None:
    for place, stored in enumerate(manifest.members):
        _require(fits_member(stored, manifest.n_features), f"members.{place}")
    knots = manifest.knots
    _require(fits_together(manifest.members, knots > 0), "members")
    _require(knots == 0 or 2 <= knots <= MOST_KNOTS, "knots")
    _require(knots == 0 or manifest.correction == UNCHANGED, "correction")


def _check_prices(manifest: Manifest) -> None:
    """Raise for prices of impossible columns, and for a choice that the prices do not allow."""
    _require(_fits_costs(manifest, manifest.costs), "costs")
    _require(manifest.alone is None or 0.0 < manifest.alone <= MAX_PRICE, "alone")
    choice = manifest.selection
    if choice is None:
        return
    columns = set(manifest.columns)
    shares = choice.frequencies
    _require(sorted(choice.columns) == sorted(manifest.columns), "selection.columns")
    possible = set(shares) <= columns and all(0.0 <= share <= 1.0 for share in shares.values())
    _require(possible, "selection.frequencies")
    _require(_fits_costs(manifest, choice.costs), "selection.costs")
    _require(choice.batch_size is None or choice.batch_size >= 1, "selection.batch_size")
    costs = choice.prices(manifest.costs)
    if costs is None:
        raise ModelFileError("manifest.selection has no prices")
    _require(columns <= set(costs.names), "selection.columns")
    trees = {m.kind: m.trees.number for m in manifest.members if m.trees is not None}
    _require({kind_of_tree(kind) for kind in trees} <= set(costs.trees), "selection.costs")
    total = costs.total(choice.columns) + costs.cost_of_trees(trees)
    paid = isclose(choice.cost, total, rel_tol=1e-9) and choice.cost <= choice.budget
    _require(paid, "selection.cost")


def _fits_costs(manifest: Manifest, costs: Costs | None) -> bool:
    if costs is None:
        return True
    known = {*manifest.columns, *manifest.raw_names}
    others = {n for n in costs.names if n not in known and not _may_be_score(n, manifest.rows)}
    named = not others or others <= _possible_forests(manifest)
    return named and set(costs.trees) <= set(map(kind_of_tree, KINDS))


def _may_be_score(name: str, rows: int) -> bool:
    """Whether this may name a score column, such as lof_10@r256, of a table with ``rows`` rows.

    The file holds nothing but the price of a column that is not in use.
    """
    match = re.fullmatch(r"[^@]+?_([1-9][0-9]{0,15})(?:@.+)?", name, re.DOTALL)
    return match is not None and int(match[1]) < rows


def _possible_forests(manifest: Manifest) -> set[str]:
    """Return the names of isolation forests that the representation may have had in the fit."""
    given = manifest.parameters.get("representation")
    content = given.get("representation") if isinstance(given, dict) else None
    if not isinstance(content, dict):
        return set(DETECTORS)
    return {label for label, _ in read_scores(decode(content.get("scores", "all")))[1]}


def expected_tensors(manifest: Manifest) -> dict[str, Tensor]:
    """Return types and shapes of all arrays."""
    rows = manifest.representation.reference_rows
    features = len(manifest.feature_names)
    columns = len(manifest.columns)
    scaled = columns
    shapes = {
        "seen.low": [features],
        "seen.high": [features],
        "base": [manifest.n_features],
        PROBABILITIES: [manifest.rows],
    }
    if manifest.representation.views:
        shapes["reference"] = [rows, features]
    if any(view.metric != "ranked" for view in manifest.representation.views):
        shapes[ISOLATION] = [manifest.rows]
    if manifest.input_scaling:
        shapes |= {"input.low": [features], "input.factor": [features]}
    if manifest.scaling != "minmax":
        shapes["scaler.quantiles"] = [columns, manifest.quantiles]
        scaled = manifest.n_raw if manifest.scaling == "both" else 0
    if scaled:
        shapes |= {"scaler.low": [scaled], "scaler.factor": [scaled]}
    if manifest.knots:
        shapes |= {name: [manifest.knots] for name in KNOTS}
    tensors: dict[str, Tensor] = {name: ("F64", shape) for name, shape in shapes.items()}
    tensors |= {LABELS: ("I8", [manifest.rows]), HASHES: ("I64", [manifest.rows])}
    for number, view in enumerate(manifest.representation.views):
        tensors |= view_tensors(view, f"views.{number}", rows)
    for number, forest in enumerate(manifest.representation.forests):
        tensors |= tree_tensors(forest.trees, f"forests.{number}", features)
    for place, stored in enumerate(manifest.members):
        tensors |= member_tensors(stored, f"members.{place}", manifest.n_features)
    return tensors


def check_values(arrays: Arrays, manifest: Manifest) -> None:
    """Raise for numbers that no model has, and for those whose products would not be finite.

    Trees are checked when they are built.
    """
    _check_training_rows(arrays[PROBABILITIES], arrays[LABELS], manifest)
    for name, values in arrays.items():
        last = name.rpartition(".")[2]
        is_checked_elsewhere = name in (PROBABILITIES, LABELS) or last in OF_TREES
        rows = manifest.representation.reference_rows
        if not is_checked_elsewhere and not _fits_array(values, last, rows):
            raise wrong_numbers(name)
    low = arrays["seen.low"]
    high = arrays["seen.high"]
    if not (low >= -LARGEST).all() or not (low <= high).all() or not (high <= LARGEST).all():
        raise wrong_numbers("seen.high")
    for number in range(len(manifest.representation.forests)):
        splits = arrays[f"forests.{number}.value"]
        if not (splits.min() >= 0.0 and splits.max() <= LARGEST):
            raise wrong_numbers(f"forests.{number}.value")
    check_reach(arrays, manifest)


def _fits_array(values: NDArray, last: str, rows: int) -> bool:
    """Whether an array, by the last part of its name, holds possible numbers."""
    if last == "rows":
        ascends = (values[:-1] < values[1:]).all()
        return bool(ascends and values[0] >= 0 and values[-1] < rows)
    # Both are NaN if any number is.
    low = values.min()
    high = values.max()
    least, most = _RANGES.get(last, _FINITE)
    right = least <= low and high <= most
    if last in ("radii", "quantiles"):
        right = right and (values[..., :-1] <= values[..., 1:]).all()
    if last == "summary" and len(values) == 1:
        # It is a spread, by which scores are divided.
        right = right and low > 0.0
    return bool(right)


def _check_training_rows(probabilities: NDArray, labels: NDArray, manifest: Manifest) -> None:
    """Both classes must occur, and only rows in all bags may lack a probability.

    A model without any label ranks rows, and each of them has its probability.
    """
    untaught = manifest.knots > 0
    codes = count_as_inliers(labels) if manifest.assumed else labels
    needed = {UNLABELLED} if untaught else {INLIER, OUTLIER}
    found = set(np.unique(codes).tolist())
    if not needed <= found <= {UNLABELLED, *needed}:
        raise wrong_numbers(LABELS)
    missing = np.isnan(probabilities)
    inside = (probabilities >= 0.0) & (probabilities <= 1.0)
    if not (inside | missing).all() or (missing & (untaught | (codes < 0))).any():
        raise wrong_numbers(PROBABILITIES)


# Ranges of numbers, by the last part of an array's name.
_FINITE = (-np.finfo(np.float64).max, np.finfo(np.float64).max)
_NOT_NEGATIVE = (0.0, _FINITE[1])
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("reference", "coefficients", "intercepts", "base"), (-LARGEST, LARGEST)),
    # Scores may be larger than rows. Their differences must stay finite.
    **dict.fromkeys(("low", "quantiles"), (-1e300, 1e300)),
    **dict.fromkeys(("factor", "radii", "isolation", "gradients"), _NOT_NEGATIVE),
    # These are descriptions. The density of a clump of copies is infinite.
    **{name: (-np.inf, np.inf) for score in SCORES.values() for name in score.descriptions},
    "bandwidth": _NOT_NEGATIVE,
    # The log-density of copies is finite, although their bandwidth is 0.
    "log_kernel_density": _FINITE,
}
