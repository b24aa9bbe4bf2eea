"""One view with its fitted scores, which turn rows into score columns.

Training rows and new rows are scored by the same steps. The neighbors of a block of rows are
searched, each score computes descriptions of the rows, and the descriptions are compared with the
stored descriptions of the reference rows. There is one exception: for new rows, one kernel computes
all scores that read only distances. The results are bit-identical; see
:mod:`boreod.scores.together`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import unset
from boreod.neighbors import (
    Block,
    KnownRows,
    Ks,
    NeighborGraph,
    TrainingGraph,
    blocks,
    depth_for,
    part_of,
)
from boreod.parallel import Engine
from boreod.representation.scaling import Scaler, fit_scaler, standardize
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores.base import FittedScore, PlannedScore
from boreod.scores.together import Together

BLOCK_ROWS = 512
# The distance to this neighbor measures how isolated a row is.
NEAR = 10
# The geometry of a block is at most this large, to stay in the cache.
GEOMETRY_BYTES = 1_000_000


@dataclass(eq=False)
class ScoredView:
    """A view of a table, its neighbor graph and its scores."""

    # Columns, metric and reference rows.
    space: Space
    # The neighbor graph of the reference rows.
    graph: NeighborGraph
    # Scores with the descriptions of the reference rows.
    scores: list[FittedScore]
    # An index that finds the reference row that equals a row in all columns of the table.
    known: KnownRows
    # Scales columns before distances are computed.
    scale: Scaler | None = None
    # Distance from every training row to its 10th nearest reference row other than itself. It is
    # None in a model that was loaded from a file.
    isolation: NDArray | None = None

    @classmethod
    def fit(
        cls,
        known: KnownRows,
        space: Space,
        plan: list[PlannedScore],
        neighbors: Any,
        engine: Engine,
        left_out: float = 0.0,
    ) -> tuple["ScoredView", list[NDArray], TrainingGraph]:
        """Search, describe and compare all reference rows.

        Return the view, one array of scores of the reference rows for each score, and the neighbor
        lists. The lists still hold k neighbors after the share ``left_out`` of all rows is removed.
        """
        points = known.rows.take(space.columns, axis=1)
        scale = fit_scale(space.metric, points)
        points = points if scale is None else scale.transform(points)
        ks, reverse_k = _depths(plan, len(points))
        deep = ks
        if left_out:
            deep = tuple(sorted({*ks, min(depth_for(ks[-1], left_out), len(points) - 1)}))
        graph = NeighborGraph.build(points, deep, reverse_k, VIEW_METRICS[space.metric], neighbors)
        view = cls(space, graph, _not_fitted(plan), known, scale)
        training = TrainingGraph.build(graph, engine, view._copies())
        scores = view._score_reference(training, engine)
        if left_out:
            view.graph = graph.narrowed(ks, reverse_k)
        return view, scores, training

    def fit_part(self, training: TrainingGraph, rows: NDArray, engine: Engine) -> "ScoredView":
        """Return the view of some of its reference rows.

        ``rows`` are ascending positions. Neighbor lists come from ``training``, not from a search.
        """
        part = replace(
            self, known=KnownRows(self.known.rows[rows]), scores=_not_fitted(self.scores)
        )
        lists = part_of(training, rows, *_depths(self.scores, len(rows)), part._copies())
        part.graph = lists.graph
        part._score_reference(lists, engine)
        return part

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the scores, in order."""
        return self._names_of(self.scores)

    def _names_of(self, scores: Sequence[FittedScore]) -> list[str]:
        return [name for s in scores for name in s.column_names(self.space.name)]

    @property
    def near(self) -> int:
        """The k at which isolation is measured: NEAR, or the largest k of a small table."""
        return min(NEAR, len(self.graph.reference) - 1)

    def search(self, rows: NDArray, depth: int = 0) -> Block:
        """Search at least ``depth`` neighbors of each row.

        If a row equals a reference row, this reference row is not one of its neighbors.
        """
        return self.graph.new_block(self.place(rows), self.known.find(rows), depth)

    def place(self, rows: NDArray) -> NDArray:
        """Return rows as points of the neighbor space."""
        points = rows if self._reads_all else rows.take(self.space.columns, axis=1)
        return points if self.scale is None else self.scale.transform(points)

    @cached_property
    def _reads_all(self) -> bool:
        """Whether the neighbor space has all columns of the table, in the same order."""
        return self.space.columns.tolist() == [*range(self.known.rows.shape[1])]

    def _copies(self) -> tuple[NDArray, NDArray] | None:
        """Return the distinct rows of the table if the view has the same distinct rows, or None."""
        is_plain = self.space.metric in ("euclidean", "manhattan")
        return self.known.distinct() if is_plain and self._reads_all else None

    def score(self, block: Block) -> NDArray:
        """Score rows whose neighbors were searched."""
        together, others, sharing, order = self._ways
        parts = [together.score(block)] if together.scores else []
        parts += [s.score(block) for s in others]
        if sharing:
            parts += self._score_in_parts(sharing, block)
        return np.concatenate(parts, axis=1).take(order, axis=1)

    @cached_property
    def _ways(self) -> tuple[Together, list[FittedScore], list[FittedScore], NDArray]:
        """How scores of new rows are computed: three groups of scores, and an order of columns.

        One kernel computes the first group together. Scores of the second group are computed one
        by one. Scores of the third group share the geometry of a block. The last item gives, for
        each column of the view, its position among the columns of the three groups.
        """
        together = Together.of(self.scores, self.graph.radii, self.graph.dimension)
        sharing = self._sharing_geometry
        others = [s for s in self.scores if s not in [*together.scores, *sharing]]
        found = self._names_of([*together.scores, *others, *sharing])
        order = np.array([found.index(name) for name in self.column_names])
        return together, others, sharing, order

    def _score_in_parts(self, scores: list[FittedScore], block: Block) -> list[NDArray]:
        """Score few rows at a time, so that the geometry that scores share stays in the cache."""
        if len(block.points) <= self.geometry_rows:
            return [s.score(block) for s in scores]
        # Only one part exists at a time, because each holds its geometry.
        parts = (block.part(rows) for rows in blocks(len(block.points), self.geometry_rows))
        by_part = [[s.score(part) for s in scores] for part in parts]
        return [np.vstack(of_parts) for of_parts in zip(*by_part, strict=True)]

    def keep(self, names: Iterable[str]) -> "ScoredView | None":
        """Return the view with only these columns; None if it has none of them."""
        wanted = set(names)
        kept = []
        for s in self.scores:
            names_of = s.column_names(self.space.name)
            ks = tuple(k for k, name in zip(s.ks, names_of, strict=True) if name in wanted)
            if ks:
                kept.append(s.keep(ks))
        if not kept:
            return None
        return replace(self, graph=self.graph.narrowed(*search_depths(kept)), scores=kept)

    def _score_reference(self, training: TrainingGraph, engine: Engine) -> list[NDArray]:
        """Describe and compare all reference rows; store their isolation, and return their scores.

        Each score handles all rows before the next score begins, because the cache holds the
        descriptions of one score, but not of all scores. The first description of a score reads no
        other description. So first descriptions are computed together, once for scores that share
        geometry and once for all other scores.
        """
        self.isolation = training.graph.radii((self.near,))[:, 0]
        graph = training.without_search()
        sharing = self._sharing_geometry
        others = [s for s in self.scores if s.definition.descriptions and s not in sharing]
        for first, block_rows in ((sharing, self.geometry_rows), (others, BLOCK_ROWS)):
            if first:
                self._take_step(graph, first, 0, block_rows, engine)
        return [self._finish_reference(graph, s, engine) for s in self.scores]

    def _finish_reference(self, graph: TrainingGraph, s: FittedScore, engine: Engine) -> NDArray:
        """Return the scores of all reference rows, and store their summary in the score."""
        last = len(s.definition.descriptions)
        for step in range(len(s.frozen), last + s.definition.compares()):
            self._take_step(graph, [s], step, BLOCK_ROWS, engine)
        if s.definition.compares():
            scores = s.frozen.pop()
        else:
            scores = s.frozen[-1]
            # New rows do not read these descriptions, so they are not kept.
            s.frozen = [np.empty((0, len(s.ks)))] * last
        s.summary = s.definition.summarize(scores)
        return s.definition.finish(scores, s.summary)

    def _take_step(
        self,
        graph: TrainingGraph,
        scores: list[FittedScore],
        step: int,
        block_rows: int,
        engine: Engine,
    ) -> None:
        """Take one step of some scores for all reference rows; store the results in the scores."""
        results = [unset((len(graph.distinct), len(s.ks))) for s in scores]
        label = ", ".join(s.label for s in scores)
        if self.space.name:
            label = f"{label} in {self.space.name}"

        def take(rows: slice, found: list[NDArray]) -> None:
            for result, block in zip(results, found, strict=True):
                result[rows] = block

        engine.map_unordered(
            partial(_take_step, step=step),
            list(blocks(len(graph.distinct), block_rows)),
            take,
            label,
            # Engines may keep these scores, so they get copies that do not change later.
            [graph, [replace(s, frozen=list(s.frozen)) for s in scores]],
        )
        for s, result in zip(scores, results, strict=True):
            s.frozen.append(graph.spread(result))

    @property
    def _sharing_geometry(self) -> list[FittedScore]:
        return [s for s in self.scores if s.definition.reads == "geometry"]

    @property
    def geometry_rows(self) -> int:
        """Number of rows whose geometry fits into the cache."""
        depth = max((s.ks[-1] for s in self._sharing_geometry), default=1)
        return max(1, min(BLOCK_ROWS, GEOMETRY_BYTES // (8 * depth * depth)))


def _take_step(
    graph: TrainingGraph, scores: list[FittedScore], rows: slice, step: int
) -> list[NDArray]:
    """Return the result of one step for some reference rows, for every score."""
    block = graph.block(rows)
    return [s.take_step(step, block, [array[block.own] for array in s.frozen]) for s in scores]


def fit_scale(metric: str, points: NDArray) -> Scaler | None:
    """Return the scaler to apply before distances are computed; None if there is none."""
    if metric == "standardized":
        return standardize(points)
    return fit_scaler("rank", points) if metric == "ranked" else None


def _not_fitted(plan: Sequence[PlannedScore]) -> list[FittedScore]:
    """Return scores without descriptions of reference rows."""
    return [FittedScore(p.label, p.definition, p.ks) for p in plan]


def _depths(plan: Sequence[PlannedScore], n_rows: int) -> tuple[Ks, int]:
    """Return the ks of a graph, with the k that measures isolation, and the largest reverse k."""
    ks, reverse_k = search_depths(plan)
    return tuple(sorted({*ks, min(NEAR, n_rows - 1)})), reverse_k


def search_depths(scores: Sequence[PlannedScore]) -> tuple[Ks, int]:
    """Return all ks in use, and the largest k that needs reverse neighbors (0 if there is none)."""
    ks = sorted({k for s in scores for k in s.ks})
    reverse = [s.ks[-1] for s in scores if s.definition.reads == "reverse"]
    return tuple(ks), max(reverse, default=0)
