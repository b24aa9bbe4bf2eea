"""``boreod evaluate``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.cli import options
from boreod.cli.app import plain_errors, print_json, print_notes, stop_with_journal
from boreod.cli.info import print_preparation
from boreod.cli.options import reads_table, split_names


@plain_errors
@reads_table
def evaluate(
    table: options.Table,
    label: options.Label,
    outlier_label: options.OutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    since: options.Since = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of tables, picture and report.")
    ] = Path("results"),
    methods: Annotated[
        str | None,
        typer.Option(help="Names, separated by commas; all installed ones if not given."),
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="Times per row such as 20us,1ms; 'none' for no budgets.")
    ] = None,
    batch: options.Batch = None,
    method: Annotated[
        str, typer.Option(help="What keeps to budgets and reference sizes: detector or bore.")
    ] = "detector",
    reference_sizes: Annotated[
        str | None,
        typer.Option(help="Rows to learn from, such as 1000,5000: what does that lose?"),
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Number of splits.")] = 10,
    transductive: Annotated[
        bool, typer.Option("--transductive", help="Judged rows are unlabelled rows of the fit.")
    ] = False,
    *,
    reading: dict[str, Any],
    jobs: options.Processes = -1,
    seed: Annotated[int, typer.Option(help="Of splits and methods.")] = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods and budgets on an own table: which to take, with error bars.

    Every method learns from the same 60 % of the labelled rows and is judged on the others, in
    several splits. What columns become is learned from these 60 % too. A run that was stopped goes
    on where it was when the same command is given again.

    Example: boreod evaluate payments.csv --label fraud --id id --methods be --budgets none
    """
    from boreod.documents import to_markdown, to_page
    from boreod.evaluation import Journal, TableRows, compare_methods
    from boreod.evaluation.presentation import present
    from boreod.files import write_text
    from boreod.table_model.fitting import name_source, read_only
    from boreod.tables import Preparation, read_label_column, read_table
    from boreod.tables.labels import label_options
    from boreod.text import count_of, shorten, suggest

    sizes = _read_numbers(reference_sizes)
    reading |= {"since": since or ()}
    reading |= label_options(label, ids or (), labels, outlier_label, inlier_label)
    rows = read_table(table, **read_only(reading, label, ids or (), drop or (), keep or None))
    if label not in rows.column_names:
        close = suggest(label, rows.column_names)
        raise ValueError(f"There is no column {shorten(label)} of labels. {close}")
    codes = read_label_column(rows[label], outlier_label, name=label)
    roles = {"label": label, "ids": ids or (), "keep": keep or None, "decimal": reading["decimal"]}
    preparation = Preparation().fit(rows, codes, **roles)
    if not quiet:
        print_preparation([row._asdict() for row in preparation.summary_], err=True)
        print_notes(preparation.notes_)
    try:
        found = compare_methods(
            TableRows(rows, roles),
            codes,
            split_names(methods),
            [] if budgets == "none" else split_names(budgets),
            method=method,
            batch_size=batch,
            reference_sizes=sizes,
            repetitions=repetitions,
            protocol="transductive" if transductive else "unseen",
            n_jobs=jobs,
            seed=seed,
            journal=Journal(output / "runs.jsonl"),
            verbose=not quiet,
        )
    except KeyboardInterrupt:
        stop_with_journal(output / "runs.jsonl")
    counts = [int((codes == code).sum()) for code in (1, 0, -1)]
    about = (
        f"{name_source(table)}: {count_of(counts[0], 'outlier')}, {count_of(counts[1], 'inlier')}, "
        f"{count_of(counts[2], 'unlabelled row')}; columns of numbers: {len(preparation.names_)}."
    )
    section = present(found, about, output)
    write_text(output / "comparison.md", to_markdown(section, level=1))
    write_text(output / "comparison.html", to_page("Comparison", [section]))
    if json:
        print_json(_all_results(found))
        return
    typer.echo(to_markdown(section, level=1))
    typer.echo(f"Files: {output / 'comparison.html'}, {output / 'comparison.md'}")


def _read_numbers(text: str | None) -> list[int]:
    try:
        numbers = [int(name) for name in split_names(text) or []]
    except ValueError:
        numbers = []
    if text is not None and not numbers:
        raise typer.BadParameter(
            f"--reference-sizes are numbers of rows such as 1000,5000; got {text!r}."
        )
    return numbers


def _all_results(found: Any) -> dict[str, Any]:
    """Return results as JSON can hold them; one split has no error."""
    losses = {
        size: {"mean": loss.mean, "error_of_mean": loss.error if loss.count > 1 else None}
        for size, loss in found.reference_losses.items()
    }
    return {
        "methods": found.runs,
        "budgets": found.budget_runs,
        "references": found.reference_runs,
        "reference_losses": losses,
        "advice": found.advice(),
    }
