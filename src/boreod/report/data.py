"""The data at a glance."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.documents import Block, Facts, Figure, Paragraph, Section, Table
from boreod.metrics import auc
from boreod.report.evidence import Evidence
from boreod.report.numbers import show_number
from boreod.report.strips import draw_strips
from boreod.text import count_of
from boreod.validation import INLIER, OUTLIER, UNLABELLED

Prepared = Sequence[tuple[str, str, str, int]]
STRONGEST = 6
MOST_ROWS = 5000  # of each class, to judge single columns by
MOST_PREPARED = 40


def describe_data(evidence: Evidence, prepared: Prepared, folder: Path, seed: int) -> Section:
    """Return numbers of rows, what was done to columns, and the strongest columns."""
    counts = [
        (f"{len(evidence.rows):,}", "rows", ""),
        (f"{evidence.count(OUTLIER):,}", "labelled outliers", ""),
        (f"{evidence.count(INLIER):,}", "labelled inliers", ""),
        (f"{evidence.count(UNLABELLED):,}", "unlabelled rows", ""),
        (f"{evidence.rows.shape[1]:,}", "columns of numbers", ""),
    ]
    blocks: list[Block] = [Facts(counts), Paragraph(_missing(prepared))]
    if prepared:
        blocks.append(_tell_prepared(prepared))
    if min(evidence.count(OUTLIER), evidence.count(INLIER)) > 0:
        blocks += _strongest(evidence, folder, seed)
    return Section("The data at a glance", blocks)


def _missing(prepared: Prepared) -> str:
    """Say what happened to missing values."""
    if not prepared:
        return "The table came as numbers, and none is missing."
    done = [column for column, _, what, _ in prepared if "missing" in what or "median" in what]
    if not done:
        return "No value was missing in the columns that the model learned from."
    shown = ", ".join(done[:5]) + (f" and {len(done) - 5} more" if len(done) > 5 else "")
    return (
        f"Values were missing in {shown} when the model was fitted. They were filled, or have a "
        "column that says so: the table below tells which. The model does the same with new rows."
    )


def _tell_prepared(prepared: Prepared) -> Table:
    rows = [
        [*row[:3], count_of(row[3], "column") if row[3] else "-"]
        for row in prepared[:MOST_PREPARED]
    ]
    left = len(prepared) - len(rows)
    caption = "What is done to each column, as learned in the fit" + (
        f" ({left} more not shown)" if left else ""
    )
    header = ["column", "holds", "done", "becomes"]
    return Table(header, rows, caption=caption, texts=frozenset({1, 2}))


def _strongest(evidence: Evidence, folder: Path, seed: int) -> list[Block]:
    """Return table and picture of the columns that tell most when alone."""
    places = evidence.draw(MOST_ROWS, MOST_ROWS, seed)
    rows, outliers = evidence.rows[places], evidence.codes[places] == OUTLIER
    areas = auc(outliers, rows)
    best = np.argsort(-np.abs(areas - 0.5), kind="stable")[:STRONGEST]
    names = list(evidence.names.values())
    cells = [
        [names[place], "high" if areas[place] >= 0.5 else "low",
         f"{max(areas[place], 1.0 - areas[place]):.3f}",
         _spread(rows[outliers, place]), _spread(rows[~outliers, place])]
        for place in best
    ]  # fmt: skip
    header = ["column", "outliers are", "AUC alone", "outliers: median (5 to 95 %)",
              "inliers: median (5 to 95 %)"]  # fmt: skip
    caption = f"The {count_of(len(best), 'column')} that tell most on their own"
    strips = {names[place]: rows[:, place] for place in best}
    told = (
        "The AUC is the chance that a random outlier and a random inlier are told apart by this "
        "column alone (0.5 is a coin). These are the best of "
        f"{len(names)}, picked by the same labels, so they look a little better than they are."
    )
    picture = draw_strips(strips, outliers, folder / "strips", seed)
    shown = "Where outliers and inliers are in these columns, as distance from the median inlier."
    return [
        Table(header, cells, caption=caption, texts=frozenset({1})),
        Paragraph(told),
        Figure(picture, shown),
    ]


def _spread(values: NDArray[Any]) -> str:
    low, middle, high = (show_number(float(q)) for q in np.quantile(values, [0.05, 0.5, 0.95]))
    return f"{middle} ({low} to {high})"
