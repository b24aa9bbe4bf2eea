"""The manifest of a model file, which is JSON: everything but the arrays.

The manifest determines the names, types and shapes of all arrays. Before a model is built, this
module checks the arrays, and checks that the manifest does not contradict itself.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isclose
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import MOST_KNOTS
from boreod.ensemble.bags import Shares
from boreod.ensemble.calibration import Correction, count_as_inliers
from boreod.ensemble.members import KINDS, UNCHANGED
from boreod.files import __version__, parse_json, typed_json
from boreod.neighbors import BACKENDS
from boreod.persistence.columns import (
    StoredLessons,
    StoredRepresentation,
    StoredView,
    lesson_tensors,
    view_tensors,
)
from boreod.persistence.container import (
    Arrays,
    ModelFileError,
    Tensor,
    Tensors,
    by_owner,
    named,
    owned,
)
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

FORMAT = 9
# The largest score, so that differences of scores are finite. Values in rows are at most LARGEST.
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
    """The columns that were chosen within a budget.

    ``batch_size`` is None for large batches. ``costs`` are the prices at the time of the choice, or
    None if these prices equal the model's present prices for ``batch_size``.
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
class StoredTable:
    """The training table: its profile, and its preparation or, for plain numbers, its medians.

    ``middle`` holds the medians, ``source`` is the name of the file, and ``curve`` is the
    out-of-bag quality over budgets.
    """

    is_named: bool
    middle: list[float] | None
    preparation: dict[str, Any] | None
    profile: dict[str, Any] | None
    source: str | None
    curve: dict[str, Any] | None


@dataclass(frozen=True)
class Manifest:
    """Everything in a model file but the arrays.

    ``named`` is true if the table had column names. ``quantiles`` is the number of quantiles that
    rank scaling keeps for each column. ``costs`` is None if no prices are known. ``rows`` is the
    number of training rows, and ``shares`` says which part of a table was drawn as training rows.
    ``assumed`` is true if unlabelled rows count as inliers, and ``left_out`` is the number of
    inliers in no bag. ``knots`` is the number of points of the map from consensus scores to
    log-odds, and 0 for a model that was fitted with labels. ``alone`` is the time of a call with a
    single row, in seconds. It is None if the time follows from ``costs`` or is unknown. ``lessons``
    is None if the file does not hold what learning again needs.
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
    lessons: StoredLessons | None

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
    """Return a manifest as JSON in ASCII; NumPy scalars become Python numbers."""
    return json.dumps(
        asdict(manifest), allow_nan=False, separators=(",", ":"), default=np.generic.item
    ).encode("ascii")


def read_manifest(text: bytes) -> Manifest:
    """Parse a manifest; raise if its format is unknown, or if it contradicts itself."""
    content = typed_json(dict[str, Any], parse_json(text, "its manifest"), "manifest")
    number = typed_json(int, content.get("format"), "manifest.format")
    if number != FORMAT:
        versions = content.get("versions")
        writer = versions.get("boreod") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it has format {shorten(number)} and was written by boreod {shorten(writer)}, while "
            f"this boreod {__version__} reads format {FORMAT}, so fit again with this version, or "
            "install the version that wrote the file"
        )
    manifest = typed_json(Manifest, content, "manifest")
    _check_manifest(manifest)
    return manifest


def _check_manifest(manifest: Manifest) -> None:
    names = manifest.feature_names
    labels = manifest.classes.values
    is_label = CLASS_KINDS.get(manifest.classes.kind, lambda _: False)
    shares = manifest.shares
    knots = manifest.knots
    views = manifest.representation.views
    n_reference = manifest.representation.reference_rows
    _require(
        "",
        feature_names=len(set(names)) == len(names) > 0
        and (manifest.named or names == [f"x{number}" for number in range(len(names))]),
        scaling=manifest.scaling in SCALERS,
        quantiles=manifest.scaling == "minmax" or manifest.quantiles >= 2,
        threshold=0.0 <= manifest.threshold <= 1.0,
        correction=manifest.correction.slope > 0.0
        and (knots == 0 or manifest.correction == UNCHANGED),
        classes=len(labels) == 2 and labels[0] != labels[1] and all(map(is_label, labels)),
        rows=shares.n_rows >= manifest.rows >= 2,
        left_out=0 <= manifest.left_out < manifest.rows,
        shares=0.0 < shares.inliers <= 1.0 and 0.0 < shares.unlabelled <= 1.0,
        knots=knots == 0 or 2 <= knots <= MOST_KNOTS,
    )
    _require(
        "representation.",
        reference_rows=n_reference >= 2 if views else n_reference == 0,
        views=len({view.name for view in views}) == len(views),
    )
    for where, view in owned("representation.views", views):
        _check_view(manifest, view, f"{where}.")
    _check_columns(manifest)
    for where, member in owned("members", manifest.members):
        _require("", **{where: fits_member(member, manifest.n_features)})
    _require("", members=fits_together(manifest.members, knots > 0))
    _check_prices(manifest)
    table = manifest.table
    middle = table.middle
    _require(
        "table.",
        preparation=(middle is None) != (table.preparation is None),
        middle=middle is None
        or (len(middle) == len(manifest.feature_names) and max(map(abs, middle)) <= LARGEST),
        source=table.source is None or table.source == PurePath(table.source).name,
    )
    lessons = manifest.lessons
    _require(
        "",
        lessons=lessons is None
        or (
            len(lessons.seeds) == 2
            and all(0 <= seed < 2**31 for seed in lessons.seeds)
            and lessons.others == manifest.rows - n_reference
            and lessons.neighbors in ("auto", *BACKENDS)
            and manifest.selection is None
        ),
    )


def _require(owner: str, **conditions: bool) -> None:
    """Raise for the first condition that does not hold; the error names the place."""
    for name, holds in conditions.items():
        if not holds:
            raise ModelFileError(f"manifest.{owner}{name} does not fit the rest")


def _check_view(manifest: Manifest, view: StoredView, owner: str) -> None:
    n_rows = manifest.representation.reference_rows
    columns = set(view.columns)
    _require(
        owner,
        rows=view.rows is None or 2 <= view.rows <= n_rows,
        metric=view.metric in VIEW_METRICS,
        backend=view.backend in BACKENDS,
        columns=len(columns) == len(view.columns) > 0
        and columns <= set(range(len(manifest.feature_names))),
        scores=len(view.scores) > 0,
    )
    for planned in view.planned:
        ks = list(planned.ks)
        is_possible = len(ks) > 0 and ks == sorted(set(ks)) and planned.definition.min_k <= ks[0]
        _require(f"{owner}scores.", ks=is_possible and ks[-1] < (view.rows or n_rows))


def _check_columns(manifest: Manifest) -> None:
    stored = manifest.representation
    scores = []
    for view in stored.views:
        for planned in view.planned:
            scores += planned.column_names(view.name)
    for where, forest in owned("representation.forests", stored.forests):
        is_possible = fits_trees(forest.trees) and 1 <= forest.sampled <= manifest.rows
        _require("", **{where: is_possible})
        scores.append(forest.label)
    raw = set(manifest.raw_names)
    columns = set(manifest.columns)
    computed = set(scores)
    conditions = (
        len(columns) == len(manifest.columns) > 0,
        len(computed) == len(scores) and not raw & computed,
        computed <= columns <= computed | raw,
        # If the scaling is "both", raw columns come first.
        manifest.scaling != "both" or set(manifest.columns[: manifest.n_raw]) <= raw,
    )
    _require("", columns=all(conditions))


def _check_prices(manifest: Manifest) -> None:
    """Raise if prices belong to impossible columns, or if the selection contradicts the prices."""
    _require(
        "",
        costs=_fits_costs(manifest, manifest.costs),
        alone=manifest.alone is None or 0.0 < manifest.alone <= MAX_PRICE,
    )
    choice = manifest.selection
    if choice is None:
        return
    columns = set(manifest.columns)
    shares = choice.frequencies
    _require(
        "selection.",
        columns=sorted(choice.columns) == sorted(manifest.columns),
        frequencies=set(shares) <= columns and all(0.0 <= n <= 1.0 for n in shares.values()),
        costs=_fits_costs(manifest, choice.costs),
        batch_size=choice.batch_size is None or choice.batch_size >= 1,
    )
    costs = choice.prices(manifest.costs)
    if costs is None:
        raise ModelFileError("manifest.selection has no prices")
    trees = manifest.tree_counts
    tree_kinds = set(map(kind_of_tree, trees))
    _require("selection.", columns=columns <= set(costs.own), costs=tree_kinds <= set(costs.trees))
    total = costs.total(choice.columns) + costs.cost_of_trees(trees)
    paid = isclose(choice.cost, total, rel_tol=1e-9) and choice.cost <= choice.budget
    _require("selection.", cost=paid)


def _fits_costs(manifest: Manifest, costs: Costs | None) -> bool:
    if costs is None:
        return True
    known = {*manifest.columns, *manifest.raw_names}
    unknown = {n for n in costs.names if n not in known and not _may_be_score(n, manifest.rows)}
    is_known = not unknown or unknown <= _possible_forests(manifest)
    return is_known and set(costs.trees) <= set(map(kind_of_tree, KINDS))


def _may_be_score(name: str, rows: int) -> bool:
    """Return whether a table with ``rows`` rows may have a score column of this name.

    For a column that is not in use, such as lof_10@r256, the file holds only its price, so only the
    name can be checked.
    """
    match = re.fullmatch(r"[^@]+?_([1-9][0-9]{0,15})(?:@.+)?", name, re.DOTALL)
    return match is not None and int(match[1]) < rows


def _possible_forests(manifest: Manifest) -> set[str]:
    """Return the names of isolation forests that may have been columns of the fit."""
    given = manifest.parameters.get("representation")
    content = given.get("representation") if isinstance(given, dict) else None
    if not isinstance(content, dict):
        return set(DETECTORS)
    return {label for label, _ in read_scores(decode(content.get("scores", "all")))[1]}


def expected_tensors(manifest: Manifest) -> Tensors:
    """Return the type, shape and range that every array must have."""
    stored = manifest.representation
    n_inputs = len(manifest.feature_names)
    n_columns = len(manifest.columns)
    n_scaled = {"minmax": n_columns, "rank": 0, "both": manifest.n_raw}[manifest.scaling]
    n_ranked = 0 if manifest.scaling == "minmax" else n_columns
    searches = any(view.metric != "ranked" for view in stored.views)
    scores = (-LARGEST_SCORE, LARGEST_SCORE)
    values = (-LARGEST, LARGEST)
    tensors = {
        "base": Tensor("F64", [manifest.n_features], *values),
        "reference": Tensor("F64", [stored.reference_rows, n_inputs], *values),
        "oob.probabilities": Tensor("F64", [manifest.rows]),
        "oob.labels": Tensor("I8", [manifest.rows]),
        "seen.low": Tensor("F64", [n_inputs], *values),
        "seen.high": Tensor("F64", [n_inputs], *values),
        "seen.hashes": Tensor("I64", [manifest.rows]),
        "seen.isolation": Tensor("F64", [manifest.rows if searches else 0], 0.0),
        "scaler.quantiles": Tensor("F64", [n_ranked, manifest.quantiles], *scores, np.less_equal),
        "ranks.scores": Tensor("F64", [manifest.knots], order=np.less),
        "ranks.odds": Tensor("F64", [manifest.knots], order=np.less),
    }
    for owner, number in ("input", n_inputs if manifest.input_scaling else 0), ("scaler", n_scaled):
        ranges = {"low": Tensor("F64", [number], *scores), "factor": Tensor("F64", [number], 0.0)}
        tensors |= named(owner, ranges)
    if manifest.lessons is not None:
        counts = manifest.rows, n_columns - manifest.n_raw, manifest.n_features
        tensors |= lesson_tensors(manifest.lessons.others, len(stored.views), *counts)
    for owner, view in owned("views", stored.views):
        tensors |= view_tensors(view, owner, stored.reference_rows)
    for owner, forest in owned("forests", stored.forests):
        tensors |= named(owner, tree_tensors(forest.trees, n_inputs, 0.0, LARGEST))
    for owner, member in owned("members", manifest.members):
        tensors |= named(owner, member_tensors(member, manifest.n_features))
    return tensors


def check_values(arrays: Arrays, tensors: Tensors, manifest: Manifest) -> None:
    """Raise for numbers that no model can have, and for numbers whose products could overflow.

    The structure of trees is checked when the trees are built.
    """
    owners = by_owner(arrays)
    _check_training_rows(**owners["oob"], manifest=manifest)
    for name, tensor in tensors.items():
        # Out-of-bag probabilities may be NaN, and were checked together with the labels.
        if name != "oob.probabilities" and not _fits_tensor(arrays[name], tensor):
            raise wrong_numbers(name)
    if manifest.lessons and len(np.unique(arrays["lessons.places"])) < manifest.rows:
        raise wrong_numbers("lessons.places")
    if not (arrays["seen.low"] <= arrays["seen.high"]).all():
        raise wrong_numbers("seen.high")
    check_reach(manifest.members, manifest.correction, owners)


def _fits_tensor(values: NDArray, tensor: Tensor) -> bool:
    """Return whether an array holds possible numbers in a possible order."""
    if values.size == 0:
        return True
    # If any number is NaN, the minimum and the maximum are NaN, which is never in range.
    in_range = tensor.least <= values.min().item() and values.max().item() <= tensor.most
    in_order = tensor.order is None or tensor.order(values[..., :-1], values[..., 1:]).all()
    return bool(in_range and in_order)


def _check_training_rows(probabilities: NDArray, labels: NDArray, manifest: Manifest) -> None:
    """Raise if a class does not occur, or if a row has no probability but must have one.

    A labelled row may be in all bags, and then has no probability. If a model was fitted without
    labels, there are no classes, and every row has a probability.
    """
    untaught = manifest.knots > 0
    codes = count_as_inliers(labels) if manifest.assumed else labels
    needed = {UNLABELLED} if untaught else {INLIER, OUTLIER}
    if not needed <= set(np.unique(codes).tolist()) <= {UNLABELLED, *needed}:
        raise wrong_numbers("oob.labels")
    missing = np.isnan(probabilities)
    inside = (probabilities >= 0.0) & (probabilities <= 1.0)
    if not (inside | missing).all() or (missing & (untaught | (codes < 0))).any():
        raise wrong_numbers("oob.probabilities")
