"""Saving: from a fitted detector to manifest and arrays, what predictions need and nothing else."""

import json
import platform
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Quantiles
from boreod.ensemble.members import UNCHANGED
from boreod.ensemble.parameters import ParameterGroup
from boreod.files import __version__
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
    Arrays,
    Manifest,
    ModelFileError,
    StoredClasses,
    StoredForest,
    StoredRepresentation,
    StoredScore,
    StoredSelection,
    StoredView,
    is_registered,
    read_manifest,
    write_manifest,
    write_model_file,
)
from boreod.persistence.members import (
    KNOTS,
    describe_member,
    describe_trees,
    member_arrays,
    pack_trees,
)
from boreod.persistence.training_table import describe_table
from boreod.predictor import Predictor, known_costs, price_of_rows, settings_of
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Both, MinMax, Rank, Scaler
from boreod.representation.scored_view import ScoredView
from boreod.representation.views import View
from boreod.scores import SCORES, IsolationTrees, Score
from boreod.selection.costs import Costs
from boreod.text import shorten
from boreod.validation import check_fitted

# Of more columns than this only those in use keep their prices: a manifest must stay small.
MOST_PRICES = 5000


def save(
    model: Predictor, path: str | PathLike[str], *, extra: dict[str, Any] | None = None
) -> None:
    """Write a fitted detector to a file, see :meth:`boreod.Detector.save`."""
    if isinstance(model, Predictor) and not hasattr(model, "fit"):
        raise TypeError(
            "A predictor cannot be saved, as it is not all of a model. Copy its file, or take "
            "boreod.load in the place of load_predictor."
        )
    if not isinstance(model, Predictor):
        raise TypeError(f"`model` must be a BORE or a Detector; got {shorten(model)}.")
    check_fitted(model)
    fitted = model.fitted_
    representation, arrays = _describe_columns(fitted.columns, len(fitted.seen.columns))
    described = _describe(model, representation, _read_extra(model, extra))
    # Reading it again makes all numbers plain, so that a loaded model gives the same bytes.
    manifest = read_manifest(write_manifest(described))
    arrays |= _other_arrays(model)
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    try:
        check_manifest(manifest, sum(values.nbytes for values in arrays.values()))
        check_values(arrays, manifest)
    except ModelFileError as error:
        raise ModelFileError(f"The model cannot be saved, because {error}.") from None
    write_model_file(Path(path), write_manifest(manifest), arrays)


def _describe(
    model: Predictor, representation: StoredRepresentation, extra: dict[str, Any]
) -> Manifest:
    """Return the manifest of a detector; its numbers may be those of NumPy."""
    fitted = model.fitted_
    members = [describe_member(member) for member in fitted.members]
    correction = fitted.correction
    knots = 0
    if isinstance(correction, Quantiles):
        knots = len(correction.scores)
        correction = UNCHANGED
    scaler = fitted.scaler.ranked if isinstance(fitted.scaler, Both) else fitted.scaler
    names = list(fitted.seen.columns)
    costs = _limit_prices(known_costs(model), model.columns_)
    labels = [encode("y", label) for label in model.classes_.tolist()]
    return Manifest(
        format=FORMAT,
        versions=package_versions(),
        parameters=_encode_model(model),
        feature_names=names,
        # Prepared columns have names of their own, too.
        named=hasattr(model, "feature_names_in_") or names != [f"x{i}" for i in range(len(names))],
        columns=list(fitted.columns.names),
        input_scaling=fitted.input_scaler is not None,
        scaling={MinMax: "minmax", Rank: "rank", Both: "both"}[type(fitted.scaler)],
        quantiles=scaler.quantiles.shape[1] if isinstance(scaler, Rank) else 0,
        representation=representation,
        members=members,
        correction=correction,
        knots=knots,
        classes=StoredClasses(model.classes_.dtype.name, labels),
        threshold=model.threshold_,
        costs=costs,
        selection=_describe_selection(model, costs),
        rows=len(model.oob_.labels),
        shares=model.oob_.shares,
        assumed=model.oob_.assumed,
        left_out=model.oob_.left_out,
        table=describe_table(model),
        extra=extra,
        alone=None if costs is None or costs.call is not None else price_of_rows(model, 1),
    )


def _other_arrays(model: Predictor) -> Arrays:
    """Return all arrays but those that compute the columns."""
    fitted = model.fitted_
    arrays = _scaler_arrays(fitted.input_scaler, "input") | _scaler_arrays(fitted.scaler, "scaler")
    for place, member in enumerate(fitted.members):
        arrays |= member_arrays(member, f"members.{place}", len(fitted.base))
    if isinstance(fitted.correction, Quantiles):
        arrays |= {KNOTS[0]: fitted.correction.scores, KNOTS[1]: fitted.correction.odds}
    if fitted.seen.isolation is not None:
        arrays[ISOLATION] = fitted.seen.isolation
    return arrays | {
        "base": fitted.base,
        "seen.low": fitted.seen.low,
        "seen.high": fitted.seen.high,
        PROBABILITIES: model.oob_proba_,
        LABELS: model.oob_.labels.astype(np.int8),
        HASHES: model.record_.learned_rows.hashes,
    }


def _describe_columns(columns: FittedColumns, n_raw: int) -> tuple[StoredRepresentation, Arrays]:
    """Return what computes the columns from ``n_raw`` raw ones, and its arrays."""
    forests = [detector for detector in columns.detectors if isinstance(detector, IsolationTrees)]
    foreign = [d.label for d in columns.detectors if not isinstance(d, IsolationTrees)]
    if foreign:
        raise ModelFileError(
            f"The columns {', '.join(foreign)} come from detectors of other libraries, which a "
            "model file cannot store without pickle. Leave them out of `scores` and fit again."
        )
    arrays: Arrays = {}
    n_reference = 0
    views = []
    if columns.views:
        arrays["reference"], places = _reference_rows(columns.views)
        n_reference = len(arrays["reference"])
        for number, (view, rows) in enumerate(zip(columns.views, places, strict=True)):
            views.append(_describe_view(view, rows))
            arrays |= _view_arrays(view, views[-1], rows, f"views.{number}")
    for number, forest in enumerate(forests):
        arrays |= pack_trees(forest.trees, f"forests.{number}", n_raw)
    stored = [StoredForest(f.label, describe_trees(f.trees), f.n_sampled) for f in forests]
    return StoredRepresentation(bool(columns.raw), n_reference, views, stored), arrays


def _scaler_arrays(scaler: Scaler | None, prefix: str) -> Arrays:
    if isinstance(scaler, Both):
        ranges = _scaler_arrays(scaler.scaled if scaler.n_raw else None, prefix)
        return ranges | _scaler_arrays(scaler.ranked, prefix)
    found = {} if scaler is None else vars(scaler)
    return {f"{prefix}.{name}": values for name, values in found.items()}


def _read_extra(model: Predictor, extra: Any) -> dict[str, Any]:
    """Return the free section: that of the user, or that of a loaded model."""
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


def _reference_rows(views: list[ScoredView]) -> tuple[NDArray, list[NDArray | None]]:
    """Return every reference row that some view needs, once, and the positions of each view's."""
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


def _limit_prices(costs: Costs | None, columns: list[str]) -> Costs | None:
    """Return the prices of all columns, or of very many only those of the columns in use."""
    if costs is None or len(costs.own) <= MOST_PRICES:
        return costs
    return costs.only([name for name in columns if name in costs.own])


def _describe_selection(model: Predictor, costs: Costs | None) -> StoredSelection | None:
    choice = model.selection_
    if choice is None:
        return None
    # Times may have been taken again after the choice.
    then = _limit_prices(choice.costs, model.columns_)
    if choice.batch_size is not None and costs is not None and costs.call is not None:
        costs = costs.in_batches(choice.batch_size)
    return StoredSelection(
        columns=list(choice.columns),
        frequencies={n: share for n, share in choice.frequencies.items() if n in choice.columns},
        cost=choice.cost,
        budget=choice.budget,
        costs=None if then == costs else then,
        batch_size=choice.batch_size,
    )


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that write a model file now."""
    import sklearn

    return {
        "boreod": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _encode_model(model: Any) -> dict[str, Any]:
    """Return the parameters of a detector as JSON, its groups without gaps."""
    given = model.get_params(deep=False) | vars(settings_of(model))
    return {name: encode(name, value) for name, value in given.items()}


def encode_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON."""
    return {k: encode(k, v) for k, v in estimator.get_params(deep=False).items()}


def encode(name: str, value: Any) -> Any:
    """Return a parameter as JSON, or say that a model file cannot hold it.

    Examples
    --------
    >>> encode("views", ("full", View("angle", metric="cosine")))["tuple"][0]
    'full'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, list | range | np.ndarray):
        return [encode(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(name, item) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(name, k), encode(name, v)] for k, v in value.items()]}
    return _encode_object(name, value)


def _encode_object(name: str, value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, Score) and value in SCORES.values():
        return {"score class": value.name}
    if isinstance(value, Score) and is_registered(value):
        return {"score": [value.name, value.parameters()]}
    if isinstance(value, View | Costs):
        parts = {part.name: encode(name, getattr(value, part.name)) for part in fields(value)}
        return {type(value).__name__.lower(): parts}
    if isinstance(value, ParameterGroup):
        parts = {key: encode(key, part) for key, part in value.get_params().items()}
        return {"group": [name, parts]}
    from boreod.representation.transformer import OutlierRepresentation

    if isinstance(value, OutlierRepresentation):
        return {"representation": encode_parameters(value)}
    if isinstance(value, np.random.RandomState):
        remedy = "Give the model a number first: model.set_params(random_state=0)"
    else:
        remedy = f"Use scores of boreod in its place ({', '.join(SCORES)}) and fit again"
    raise ModelFileError(
        f"`{name}` holds {shorten(value)}, which a model file cannot store without pickle. "
        f"{remedy}."
    )
