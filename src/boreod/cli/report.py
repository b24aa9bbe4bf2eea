"""``boreod report``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.cli import options
from boreod.cli.app import plain_errors, print_json
from boreod.cli.options import reading_options


@plain_errors
def report(
    model: options.ModelFile,
    table: options.Table,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, one HTML file.")] = Path(
        "report.html"
    ),
    label: Annotated[
        str | None, typer.Option(help="Column of labels, if not that of the fit.")
    ] = None,
    outlier_label: Annotated[
        str | None, typer.Option(help="The label of outliers, if not that of the fit.")
    ] = None,
    rows_per_day: Annotated[
        float | None, typer.Option(help="To tell alerts a day, not per 1000 rows.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals, samples and maps.")] = 0,
    jobs: options.Jobs = None,
    separator: options.Separator = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.Decimal = ".",
    format: options.Format = None,  # noqa: A002
    text: options.Text = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page about a model: quality, alerts, suspects, columns; it needs no network.

    Give the table that the model was fitted to: its rows are judged out of bag. Other labelled rows
    are judged by the model's predictions, and the page says so.

    Example: boreod report fraud.boreod payments.csv -o report.html
    """
    from boreod.files import write_text
    from boreod.report import make_report
    from boreod.table_model import TableModel
    from boreod.table_model.fitting import name_source
    from boreod.tables import read_table
    from boreod.tables.writer import check_target
    from boreod.text import show_bytes

    check_target(output, [model, table])
    loaded = TableModel.load(model, jobs)
    label = label or loaded.preparation.label_
    reading = reading_options(separator, no_header, encoding, decimal, format, text, label)
    reading["types"] |= loaded.preparation.types_
    rows = read_table(table, **reading)
    outliers = outlier_label or loaded.outlier_label
    page = make_report(
        loaded.detector,
        loaded.preparation.transform(rows),
        _codes(rows, label, outliers, loaded.detector, table),
        title=title or f"{model.stem}: report on {name_source(table)}",
        names=loaded.preparation.names_,
        ids=_ids(rows, loaded.ids),
        prepared=loaded.preparation.summary_,
        budget_curve=loaded.curve,
        rows_per_day=rows_per_day,
        seed=seed,
        verbose=not quiet,
    )
    write_text(output, page)
    size = output.stat().st_size
    if json:
        print_json({"file": str(output), "bytes": size})
    else:
        typer.echo(f"Report: {output} ({show_bytes(size)})")


def _codes(rows: Any, label: str | None, outlier_label: Any, detector: Any, table: str) -> Any:
    """Return the labels of rows; a model that was fitted without labels needs none."""
    import numpy as np

    from boreod.detector.words import ranks_only
    from boreod.tables import read_label_column
    from boreod.validation import UNLABELLED

    if label is None and ranks_only(detector.oob_):
        return np.full(rows.num_rows, UNLABELLED)
    if label is None or label not in rows.column_names:
        asked = "known column" if label is None else f"column {label!r}"
        raise ValueError(
            f"{table} has no {asked} of labels, which a report needs. Pass the table that "
            "the model was fitted to, or name another column: --label."
        )
    assume = detector.inliers == "assumed"
    return read_label_column(rows[label], outlier_label, name=label, assume=assume)


def _ids(rows: Any, names: tuple[str, ...]) -> list[str] | None:
    """Return a text for each row, None where the table lacks a column of ids."""
    if not names or not set(names) <= set(rows.column_names):
        return None
    cells = [rows[name].to_pylist() for name in names]
    return [
        ", ".join("" if cell is None else str(cell) for cell in row)
        for row in zip(*cells, strict=True)
    ]
