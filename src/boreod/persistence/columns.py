"""Columns of a model file: views, forests and scalers, as entries and arrays, and built again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import KnownRows, Ks, NeighborGraph
from boreod.persistence.manifest import (
    Arrays,
    Manifest,
    ModelFileError,
    StoredForest,
    StoredRepresentation,
    StoredScore,
    StoredView,
    Tensor,
    is_registered,
)
from boreod.persistence.members import describe_trees, pack_trees, unpack_trees
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Both, MinMax, Rank, Scaler
from boreod.representation.scored_view import ScoredView, fit_scale, search_depths
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores.base import FittedScore
from boreod.scores.detectors import ForeignDetector, IsolationTrees
from boreod.text import shorten

REFERENCE = "reference"


def describe_columns(columns: FittedColumns, n_raw: int) -> tuple[StoredRepresentation, Arrays]:
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
        arrays[REFERENCE], places = _reference_rows(columns.views)
        n_reference = len(arrays[REFERENCE])
        for number, (view, rows) in enumerate(zip(columns.views, places, strict=True)):
            views.append(_describe_view(view, rows))
            arrays |= _view_arrays(view, views[-1], rows, f"views.{number}")
    for number, forest in enumerate(forests):
        arrays |= pack_trees(forest.trees, f"forests.{number}", n_raw)
    stored = [StoredForest(f.label, describe_trees(f.trees), f.n_sampled) for f in forests]
    return StoredRepresentation(bool(columns.raw), n_reference, views, stored), arrays


def _reference_rows(views: list[ScoredView]) -> tuple[NDArray, list[Any]]:
    """Return every reference row that some view needs, once, and the positions of each view's."""
    positions: list[Any] = [view.space.rows for view in views]
    for view, rows in zip(views, positions, strict=True):
        if rows is None:
            return view.known.rows, positions
    needed = np.unique(np.concatenate(positions))
    places = [np.searchsorted(needed, rows) for rows in positions]
    reference = np.empty((len(needed), views[0].known.rows.shape[1]))
    for view, place in zip(views, places, strict=True):
        reference[place] = view.known.rows
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
    with_radii = _ks_of_radii(stored)
    if with_radii:
        arrays[f"{prefix}.radii"] = view.graph.radii(with_radii)
    for number, s in enumerate(view.scores):
        arrays[f"{prefix}.{number}.summary"] = s.summary
        if s.definition.compares():
            names = (f"{prefix}.{number}.{name}" for name in s.definition.descriptions)
            arrays |= dict(zip(names, s.frozen, strict=True))
    return arrays


def view_tensors(view: StoredView, prefix: str, rows: int) -> dict[str, Tensor]:
    """Return types and shapes of the arrays of a view of so many reference rows."""
    tensors: dict[str, Tensor] = {}
    if view.rows is not None:
        rows = view.rows
        tensors[f"{prefix}.rows"] = ("I32", [rows])
    with_radii = _ks_of_radii(view)
    if with_radii:
        tensors[f"{prefix}.radii"] = ("F64", [rows, len(with_radii)])
    for number, stored in enumerate(view.scores):
        score = stored.make()
        n_ks = len(stored.ks)
        summary = score.summarize(np.zeros((1, n_ks)))
        tensors[f"{prefix}.{number}.summary"] = ("F64", list(summary.shape))
        for name in score.descriptions if score.compares() else ():
            tensors[f"{prefix}.{number}.{name}"] = ("F64", [rows, n_ks])
    return tensors


def _ks_of_radii(view: StoredView) -> Ks:
    """Return the ks whose k-distances are looked up."""
    scores = [(stored.make(), stored.ks) for stored in view.scores]
    lookups = [ks for s, ks in scores if s.reads_radii or s.reads == "reverse"]
    return tuple(sorted({k for ks in lookups for k in ks}))


def build_columns(manifest: Manifest, arrays: Arrays) -> FittedColumns:
    """Return what computes the columns."""
    views = []
    everywhere: KnownRows | None = None
    for number, view in enumerate(manifest.representation.views):
        prefix = f"views.{number}"
        if view.rows is not None:
            known = KnownRows(arrays[REFERENCE][arrays[f"{prefix}.rows"]])
        else:
            known = everywhere = everywhere or KnownRows(arrays[REFERENCE])
        views.append(_build_view(view, known, arrays, prefix))
    forests: list[IsolationTrees | ForeignDetector] = []
    for number, forest in enumerate(manifest.representation.forests):
        trees = unpack_trees(arrays, f"forests.{number}", len(manifest.feature_names))
        forests.append(IsolationTrees(forest.label, trees, forest.sampled))
    return FittedColumns(manifest.columns, manifest.raw_names, views, forests)


def _build_view(stored: StoredView, known: KnownRows, arrays: Arrays, prefix: str) -> ScoredView:
    positions = arrays.get(f"{prefix}.rows")
    if positions is not None:
        positions = positions.astype(np.int64)
    space = Space(stored.name, np.array(stored.columns), stored.metric, positions)
    scores = [
        _build_score(score, arrays, f"{prefix}.{number}")
        for number, score in enumerate(stored.scores)
    ]
    # k-distances that no score in use looks up are not in the file.
    radii = arrays.get(f"{prefix}.radii", np.empty((len(known.rows), 0)))
    points = known.rows.take(space.columns, axis=1)
    scale = fit_scale(space.metric, points)
    if scale is not None:
        points = scale.transform(points)
    metric = VIEW_METRICS[space.metric]
    known_radii = {_ks_of_radii(stored): radii}
    depths = search_depths(scores)
    graph = NeighborGraph.build(points, *depths, metric, stored.backend, known_radii)
    return ScoredView(space, graph, scores, known, scale)


def _build_score(stored: StoredScore, arrays: Arrays, prefix: str) -> FittedScore:
    score = stored.make()
    # Descriptions that are not compared are not in the file.
    empty: NDArray = np.empty((0, len(stored.ks)))
    frozen = [arrays.get(f"{prefix}.{name}", empty) for name in score.descriptions]
    return FittedScore(stored.label, score, tuple(stored.ks), frozen, arrays[f"{prefix}.summary"])


def scaler_arrays(scaler: Scaler | None, prefix: str) -> Arrays:
    """Return the arrays of a scaler; without raw columns there are no ranges."""
    parts = [scaler.scaled, scaler.ranked] if isinstance(scaler, Both) else [scaler]
    found = {name: values for part in parts if part for name, values in vars(part).items()}
    return {f"{prefix}.{name}": values for name, values in found.items() if values.size}


def build_min_max(arrays: Arrays, prefix: str) -> MinMax:
    """Return what scales by ranges, of no column if there are none."""
    empty: NDArray = np.empty(0)
    return MinMax(arrays.get(f"{prefix}.low", empty), arrays.get(f"{prefix}.factor", empty))


def build_scaler(kind: str, arrays: Arrays) -> Scaler:
    """Return the scaler of columns."""
    ranges = build_min_max(arrays, "scaler")
    if kind == "minmax":
        return ranges
    ranked = Rank(arrays["scaler.quantiles"])
    return Both(ranges, ranked) if kind == "both" else ranked
