"""The manifest of a model file, which is JSON: everything but the arrays.

It determines the names, types and shapes of all arrays. This module checks the arrays, and whether
the manifest contradicts itself, before a model is built from them.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import MOST_KNOTS
from boreod.ensemble.bags import Shares
from boreod.ensemble.calibration import Correction, count_as_inliers
from boreod.ensemble.members import KINDS, UNCHANGED
from boreod.files import __version__, parse_json, typed_json
from boreod.neighbors import BACKENDS
from boreod.persistence.columns import StoredRepresentation, view_tensors
from boreod.persistence.container import Arrays, ModelFileError, Tensor, Tensors, by_owner, named
from boreod.persistence.members import (
    StoredMember,
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
from boreod.scores import DETECTORS
from boreod.selection.costs import MAX_PRICE, Costs, kind_of_tree
from boreod.text import shorten
from boreod.validation import INLIER, LARGEST, OUTLIER, UNLABELLED

FORMAT = 8
# Scores are at most this large, so that their differences are finite. Values in rows are smaller.
LARGEST_SCORE = 1e300

CLASS_KINDS: dict[str, Callable[[object], bool]] = {
    "int64": lambda label: type(label) is int and abs(label) < 2**63,
    "float64": lambda label: type(label) in (int, float),
    "bool": lambda label: type(label) is bool,
    "object": lambda label: type(label) in (int, float, bool, str),
}


@dataclass(frozen=True)
class StoredClasses:
    """The two labels, inlier first."""

    kind: str
    values: list[Any]


@dataclass(frozen=True)
class StoredSelection:
    """What a budget bought, for ``batch_size`` rows at once (None for large batches).

    ``costs`` is None if they equal the model's costs in such batches.
    """

    columns: list[str]
    frequencies: dict[str, float]
    cost: float
    budget: float
    costs: Costs | None
    batch_size: int | None

    def prices(self, of_model: Costs | None) -> Costs | None:
        """Return the prices at the time of the choice."""
        if self.costs is not None or of_model is None:
            return self.costs
        return of_model.in_batches(self.batch_size)


@dataclass(frozen=True)
class StoredCurve:
    """Out-of-bag quality over budgets."""

    unit: str
    budgets: list[float]
    costs: list[float]
    n_columns: list[int]
    auc: list[float]
    average_precision: list[float]
    n_trees: list[int] | None = None
    tree_costs: list[float] | None = None


@dataclass(frozen=True)
class StoredTable:
    """The training table: its preparation, or the medians of plain numbers, and its profile."""

    is_named: bool
    middle: list[float] | None
    preparation: dict[str, Any] | None
    profile: dict[str, Any] | None
    source: str | None
    curve: StoredCurve | None


@dataclass(frozen=True)
class Manifest:
    """Everything but the arrays.

    ``named`` tells whether the table had column names. ``quantiles`` is the number of quantiles
    that rank scaling keeps. ``costs`` is None if no price was asked for. ``rows`` is the number of
    training rows, and ``shares`` tells which part of a table they are. ``assumed`` tells whether
    unlabelled rows count as inliers, and ``left_out`` is the number of inliers in no bag. ``knots``
    is the number of points on the curve from scores to ranks, 0 with labels. ``alone`` is the time
    of a single row in seconds, None if it follows from ``costs`` or is unknown.
    """

    format: int
    versions: dict[str, str]
    parameters: dict[str, Any]
    feature_names: list[str]
    named: bool
    columns: list[str]
    input_scaling: bool
    scaling: str
    quantiles: int
    representation: StoredRepresentation
    members: list[StoredMember]
    correction: Correction
    knots: int
    classes: StoredClasses
    threshold: float
    costs: Costs | None
    selection: StoredSelection | None
    rows: int
    shares: Shares
    assumed: bool
    left_out: int
    table: StoredTable
    extra: dict[str, Any]
    alone: float | None

    @property
    def raw_names(self) -> list[str]:
        """Names of the raw columns that may be in use."""
        return self.feature_names if self.representation.raw else []

    @property
    def n_raw(self) -> int:
        """Number of raw columns in use."""
        raw = set(self.raw_names)
        return sum(name in raw for name in self.columns)

    @property
    def n_features(self) -> int:
        """Number of features after the scaling of the columns."""
        return len(self.columns) + (self.n_raw if self.scaling == "both" else 0)

    @property
    def tree_counts(self) -> dict[str, int]:
        """Numbers of trees of the tree heads, by kind."""
        return {m.kind: m.trees.number for m in self.members if m.trees is not None}


def write_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON in ASCII; scalars of NumPy become those of Python."""
    text = json.dumps(
        asdict(manifest), allow_nan=False, separators=(",", ":"), default=np.generic.item
    )
    return text.encode("ascii")


def read_manifest(text: bytes) -> Manifest:
    """Return a manifest that does not contradict itself, or say what is wrong."""
    content = typed_json(dict[str, Any], parse_json(text, "its manifest"), "manifest")
    number = typed_json(int, content.get("format"), "manifest.format")
    if number != FORMAT:
        versions = content.get("versions")
        writer = versions.get("boreod") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it has format {shorten(number)} and was written by boreod {shorten(writer)}, while "
            f"this boreod {__version__} reads format {FORMAT}, so fit again with this version, or "
            "install that one"
        )
    manifest = typed_json(Manifest, content, "manifest")
    _check_manifest(manifest)
    return manifest


def _check_manifest(manifest: Manifest) -> None:
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
    for place, stored in enumerate(manifest.members):
        _require(fits_member(stored, manifest.n_features), f"members.{place}")
    knots = manifest.knots
    _require(fits_together(manifest.members, knots > 0), "members")
    _require(knots == 0 or 2 <= knots <= MOST_KNOTS, "knots")
    _require(knots == 0 or manifest.correction == UNCHANGED, "correction")
    _check_prices(manifest)


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
        columns = set(view.columns)
        _require(len(columns) == len(view.columns) > 0, f"{where}.columns")
        inside = columns <= set(range(len(manifest.feature_names)))
        _require(inside and len(view.scores) > 0, where)
        for planned in view.planned:
            ks = list(planned.ks)
            _require(len(ks) > 0 and ks == sorted(set(ks)), f"{where}.scores.ks")
            fit = planned.definition.min_k <= ks[0] and ks[-1] < (view.rows or rows)
            _require(fit, f"{where}.scores.ks")


def _check_columns(manifest: Manifest) -> None:
    scores = []
    for view in manifest.representation.views:
        for planned in view.planned:
            scores += planned.column_names(view.name)
    for number, forest in enumerate(manifest.representation.forests):
        right = fits_trees(forest.trees) and 1 <= forest.sampled <= manifest.rows
        _require(right, f"representation.forests.{number}")
        scores.append(forest.label)
    raw = set(manifest.raw_names)
    columns = set(manifest.columns)
    computed = set(scores)
    conditions = (
        len(columns) == len(manifest.columns) > 0,
        len(computed) == len(scores) and not raw & computed,
        computed <= columns <= computed | raw,
        # With both scalings raw columns come first.
        manifest.scaling != "both" or set(manifest.columns[: manifest.n_raw]) <= raw,
    )
    _require(all(conditions), "columns")


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
    trees = manifest.tree_counts
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

    For a column that is not in use, the file holds nothing but its price.
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


def expected_tensors(manifest: Manifest) -> Tensors:
    """Return the type, shape and range that every array must have."""
    n_reference = manifest.representation.reference_rows
    n_inputs = len(manifest.feature_names)
    n_columns = len(manifest.columns)
    n_scaled = n_columns
    of_rows = [manifest.rows]
    tensors = {
        "base": Tensor("F64", [manifest.n_features], -LARGEST, LARGEST),
        "oob.probabilities": Tensor("F64", of_rows),
        "oob.labels": Tensor("I8", of_rows),
        "seen.low": Tensor("F64", [n_inputs], -LARGEST, LARGEST),
        "seen.high": Tensor("F64", [n_inputs], -LARGEST, LARGEST),
        "seen.hashes": Tensor("I64", of_rows),
    }
    if manifest.representation.views:
        tensors["reference"] = Tensor("F64", [n_reference, n_inputs], -LARGEST, LARGEST)
    if any(view.metric != "ranked" for view in manifest.representation.views):
        tensors["seen.isolation"] = Tensor("F64", of_rows, 0.0)
    if manifest.input_scaling:
        tensors |= _range_tensors("input", n_inputs)
    if manifest.scaling != "minmax":
        shape = [n_columns, manifest.quantiles]
        tensors["scaler.quantiles"] = Tensor("F64", shape, -LARGEST_SCORE, LARGEST_SCORE)
        n_scaled = manifest.n_raw if manifest.scaling == "both" else 0
    if n_scaled:
        tensors |= _range_tensors("scaler", n_scaled)
    if manifest.knots:
        knots = Tensor("F64", [manifest.knots])
        tensors |= {"ranks.scores": knots, "ranks.odds": knots}
    for number, view in enumerate(manifest.representation.views):
        tensors |= view_tensors(view, f"views.{number}", n_reference)
    for number, forest in enumerate(manifest.representation.forests):
        of_trees = tree_tensors(forest.trees, n_inputs, 0.0, LARGEST)
        tensors |= named(f"forests.{number}", of_trees)
    for place, stored in enumerate(manifest.members):
        tensors |= named(f"members.{place}", member_tensors(stored, manifest.n_features))
    return tensors


def _range_tensors(owner: str, number: int) -> Tensors:
    """Return the tensors of a scaler that knows the ranges of columns."""
    return {
        f"{owner}.low": Tensor("F64", [number], -LARGEST_SCORE, LARGEST_SCORE),
        f"{owner}.factor": Tensor("F64", [number], 0.0),
    }


def check_values(arrays: Arrays, tensors: Tensors, manifest: Manifest) -> None:
    """Raise for numbers that no model has, and for those whose products would not be finite.

    The structure of trees is checked when they are built.
    """
    owners = by_owner(arrays)
    _check_training_rows(**owners["oob"], manifest=manifest)
    for name, tensor in tensors.items():
        if not _fits_tensor(arrays[name], name, tensor):
            raise wrong_numbers(name)
    if not (arrays["seen.low"] <= arrays["seen.high"]).all():
        raise wrong_numbers("seen.high")
    check_reach(manifest.members, manifest.correction, owners)


def _fits_tensor(values: NDArray, name: str, tensor: Tensor) -> bool:
    """Whether an array holds possible numbers."""
    if name == "oob.probabilities":
        # These may be NaN, and were checked together with the labels.
        return True
    last = name.rpartition(".")[2]
    # Both are NaN if any number is.
    low = values.min().item()
    high = values.max().item()
    conditions = (
        tensor.least <= low and high <= tensor.most,
        last != "rows" or (values[:-1] < values[1:]).all(),
        last not in ("radii", "quantiles") or (values[..., :-1] <= values[..., 1:]).all(),
        # A summary of one number is a spread. Scores are divided by it, so it must be positive.
        last != "summary" or len(values) > 1 or low > 0.0,
    )
    return all(conditions)


def _check_training_rows(probabilities: NDArray, labels: NDArray, manifest: Manifest) -> None:
    """Both classes must occur, and only rows in all bags may lack a probability.

    A model without any label ranks rows, and each of them has its probability.
    """
    untaught = manifest.knots > 0
    codes = count_as_inliers(labels) if manifest.assumed else labels
    needed = {UNLABELLED} if untaught else {INLIER, OUTLIER}
    found = set(np.unique(codes).tolist())
    if not needed <= found <= {UNLABELLED, *needed}:
        raise wrong_numbers("oob.labels")
    missing = np.isnan(probabilities)
    inside = (probabilities >= 0.0) & (probabilities <= 1.0)
    if not (inside | missing).all() or (missing & (untaught | (codes < 0))).any():
        raise wrong_numbers("oob.probabilities")
