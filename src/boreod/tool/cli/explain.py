"""``boreod explain``."""

from typing import Annotated, Any

import typer

from boreod.tool.cli import options
from boreod.tool.cli.app import cell, plain_errors, print_json, print_table
from boreod.tool.cli.options import reads_table, split_names


@plain_errors
@reads_table
def explain(
    model: options.ModelFile,
    table: options.Table,
    top: Annotated[int, typer.Option(min=1, help="So many of the most suspicious rows.")] = 20,
    row: Annotated[
        list[int] | None, typer.Option(min=1, help="A row by its number from 1, in their place.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="Columns that name rows; those of the fit if not given."),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="A row by its name, the value of an id column.")
    ] = None,
    reasons: Annotated[int, typer.Option(min=1, max=100, help="Number of reasons a row.")] = 5,
    numbers: options.Numbers = False,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the most suspicious rows of a table, or single ones, and why they are suspicious.

    A reason is a value beside those of normal rows, what scores see in a row's neighborhood, or a
    known outlier that is near. With --numbers it is what a column, or all scores of one family,
    adds to the log-odds. Rows unlike all training rows are novel and come first.

    Example: boreod explain fraud.boreod new.csv --top 20
    """
    from boreod.tables import open_table
    from boreod.tool import explain_rows, explain_top, load_predictor
    from boreod.tool.scoring.scoring import Scoring
    from boreod.tool.scoring.writing import BATCH_ROWS

    loaded = load_predictor(model, jobs)
    names = tuple(split_names(ids) or loaded.ids_)
    reading = Scoring(loaded, names).reading(reading)
    wanted: dict[str, Any] = {"ids": names, "reasons": reasons, "novelty": not no_novelty}
    with open_table(table, batch_rows=BATCH_ROWS, **reading) as batches:
        if row or case:
            found = explain_rows(loaded, batches, rows=row or (), cases=case or (), **wanted)
        else:
            found = explain_top(loaded, batches, top, **wanted, verbose=not quiet)
    if json:
        print_json([item.to_dict() for item in found])
        return
    _print(found, names, numbers)
    if not quiet:
        told = (
            "A reason is what it adds to the log-odds, against the mean of the inliers."
            if numbers
            else "Normal rows are training rows that are not labelled outlier; --numbers tells "
            "what each column adds to the log-odds."
        )
        typer.echo(told, err=True)


def _print(found: list[Any], ids: tuple[str, ...], numbers: bool) -> None:
    from boreod.tool.scoring.scoring import write_reason

    lines = []
    for item in found:
        told = [item.outside, *item.words]
        if numbers:
            told = [item.novel, item.outside, *(write_reason(*pair) for pair in item.reasons)]
        reasons = ("; " if not numbers else ", ").join(cell(text) for text in told if text)
        lines.append(
            [
                str(item.row),
                *(cell(item.ids[name]) for name in ids),
                f"{item.probability:.4f}",
                "yes" if item.outlier else "no",
                reasons,
            ]
        )
    print_table(["row", *(cell(name) for name in ids), "probability", "outlier", "reasons"], lines)
