"""Warn of columns that may have been filled in after the label was known.

A column that ranks all rows of the code 1 before all other rows may be a leak, or a very good
column. Only users know which it is, so a note asks them. The columns that an earlier scoring added
are left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc
from boreod.tables.arrow import column_of, kind_of, option, pc
from boreod.tables.cells import as_numbers, as_text
from boreod.tables.preparing.steps import ENOUGH_OUTLIERS
from boreod.text import listed, shorten
from boreod.validation import INLIER, OUTLIER, UNLABELLED

RESULTS = ("probability", "rank", "outlier", "novelty", "outside")
# A column with at least this AUC seems to know the label.
PERFECT = 0.999
# Rows and ids count as ordered by label if they have at least this AUC.
ORDERED = 0.95
# An AUC of PERFECT cannot be told from 1 with fewer inliers.
ENOUGH_INLIERS = 1000
# At most so many unlabelled rows for each labelled outlier may be outliers that nobody has found.
MOST_HIDDEN = 3
# A column is no accident if such a cut has at most this probability for columns without any use.
CHANCE = 1e-6
# Labelled outliers differ from other rows if this were less probable by chance.
ERROR = 0.02
# In a column that is filled in for outliers, at most so many other rows differ for each of them.
MOST_ODD = 0.1
# At most about this many rows without the code 1 are compared. More rows would show nothing new.
MAX_OTHERS = 20_000


def find_results(names: Iterable[str], label: str | None) -> list[str]:
    """Return the columns that an earlier scoring added; a single such name is not enough.

    Examples
    --------
    >>> find_results(["amount", "probability", "rank", "reason_1"], "fraud")
    ['probability', 'rank', 'reason_1']
    >>> find_results(["school", "rank", "amount"], None)
    []
    """
    names = list(names)
    if "probability" not in names or len(set(names) & set(RESULTS)) < 2:
        return []
    return [n for n in names if n != label and (n in RESULTS or re.fullmatch(r"reason_\d+", n))]


def result_notes(found: list[str], label: str | None) -> list[str]:
    """Return notes about the results of an earlier scoring."""
    if not found:
        return []
    notes = [
        f"Columns {listed(found)} are results of an earlier scoring and left out: a model "
        "would learn from its own opinion."
    ]
    if label in RESULTS:
        notes.append(
            f"The label {shorten(label)} is called like a result of scoring. If nobody has "
            "reviewed it, a model learns to repeat the earlier one: name the column of the "
            "review (--label)."
        )
    return notes


def find_leaks(
    table: Any,
    codes: NDArray,
    assume: bool,
    matrix: NDArray,
    columns: list[tuple[str, str]],
    ids: list[str],
) -> list[str]:
    """Return notes about columns that may have been made from the label.

    ``columns`` has a pair of names for each column of the matrix: the name of the column of the
    table from which it was made, and its own name.
    """
    chosen = _choose_rows(codes, assume)
    if chosen is None:
        return []
    found: dict[str, list[tuple[float, str, str]]] = {}
    for place, (name, output) in enumerate(columns):
        values = matrix[chosen.places, place]
        quality = _auc_either_way(chosen.outliers[chosen.judged], values[chosen.judged])
        what = _what_it_tells(chosen, values, quality, matrix)
        if what:
            found.setdefault(name, []).append((quality, what, output))
    notes = []
    for name, candidates in found.items():
        _, what, output = max(candidates, key=lambda one: one[0])
        about = f"Column {shorten(name)}"
        if output == f"{name} is missing":
            about = f"Whether column {shorten(name)} is missing"
        notes.append(
            f"{about} {what}. If it is filled in when somebody knows, rows to come "
            f"will not have it: leave it out ({option('drop', name)})."
        )
    return [*notes, *_find_orders(table, chosen.places, chosen.outliers, ids)]


@dataclass(frozen=True, eq=False)
class _Chosen:
    """All rows with the code 1 and some of the other rows.

    Attributes
    ----------
    places
        The indices of these rows, ascending.
    outliers, inliers
        Masks of the rows with the codes 1 and 0.
    judged
        A mask of the rows by which columns are judged: outliers and other rows.
    weight
        The number of rows that each of the other rows stands for.
    """

    places: NDArray
    outliers: NDArray
    inliers: NDArray
    judged: NDArray
    weight: int


def _choose_rows(codes: NDArray, assume: bool) -> _Chosen | None:
    """Return all rows of the code 1 and some other rows, or None if there are too few."""
    outliers = np.flatnonzero(codes == OUTLIER)
    others = np.flatnonzero((codes == INLIER) | (assume & (codes == UNLABELLED)))
    if min(len(outliers), len(others)) < ENOUGH_OUTLIERS:
        return None
    weight = -(-len(others) // MAX_OTHERS)
    places = np.sort(np.concatenate([outliers, others[::-1][::weight]]))
    is_outlier = codes[places] == OUTLIER
    is_inlier = codes[places] == INLIER
    # Unlabelled rows may hide outliers, so they are left out if there are enough inliers.
    judged = is_outlier | is_inlier | bool(is_inlier.sum() < ENOUGH_INLIERS)
    return _Chosen(places, is_outlier, is_inlier, judged, weight)


def _what_it_tells(chosen: _Chosen, values: NDArray, quality: float, matrix: NDArray) -> str:
    """Return what a column tells about labels, as the end of a sentence, or an empty text.

    ``quality`` is its AUC, and ``matrix`` holds all columns that are tried.
    """
    if quality == 1.0 and len(np.unique(values[chosen.judged])) == 2:
        return "is a copy of the label"
    if quality >= PERFECT:
        return f"alone tells all outliers from other rows (AUC {quality:.3f})"
    return (
        _tell_hidden(chosen, values, matrix)
        or _tell_hidden(chosen, -values, matrix)
        or _tell_rare(chosen, values)
        or _tell_reviewed(chosen, values)
    )


def _tell_hidden(chosen: _Chosen, values: NDArray, matrix: NDArray) -> str:
    """Describe a column that may know outliers without a label, too.

    Such a column has a cut that all labelled outliers and few other rows pass. These other rows may
    be the outliers that nobody has found. If they are, nothing tells them from the labelled ones.
    If they are inliers, most of them are close to the cut, or other columns differ.
    """
    outliers = chosen.outliers
    n_own = int(outliers.sum())
    passing = (values >= values[outliers].min()) & ~outliers
    others = int(passing.sum()) * chosen.weight
    total = n_own + int((~outliers).sum()) * chosen.weight
    if (
        others > MOST_HIDDEN * n_own
        or 2 * matrix.shape[1] * ((n_own + others) / total) ** n_own > CHANCE
        or (passing & chosen.inliers).sum() > (1.0 - PERFECT) * chosen.inliers.sum()
    ):
        return ""
    # The lowest outlier made the cut, so it says nothing about the values above the cut.
    lowest = np.flatnonzero(outliers)[np.argmin(values[outliers])]
    rows = np.setdiff1d(np.flatnonzero(outliers | passing), lowest)
    own = _difference(outliers[rows], values[rows])
    all_columns = np.abs(_difference(outliers[rows], matrix[chosen.places[rows]]))
    # The more columns there are, the more they differ by chance.
    limit = NormalDist().inv_cdf(1.0 - ERROR / (2 * matrix.shape[1]))
    if own > NormalDist().inv_cdf(1.0 - ERROR) or all_columns.max() > limit:
        return ""
    return f"alone tells all labelled outliers, and {others} rows like them, from the others"


def _difference(outliers: NDArray, values: NDArray) -> NDArray:
    """Return by how many standard errors the AUC of outliers is above 0.5, for each column."""
    product = outliers.sum() * (~outliers).sum()
    return (auc(outliers, values) - 0.5) / np.sqrt((len(outliers) + 1) / (12 * product))


def _tell_rare(chosen: _Chosen, values: NDArray) -> str:
    """Describe a column that has its usual value except in labelled outliers."""
    outliers = chosen.outliers
    is_odd = values != np.median(values[~outliers])
    own = int(is_odd[outliers].sum())
    others = int(is_odd[~outliers].sum()) * chosen.weight
    if own < max(ENOUGH_OUTLIERS, 0.5 * outliers.sum()) or others > MOST_ODD * own:
        return ""
    return f"is unusual for {own} of {outliers.sum()} labelled outliers and {others} other rows"


def _tell_reviewed(chosen: _Chosen, values: NDArray) -> str:
    """Describe a column that tells which rows have a label."""
    known = chosen.outliers | chosen.inliers
    is_enough = min(chosen.inliers.sum(), (~known).sum()) >= ENOUGH_OUTLIERS
    if is_enough and _auc_either_way(known, values) >= PERFECT:
        return "alone tells labelled rows from unlabelled ones"
    return ""


def _find_orders(table: Any, chosen: NDArray, outliers: NDArray, ids: list[str]) -> list[str]:
    """Return notes about rows and ids that are ordered by label."""
    found = [
        name for name in ids if _auc_either_way(outliers, _order_of(table, name)[chosen]) >= ORDERED
    ]
    what = f"Values of {listed(found)} are" if found else "Rows are"
    if not found and _auc_either_way(outliers, chosen) < ORDERED:
        return []
    return [
        f"{what} ordered by label, outliers and others apart. If they come from different sources, "
        "whatever differs between these is learned: compare how both were collected."
    ]


def _auc_either_way(outliers: NDArray, values: NDArray) -> float:
    """Return the AUC of values or of their reverse, whichever is larger."""
    found = float(auc(outliers, values))
    return max(found, 1.0 - found)


def _order_of(table: Any, name: str) -> NDArray:
    """Return numbers that sort like the ids: by value, or alphabetically."""
    column = column_of(table, name)
    # Dates have an order of their own.
    if kind_of(column.type) != "date or time":
        column = as_text(column, name)
        if pc.all(pc.match_substring_regex(column, r"^\d{1,15}$")).as_py():
            return np.nan_to_num(as_numbers(column, name, "number"))
    return pc.rank(column, tiebreaker="min").to_numpy()
