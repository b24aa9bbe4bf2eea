"""Columns of the training rows, from which a detector learns what to think of new rows.

Without rows that are apart, every row is a reference row: its scores are those inside the graph.

Known outliers may be kept apart, so that they do not hide their likes. Then they are new rows to
the graph, and inliers are not: these count in the densities of their own neighbors, which LOF, COF
and KDEOS compare with. That alone would tell outliers from inliers, in training rows and nowhere
else. So all rows are dealt into folds and each is scored as a new row, beside the reference rows of
the other folds; rows to come are compared with all reference rows. An isolation forest scores each
training row by the trees that were not grown on it. Equal rows then get the mean of their scores.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import KnownRows
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.memory import FOLDS
from boreod.representation.plan import PlannedScore
from boreod.representation.scored_view import ScoredView
from boreod.representation.views import Space
from boreod.scores import DETECTORS, IsolationTrees
from boreod.scores.foreign import ForeignDetector


def leave_out(apart: NDArray | None, spaces: list[Space]) -> list[Space]:
    """Take rows out of the reference of every space, as long as two are left."""
    if apart is None:
        return spaces
    result = []
    for space in spaces:
        rows = np.arange(len(apart)) if space.rows is None else space.rows
        kept = rows[~apart[rows]]
        result.append(replace(space, rows=kept) if len(kept) >= 2 else space)
    return result


def fit_view(
    known: KnownRows,
    space: Space,
    plan: list[PlannedScore],
    neighbors: Any,
    points: NDArray,
    apart: NDArray | None,
    random: np.random.RandomState,
    engine: Engine,
) -> tuple[ScoredView, NDArray]:
    """Fit a view to its reference rows; return scores of all training rows, too.

    Their isolation is put into the view.
    """
    folds = _deal(space.rows, plan, apart, random)
    share = 0.0 if folds is None else 1.0 / (folds.max() + 1)
    view, of_reference, lists = ScoredView.fit(known, space, plan, neighbors, engine, share)
    if space.rows is None:
        return view, np.hstack(of_reference)
    scores, isolation = np.empty((len(points), len(view.column_names))), np.empty(len(points))
    if folds is None:
        others = np.setdiff1d(np.arange(len(points)), space.rows)
        if len(others):
            scores[others], isolation[others] = _score_new(view, points[others], engine)
        scores[space.rows], isolation[space.rows] = np.hstack(of_reference), view.isolation
    else:
        for fold in range(folds.max() + 1):
            rest = np.flatnonzero(folds[space.rows] != fold)
            without = view.fit_part(lists, rest, plan, engine)
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
    """Return the fold of every row; None if nothing is apart or no reference row can be spared.

    There are as many folds as it takes to leave the largest k enough reference rows.
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
    for group in (inside, ~inside):
        folds[group] = random.permutation(np.arange(group.sum()) % n_folds)
    return folds


def _score_new(view: ScoredView, points: NDArray, engine: Engine) -> tuple[NDArray, NDArray | None]:
    """Return scores and isolation of rows that are no reference rows."""
    alone = FittedColumns(view.column_names, [], [view], [])
    return alone.compute_and_isolate(np.ascontiguousarray(points), engine)


def fit_detector(
    label: str,
    what: Any,
    points: NDArray,
    apart: NDArray | None,
    random: np.random.RandomState,
) -> tuple[ForeignDetector | IsolationTrees, NDArray]:
    """Fit a detector of boreod or of another library; return scores of all training rows, too.

    One of another library sees all rows.
    """
    detector: ForeignDetector | IsolationTrees
    if what in DETECTORS.values():
        if apart is not None:
            return what.fit_beside(label, points, apart, random)
        detector = what.fit(label, points, random)
    else:
        detector = ForeignDetector.fit(label, what, points, random)
    return detector, detector.score(points)


def share_among_copies(scores: NDArray, first: NDArray) -> NDArray:
    """Give equal rows the mean of their scores; ``first`` is the first row that equals each one.

    Scores of equal rows differ by folds and by trees, as those of rows to come do not. Of hundreds
    of copies, heads would know the one that was labelled an outlier by such differences, and
    then take every new copy for an outlier.
    """
    counts = np.bincount(first, minlength=len(first))
    if counts.max() < 2:
        return scores
    sums = [np.bincount(first, column, minlength=len(first)) for column in scores.T]
    return np.column_stack([of_column[first] / counts[first] for of_column in sums])
