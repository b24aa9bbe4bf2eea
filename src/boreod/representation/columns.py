"""The fitted columns of a representation: raw, scores of all views, foreign detectors.

Computes exactly the columns it holds. Narrowing gives a smaller object that shares the reference
rows and searches nothing again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from boreod.compiled import unset
from boreod.neighbors import SEARCH_ROWS, KnownRows, blocks, distinct_rows
from boreod.parallel import Engine
from boreod.representation.scored_view import ScoredView
from boreod.scores.foreign import ForeignDetector
from boreod.text import close_names


@dataclass
class KnownView:
    """A view, where to look for rows that are among its reference rows, and how isolated rows are.

    ``isolation`` is the distance of every training row to its 10th reference row, itself left out;
    None if it is not known.
    """

    scored: ScoredView
    known: KnownRows
    isolation: NDArray | None = None


class Wanted(NamedTuple):
    """What is to be computed of rows: their scores, their isolation, or both."""

    scores: bool
    isolation: bool


@dataclass(eq=False)
class KnownViews:
    """All views: what an engine sends to where new rows are scored."""

    views: list[KnownView]
    widest: int

    def score(self, rows: NDArray, wanted: Wanted) -> tuple[list[NDArray], NDArray | None]:
        """Return the scores of some rows in every view, and their isolation in the widest."""
        scores: list[NDArray] = []
        isolation = None
        for number, view in enumerate(self.views):
            measured = wanted.isolation and number == self.widest
            if wanted.scores or measured:
                near = view.scored.near if measured else 0
                block = view.scored.search(rows, view.known.find(rows), near)
                isolation = block.distances[:, near - 1] if measured else isolation
                scores += [view.scored.score(block)] if wanted.scores else []
        return scores, isolation


def _score(views: KnownViews, item: tuple[slice, NDArray], wanted: Wanted) -> Any:
    return views.score(item[1], wanted)


def _breadth(view: KnownView) -> tuple[bool, int, int]:
    """How much a view sees: directions alone are less than distances, then columns and rows."""
    space = view.scored.space
    return space.metric != "cosine", len(space.columns), len(view.known.rows)


@dataclass
class FittedColumns:
    """Everything that is needed to compute some columns for new rows.

    Attributes
    ----------
    names
        Names of the columns, in the order of the output.
    raw
        Names of the raw columns in the order of the input, empty if none may be in the output.
    views
        Views with at least one column in use.
    detectors
        Foreign detectors in use.
    """

    names: list[str]
    raw: list[str]
    views: list[KnownView]
    detectors: list[ForeignDetector]

    def __post_init__(self) -> None:
        """Find the place of every column in the output."""
        place = {name: number for number, name in enumerate(self.names)}
        taken = [name for name in self.raw if name in place]
        self._raw_from = [self.raw.index(name) for name in taken]
        self._raw_to = [place[name] for name in taken]
        numbers = range(len(self.views))  # the first of equal ones
        widest = max(numbers, key=lambda number: _breadth(self.views[number]), default=-1)
        self._scored_views = KnownViews(self.views, widest)
        self._view_to = [[place[n] for n in view.scored.column_names] for view in self.views]
        self._detector_to = [place[detector.label] for detector in self.detectors]

    @property
    def families(self) -> dict[str, str]:
        """The score that each score column belongs to."""
        return {
            name: s.label
            for view in self.views
            for s in view.scored.scores
            for name in s.column_names(view.scored.space.name)
        }

    @property
    def widest(self) -> KnownView | None:
        """The view that tells how isolated rows are; None if no neighbor is searched."""
        return self.views[self._scored_views.widest] if self.views else None

    @property
    def recall(self) -> dict[str, Any]:
        """What approximate searches found of the true neighbors, by view."""
        graphs = {v.scored.space.name: v.scored.graph for v in self.views}
        return {name: g.recall for name, g in graphs.items() if g.recall is not None}

    def compute(self, points: NDArray, engine: Engine) -> NDArray:
        """Return the columns of some rows; copies of a row are computed once."""
        return self._compute(points, engine, Wanted(True, False))[0]

    def isolate(self, points: NDArray, engine: Engine) -> NDArray | None:
        """Return the distance of some rows to their 10th reference row; None without a view."""
        return self._compute(points, engine, Wanted(False, True))[1] if self.views else None

    def compute_and_isolate(
        self, points: NDArray, engine: Engine
    ) -> tuple[NDArray, NDArray | None]:
        """Return columns and isolation of some rows from the same search."""
        table, isolation = self._compute(points, engine, Wanted(True, True))
        return table, isolation if self.views else None

    def _compute(self, points: NDArray, engine: Engine, wanted: Wanted) -> tuple[NDArray, NDArray]:
        if len(points) > 1:
            distinct, place = distinct_rows(points)
            if len(distinct) < len(points):
                table, isolation = self._compute_distinct(points[distinct], engine, wanted)
                table = table[place]
                if wanted.scores:  # 0.0 and -0.0 are copies, but not the same
                    table[:, self._raw_to] = points[:, self._raw_from]
                return table, isolation[place]
        return self._compute_distinct(points, engine, wanted)

    def _compute_distinct(
        self, points: NDArray, engine: Engine, wanted: Wanted
    ) -> tuple[NDArray, NDArray]:
        """Return columns and isolation; without scores there are no columns."""
        width = len(self.names) if wanted.scores else 0
        table, isolation = unset((len(points), width)), unset(len(points))

        def take(item: tuple[slice, NDArray], found: tuple[list[NDArray], NDArray | None]) -> None:
            if wanted.scores:
                self._put(found[0], table[item[0]])
            if found[1] is not None:
                isolation[item[0]] = found[1]

        if self.views and len(points) <= SEARCH_ROWS:  # one row must not wait for threads
            take((slice(None), points), self._scored_views.score(points, wanted))
        elif self.views:
            items = [(rows, points[rows]) for rows in blocks(len(points), SEARCH_ROWS)]
            work = partial(_score, wanted=wanted)
            engine.map_unordered(work, items, take, "scores of new rows", [self._scored_views])
        return self._fill_rest(table, points) if wanted.scores else table, isolation

    def _put(self, scores: list[NDArray], out: NDArray) -> None:
        """Write the scores of all views where they belong."""
        for to, of_view in zip(self._view_to, scores, strict=True):
            out[:, to] = of_view

    def assemble(self, points: NDArray, scores: Sequence[Sequence[NDArray]]) -> NDArray:
        """Return the columns of the training rows, whose scores are there already."""
        result = unset((points.shape[0], len(self.names)))
        for to, of_view in zip(self._view_to, scores, strict=True):
            start = 0
            for block in of_view:
                result[:, to[start : start + block.shape[1]]] = block
                start += block.shape[1]
        return self._fill_rest(result, points)

    def keep(self, names: list[str]) -> "FittedColumns":
        """Return the same for some of the columns."""
        self._check_names(names)
        views = []
        for view in self.views:
            scored = view.scored.keep(names)
            if scored is not None:
                views.append(KnownView(scored, view.known, view.isolation))
        wanted = set(names)
        detectors = [detector for detector in self.detectors if detector.label in wanted]
        return FittedColumns(list(names), self.raw, views, detectors)

    def _fill_rest(self, result: NDArray, points: NDArray) -> NDArray:
        if self._raw_to:
            result[:, self._raw_to] = points[:, self._raw_from]
        for detector, to in zip(self.detectors, self._detector_to, strict=True):
            result[:, to] = detector.score(points)
        return result

    def _check_names(self, names: list[str]) -> None:
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"`columns` must be names of fitted columns; got {name!r}.")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"`columns` must name at least one column, each once; got {names!r}.")
        known = set(self.names)
        for name in names:
            if name not in known:
                close = close_names(name, self.names) or self.names[:3]
                raise ValueError(
                    f"`columns` must be names of fitted columns; got {name!r}. "
                    f"Did you mean {', '.join(close)}? All are in `columns_`."
                )
