"""From a checked manifest and its arrays to a detector that predicts and explains."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.detector import BORE
from boreod.ensemble.calibration import Correction
from boreod.ensemble.ensemble import Ensemble
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.reference import Shares
from boreod.neighbors import KnownRows, NeighborGraph
from boreod.parallel import Threads
from boreod.parameters import check_parameters
from boreod.persistence.checks import raw_names
from boreod.persistence.errors import LabelsOnly, NotStored
from boreod.persistence.layout import (
    ISOLATION,
    LABELS,
    PROBABILITIES,
    Arrays,
    depths,
    score_of,
)
from boreod.persistence.manifest import Manifest, StoredCosts, StoredView, TrainingSummary
from boreod.persistence.values import make_estimator
from boreod.representation.columns import FittedColumns, KnownView
from boreod.representation.scaling import MinMax, Rank, Scaler
from boreod.representation.scored_view import FittedScore, ScoredView
from boreod.representation.transformer import OutlierRepresentation
from boreod.representation.views import Space
from boreod.selection import Costs, Selection


@dataclass(frozen=True)
class Stored:
    """What a model file says about itself: ``model.stored_`` of a loaded model.

    Attributes
    ----------
    format
        Number of the file format.
    versions
        Of the packages that wrote the file.
    training
        What the model was trained on.
    extra
        The free section, as given to ``save_model``.
    """

    format: int
    versions: dict[str, str]
    training: TrainingSummary
    extra: dict[str, Any] = field(repr=False)


def put_together(manifest: Manifest, arrays: Arrays) -> BORE:
    """Return a fitted detector without the bags and columns of its training rows."""
    model: BORE = make_estimator(BORE, manifest.parameters)
    check_parameters(model)
    Threads(model.n_jobs, model.verbose)  # says if there is no such number of threads
    fitted: Any = model  # attributes that only a fit has
    fitted.n_features_in_ = len(manifest.feature_names)
    if manifest.named:
        fitted.feature_names_in_ = np.array(manifest.feature_names, dtype=object)
    fitted.classes_ = np.array(manifest.classes.values, dtype=manifest.classes.kind)
    fitted.threshold_ = manifest.threshold
    scaled = manifest.input_scaling
    fitted._input_scaler = _min_max(arrays, "input") if scaled else None
    head = LogisticHead.restore(
        arrays["bags.coefficients"],
        arrays["bags.intercepts"],
        arrays["bags.gradients"],
        manifest.bags.penalty,
    )
    fitted.penalty_, fitted.gradients_ = head.penalty, head.gradients
    fitted.representation_ = _representation(manifest, arrays)
    fitted._ensemble = Ensemble.restore(
        fitted.representation_,
        _scaler(manifest, arrays),
        head,
        arrays["base"],
        Correction(manifest.bags.shift, manifest.bags.slope),
        manifest.bags.aggregation,
    )
    fitted.costs_ = _costs(manifest.costs)
    if manifest.selection is not None:
        fitted.selection_ = _selection(manifest, fitted.costs_)
        fitted.cost_ = fitted.selection_.cost
    fitted.seen_ = SeenRows(
        manifest.feature_names,
        arrays["seen.low"],
        arrays["seen.high"],
        arrays.get(ISOLATION),
        arrays[LABELS].astype(np.int64),
        scaled,
    )
    fitted.oob_proba_ = arrays[PROBABILITIES]
    fitted._training = _labels(manifest.training, arrays[LABELS].astype(np.int64))
    if manifest.training.table_rows == manifest.training.rows:
        fitted.reference_rows_ = np.arange(manifest.training.rows)
    fitted._selector = NotStored()
    fitted.stored_ = Stored(manifest.format, manifest.versions, manifest.training, manifest.extra)
    return model


def _labels(summary: TrainingSummary, codes: NDArray) -> LabelsOnly:
    shares = Shares(summary.table_rows, summary.inlier_share, summary.unlabelled_share)
    return LabelsOnly(codes, shares.weigh(codes))


def _representation(manifest: Manifest, arrays: Arrays) -> OutlierRepresentation:
    stored = manifest.representation
    result: OutlierRepresentation = make_estimator(OutlierRepresentation, stored.parameters)
    Threads(result.n_jobs, result.verbose)
    result.n_features_in_ = len(manifest.feature_names)
    result.left_out_ = stored.left_out
    views = []
    everywhere: KnownRows | None = None
    for number, view in enumerate(stored.views):
        prefix = f"views.{number}"
        if view.rows is not None:
            known = KnownRows(arrays["reference"][arrays[f"{prefix}.rows"]])
        else:
            known = everywhere = everywhere or KnownRows(arrays["reference"])
        views.append(_view(view, known, arrays, prefix))
    result.fitted_columns_ = FittedColumns(manifest.columns, raw_names(manifest), views, [])
    return result


def _view(stored: StoredView, known: KnownRows, arrays: Arrays, prefix: str) -> KnownView:
    positions = arrays.get(f"{prefix}.rows")
    space = Space(
        stored.name,
        np.array(stored.columns),
        stored.metric,
        None if positions is None else positions.astype(np.int64),
    )
    ks, with_radii, reverse_k = depths(stored)
    # k-distances that no score in use looks up are not in the file
    radii = arrays[f"{prefix}.radii"] if with_radii else np.empty((len(known.rows), 0))
    points = known.rows.take(space.columns, axis=1)
    graph = NeighborGraph.restore(
        points, ks, reverse_k, space.metric, stored.backend, {with_radii: radii}
    )
    scores = [
        _score(stored, number, arrays, f"{prefix}.{number}") for number in range(len(stored.scores))
    ]
    return KnownView(ScoredView(space, graph, scores), known)


def _score(view: StoredView, number: int, arrays: Arrays, prefix: str) -> FittedScore:
    stored = view.scores[number]
    score = score_of(stored)
    nobody_looks: NDArray = np.empty((0, len(stored.ks)))
    frozen = [arrays.get(f"{prefix}.{name}", nobody_looks) for name in score.descriptions]
    return FittedScore(stored.label, score, tuple(stored.ks), frozen, arrays[f"{prefix}.summary"])


def _scaler(manifest: Manifest, arrays: Arrays) -> Scaler:
    if manifest.scaling == "minmax":
        return _min_max(arrays, "scaler")
    return Rank(arrays["scaler.quantiles"])


def _min_max(arrays: Arrays, prefix: str) -> MinMax:
    return MinMax(arrays[f"{prefix}.low"], arrays[f"{prefix}.factor"])


def _costs(stored: StoredCosts) -> Costs:
    return Costs(stored.own, stored.needs, stored.base, stored.unit)


def _selection(manifest: Manifest, costs: Costs) -> Selection:
    choice = manifest.selection
    assert choice is not None
    then = costs if choice.costs is None else _costs(choice.costs)
    return Selection(choice.columns, choice.frequencies, choice.cost, choice.budget, then)
