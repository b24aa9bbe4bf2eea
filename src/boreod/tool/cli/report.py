"""``boreod report``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.tool.cli import options
from boreod.tool.cli.app import plain_errors, print_json
from boreod.tool.cli.options import labels_of_model, reads_table


@plain_errors
@reads_table
def report(
    model: options.ModelFile,
    table: options.Table,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, one HTML file.")] = Path(
        "report.html"
    ),
    label: Annotated[
        str | None, typer.Option(help="Column of labels, if not that of the fit.")
    ] = None,
    outlier_label: options.OtherOutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    rows_per_day: Annotated[
        float | None, typer.Option(help="To tell alerts a day, not per 1000 rows.")
    ] = None,
    alerts: Annotated[
        float | None,
        typer.Option(help="Alerts looked at in a day (--rows-per-day), or in a table like this."),
    ] = None,
    cost_miss: Annotated[
        float | None, typer.Option(help="What an outlier costs that nobody looks at, in money.")
    ] = None,
    cost_alert: Annotated[
        float | None, typer.Option(help="What it costs to look at a row, in money.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="An older model file to put beside this one.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column of dates; the first one if not given.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals, samples and maps.")] = 0,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page about a model, one file: a verdict, quality, alerts, suspects, columns, prices.

    Give the table that the model was fitted to: its rows are judged out of bag. Other labelled rows
    are judged by the model's predictions, and the page says so.

    Example: boreod report fraud.boreod payments.csv -o report.html
    """
    from boreod.tables.writer import check_target
    from boreod.text import show_bytes
    from boreod.tool import load
    from boreod.tool.scoring.fitting import name_source

    check_target(output, [model, table])
    loaded = load(model, jobs)
    loaded.report(
        output,
        table,
        label=label,
        outlier_label=outlier_label,
        title=title or f"{model.stem}: report on {name_source(table)}",
        rows_per_day=rows_per_day,
        alerts=alerts,
        cost_miss=cost_miss,
        cost_alert=cost_alert,
        previous=previous,
        time=time,
        seed=seed,
        reading=reading | labels_of_model(loaded, label, labels, outlier_label, inlier_label),
        verbose=not quiet,
    )
    size = output.stat().st_size
    if json:
        print_json({"file": str(output), "bytes": size})
    else:
        typer.echo(f"Report: {output} ({show_bytes(size)})")
