"""Whether the parts of a manifest fit together, before anything is read or built by it."""

import re
from collections.abc import Callable
from math import isclose

from boreod.neighbors import BACKENDS, METRICS
from boreod.persistence.errors import ModelFileError
from boreod.persistence.layout import expected_tensors, n_bytes, score_of
from boreod.persistence.manifest import (
    Manifest,
    StoredCosts,
    StoredScore,
    StoredSelection,
    StoredView,
    TrainingSummary,
)
from boreod.representation.plan import PlannedScore
from boreod.representation.scaling import SCALERS
from boreod.selection import Costs

LABELS: dict[str, Callable[[object], bool]] = {
    "int64": lambda label: type(label) is int and abs(label) < 2**63,
    "float64": lambda label: type(label) in (int, float),
    "bool": lambda label: type(label) is bool,
    "object": lambda label: type(label) in (int, float, bool, str),
}


def check_manifest(manifest: Manifest, arrays_size: int) -> None:
    """Raise for a manifest that contradicts itself or the size of the file."""
    names = manifest.feature_names
    numbered = [f"x{number}" for number in range(len(names))]
    _require(len(set(names)) == len(names) > 0, "feature_names")
    _require(manifest.named or names == numbered, "feature_names")
    _require(manifest.scaling in SCALERS, "scaling")
    _require(manifest.scaling == "minmax" or manifest.quantiles >= 2, "quantiles")
    _require(0.0 <= manifest.threshold <= 1.0, "threshold")
    bags = manifest.bags
    _require(bags.number >= 1 and bags.slope > 0.0 and bags.penalty > 0.0, "bags")
    _require(bags.aggregation in ("mean", "log-odds"), "bags.aggregation")
    _check_classes(manifest)
    _check_training(manifest.training)
    _check_views(manifest)
    _check_columns(manifest)
    _check_prices(manifest)
    expected = expected_tensors(manifest)
    _require(manifest.arrays.tensors == expected, "arrays.tensors")
    if n_bytes(expected) > arrays_size:
        raise ModelFileError(
            f"its manifest declares {n_bytes(expected)} bytes of arrays, and there are "
            f"{arrays_size}"
        )


def raw_names(manifest: Manifest) -> list[str]:
    """Return the names of raw columns, which may or may not be in use."""
    return manifest.feature_names if manifest.representation.raw else []


def _check_classes(manifest: Manifest) -> None:
    kind, values = manifest.classes.kind, manifest.classes.values
    _require(kind in LABELS and len(values) == 2 and values[0] != values[1], "classes")
    _require(all(LABELS[kind](label) for label in values), "classes")


def _check_training(summary: TrainingSummary) -> None:
    labelled = summary.outliers + summary.inliers
    right = summary.outliers >= 1 and summary.inliers >= 1 and summary.unlabelled >= 0
    _require(right and labelled + summary.unlabelled == summary.rows, "training.rows")
    _require(0 <= summary.judged <= labelled, "training.judged")
    shares = (summary.inlier_share, summary.unlabelled_share)
    _require(summary.table_rows >= summary.rows, "training.table_rows")
    _require(all(0.0 < share <= 1.0 for share in shares), "training")
    for quality in (summary.auc, summary.average_precision):
        _require(quality is None or 0.0 <= quality <= 1.0, "training")


def _check_views(manifest: Manifest) -> None:
    views, rows = manifest.representation.views, manifest.representation.reference_rows
    _require(rows >= 2 if views else rows == 0, "representation.reference_rows")
    _require(len({view.name for view in views}) == len(views), "representation.views")
    for number, view in enumerate(views):
        where = f"representation.views.{number}"
        _require(view.rows is None or 2 <= view.rows <= rows, f"{where}.rows")
        _require(view.metric in METRICS and view.backend in BACKENDS, where)
        distinct = sorted(set(view.columns))
        _require(len(distinct) == len(view.columns) > 0, f"{where}.columns")
        inside = distinct[0] >= 0 and distinct[-1] < len(manifest.feature_names)
        _require(inside, f"{where}.columns")
        _require(len(view.scores) > 0, f"{where}.scores")
        for stored in view.scores:
            _check_score(stored, view.rows or rows, f"{where}.scores")


def _check_score(stored: StoredScore, rows: int, where: str) -> None:
    smallest, ks = score_of(stored).min_k, stored.ks
    _require(len(ks) > 0 and ks == sorted(set(ks)), f"{where}.ks")
    _require(smallest <= ks[0] and ks[-1] < rows, f"{where}.ks")


def _check_columns(manifest: Manifest) -> None:
    raw, columns = set(raw_names(manifest)), manifest.columns
    scores = [name for view in manifest.representation.views for name in _columns_of(view)]
    wanted = set(columns)
    _require(len(wanted) == len(columns) > 0, "columns")
    _require(len(set(scores)) == len(scores) and not raw & set(scores), "columns")
    _require(set(scores) <= wanted <= set(scores) | raw, "columns")


def _columns_of(view: StoredView) -> list[str]:
    return [
        name
        for stored in view.scores
        for name in PlannedScore(stored.label, score_of(stored), tuple(stored.ks)).column_names(
            view.name
        )
    ]


def _check_prices(manifest: Manifest) -> None:
    stored, choice = manifest.costs, manifest.selection
    costs = None if stored is None else _check_costs(manifest, stored, "costs")
    if choice is not None:
        _require(sorted(choice.columns) == sorted(manifest.columns), "selection.columns")
        shares = choice.frequencies
        _require(set(shares) <= set(manifest.columns), "selection.frequencies")
        _require(all(0.0 <= share <= 1.0 for share in shares.values()), "selection.frequencies")
        if choice.costs is not None:
            costs = _check_costs(manifest, choice.costs, "selection.costs")
        if costs is None:
            raise ModelFileError("manifest.selection has no prices")
        _check_choice(choice, costs)


def _check_costs(manifest: Manifest, stored: StoredCosts, where: str) -> Costs:
    """Return prices, all of them numbers that a price can be, of columns that there can be."""
    try:
        costs = Costs(stored.own, stored.needs, stored.base, stored.unit)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise ModelFileError(f"manifest.{where} is no list of prices ({reason})") from None
    known, rows = {*manifest.columns, *raw_names(manifest)}, manifest.training.rows
    for name in costs.names:
        _require(name in known or _may_be_score(name, rows), where)
    return costs


def _may_be_score(name: str, rows: int) -> bool:
    """Whether this is the name of a score column, such as lof_10@r256, of a table of so many rows.

    Those that are not in use have left nothing else in the file.
    """
    match = re.fullmatch(r"[^@]+?_([1-9][0-9]{0,15})(?:@.+)?", name, re.DOTALL)
    return match is not None and int(match[1]) < rows


def _check_choice(choice: StoredSelection, costs: Costs) -> None:
    """Raise for a choice that its prices and its budget do not allow."""
    _require(set(choice.columns) <= set(costs.names), "selection.columns")
    right = isclose(choice.cost, costs.total(choice.columns), rel_tol=1e-9)
    _require(right and choice.cost <= choice.budget, "selection.cost")


def _require(right: bool, where: str) -> None:
    if not right:
        raise ModelFileError(f"manifest.{where} does not fit the rest")
