"""The page about a detector and a table: its labels and the names of its rows."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boreod.detector import Detector
from boreod.files import write_text
from boreod.predictor import settings_of
from boreod.representation.array_rows import types_to_read
from boreod.text import shorten, suggest
from boreod.tool.reasons import outputs_of
from boreod.tool.report.alerts import Workload
from boreod.tool.report.evidence import Details, Times, gather
from boreod.tool.report.page import make_report
from boreod.tool.report.quality import Previous
from boreod.tool.words import ranks_only
from boreod.validation import UNLABELLED, is_frame, read_labels


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows.

    Parameters
    ----------
    y, label, outlier_label
        Labels, or the column of them; None for that of the fit.
    title
        Title of the page.
    rows_per_day
        Number of rows that come in a day, to show alerts a day; None to show alerts per 1000 rows.
    alerts
        Number of alerts that are looked at in a day, or in a table like this one; None for those
        above the model's threshold.
    cost_miss, cost_alert
        What an outlier costs that nobody looks at, and what it costs to look at a row.
    previous
        An older model, or its file, to put beside this one.
    time
        Column of dates for a picture over time; None for the first one that there is.
    seed
        Seed of intervals, samples and maps.
    reading
        Options of ``boreod.tables.read_table`` for a file.
    verbose
        Show a progress bar if it takes long.
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


def write_report(
    model: Detector, path: str | PathLike[str], table: Any = None, **options: Any
) -> None:
    """Write a page about a detector, one HTML file that needs no network.

    Parameters
    ----------
    model
        A detector that was fitted, or loaded.
    path
        Name of the page.
    table
        Rows with labels, a frame, an array or a file: those of the fit are judged out of bag, in
        their order; others by predictions, and the page says so. None for those of the fit.
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
    is_table = hasattr(table, "column_names")
    rows = None if is_table else np.asarray(table, dtype=object)
    details = Details(
        title=asked.title or f"Report on {shown}",
        ids=_ids(table, model.preparation_.ids_),
        prepared=model.preparation_.summary_,
        notes=model.preparation_.notes_,
        outputs=outputs_of(model),
        profile=model.record_.profile,
        cells=lambda places: model.preparation_.words_of(
            rows[places] if rows is not None else table.take(places)
        ),
        curve=model.record_.curve,
        times=_find_times(model, table, asked.time) if is_table else None,
    )
    page = make_report(
        model,
        table,
        codes,
        details,
        workload=workload,
        previous=None if asked.previous is None else _judge_previous(asked.previous, table, codes),
        seed=asked.seed,
        verbose=asked.verbose,
    )
    write_text(Path(path), page)


def _read(model: Detector, path: str, asked: ReportOptions) -> tuple[Any, str]:
    """Return the table in a file, labels as text, and the name of the file."""
    from boreod.tables import read_table
    from boreod.tables.training import name_source

    given = asked.reading or {}
    label = asked.label or model.preparation_.label_
    as_text = {} if label is None else {label: "text"}
    types = {**as_text, **given.get("types", {}), **types_to_read(model.preparation_)}
    options = {**given, "types": types, "since": model.preparation_.since_}
    options["computed"] = types_to_read(model.preparation_)
    return read_table(path, **options), name_source(path)


def _codes(model: Detector, table: Any, asked: ReportOptions, shown: str) -> Any:
    """Return the labels of rows; a model that was fitted without labels needs none."""
    n_rows = len(table)
    assume = settings_of(model).assumes_inliers
    outlier_label = asked.outlier_label
    if outlier_label is None:
        outlier_label = model.outlier_label
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


def _judge_previous(previous: Any, table: Any, codes: Any) -> Previous:
    """Return an older model, judged on the same rows."""
    name = "the previous model"
    if isinstance(previous, str | PathLike):
        from boreod.persistence import load

        name, previous = Path(previous).stem, load(previous)
    try:
        return Previous(name, gather(previous, table, codes))
    except ValueError as error:
        raise ValueError(f"The previous model cannot judge this table. {error}") from None


def _find_times(model: Detector, table: Any, asked: str | None) -> Times | None:
    """Return when rows happened: by the column that is asked for, or the first one of dates."""
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
    """Return a text for each row, None where the table lacks a column of ids."""
    if not names or not set(names) <= set(getattr(table, "column_names", ())):
        return None
    cells = [table[name].to_pylist() for name in names]
    return [
        ", ".join("" if cell is None else str(cell) for cell in row)
        for row in zip(*cells, strict=True)
    ]
