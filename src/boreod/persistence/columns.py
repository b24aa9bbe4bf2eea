"""Columns of a model file: how views, forests and scalers are stored and built again."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import KnownRows, Ks, NeighborGraph
from boreod.persistence.container import MOST, Arrays, ModelFileError, Tensor, Tensors, named
from boreod.persistence.members import StoredTrees, pack_trees, unpack_trees
from boreod.persistence.parameters import is_registered, score_class
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import ScoredView, fit_scale, search_depths
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores.base import FittedScore, PlannedScore
from boreod.scores.detectors import ForeignDetector, IsolationTrees
from boreod.text import shorten

# The descriptions of rows listed here have ranges. All others may be infinite.
RANGES = {
    "bandwidth": (0.0, MOST),
    # The log-density of copies is finite, although their bandwidth is 0.
    "log_kernel_density": (-MOST, MOST),
}


@dataclass(frozen=True)
class StoredScore:
    """A score of a view, with the ks in use."""

    label: str
    score: str
    parameters: dict[str, float]
    ks: list[int]


@dataclass(frozen=True)
class StoredView:
    """A neighbor space in use; ``rows`` is None if all reference rows belong to it."""

    name: str
    columns: list[int]
    metric: str
    rows: int | None
    backend: str
    scores: list[StoredScore]

    @cached_property
    def planned(self) -> list[PlannedScore]:
        """The scores of the registry with their ks."""
        return [
            PlannedScore(s.label, score_class(s.score)(**s.parameters), tuple(s.ks))
            for s in self.scores
        ]

    @property
    def ks_of_radii(self) -> Ks:
        """The ks whose k-distances are looked up."""
        scores = [(planned.definition, planned.ks) for planned in self.planned]
        lookups = [ks for s, ks in scores if s.reads_radii or s.reads == "reverse"]
        return tuple(sorted({k for ks in lookups for k in ks}))


@dataclass(frozen=True)
class StoredForest:
    """An isolation forest: its column, and the number of rows that each tree was grown on."""

    label: str
    trees: StoredTrees
    sampled: int


@dataclass(frozen=True)
class StoredRepresentation:
    """The representation that computes the columns. It has raw columns only if ``raw``."""

    raw: bool
    reference_rows: int
    views: list[StoredView]
    forests: list[StoredForest]


def describe_columns(columns: FittedColumns) -> tuple[StoredRepresentation, Arrays]:
    """Return the representation and its arrays; some arrays are not needed in the file."""
    detectors: list[Any] = columns.detectors
    foreign = [d.label for d in detectors if not isinstance(d, IsolationTrees)]
    if foreign:
        raise ModelFileError(
            f"The columns {', '.join(foreign)} come from detectors of other libraries, which a "
            "model file cannot store without pickle. Leave them out of `scores` and fit again."
        )
    reference, places = _reference_rows(columns.views)
    arrays: Arrays = {"reference": reference}
    views = []
    for number, (view, rows) in enumerate(zip(columns.views, places, strict=True)):
        stored = _describe_view(view, None if rows is None else len(rows))
        views.append(stored)
        owner = f"views.{number}"
        arrays |= named(owner, {"rows": rows, "radii": view.graph.radii(stored.ks_of_radii)})
        for place, s in enumerate(view.scores):
            frozen = dict(zip(s.definition.descriptions, s.frozen, strict=True))
            arrays |= named(f"{owner}.{place}", {"summary": s.summary, **frozen})
    forests = []
    for number, forest in enumerate(detectors):
        trees, of_forest = pack_trees(forest.trees)
        arrays |= named(f"forests.{number}", of_forest)
        forests.append(StoredForest(forest.label, trees, forest.n_sampled))
    return StoredRepresentation(bool(columns.raw), len(reference), views, forests), arrays


def _reference_rows(views: list[ScoredView]) -> tuple[NDArray, list[Any]]:
    """Return all reference rows that views need, once, and the positions of each view's rows."""
    if not views:
        return np.empty((0, 0)), []
    positions: list[Any] = [view.space.rows for view in views]
    for view, rows in zip(views, positions, strict=True):
        if rows is None:
            return view.known.rows, positions
    needed, first = np.unique(np.concatenate(positions), return_index=True)
    reference = np.concatenate([view.known.rows for view in views])[first]
    return reference, [np.searchsorted(needed, rows) for rows in positions]


def _describe_view(view: ScoredView, n_rows: int | None) -> StoredView:
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
        rows=n_rows,
        backend=view.graph.backend.name,
        scores=[
            StoredScore(s.label, s.definition.name, s.definition.parameters(), list(s.ks))
            for s in view.scores
        ],
    )


def view_tensors(view: StoredView, owner: str, n_reference: int) -> Tensors:
    """Return the tensors of a view and of its scores."""
    n_rows = n_reference if view.rows is None else view.rows
    tensors = {}
    if view.rows is not None:
        tensors[f"{owner}.rows"] = Tensor("I32", [n_rows], 0, n_reference - 1)
    if view.ks_of_radii:
        tensors[f"{owner}.radii"] = Tensor("F64", [n_rows, len(view.ks_of_radii)], 0.0)
    for number, planned in enumerate(view.planned):
        score = planned.definition
        n_ks = len(planned.ks)
        summary = score.summarize(np.zeros((1, n_ks)))
        tensors[f"{owner}.{number}.summary"] = Tensor("F64", list(summary.shape))
        # Descriptions that are not compared are not in the file.
        for name in score.descriptions if score.compares() else ():
            limits = RANGES.get(name, (-np.inf, np.inf))
            tensors[f"{owner}.{number}.{name}"] = Tensor("F64", [n_rows, n_ks], *limits)
    return tensors


def build_columns(
    names: list[str], inputs: list[str], stored: StoredRepresentation, owners: dict[str, Arrays]
) -> FittedColumns:
    """Return the representation that computes the columns ``names`` from ``inputs``.

    ``owners`` maps each part of the model, such as ``views.0``, to its arrays.
    """
    everywhere = KnownRows(owners[""].get("reference", np.empty((0, 0))))
    views = []
    for number, view in enumerate(stored.views):
        positions = owners[f"views.{number}"].get("rows")
        known = everywhere if positions is None else KnownRows(everywhere.rows[positions])
        views.append(_build_view(view, known, owners, f"views.{number}"))
    forests: list[IsolationTrees | ForeignDetector] = []
    for number, forest in enumerate(stored.forests):
        owner = f"forests.{number}"
        trees = unpack_trees(owners[owner], owner)
        forests.append(IsolationTrees(forest.label, trees, forest.sampled))
    return FittedColumns(names, inputs if stored.raw else [], views, forests)


def _build_view(
    stored: StoredView, known: KnownRows, owners: dict[str, Arrays], owner: str
) -> ScoredView:
    positions = owners[owner].get("rows")
    if positions is not None:
        positions = positions.astype(np.int64)
    space = Space(stored.name, np.array(stored.columns), stored.metric, positions)
    scores = []
    for number, planned in enumerate(stored.planned):
        arrays = owners[f"{owner}.{number}"]
        empty = np.empty((0, len(planned.ks)))
        frozen = [arrays.get(name, empty) for name in planned.definition.descriptions]
        scores.append(FittedScore(**vars(planned), frozen=frozen, summary=arrays["summary"]))
    # k-distances that no score in use looks up are not in the file.
    radii = owners[owner].get("radii", np.empty((len(known.rows), 0)))
    points = known.rows.take(space.columns, axis=1)
    scale = fit_scale(space.metric, points)
    if scale is not None:
        points = scale.transform(points)
    metric = VIEW_METRICS[space.metric]
    known_radii = {stored.ks_of_radii: radii}
    depths = search_depths(scores)
    graph = NeighborGraph.build(points, *depths, metric, stored.backend, known_radii)
    return ScoredView(space, graph, scores, known, scale)
