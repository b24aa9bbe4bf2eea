"""Warn of columns that may have been filled in after the label was known.

A column that ranks all rows of the code 1 before all other rows may be a leak, or a very good
column. Only users know which it is, so a note asks them. The columns that an earlier scoring added
are left out.
"""

import re
from collections.abc import Iterable
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
    outliers = codes[chosen] == OUTLIER
    notes = []
    ranks = [_auc_either_way(outliers, matrix[chosen, place]) for place in range(matrix.shape[1])]
    for name in dict.fromkeys(owner for owner, _ in columns):
        places = [place for place, (owner, _) in enumerate(columns) if owner == name]
        best = max(places, key=lambda place: ranks[place])
        found = ranks[best]
        if found < PERFECT:
            continue
        what = f"alone tells all outliers from other rows (AUC {found:.3f})"
        if found == 1.0 and len(np.unique(matrix[chosen, best])) == 2:
            what = "is a copy of the label"
        about = f"Column {shorten(name)}"
        if columns[best][1] == f"{name} is missing":
            about = f"Whether column {shorten(name)} is missing"
        notes.append(
            f"{about} {what}. If it is filled in when somebody knows, rows to come "
            f"will not have it: leave it out ({option('drop', name)})."
        )
    return [*notes, *_find_orders(table, chosen, outliers, ids)]


def _choose_rows(codes: NDArray, assume: bool) -> NDArray | None:
    """Return all rows of the code 1 and some other rows, or None if there are too few."""
    outliers = np.flatnonzero(codes == OUTLIER)
    others = np.flatnonzero((codes == INLIER) | (assume & (codes == UNLABELLED)))
    if min(len(outliers), len(others)) < ENOUGH_OUTLIERS:
        return None
    return np.sort(np.concatenate([outliers, others[:: -(-len(others) // MAX_OTHERS)]]))


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
