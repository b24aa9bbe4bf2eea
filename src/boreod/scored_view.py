"""One view with its fitted scorers: from rows to score columns.

Training rows and new rows take the same way: a block, its descriptions, its comparison with the
frozen descriptions of the reference rows. Nothing of a scorer is written twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boreod.engine import Engine
from boreod.neighbors import Block, Ks, NeighborGraph, blocks
from boreod.plan import PlannedScorer
from boreod.scorers import Described, Scorer
from boreod.views import Space

BLOCK_ROWS = 256
GEOMETRY_BYTES = 4_000_000  # of one block, so that it stays in the cache between scorers


@dataclass
class FittedScorer:
    """A scorer with what it must remember of the reference rows."""

    label: str
    scorer: Scorer
    ks: Ks
    frozen: list[NDArray] = field(default_factory=list)
    summary: NDArray = field(default_factory=lambda: np.empty((0, 0)))

    def describe(self, step: int, block: Block, own: list[NDArray]) -> NDArray:
        """Return one description of a block, given the ones before."""
        method = getattr(self.scorer, self.scorer.descriptions[step])
        return method(block, self.ks, self._described(own))

    def compare(self, block: Block, own: list[NDArray]) -> NDArray:
        """Return unfinished scores of a block."""
        return self.scorer.compare(block, self.ks, self._described(own))

    def score(self, block: Block) -> NDArray:
        """Return the scores of a block of new rows."""
        own: list[NDArray] = []
        for step in range(len(self.scorer.descriptions)):
            own.append(self.describe(step, block, own))
        return self.scorer.finish(self.compare(block, own), self.summary)

    def keep(self, ks: Ks) -> "FittedScorer":
        """Return the same scorer for some of its ks."""
        columns = [self.ks.index(k) for k in ks]
        frozen = [np.ascontiguousarray(array[:, columns]) for array in self.frozen]
        return FittedScorer(self.label, self.scorer, ks, frozen, self.summary[:, columns])

    def _described(self, own: list[NDArray]) -> list[Described]:
        return [Described(o, r) for o, r in zip(own, self.frozen[: len(own)], strict=True)]


class ScoredView:
    """A view of a table, its neighbor graph and its scorers.

    Parameters
    ----------
    space
        Columns, metric and reference rows.
    graph
        Neighbor graph of the reference rows.
    scorers
        Scorers with their frozen descriptions.
    """

    def __init__(self, space: Space, graph: NeighborGraph, scorers: list[FittedScorer]) -> None:
        self.space = space
        self.graph = graph
        self.scorers = scorers

    @classmethod
    def fit(
        cls,
        points: NDArray,
        space: Space,
        plan: list[PlannedScorer],
        backend: str,
        engine: Engine,
    ) -> tuple["ScoredView", NDArray]:
        """Search, describe and compare all reference rows; return the view and their scores."""
        scorers = [FittedScorer(p.label, p.scorer, p.ks) for p in plan]
        ks, reverse_k = _depths(scorers)
        graph = NeighborGraph(
            points[:, space.columns], ks, reverse_k, space.metric, backend, engine
        )
        view = cls(space, graph, scorers)
        scores = view._score_reference(engine)
        graph.forget_lists()
        return view, scores

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the scores, in order."""
        return [
            name
            for s in self.scorers
            for name in PlannedScorer(s.label, s.scorer, s.ks).column_names(self.space.name)
        ]

    def score(self, points: NDArray, own: NDArray) -> NDArray:
        """Score rows; row ``own[i]`` of the reference is the row itself and is left out."""
        rows = np.ascontiguousarray(points[:, self.space.columns])
        block = self.graph.new_block(rows, own)
        return np.hstack([scorer.score(block) for scorer in self.scorers])

    def keep(self, names: Iterable[str]) -> "ScoredView | None":
        """Return the view for some of its columns, or None if it has none of them."""
        wanted = set(names)
        kept = []
        for s in self.scorers:
            own_names = PlannedScorer(s.label, s.scorer, s.ks).column_names(self.space.name)
            ks = tuple(k for k, name in zip(s.ks, own_names, strict=True) if name in wanted)
            if ks:
                kept.append(s.keep(ks))
        if not kept:
            return None
        return ScoredView(self.space, self.graph.narrowed(*_depths(kept)), kept)

    def _score_reference(self, engine: Engine) -> NDArray:
        """Describe all reference rows, step by step, then compare them."""
        n = self.graph.reference.shape[0]
        slices = list(blocks(n, self.block_rows))
        label = f"scores{' of ' + self.space.name if self.space.name else ''}"
        for step in range(max(len(s.scorer.descriptions) for s in self.scorers)):
            active = [s for s in self.scorers if len(s.scorer.descriptions) > step]
            for s in active:
                s.frozen.append(np.empty((n, len(s.ks))))

            def describe(rows: slice, step: int = step, active: list = active) -> None:
                block = self.graph.training_block(rows)
                for s in active:
                    own = [array[rows] for array in s.frozen[:step]]
                    s.frozen[step][rows] = s.describe(step, block, own)

            engine.map(describe, slices, label)

        scores = np.empty((n, sum(len(s.ks) for s in self.scorers)))
        columns = _column_slices(self.scorers)

        def compare(rows: slice) -> None:
            block = self.graph.training_block(rows)
            for s, own_columns in zip(self.scorers, columns, strict=True):
                scores[rows, own_columns] = s.compare(block, [array[rows] for array in s.frozen])

        engine.map(compare, slices, label)
        for s, own_columns in zip(self.scorers, columns, strict=True):
            s.summary = s.scorer.summarize(scores[:, own_columns])
            scores[:, own_columns] = s.scorer.finish(scores[:, own_columns], s.summary)
            if type(s.scorer).compare is Scorer.compare:
                s.frozen = [array[:0] for array in s.frozen]  # nobody is compared with these
        return scores

    @property
    def block_rows(self) -> int:
        """Number of rows that are best scored together."""
        depth = max((s.ks[-1] for s in self.scorers if s.scorer.reads == "geometry"), default=1)
        return max(1, min(BLOCK_ROWS, GEOMETRY_BYTES // (8 * depth * depth)))


def _depths(scorers: list[FittedScorer]) -> tuple[Ks, int]:
    """Return all ks in use, and the largest one that needs reverse neighbors."""
    ks = sorted({k for s in scorers for k in s.ks})
    reverse = [s.ks[-1] for s in scorers if s.scorer.reads == "reverse"]
    return tuple(ks), max(reverse, default=0)


def _column_slices(scorers: list[FittedScorer]) -> list[slice]:
    ends = np.cumsum([len(s.ks) for s in scorers])
    return [slice(end - len(s.ks), end) for s, end in zip(scorers, ends, strict=True)]
