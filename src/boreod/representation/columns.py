"""The fitted columns of a representation: raw columns, scores of all views, and detectors.

:class:`FittedColumns` computes exactly the columns that it holds. Its method ``keep`` returns a
smaller object, which shares the reference rows and does not search them again.

The columns of training rows come from fitting. If no known outliers are kept out of the reference
rows, all training rows (or the sample of a view) are reference rows, and their scores are computed
within the neighbor graph. Known outliers may be kept out, because a new outlier that is similar
to them would have close neighbors and would not look unusual. Then the known outliers are new to
the graph, but inliers are part of the graph: an inlier adds to the density of its neighbors, and
LOF, COF and KDEOS compare it with that density. This difference alone would separate outliers from
inliers, but only in training rows. So all rows are split into folds, and each row is scored as a
new row against the reference rows of the other folds. New rows are later compared with all
reference rows. An isolation forest scores each training row by the trees that were not grown on it;
equal rows get their mean score.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import unset
from boreod.neighbors import SEARCH_ROWS, KnownRows, blocks, distinct_rows
from boreod.parallel import Engine
from boreod.representation.memory import FOLDS
from boreod.representation.scored_view import ScoredView
from boreod.representation.views import Space
from boreod.scores import DETECTORS
from boreod.scores.base import PlannedScore
from boreod.scores.detectors import ForeignDetector, IsolationTrees
from boreod.text import close_names

Detector = ForeignDetector | IsolationTrees
# Positions of rows, and the rows.
Item = tuple[slice, NDArray]
# Scores of rows by view, and isolation of rows.
Found = tuple[list[NDArray], NDArray | None]


@dataclass
class FittedColumns:
    """Everything that is needed to compute some columns for new rows."""

    # Names of the columns, in the order of the output.
    names: list[str]
    # Names of the raw columns in the order of the input; empty if the output has no raw columns.
    raw: list[str]
    # Views with at least one column in use.
    views: list[ScoredView]
    # Detectors in use.
    detectors: list[Detector]

    def __post_init__(self) -> None:
        """Find the position of every column in the output."""
        place = {name: number for number, name in enumerate(self.names)}
        taken = [name for name in self.raw if name in place]
        # The number of raw columns in use.
        self.n_raw = len(taken)
        self._raw_from = [self.raw.index(name) for name in taken]
        self._raw_to = [place[name] for name in taken]
        # Positions of the columns of every view, then of every detector.
        computed = [view.column_names for view in self.views]
        computed += [[detector.label] for detector in self.detectors]
        self._places = [[place[name] for name in group] for group in computed]
        # The position of each output column among computed columns, then raw columns.
        found = [name for group in [*computed, self.raw] for name in group]
        source = {name: number for number, name in enumerate(found)}
        self._sources = np.array([source[name] for name in self.names], np.intp)
        # The first of the broadest views measures isolation. Views of ranks are left out, because
        # ranks are bounded and no row can be far from all other rows.
        numbers = [n for n, view in enumerate(self.views) if view.space.metric != "ranked"]
        # A view of distances is broader than a view of directions (cosine).
        breadths = [
            (view.space.metric != "cosine", len(view.space.columns), len(view.known.rows))
            for view in self.views
        ]
        self._widest = max(numbers, key=breadths.__getitem__, default=None)

    @property
    def families(self) -> dict[str, str]:
        """The score that each score column belongs to; each detector is a family of its own."""
        labels = {detector.label: detector.label for detector in self.detectors}
        for view in self.views:
            for s in view.scores:
                labels |= dict.fromkeys(s.column_names(view.space.name), s.label)
        return labels

    @property
    def widest(self) -> ScoredView | None:
        """The view that measures how isolated rows are; None if no view can measure it."""
        return None if self._widest is None else self.views[self._widest]

    def compute(self, points: NDArray, engine: Engine) -> NDArray:
        """Return the columns of some rows; copies of a row are computed once."""
        return self.compute_and_isolate(points, engine, isolate=False)[0]

    def isolate(self, points: NDArray, engine: Engine) -> NDArray | None:
        """Return the distance from each row to its 10th nearest reference row.

        If there are fewer reference rows, return the distance to the farthest one. Return None if
        no view measures isolation.
        """
        return self._isolating.compute_and_isolate(points, engine)[1]

    @cached_property
    def _isolating(self) -> "FittedColumns":
        """A copy without columns, which searches only the widest view."""
        views = [] if self.widest is None else [replace(self.widest, scores=[])]
        return FittedColumns([], [], views, [])

    def compute_and_isolate(
        self, points: NDArray, engine: Engine, isolate: bool = True
    ) -> tuple[NDArray, NDArray | None]:
        """Return the columns of some rows and, if wanted, their isolation, from one search."""
        widest = self._widest if isolate else None
        if len(points) > 1:
            distinct, place = distinct_rows(points)
            if len(distinct) < len(points):
                table, isolation = self._compute_distinct(points[distinct], engine, widest)
                table = table[place]
                # 0.0 and -0.0 count as copies, but raw columns keep their sign.
                table[:, self._raw_to] = points[:, self._raw_from]
                return table, None if isolation is None else isolation[place]
        return self._compute_distinct(points, engine, widest)

    def _compute_distinct(
        self, points: NDArray, engine: Engine, widest: int | None
    ) -> tuple[NDArray, NDArray | None]:
        # A few rows are scored faster than threads start. All columns are then joined by one NumPy
        # call: for few rows, another call would cost more than copying the columns.
        if len(points) <= SEARCH_ROWS:
            of_views, near = _score(self.views, (slice(None), points), widest)
            found = np.concatenate([*of_views, *self._detect(points), points], axis=1)
            return found.take(self._sources, axis=1), near
        table = unset((len(points), len(self.names)))
        isolation = None if widest is None else unset(len(points))

        def take(item: Item, found: Found) -> None:
            # `zip` leaves out the places of detectors, which come last.
            for to, of_view in zip(self._places, found[0], strict=False):
                table[item[0], to] = of_view
            if isolation is not None:
                isolation[item[0]] = found[1]

        if self.views:
            items = [(rows, points[rows]) for rows in blocks(len(points), SEARCH_ROWS)]
            work = partial(_score, widest=widest)
            engine.map_unordered(work, items, take, "scores of new rows", [self.views])
        self._fill(table, points, self._detect(points), len(self.views))
        return table, isolation

    def _detect(self, points: NDArray) -> list[NDArray]:
        return [detector.score(points)[:, np.newaxis] for detector in self.detectors]

    def assemble(self, points: NDArray, scores: list[NDArray]) -> NDArray:
        """Return the columns of training rows from scores that were computed before.

        ``scores`` holds one array for each view, then one for each detector.
        """
        table = unset((len(points), len(self.names)))
        self._fill(table, points, scores)
        return table

    def _fill(self, table: NDArray, points: NDArray, scores: list[NDArray], first: int = 0) -> None:
        """Fill in the raw columns, and the scores from the ``first`` view or detector on."""
        for to, found in zip(self._places[first:], scores, strict=True):
            table[:, to] = found
        table[:, self._raw_to] = points[:, self._raw_from]

    def keep(self, names: list[str]) -> "FittedColumns":
        """Return fitted columns that compute only the columns with these names."""
        self._check_names(names)
        views = [kept for view in self.views if (kept := view.keep(names)) is not None]
        detectors = [detector for detector in self.detectors if detector.label in names]
        return FittedColumns(list(names), self.raw, views, detectors)

    def _check_names(self, names: list[str]) -> None:
        known = set(self.names)
        for name in names:
            if not (isinstance(name, str) and name in known):
                close = close_names(str(name), self.names) or self.names[:3]
                raise ValueError(
                    f"`columns` must be names of fitted columns; got {name!r}. "
                    f"Did you mean {', '.join(close)}? All are in `columns_`."
                )
        if not names or len(set(names)) < len(names):
            raise ValueError(f"`columns` must name at least one column, each once; got {names!r}.")


def _score(views: list[ScoredView], item: Item, widest: int | None) -> Found:
    """Return the scores of some rows in every view, and their isolation in the widest view.

    If ``widest`` is None, isolation is not computed.
    """
    found: list[NDArray] = []
    isolation = None
    for number, view in enumerate(views):
        block = view.search(item[1], view.near if number == widest else 0)
        if number == widest:
            isolation = block.distances[:, view.near - 1]
        if view.scores:
            found.append(view.score(block))
    return found, isolation


def fit_view(
    everywhere: KnownRows,
    space: Space,
    plan: list[PlannedScore],
    neighbors: Any,
    apart: NDArray | None,
    random: np.random.RandomState,
    engine: Engine,
) -> tuple[ScoredView, NDArray]:
    """Fit a view to its reference rows; return it with the scores of all training rows.

    ``everywhere`` holds all training rows. The isolation of these rows is stored in the view.
    """
    points = everywhere.rows
    known = everywhere if space.rows is None else KnownRows(everywhere.rows[space.rows])
    folds = _deal(space.rows, plan, apart, random)
    share = 0.0 if folds is None else 1.0 / (folds.max() + 1)
    view, of_reference, lists = ScoredView.fit(known, space, plan, neighbors, engine, share)
    if space.rows is None:
        return view, np.hstack(of_reference)
    scores = np.empty((len(points), len(view.column_names)))
    isolation = np.empty(len(points))
    if folds is None:
        scores[space.rows] = np.hstack(of_reference)
        isolation[space.rows] = view.isolation
        others = np.setdiff1d(np.arange(len(points)), space.rows)
        if len(others):
            scores[others], isolation[others] = _score_new(view, points[others], engine)
    else:
        for fold in range(folds.max() + 1):
            without = view.fit_part(lists, np.flatnonzero(folds[space.rows] != fold), engine)
            held = folds == fold
            scores[held], isolation[held] = _score_new(without, points[held], engine)
    view.isolation = isolation
    return view, scores


def _deal(
    reference: NDArray | None,
    plan: list[PlannedScore],
    apart: NDArray | None,
    random: np.random.RandomState,
) -> NDArray | None:
    """Return the fold of every row, or None if rows are not split into folds.

    There are none if no rows are ``apart`` or if the largest k needs all reference rows. There are
    more than FOLDS folds if the rows outside a fold would be too few for the largest k.
    """
    if reference is None or apart is None:
        return None
    spare = len(reference) - 1 - max(p.ks[-1] for p in plan)
    if spare < 1:
        return None
    n_folds = max(min(FOLDS, len(reference)), -(-len(reference) // spare))
    inside = np.zeros(len(apart), dtype=bool)
    inside[reference] = True
    folds = np.empty(len(apart), np.int64)
    for group in inside, ~inside:
        folds[group] = random.permutation(np.arange(group.sum()) % n_folds)
    return folds


def _score_new(view: ScoredView, points: NDArray, engine: Engine) -> tuple[NDArray, NDArray | None]:
    """Return scores and isolation of rows that are not reference rows."""
    return FittedColumns(view.column_names, [], [view], []).compute_and_isolate(points, engine)


def fit_detector(
    label: str, what: Any, points: NDArray, apart: NDArray | None, random: np.random.RandomState
) -> tuple[Detector, NDArray]:
    """Fit a detector of boreod or of another library; return it with scores of all training rows.

    A detector of another library is fitted to all rows, even to rows in the mask ``apart``.
    """
    if what in DETECTORS.values():
        return what.fit(label, points, apart, random)
    detector = ForeignDetector.fit(label, what, points, random)
    return detector, detector.score(points)


def share_among_copies(scores: NDArray, first: NDArray) -> NDArray:
    """Give equal rows the mean of their scores.

    ``first`` gives, for each row, the position of the first row that equals it. Equal training rows
    get different scores, because they are in different folds and left out of different trees. Equal
    new rows get equal scores. If one of hundreds of copies is labelled an outlier, heads could
    recognize this copy by its score, and might then call every new copy an outlier.
    """
    counts = np.bincount(first, minlength=len(first))
    if counts.max() < 2:
        return scores
    sums = [np.bincount(first, column, minlength=len(first)) for column in scores.T]
    return np.column_stack([of_column[first] / counts[first] for of_column in sums])
