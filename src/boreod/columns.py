"""The fitted columns of a representation: raw, scores of all views, foreign detectors.

Computes exactly the columns it holds. Narrowing gives a smaller object that shares the reference
rows and searches nothing again.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import unset
from boreod.engine import Engine
from boreod.neighbors import SEARCH_ROWS, KnownRows, blocks, distinct_rows
from boreod.scored_view import ScoredView
from boreod.scorers.foreign import ForeignDetector


@dataclass
class KnownView:
    """A view, and where to look for rows that are among its reference rows."""

    scored: ScoredView
    known: KnownRows


@dataclass(eq=False)
class KnownViews:
    """All views: what an engine sends to where new rows are scored."""

    views: list[KnownView]

    def score(self, rows: NDArray) -> list[NDArray]:
        """Return the scores of some rows in every view."""
        return [view.scored.score(rows, view.known.find(rows)) for view in self.views]


def _score(views: KnownViews, item: tuple[slice, NDArray]) -> list[NDArray]:
    return views.score(item[1])


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
        self._scored_views = KnownViews(self.views)
        self._view_to = [[place[n] for n in view.scored.column_names] for view in self.views]
        self._detector_to = [place[detector.label] for detector in self.detectors]

    @property
    def families(self) -> dict[str, str]:
        """The score that each score column belongs to."""
        return {
            name: s.label
            for view in self.views
            for s in view.scored.scorers
            for name in s.column_names(view.scored.space.name)
        }

    def compute(self, points: NDArray, engine: Engine) -> NDArray:
        """Return the columns of some rows; copies of a row are computed once."""
        if len(points) > 1:
            distinct, place = distinct_rows(points)
            if len(distinct) < len(points):
                return self._compute(points[distinct], engine)[place]
        return self._compute(points, engine)

    def _compute(self, points: NDArray, engine: Engine) -> NDArray:
        result = unset((points.shape[0], len(self.names)))

        def take(item: tuple[slice, NDArray], scores: list[NDArray]) -> None:
            self._put(scores, result[item[0]])

        if self.views and len(points) <= SEARCH_ROWS:
            self._put(self._scored_views.score(points), result)  # one row must not wait for threads
        elif self.views:
            items = [(rows, points[rows]) for rows in blocks(len(points), SEARCH_ROWS)]
            engine.feed(_score, items, take, "scores of new rows", [self._scored_views])
        return self._fill_rest(result, points)

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
                views.append(KnownView(scored, view.known))
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
                close = close_names(name, self.names)
                raise ValueError(
                    f"`columns` must be names of fitted columns; got {name!r}. "
                    f"Did you mean {', '.join(close)}? All are in `columns_`."
                )


def close_names(name: object, known: list[str]) -> list[str]:
    """Return up to three known names that a wrong one may have meant."""
    return difflib.get_close_matches(str(name), known, n=3) or known[:3]
