"""Columns in a model file: how views and forests are stored and built again."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import KnownRows, Ks, NeighborGraph
from boreod.persistence.container import MOST, Arrays, ModelFileError, Tensor, Tensors, named, owned
from boreod.persistence.members import StoredTrees, pack_trees, unpack_trees
from boreod.persistence.parameters import is_registered, score_class
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import ScoredView, fit_scale, search_depths
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores.base import FittedScore, PlannedScore
from boreod.scores.detectors import ForeignDetector, IsolationTrees
from boreod.text import shorten

# Allowed values of score descriptions (see boreod.scores.base). Other descriptions may be infinite.
RANGES = {
    "bandwidth": (0.0, MOST),
    # The log-density of copies is finite, although the bandwidth of copies is 0.
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
    """A view in use; ``rows`` is the number of its reference rows, or None for all of them."""

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
        """The ks for which scores look up k-distances of reference rows."""
        looking_up = [
            planned
            for planned in self.planned
            if planned.definition.reads_radii or planned.definition.reads == "reverse"
        ]
        return tuple(sorted({k for planned in looking_up for k in planned.ks}))


@dataclass(frozen=True)
class StoredForest:
    """An isolation forest: its column, and the number of rows that each tree was grown on."""

    label: str
    trees: StoredTrees
    sampled: int


@dataclass(frozen=True)
class StoredRepresentation:
    """The representation that computes the columns; it passes raw columns on if ``raw`` is True."""

    raw: bool
    reference_rows: int
    views: list[StoredView]
    forests: list[StoredForest]


@dataclass(frozen=True)
class StoredLessons:
    """What learning again needs besides arrays, see :class:`boreod.ensemble.training.Lessons`.

    ``others`` is the number of training rows that are no reference rows.
    """

    seeds: list[int]
    neighbors: str
    others: int


def describe_columns(columns: FittedColumns) -> tuple[StoredRepresentation, Arrays]:
    """Return the representation and its arrays; the file stores only some of these arrays."""
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
    """Return the distinct reference rows of all views, and the positions of each view's rows."""
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
                f"The score {s.label!r} is {shorten(s.definition)}, which is not a score of "
                "boreod, and a model file holds no code. Use a score of boreod and fit again."
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
    tensors = {
        f"{owner}.rows": Tensor("I32", [view.rows or 0], 0, n_reference - 1, np.less),
        f"{owner}.radii": Tensor("F64", [n_rows, len(view.ks_of_radii)], 0.0, order=np.less_equal),
    }
    for part, planned in owned(owner, view.planned):
        score = planned.definition
        n_ks = len(planned.ks)
        summary = score.summarize(np.zeros((1, n_ks)))
        # A summary with a single number is a spread. It divides scores, so it must be positive.
        least = np.nextafter(0.0, 1.0) if len(summary) == 1 else -MOST
        of_score = {"summary": Tensor("F64", list(summary.shape), least)}
        # The file omits the descriptions if the score does not compare a row with its neighbors.
        n_described = n_rows if score.compares() else 0
        for name in score.descriptions:
            limits = RANGES.get(name, (-np.inf, np.inf))
            of_score[name] = Tensor("F64", [n_described, n_ks], *limits)
        tensors |= named(part, of_score)
    return tensors


def build_columns(
    names: list[str], inputs: list[str], stored: StoredRepresentation, owners: dict[str, Arrays]
) -> FittedColumns:
    """Return the representation that computes the columns ``names`` from ``inputs``.

    ``owners`` maps each part of the model, such as ``views.0``, to its arrays.
    """
    known = KnownRows(owners[""]["reference"])
    views = [_build_view(v, known, owners, owner) for owner, v in owned("views", stored.views)]
    forests: list[IsolationTrees | ForeignDetector] = [
        IsolationTrees(forest.label, unpack_trees(owners[owner], owner), forest.sampled)
        for owner, forest in owned("forests", stored.forests)
    ]
    return FittedColumns(names, inputs if stored.raw else [], views, forests)


def _build_view(
    stored: StoredView, known: KnownRows, owners: dict[str, Arrays], owner: str
) -> ScoredView:
    positions = None
    if stored.rows is not None:
        positions = owners[owner]["rows"].astype(np.int64)
        known = KnownRows(known.rows[positions])
    space = Space(stored.name, np.array(stored.columns), stored.metric, positions)
    scores = []
    for part, planned in owned(owner, stored.planned):
        arrays = owners[part]
        frozen = [arrays[name] for name in planned.definition.descriptions]
        scores.append(FittedScore(**vars(planned), frozen=frozen, summary=arrays["summary"]))
    points = known.rows.take(space.columns, axis=1)
    scale = fit_scale(space.metric, points)
    graph = NeighborGraph.build(
        points if scale is None else scale.transform(points),
        *search_depths(scores),
        VIEW_METRICS[space.metric],
        stored.backend,
        {stored.ks_of_radii: owners[owner]["radii"]},
    )
    return ScoredView(space, graph, scores, known, scale)


def lesson_tensors(
    n_others: int, n_views: int, n_rows: int, n_scores: int, n_features: int
) -> Tensors:
    """Return the tensors from which a detector learns again."""
    return {
        "lessons.others": Tensor("F64", [n_others, n_features]),
        "lessons.places": Tensor("I32", [n_rows], 0, n_rows - 1),
        "lessons.scores": Tensor("F64", [n_rows, n_scores]),
        "lessons.isolation": Tensor("F64", [n_views, n_rows], 0.0),
    }
