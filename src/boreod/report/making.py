"""From a fitted detector and its table to one page."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from numpy.typing import ArrayLike

from boreod.detector import BORE
from boreod.documents import Block, Facts, Paragraph, Section, to_page
from boreod.parallel import Progress
from boreod.plots import Curve
from boreod.report.alerts import count_alerts, tabulate_thresholds
from boreod.report.data import Prepared, describe_data
from boreod.report.evidence import Evidence, gather
from boreod.report.maps import draw_maps
from boreod.report.numbers import show_number, show_probability
from boreod.report.quality import check_probabilities, rank_rows
from boreod.report.reading import explain_page
from boreod.report.spending import list_columns, trace_spending
from boreod.report.suspects import name_novel, name_suspects
from boreod.selection import BudgetCurve
from boreod.text import shorten
from boreod.validation import is_number


def make_report(
    model: BORE,
    rows: ArrayLike,
    codes: ArrayLike,
    *,
    title: str,
    names: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    prepared: Prepared = (),
    budget_curve: BudgetCurve | None = None,
    rows_per_day: float | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> str:
    """Return a page that tells what a fitted detector does, as HTML without any other file.

    Rows that the model was trained on are judged by out-of-bag probabilities. Others are judged by
    the model's predictions, and the page says so.

    Parameters
    ----------
    model
        A fitted :class:`boreod.BORE`, perhaps loaded from a file.
    rows
        The table that it was trained on, or another one with the same columns.
    codes
        Labels: 1 outlier, 0 inlier, -1 unlabelled.
    title
        Of the page.
    names
        Of the columns, None for those of the model.
    ids
        A text for each row by which a reader finds it, None for row numbers from 1 on.
    prepared
        What was done to each input column: ``Preparation.summary_``.
    budget_curve
        ``model.budget_curve()``, None if it is not known.
    rows_per_day
        How many rows come in a day, to tell alerts a day; None to tell alerts per 1000 rows.
    seed
        Of intervals, samples and maps.
    verbose
        Show a progress bar if it takes long.
    """
    if rows_per_day is not None and (not is_number(rows_per_day) or not 0 < rows_per_day < 1e15):
        raise ValueError(f"`rows_per_day` must be a number above 0; got {shorten(rows_per_day)}.")
    _check_extras()
    evidence = gather(model, rows, codes, names, ids)
    curves: list[Curve] = []
    with TemporaryDirectory() as name, Progress("report", 10, verbose) as progress:
        folder = Path(name)
        parts: list[Callable[[], Section]] = [
            lambda: describe_data(evidence, prepared, folder, seed),
            lambda: rank_rows(evidence, folder, seed, curves),
            lambda: check_probabilities(evidence, folder),
            lambda: tabulate_thresholds(evidence, rows_per_day),
            lambda: name_suspects(evidence),
            lambda: name_novel(evidence),
            lambda: list_columns(evidence, seed),
            lambda: trace_spending(evidence, budget_curve, folder),
            lambda: draw_maps(evidence, folder, seed),
            lambda: explain_page(evidence),
        ]
        sections = []
        for part in parts:
            sections.append(part())
            progress.advance()
        return to_page(title, [_sum_up(evidence, curves, rows_per_day), *sections])


def _check_extras() -> None:
    """Say at once, and not after the work, what is not installed."""
    if find_spec("matplotlib") is None:
        raise ImportError(
            "A report needs matplotlib, which is not installed: pip install boreod[report]"
        )


def _sum_up(evidence: Evidence, curves: list[Curve], rows_per_day: float | None) -> Section:
    """Return the few numbers that a hurried reader needs."""
    blocks: list[Block] = []
    if evidence.doubt:
        blocks.append(Paragraph(
            f"{evidence.doubt} So this page judges the given rows by the model's predictions and "
            "not out of bag. As far as the model was trained on them, all numbers below are too "
            "good."
        ))  # fmt: skip
    items: list[tuple[str, str, str]] = []
    for what, curve in zip(("AUC", "average precision"), curves, strict=False):
        low, high = curve.interval or (curve.quality, curve.quality)
        items.append((f"{curve.quality:.3f}", what, f"95 % interval {low:.3f} to {high:.3f}"))
    if evidence.can_judge:
        chosen = count_alerts(evidence, float(evidence.model.threshold_))
        scale = 1000.0 if rows_per_day is None else rows_per_day
        above = f"above the threshold {show_probability(chosen.threshold)}"
        items.append((f"{chosen.caught} of {chosen.caught + chosen.missed}", "outliers caught",
                      above))  # fmt: skip
        where = "alerts per 1000 rows" if rows_per_day is None else "alerts a day"
        items.append((show_number(chosen.share * scale), where, above))
    items.append(
        (f"{len(evidence.model.columns_):,}", "columns in use", "raw columns and outlier scores")
    )
    return Section("In short", [*blocks, Facts(items)])
