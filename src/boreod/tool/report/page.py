"""From a fitted detector and its table to one page."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from numpy.typing import ArrayLike, NDArray

from boreod.detector import Detector
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Progress
from boreod.text import show_number, show_probability
from boreod.tool.documents import Facts, Paragraph, Section, to_page
from boreod.tool.drawing.rankings import Curve
from boreod.tool.report.alerts import Workload, choose_point, give_verdict, tabulate_thresholds
from boreod.tool.report.columns import describe_data, list_columns, trace_budgets
from boreod.tool.report.evidence import Details, Evidence, gather
from boreod.tool.report.quality import (
    Previous,
    check_probabilities,
    compare_previous,
    describe_ranking,
    draw_curves,
    draw_over_time,
    show_interval,
)
from boreod.tool.report.rows import draw_maps, name_novel, name_suspects
from boreod.tool.words import list_assumptions

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
    model: Detector,
    rows: ArrayLike,
    codes: NDArray,
    details: Details,
    *,
    workload: Workload | None = None,
    previous: Previous | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> str:
    """Return a page about a fitted detector, as HTML that needs no other file.

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
    details
        Title of the page, and what else is known of the model and the table.
    workload
        Rows and alerts of a day, and what mistakes cost; None for alerts per 1000 rows.
    previous
        Another model to put beside this one, judged on the same rows.
    seed
        Random seed of intervals, samples and maps.
    verbose
        Show a progress bar if it takes long.
    """
    if find_spec("matplotlib") is None:  # before the work, not after it
        raise ImportError(
            "A report needs matplotlib, which is not installed: pip install boreod[report]"
        )
    evidence = gather(model, rows, codes, details)
    sections = []
    with TemporaryDirectory() as folder, Progress("report", 13, verbose) as progress:
        parts = _write(evidence, workload or Workload(), previous, Path(folder), seed)
        for section in parts:
            sections.append(section)
            progress.advance()
        return to_page(details.title, sections)


def _write(
    evidence: Evidence, workload: Workload, previous: Previous | None, folder: Path, seed: int
) -> Iterator[Section]:
    """Give the verdict, then pictures, rows, columns and prices."""
    figures, curves = draw_curves(evidence, folder, seed, previous)
    yield _sum_up(evidence, curves, workload)
    yield describe_ranking(evidence, figures, curves)
    if previous is not None:
        yield compare_previous(evidence, previous, workload)
    yield tabulate_thresholds(evidence, workload)
    over_time = draw_over_time(evidence, workload, folder)
    if over_time is not None:
        yield over_time
    yield check_probabilities(evidence, folder)
    yield name_suspects(evidence)
    yield name_novel(evidence)
    yield draw_maps(evidence, folder, seed)
    yield describe_data(evidence, folder, seed)
    yield list_columns(evidence, seed)
    yield trace_budgets(evidence, folder)
    known = evidence.places != UNKNOWN
    texts = list(ADVICE)
    if not known.all():
        texts.insert(0, PREDICTED)
    if known.any():
        texts.insert(0, OUT_OF_BAG)
    yield Section("How to read this page", [Paragraph(text) for text in texts])


def _describe_rows(evidence: Evidence) -> str:
    """Say how rows are judged that are not just those of the training."""
    known = int((evidence.places != UNKNOWN).sum())
    rows = len(evidence.places)
    if not known:
        return "The model has learned from none of these rows: they are judged by its predictions."
    others = "" if known == rows else ", the others by predictions, as they are new to the model"
    return (
        f"The model has learned from {known:,} of these {rows:,} rows (or from rows that are equal "
        f"to them). They are judged out of bag{others}."
    )


def _sum_up(evidence: Evidence, curves: list[Curve], workload: Workload) -> Section:
    """Return the verdict, and the few numbers that a hurried reader needs."""
    blocks = give_verdict(evidence, workload)
    if not evidence.is_own:
        blocks.append(Paragraph(_describe_rows(evidence)))
    items = [
        (f"{curve.quality:.3f}", name, show_interval(curve))
        for name, curve in zip(("AUC", "average precision"), curves, strict=False)
    ]
    if evidence.can_judge:
        chosen = choose_point(evidence, workload)
        above = f"above the threshold {show_probability(chosen.threshold)}"
        alerts = show_number(chosen.share * workload.rows)
        items.append((f"{chosen.caught} of {chosen.outliers}", "outliers caught", above))
        items.append((alerts, f"alerts {workload.per}", above))
    n_columns = f"{len(evidence.model.columns_):,}"
    items.append((n_columns, "columns in use", "raw columns and outlier scores"))
    assumed = [Paragraph(text) for text in list_assumptions(evidence.model)]
    return Section("In short", [*blocks, Facts(items), *assumed])
