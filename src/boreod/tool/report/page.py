"""From a fitted detector and its table to one page."""

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from numpy.typing import ArrayLike, NDArray

from boreod.detector import OutlierDetector
from boreod.ensemble.profile import TrainingProfile
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Progress
from boreod.selection.budgets import BudgetCurve
from boreod.text import show_number, show_probability
from boreod.tool.documents import Block, Facts, Paragraph, Section, to_page
from boreod.tool.drawing import Curve
from boreod.tool.reasons import Cells, Output
from boreod.tool.report.alerts import Workload, choose_point, give_verdict, tabulate_thresholds
from boreod.tool.report.columns import Prepared, describe_data, list_columns, trace_budgets
from boreod.tool.report.evidence import Evidence, gather
from boreod.tool.report.over_time import Times, draw_over_time
from boreod.tool.report.quality import (
    Previous,
    check_probabilities,
    compare_previous,
    draw_curves,
    show_interval,
    tell_ranking,
)
from boreod.tool.report.rows import draw_maps, name_novel, name_suspects
from boreod.tool.words import tell_assumptions

OUT_OF_BAG = (
    "Out-of-bag means: the model is an ensemble of many small models, each of which learned from "
    "some labelled rows only. A row is judged by those that did not learn from it. This is nearly "
    "as honest as new data, with two exceptions: columns were scaled, and chosen if there is a "
    "budget, with all labelled rows in view; and outliers of a new kind are not in the table."
)
PREDICTED = (
    "Rows that the model has not learned from are judged by its predictions. This is the best test "
    "there is."
)
ADVICE = (
    "Intervals hold for 95 of 100 samples of rows as these. They tell how much chance is in "
    "a number because rows are few. They do not tell what happens when the world changes, nor "
    "when the labels are wrong.",
    "Everything rests on the labels. Outliers that nobody labelled count as inliers or not at all, "
    "so true outliers may be among the false alerts: look at some of them before you blame the "
    "model.",
    "Trust the ranking more than the probability, and the probability more than the reasons. The "
    "ranking needs only that outliers stay different in the same way; the probability also needs "
    "their share to stay the same.",
    "Make this page again when new labels come in. A falling average precision, or a number of "
    "alerts that moves away from the table of thresholds, says that it is time to fit again.",
)


def make_report(
    model: OutlierDetector,
    rows: ArrayLike,
    codes: ArrayLike,
    *,
    title: str,
    names: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    prepared: Prepared = (),
    notes: Sequence[str] = (),
    outputs: Sequence[Output] | None = None,
    profile: TrainingProfile | None = None,
    cells: Callable[[NDArray], Cells] | None = None,
    budget_curve: BudgetCurve | None = None,
    workload: Workload | None = None,
    times: Times | None = None,
    previous: Previous | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> str:
    """Return a page that tells what a fitted detector does, as HTML without any other file.

    Rows that the model has learned from are judged by out-of-bag probabilities, others by its
    predictions, and the page says so.

    Parameters
    ----------
    model
        A fitted :class:`boreod.Detector` or :class:`boreod.BORE`, perhaps loaded from a file.
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
    notes
        Remarks about them: ``Preparation.notes_``.
    outputs
        What each column of ``rows`` is, for reasons; None for numbers.
    profile
        Of the training rows, for reasons; None for that of the given ones.
    cells
        Gives the words of the table's columns for rows at some places, for reasons.
    budget_curve
        ``model.budget_curve()``, None if it is not known.
    workload
        Rows and alerts of a day, and what mistakes cost; None to tell alerts per 1000 rows.
    times
        When rows happened; None for no picture over time.
    previous
        Another model to put beside this one, judged on the same rows.
    seed
        Of intervals, samples and maps.
    verbose
        Show a progress bar if it takes long.
    """
    if find_spec("matplotlib") is None:  # say it at once, and not after the work
        raise ImportError(
            "A report needs matplotlib, which is not installed: pip install boreod[report]"
        )
    evidence = gather(model, rows, codes, names, ids, outputs=outputs, profile=profile, cells=cells)
    asked = workload or Workload()
    with TemporaryDirectory() as folder, Progress("report", 13, verbose) as progress:
        sections = []
        about = (prepared, tuple(notes))
        parts = _write(evidence, about, budget_curve, asked, times, previous, Path(folder), seed)
        for section in parts:
            sections.append(section)
            progress.advance()
        return to_page(title, sections)


def _write(
    evidence: Evidence,
    about: tuple[Prepared, Sequence[str]],
    curve: BudgetCurve | None,
    workload: Workload,
    times: Times | None,
    previous: Previous | None,
    folder: Path,
    seed: int,
) -> Iterator[Section]:
    """Give the verdict, then pictures, rows, columns and prices."""
    figures, curves = draw_curves(evidence, folder, seed, previous)
    yield _sum_up(evidence, curves, workload)
    yield tell_ranking(evidence, figures, curves)
    if previous is not None:
        yield compare_previous(evidence, previous, workload)
    yield tabulate_thresholds(evidence, workload)
    over_time = None if times is None else draw_over_time(evidence, times, workload, folder)
    if over_time is not None:
        yield over_time
    yield check_probabilities(evidence, folder)
    yield name_suspects(evidence)
    yield name_novel(evidence)
    yield draw_maps(evidence, folder, seed)
    yield describe_data(evidence, *about, folder, seed)
    yield list_columns(evidence, seed)
    yield trace_budgets(evidence, curve, folder)
    known = evidence.places != UNKNOWN
    new = ~known & evidence.is_fair
    told = [text for text, there in ((OUT_OF_BAG, known), (PREDICTED, new)) if there.any()]
    yield Section("How to read this page", [Paragraph(text) for text in (*told, *ADVICE)])


def _tell_rows(evidence: Evidence) -> str:
    """Say how rows are judged that are not just those of the training."""
    known, rows = int((evidence.places != UNKNOWN).sum()), len(evidence.places)
    if not evidence.is_fair:
        return (
            "The model file was written by an older version and does not tell which rows the model "
            "has learned from. If these are among them, all numbers below are too good. Fit again."
        )
    if not known:
        return "The model has learned from none of these rows: they are judged by its predictions."
    others = "" if known == rows else ", the others by predictions, as they are new to the model"
    return (
        f"The model has learned from {known:,} of these {rows:,} rows (or from rows that are equal "
        f"to them). They are judged out of bag{others}."
    )


def _sum_up(evidence: Evidence, curves: list[Curve], workload: Workload) -> Section:
    """Return the verdict, and the few numbers that a hurried reader needs."""
    blocks: list[Block] = give_verdict(evidence, workload)
    if not evidence.is_own:
        blocks.append(Paragraph(_tell_rows(evidence)))
    items: list[tuple[str, str, str]] = []
    for what, curve in zip(("AUC", "average precision"), curves, strict=False):
        items.append((f"{curve.quality:.3f}", what, show_interval(curve)))
    if evidence.can_judge:
        chosen = choose_point(evidence, workload)
        above = f"above the threshold {show_probability(chosen.threshold)}"
        items += [
            (f"{chosen.caught} of {chosen.outliers}", "outliers caught", above),
            (show_number(chosen.share * workload.rows), workload.rate, above),
        ]
    items.append(
        (f"{len(evidence.model.columns_):,}", "columns in use", "raw columns and outlier scores")
    )
    assumed = [Paragraph(text) for text in tell_assumptions(evidence.model)]
    return Section("In short", [*blocks, Facts(items), *assumed])
