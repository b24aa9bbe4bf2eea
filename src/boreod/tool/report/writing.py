"""The page about a detector and a table, from its rows and labels to the HTML file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boreod.detector import Detector
from boreod.files import write_text
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Progress
from boreod.predictor import settings_of
from boreod.text import shorten, show_number, show_probability, suggest, tell_once
from boreod.tool.documents import Block, Facts, Paragraph, Section, to_page
from boreod.tool.drawing.charts import Curve
from boreod.tool.models import list_assumptions, ranks_only
from boreod.tool.report import quality
from boreod.tool.report.alerts import Workload, choose_point, give_verdict, tabulate_thresholds
from boreod.tool.report.columns import describe_data, list_columns, trace_budgets
from boreod.tool.report.evidence import Evidence, Times, gather
from boreod.tool.report.rows import draw_maps, name_novel, name_suspects
from boreod.validation import UNLABELLED, is_frame, read_labels

OUT_OF_BAG = (
    "Out-of-bag means: the model is an ensemble of many small models, each of which learned from "
    "some labelled rows only. A row is judged by the small models that did not learn from it. This "
    "is nearly as honest as new data, with two exceptions. All labelled rows took part in scaling "
    "and, if there is a budget, choosing columns. And the table has no outliers of a new kind."
)
PREDICTED = (
    "Rows that the model has not learned from are judged by its predictions. This is the best test "
    "there is."
)
ADVICE = (
    "Intervals hold for 95 of 100 samples of rows like these. They show how much of a "
    "number is chance because rows are few. They do not show what happens when the world changes, "
    "nor when the labels are wrong.",
    "Everything rests on the labels. Outliers that nobody labelled count as inliers or not at all, "
    "so true outliers may be among the false alerts: look at some false alerts before you blame "
    "the model.",
    "Trust the ranking more than the probability, and the probability more than the reasons. The "
    "ranking needs only that outliers stay different in the same way; the probability also needs "
    "their share to stay the same.",
    "Make this page again when new labels come in. A falling average precision, or a number of "
    "alerts that moves away from the table of thresholds, says that it is time to fit again.",
)


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows.

    Parameters
    ----------
    y, label, outlier_label
        Labels (``y``), or the name of the column of labels (``label``), and the label of outliers.
        If None, the column of labels and the label of outliers are those of the fit.
    title
        Title of the page. If None, it names the table.
    rows_per_day
        Number of rows that come in a day. If None, alerts are shown per 1000 rows.
    alerts
        Number of alerts that people look at in a day, or in a table like this one. If None, the
        threshold of the model decides.
    cost_miss, cost_alert
        Cost of an outlier that nobody looks at, and cost of looking at a row. Give both or neither.
    previous
        An older model, or its file, to compare with this model.
    time
        Column of dates for a picture over time. If None, the first column of dates is used.
    seed
        Random seed of intervals, samples and maps.
    reading
        Options of ``boreod.tables.read_table`` for a file.
    verbose
        Whether to show a progress bar if the work takes long.
    """

    y: Any = None
    label: str | None = None
    outlier_label: Any = None
    title: str | None = None
    rows_per_day: float | None = None
    alerts: float | None = None
    cost_miss: float | None = None
    cost_alert: float | None = None
    previous: str | PathLike[str] | Detector | None = None
    time: str | None = None
    seed: int = 0
    reading: dict[str, Any] | None = None
    verbose: bool = False


@tell_once()
def write_report(
    model: Detector, path: str | PathLike[str], table: Any = None, **options: Any
) -> None:
    """Write a page about a detector, one HTML file that needs no network.

    Parameters
    ----------
    model
        A fitted or loaded detector.
    path
        File name of the page.
    table
        Rows with labels: a frame, an array or a file. If None, the training table is used. Rows
        that the model was fitted to are judged out of bag, and other rows by predictions.
    **options
        Options of :class:`ReportOptions`.
    """
    asked = ReportOptions(**options)
    check_is_fitted(model)
    workload = Workload(asked.rows_per_day, asked.alerts, asked.cost_miss, asked.cost_alert)
    shown = model.record_.source or "its table"
    own = table is None
    if own:
        table = model.record_.table
    if table is None:
        raise ValueError(
            "A model file holds no training rows. Pass the table that the model was fitted to: "
            "report(path, table)."
        )
    if isinstance(table, str | PathLike):
        table, shown = _read(model, fspath(table), asked)
    if is_frame(table):
        from boreod.tables import as_arrow

        table = as_arrow(table)
    codes = model.oob_.labels if own else _codes(model, table, asked, shown)
    ids = _ids(table, model.preparation_.ids_)
    times = _find_times(model, table, asked.time)
    previous = None
    if asked.previous is not None:
        previous = _judge_previous(asked.previous, table, codes)
    # A missing package is reported before the work, not after it.
    if find_spec("matplotlib") is None:
        raise ImportError(
            "A report needs matplotlib, which is not installed: pip install boreod[report]"
        )
    evidence = gather(model, table, codes, ids, times)
    title = asked.title or f"Report on {shown}"
    page = make_report(evidence, title, workload, previous, asked.seed, asked.verbose)
    write_text(Path(path), page)


def make_report(
    evidence: Evidence,
    title: str,
    workload: Workload,
    previous: Evidence | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> str:
    """Return a page as HTML that needs no other file.

    Parameters
    ----------
    evidence
        The detector, and the rows that judge it.
    title
        Title of the page.
    workload
        Numbers of rows and alerts in a day, and the costs of missed outliers and of alerts.
    previous
        An older model to compare with, judged on the same rows.
    seed
        Random seed of intervals, samples and maps.
    verbose
        Whether to show a progress bar if the work takes long.
    """
    sections = []
    with TemporaryDirectory() as folder, Progress("report", 13, verbose) as progress:
        for section in _write(evidence, workload, previous, Path(folder), seed):
            sections.append(section)
            progress.advance()
        return to_page(title, sections)


def _write(
    evidence: Evidence, workload: Workload, previous: Evidence | None, folder: Path, seed: int
) -> Iterator[Section]:
    """Yield the sections: the verdict, then pictures, rows, columns and prices."""
    figures, curves = quality.draw_curves(evidence, folder, seed, previous)
    yield _sum_up(evidence, curves, workload)
    yield quality.describe_ranking(evidence, figures, curves)
    if previous is not None:
        yield quality.compare_previous(evidence, previous, workload)
    yield tabulate_thresholds(evidence, workload)
    over_time = quality.draw_over_time(evidence, workload, folder)
    if over_time is not None:
        yield over_time
    yield quality.check_probabilities(evidence, folder)
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
    """Say how rows are judged if the table is not exactly the training table."""
    known = int((evidence.places != UNKNOWN).sum())
    rows = len(evidence.places)
    if not known:
        return "The model has learned from none of these rows: rows are judged by its predictions."
    others = "" if known == rows else ", and the other rows, which are new to it, by predictions"
    return (
        f"The model has learned from {known:,} of these {rows:,} rows (or from equal rows). These "
        f"are judged out of bag{others}."
    )


def _sum_up(evidence: Evidence, curves: list[Curve], workload: Workload) -> Section:
    """Return a section with the verdict and the few numbers that a reader should see first."""
    blocks: list[Block] = [*give_verdict(evidence, workload)]
    if not evidence.is_own:
        blocks.append(Paragraph(_describe_rows(evidence)))
    items = [
        (f"{curve.quality:.3f}", name, quality.show_interval(curve))
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
    blocks += [Facts(items), *map(Paragraph, list_assumptions(evidence.model))]
    return Section("In short", blocks)


def _read(model: Detector, path: str, asked: ReportOptions) -> tuple[Any, str]:
    """Return the table in a file, labels as text, and the name of the file."""
    from boreod.tables import read_table
    from boreod.tables.training import name_source
    from boreod.tool.scoring.scoring import Scoring

    label = asked.label or model.preparation_.label_
    options = Scoring(model, None).reading(asked.reading)
    if label is not None:
        options["types"] = {label: "text", **options["types"]}
    return read_table(path, **options), name_source(path)


def _codes(model: Detector, table: Any, asked: ReportOptions, shown: str) -> Any:
    """Return the labels of rows as codes.

    If there is no column of labels and the model was fitted without labels, all are unlabelled.
    """
    n_rows = len(table)
    assume = settings_of(model).assumes_inliers
    outlier_label = model.outlier_label if asked.outlier_label is None else asked.outlier_label
    if asked.y is not None:
        return read_labels(asked.y, n_rows, outlier_label, assume)[0]
    label = asked.label or model.preparation_.label_
    if label is None and ranks_only(model.oob_):
        return np.full(n_rows, UNLABELLED)
    if label is None or label not in getattr(table, "column_names", ()):
        wanted = "known column" if label is None else f"column {label!r}"
        raise ValueError(
            f"{shown} has no {wanted} of labels, which a report needs. Pass the table that "
            "the model was fitted to, with the same --labels if there were any, or name another "
            "column: --label (in Python `label`, or `y`)."
        )
    from boreod.tables import read_label_column

    return read_label_column(table[label], outlier_label, name=label, assume=assume)


def _judge_previous(previous: Any, table: Any, codes: Any) -> Evidence:
    """Return an older model, judged on the same rows."""
    name = "the previous model"
    if isinstance(previous, str | PathLike):
        from boreod.persistence import load

        name, previous = Path(previous).stem, load(previous)
    try:
        return replace(gather(previous, table, codes), name=name)
    except ValueError as error:
        raise ValueError(f"The previous model cannot judge this table. {error}") from None


def _find_times(model: Detector, table: Any, asked: str | None) -> Times | None:
    """Return the times of rows, from the requested column or from the first column of dates."""
    if not hasattr(table, "column_names"):
        return None
    from boreod.tables import TableError
    from boreod.tables.arrow import column_of
    from boreod.tables.date_forms import TIME
    from boreod.tables.preparing.dates import DateStep, read_moments
    from boreod.tables.preparing.decisions import Question, decide

    if asked is not None and asked not in table.column_names:
        raise TableError(
            f"There is no column {shorten(asked)} of dates (--time). "
            f"{suggest(asked, table.column_names)}"
        )
    steps = getattr(model.preparation_, "steps_", [])
    known = {step.name: step for step in steps if isinstance(step, DateStep)}
    for name in known if asked is None else [asked]:
        column = column_of(table, name)
        step = known.get(name) or decide(column, Question(name, 20, None, None, True)).step
        if not isinstance(step, DateStep) or step.form == TIME:
            continue
        moments = read_moments(column, name, step.form, step.zone).clock
        seconds = np.nan_to_num(moments).astype(np.int64).astype("datetime64[s]")
        return Times(name, np.where(np.isnan(moments), np.datetime64("NaT"), seconds))
    if asked is not None:
        raise TableError(f"Column {shorten(asked)} (--time) holds no dates. Name another one.")
    return None


def _ids(table: Any, names: tuple[str, ...]) -> list[str] | None:
    """Return a text for each row; None if the table lacks a column of ids."""
    if not names or not set(names) <= set(getattr(table, "column_names", ())):
        return None
    cells = [table[name].to_pylist() for name in names]
    return [
        ", ".join("" if cell is None else str(cell) for cell in row)
        for row in zip(*cells, strict=True)
    ]
