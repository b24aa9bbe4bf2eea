"""``boreod check``, ``boreod compare`` and ``boreod report``, which judge tables and models."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from boreod.text import count_of
from boreod.tool.cli import options
from boreod.tool.cli.app import cell, note, plain_errors, print_json, print_table

# The fields of `boreod.tool.Limits`, in the same order.
LIMITS: options.OptionTable = {
    "max_missing": (
        float, 0.05, "Largest share of missing values in a column, above that of training.", 0, 1
    ),
    "max_unseen": (float, 0.01, "Largest share of rows with new words in a column.", 0, 1),
    "max_outside": (
        float, 0.02, "Largest share of rows outside the training range of a column.", 0, 1
    ),
    "max_shift": (
        float, 0.25, "Largest distance of a column's distribution from training (Kolmogorov).", 0, 1
    ),
    "max_alerts": (float, 3.0, "Largest factor by which alerts may be more or less frequent.", 1),
    "max_novel": (float, 0.01, "Largest share of rows unlike all training rows.", 0, 1),
}  # fmt: skip
# Options that a report takes unchanged.
PAGE: options.OptionTable = {
    "rows_per_day": (
        float | None,
        None,
        "Number of rows a day; alerts are then counted per day, not per 1000 rows.",
    ),
    "alerts": (
        float | None,
        None,
        "Number of alerts that people look at: per day (--rows-per-day), or in a table like this.",
    ),
    "cost_miss": (float | None, None, "Cost of an outlier that nobody looks at."),
    "cost_alert": (float | None, None, "Cost of looking at a row."),
    "previous": (Path | None, None, "An older model file to compare with."),
    "time": (str | None, None, "Column of dates; by default the first one."),
}


@plain_errors
@options.reads_table
@options.takes("repairs", options.REPAIRS)
@options.takes("limits", LIMITS)
def check(
    model: options.ModelFile,
    table: options.Table,
    *,
    limits: dict[str, Any],
    threshold: options.Threshold = None,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    repairs: dict[str, Any],
    keep: Annotated[
        bool,
        Option(
            "--keep-repairs",
            help="Keep --rename and --scale in a file beside the model; later commands use it.",
        ),
    ] = False,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Check whether a new table is like the training table, and print every difference.

    The command looks for columns that are gone, renamed or new, and compares missing values, words,
    ranges, units, distributions, alerts and novel rows. A difference counts if it is above its
    limit and larger than chance explains. The exit code is 0 if no difference counts, 3 if one
    does, and 1 if the table cannot be read. `boreod score` prints the same differences as notes.
    With --rename and --scale, the table is checked as repaired.

    Example: boreod check fraud.boreod new.csv
    """
    from boreod.tool import Limits, check_table, load_predictor

    chosen = Limits(*limits.values())
    if keep and not any(repairs.values()):
        raise typer.BadParameter(
            "--keep-repairs keeps --rename and --scale, and there are none. To use no repairs "
            f"again, remove {options.repairs_path(model)}."
        )
    loaded = load_predictor(model, jobs)
    used = options.read_repairs(model, repairs)
    found = check_table(
        loaded,
        table,
        limits=chosen,
        threshold=options.read_amount(threshold),
        novelty=not no_novelty,
        reading=reading | used,
        verbose=not quiet,
    )
    alarms = sum(finding.is_alarm for finding in found.findings)
    if keep and alarms:
        note("The repairs are not kept, because the table differs in spite of them.")
    elif keep:
        kept = options.keep_repairs(model, used)
        note(f"Later commands with this model use the repairs in {kept}.")
    if json:
        print_json(
            {
                **asdict(found),
                "findings": [finding._asdict() for finding in found.findings],
                "limits": asdict(chosen),
            }
        )
    else:
        for finding in found.findings:
            typer.echo(f"{'' if finding.is_alarm else '(note) '}{cell(finding.text)}")
        if not alarms and not quiet:
            verb = "is" if found.rows == 1 else "are"
            like = f"{count_of(found.rows, 'row')} {verb} like the training rows."
            typer.echo(like if found.rows else "The table has no rows to compare with training.")
    if alarms:
        raise typer.Exit(options.FOUND)


@plain_errors
@options.reads_table
def compare(
    old: Annotated[Path, Argument(help="A model file.", metavar="OLD")],
    new: Annotated[Path, Argument(help="Another model file.", metavar="NEW")],
    table: options.Table,
    label: Annotated[
        str | None, Option(help="Column of labels; by default the new model's column of labels.")
    ] = None,
    outlier_label: options.OtherOutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    alerts: Annotated[
        int | None,
        Option(min=1, help="Number of alerts of each model; by default, thresholds decide."),
    ] = None,
    changes: Annotated[
        int, Option(min=0, help="Number of rows to list whose decisions differ.")
    ] = 20,
    seed: options.Seed = 0,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare two models on a labelled table: which is better, and which decisions differ.

    Differences have paired 95 % intervals: both models are judged on the same resamples of rows.
    Rows that a model has learned from are judged by its out-of-bag scores, and a note says so.

    Example: boreod compare old.boreod new.boreod labelled.csv
    """
    from boreod.tool import CompareOptions, compare_models, load_predictor

    second = load_predictor(new, jobs)
    found = compare_models(
        load_predictor(old, jobs),
        second,
        table,
        CompareOptions(label, outlier_label, alerts, changes, not no_novelty, seed),
        reading=reading | _labels_option(second, label, labels, outlier_label, inlier_label),
        verbose=not quiet,
    )
    if json:
        print_json(found.to_dict())
        return
    for remark in () if quiet else found.notes:
        note(remark)
    _print_comparison(found, [str(old), str(new)], second.preparation_.ids_)


def _labels_option(
    model: Any,
    label: str | None,
    labels: str | None,
    outlier_label: str | None,
    inlier_label: str | None,
) -> dict[str, Any]:
    """Return the option of ``boreod.tables.open_table`` for labels that judge a model.

    A name that is not given is taken from the fit of the model.
    """
    from boreod.tables.preparing.labels import label_options

    name = label or model.preparation_.label_
    outlier = outlier_label or model.outlier_label
    return label_options(name, model.preparation_.ids_, labels, outlier, inlier_label)


def _print_comparison(found: Any, models: list[str], ids: tuple[str, ...]) -> None:
    """Print measures, alerts, and the rows whose decisions differ."""
    typer.echo(
        f"{count_of(found.rows, 'row')}; {count_of(found.outliers, 'outlier')} and "
        f"{count_of(found.inliers, 'inlier')} judge the models"
    )
    lines = []
    for name, measure in found.measures.items():
        both = [f"{measure.second:.4f}", f"{measure.first:.4f}"]
        interval = f"({measure.low:+.4f} to {measure.high:+.4f})"
        lines.append([name, *both, f"{measure.first - measure.second:+.4f} {interval}"])
    lines.append(["alerts", *map(str, found.alerts), f"{found.alerts[1] - found.alerts[0]:+d}"])
    if found.measures:
        caught = [f"{number} of {found.outliers}" for number in found.caught]
        lines.append(["outliers caught", *caught, f"{found.caught[1] - found.caught[0]:+d}"])
    print_table(["", *map(cell, models), "new - old (95 % interval)"], lines)
    if found.verdict is not None:
        typer.echo(found.verdict)
    typer.echo(f"\nAlerts of one model only: {count_of(found.changed, 'row')}.")
    rows = []
    for change in found.changes:
        named = [cell(change.ids.get(name)) for name in ids]
        named += [change.label or "", f"{change.old:.4f}", f"{change.new:.4f}"]
        rows.append([str(change.row), *named, "an alert" if change.is_alert else "no alert"])
    if rows:
        print_table(["row", *map(cell, ids), "label", "old", "new", "is now"], rows)
    if found.changed > len(rows):
        left = found.changed - len(rows)
        typer.echo(f"... and {left} more (--changes {found.changed} lists all)")


@plain_errors
@options.reads_table
@options.takes("page", PAGE)
def report(
    model: options.ModelFile,
    table: options.Table,
    output: Annotated[
        Path, Option("--output", "-o", readable=False, help="The page to write, one HTML file.")
    ] = Path("report.html"),
    label: Annotated[
        str | None, Option(help="Column of labels; by default the model's column of labels.")
    ] = None,
    outlier_label: options.OtherOutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    *,
    page: dict[str, Any],
    title: Annotated[str | None, Option(help="Title of the page.")] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML file about a model: verdict, quality, alerts, suspects, columns, prices.

    Pass the table that the model was fitted to: its rows are judged out of bag. Other labelled rows
    are judged by the model's predictions, and the page says so.

    Example: boreod report fraud.boreod payments.csv -o report.html
    """
    from boreod import load
    from boreod.tables.training import name_source
    from boreod.tables.writer import check_target
    from boreod.text import show_bytes

    check_target(output, [model, table])
    loaded = load(model, jobs)
    loaded.report(
        output,
        table,
        label=label,
        outlier_label=outlier_label,
        title=title or f"{model.stem}: report on {name_source(table)}",
        **page,
        seed=seed,
        reading=reading | _labels_option(loaded, label, labels, outlier_label, inlier_label),
        verbose=not quiet,
    )
    size = output.stat().st_size
    if json:
        print_json({"file": str(output), "bytes": size})
    else:
        typer.echo(f"Report: {cell(output)} ({show_bytes(size)})")
