"""Saving: from a fitted detector to manifest and arrays, what predictions need and nothing else."""

import hashlib
import json
import platform
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from boreod.bore import PRESETS
from boreod.detector import OutlierDetector
from boreod.ensemble.consensus import Quantiles
from boreod.ensemble.members import UNCHANGED
from boreod.files import __version__
from boreod.neighbors import BACKENDS
from boreod.persistence.archive import ModelFileError, write_archive
from boreod.persistence.arrays import Arrays, describe_trees, pack_trees
from boreod.persistence.checks import (
    HASHES,
    ISOLATION,
    LABELS,
    PROBABILITIES,
    check_manifest,
    check_values,
    ks_of_radii,
)
from boreod.persistence.manifest import (
    FORMAT,
    Manifest,
    StoredClasses,
    StoredForest,
    StoredRepresentation,
    StoredScore,
    StoredSelection,
    StoredView,
    encode,
    encode_parameters,
    is_registered,
    write_manifest,
)
from boreod.persistence.members import KNOTS, describe_member, member_arrays, name_of
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Both, MinMax, Rank, Scaler
from boreod.representation.scored_view import ScoredView
from boreod.scores import IsolationTrees
from boreod.selection.costs import Costs
from boreod.text import shorten
from boreod.tool.words import name_method
from boreod.validation import check_fitted

SCALINGS = {"minmax": MinMax, "rank": Rank, "both": Both}
MOST_PRICES = 5000  # columns; a manifest must stay small


def save_model(
    model: OutlierDetector, path: str | PathLike[str], *, extra: dict[str, Any] | None = None
) -> None:
    """Write a fitted detector to a file.

    The file holds what predictions and explanations need: reference rows, statistics of the columns
    in use, coefficients and trees; and for thresholds the out-of-bag probability and the label of
    every training row. Bags stay behind. The same model gives the same bytes, and a file that is
    there already is replaced only when the new one is complete.

    Parameters
    ----------
    model
        A fitted :class:`boreod.Detector` or :class:`boreod.BORE`.
    path
        Name of the file, by custom with the ending ``.boreod``.
    extra
        Anything that JSON can hold, for your own use; ``load_model(path).stored_.extra`` gives it
        back. None keeps that of a loaded model.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from boreod import BORE, OutlierRepresentation
    >>> from boreod.persistence import load_model
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.repeat([0, 1], [90, 10])
    >>> model = BORE(OutlierRepresentation(["knn"], [5]), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/a.boreod", extra={"table": "payments"})
    ...     again = load_model(f"{folder}/a.boreod")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all()), again.stored_.extra
    (True, {'table': 'payments'})
    """
    if not isinstance(model, tuple(PRESETS.values())):
        raise TypeError(f"`model` must be a {' or a '.join(PRESETS)}; got {shorten(model)}.")
    check_fitted(model)
    manifest, arrays, content = _take_apart(model, _read_extra(model, extra))
    try:
        check_manifest(manifest, len(content))
        check_values(arrays, manifest)
    except ModelFileError as error:
        raise ModelFileError(f"The model cannot be saved, because {error}.") from None
    write_archive(Path(path), write_manifest(manifest), content)


def _take_apart(model: OutlierDetector, extra: dict[str, Any]) -> tuple[Manifest, Arrays, bytes]:
    """Return manifest, arrays, and the arrays as bytes."""
    fitted, columns = model.fitted_, model.fitted_.columns
    members = [describe_member(member) for member in fitted.members]
    representation, arrays = _describe_columns(columns, len(fitted.seen.columns))
    arrays |= _scaler_arrays(fitted.input_scaler, "input")
    arrays |= _scaler_arrays(fitted.scaler, "scaler")
    for place, member in enumerate(fitted.members):
        arrays |= member_arrays(member, name_of(place), len(fitted.base))
    arrays |= {"base": fitted.base, PROBABILITIES: model.oob_proba_}
    arrays |= {LABELS: model.oob_.labels.astype(np.int8)}
    correction = fitted.correction
    if isinstance(correction, Quantiles):
        arrays |= {KNOTS[0]: correction.scores, KNOTS[1]: correction.odds}
    arrays |= {"seen.low": fitted.seen.low, "seen.high": fitted.seen.high}
    if fitted.seen.isolation is not None:
        arrays[ISOLATION] = fitted.seen.isolation
    if model.learned_rows_ is not None:
        arrays[HASHES] = model.learned_rows_.hashes
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    content = save(arrays)
    costs = _describe_costs(model.known_costs, model.columns_)
    manifest = Manifest(
        format=FORMAT,
        versions=package_versions(),
        preset=name_method(model),
        parameters=encode_parameters(model),
        feature_names=list(fitted.seen.columns),
        named=_is_named(model),
        columns=list(columns.names),
        input_scaling=fitted.input_scaler is not None,
        scaling=next(name for name, kind in SCALINGS.items() if isinstance(fitted.scaler, kind)),
        quantiles=arrays["scaler.quantiles"].shape[1] if "scaler.quantiles" in arrays else 0,
        representation=representation,
        members=members,
        aggregation=fitted.aggregation,
        correction=UNCHANGED if isinstance(correction, Quantiles) else correction,
        knots=len(correction.scores) if isinstance(correction, Quantiles) else 0,
        classes=StoredClasses(
            model.classes_.dtype.name, [encode("y", label) for label in model.classes_.tolist()]
        ),
        threshold=float(model.threshold_),
        costs=costs,
        selection=_describe_selection(model, costs),
        rows=len(model.oob_.labels),
        shares=model.oob_.shares,
        assumed=bool(model.oob_.assumed),
        left_out=int(model.oob_.left_out),
        sha256=hashlib.sha256(content).hexdigest(),
        extra=extra,
        alone=None if costs is None or costs.call is not None else model.price_of_rows(1),
    )
    return manifest, arrays, content


def _is_named(model: OutlierDetector) -> bool:
    """Tell whether the numbers of a detector come with names: given, or those of prepared ones."""
    names = model.fitted_.seen.columns
    return hasattr(model, "feature_names_in_") or names != [f"x{i}" for i in range(len(names))]


def _describe_columns(columns: FittedColumns, n_raw: int) -> tuple[StoredRepresentation, Arrays]:
    """Return what computes the columns from so many raw ones."""
    forests = [detector for detector in columns.detectors if isinstance(detector, IsolationTrees)]
    own = {forest.label for forest in forests}
    foreign = [detector.label for detector in columns.detectors if detector.label not in own]
    if foreign:
        raise ModelFileError(
            f"The columns {', '.join(foreign)} come from detectors of other libraries, which a "
            "model file cannot store without pickle. Leave them out of `scores` and fit again."
        )
    reference, places = _reference_rows(columns.views)
    arrays: Arrays = {} if reference is None else {"reference": reference}
    views = []
    for number, (view, rows) in enumerate(zip(columns.views, places, strict=True)):
        views.append(_describe_view(view, rows))
        arrays |= _view_arrays(view, views[-1], rows, f"views.{number}")
    for number, forest in enumerate(forests):
        arrays |= pack_trees(forest.trees, f"forests.{number}", n_raw)
    stored = [StoredForest(f.label, describe_trees(f.trees), f.n_sampled) for f in forests]
    n_rows = 0 if reference is None else len(reference)
    return StoredRepresentation(bool(columns.raw), n_rows, views, stored), arrays


def _scaler_arrays(scaler: Scaler | None, prefix: str) -> Arrays:
    if isinstance(scaler, Both):
        ranges = _scaler_arrays(scaler.scaled if scaler.n_raw else None, prefix)
        return ranges | _scaler_arrays(scaler.ranked, prefix)
    found = {} if scaler is None else vars(scaler)
    return {f"{prefix}.{name}": values for name, values in found.items()}


def _read_extra(model: OutlierDetector, extra: Any) -> dict[str, Any]:
    """Return the free section: what the user gave, or what a loaded model came with."""
    if extra is None:
        return {} if model.stored_ is None else model.stored_.extra
    try:
        same = json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        same = None
    if not isinstance(extra, dict) or same != extra:
        raise ModelFileError(
            "`extra` must be a dict that JSON can hold (text keys; texts, finite numbers, lists, "
            f"dicts, True, False, None); got {shorten(extra)}."
        )
    return same


def _reference_rows(views: list[ScoredView]) -> tuple[NDArray | None, list[NDArray | None]]:
    """Return every reference row that some view needs, once, and where to find those of a view."""
    if not views:
        return None, []
    positions = [view.space.rows for view in views]
    for view, rows in zip(views, positions, strict=True):
        if rows is None:
            return view.known.rows, positions
    sampled = [rows for rows in positions if rows is not None]
    needed = np.unique(np.concatenate(sampled))
    reference = np.empty((len(needed), views[0].known.rows.shape[1]))
    places: list[NDArray | None] = []
    for view, rows in zip(views, sampled, strict=True):
        place = np.searchsorted(needed, rows)
        reference[place] = view.known.rows
        places.append(place)
    return reference, places


def _describe_view(view: ScoredView, rows: NDArray | None) -> StoredView:
    for s in view.scores:
        if not is_registered(s.definition):
            raise ModelFileError(
                f"The score {s.label!r} is {shorten(s.definition)}, which is none of boreod's own, "
                "and a model file holds no code. Use a score of the registry and fit again."
            )
    if view.graph.backend.name not in BACKENDS:
        raise ModelFileError(
            "Neighbors are searched by an object of another library, which a model file cannot "
            "store without pickle. Fit with neighbors='auto'."
        )
    return StoredView(
        name=view.space.name,
        columns=view.space.columns.tolist(),
        metric=view.space.metric,
        rows=None if rows is None else len(rows),
        backend=view.graph.backend.name,
        scores=[
            StoredScore(s.label, s.definition.name, s.definition.parameters(), list(s.ks))
            for s in view.scores
        ],
    )


def _view_arrays(view: ScoredView, stored: StoredView, rows: NDArray | None, prefix: str) -> Arrays:
    arrays = {} if rows is None else {f"{prefix}.rows": rows.astype(np.int32)}
    with_radii = ks_of_radii(stored)
    if with_radii:
        arrays[f"{prefix}.radii"] = view.graph.radii(with_radii)
    for number, s in enumerate(view.scores):
        arrays[f"{prefix}.{number}.summary"] = s.summary
        if s.definition.compares():
            names = (f"{prefix}.{number}.{name}" for name in s.definition.descriptions)
            arrays |= dict(zip(names, s.frozen, strict=True))
    return arrays


def _describe_costs(costs: Costs | None, columns: list[str]) -> Costs | None:
    """Return the prices of all columns that have one, of very many only those in use."""
    if costs is None:
        return None
    if len(costs.own) > MOST_PRICES:
        costs = costs.only([name for name in columns if name in costs.own])
    own = {name: float(price) for name, price in costs.own.items()}
    needs = {
        name: {part: float(amount) for part, amount in parts.items()}
        for name, parts in costs.needs.items()
    }
    trees = {kind: float(price) for kind, price in costs.trees.items()}
    heads = {kind: float(price) for kind, price in costs.heads.items()}
    call, few = (_describe_costs(of, columns) for of in (costs.call, costs.few))
    return Costs(own, needs, float(costs.base), costs.unit, trees, heads, call, few)


def _describe_selection(model: OutlierDetector, costs: Costs | None) -> StoredSelection | None:
    choice = model.selection_
    if choice is None:
        return None
    used = {n: float(share) for n, share in choice.frequencies.items() if n in choice.columns}
    then = _describe_costs(choice.costs, model.columns_)  # times may have been taken again
    if choice.batch_size is not None and costs is not None and costs.call is not None:
        costs = costs.in_batches(choice.batch_size)
    return StoredSelection(
        list(choice.columns),
        used,
        float(choice.cost),
        float(choice.budget),
        None if then == costs else then,
        None if choice.batch_size is None else int(choice.batch_size),
    )


def package_versions() -> dict[str, str]:
    """Return the versions that a model file written now would name."""
    import sklearn

    return {
        "boreod": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
