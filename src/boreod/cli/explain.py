"""``boreod explain``."""

from typing import Annotated, Any

import typer

from boreod.cli import options
from boreod.cli.app import cell, plain_errors, print_json, print_table
from boreod.cli.options import reading_options, split_names


@plain_errors
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
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    separator: options.Separator = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    format: options.Format = None,  # noqa: A002
    text: options.Text = None,
    bad_cells: options.BadCells = "missing",
    query: options.Query = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the most suspicious rows of a table, or single ones, and why they are suspicious.

    A reason is what a column, or all scores of one family, adds to the log-odds of a row, compared
    with the mean inlier. Rows unlike all training rows are novel and come first.

    Example: boreod explain fraud.boreod new.csv --top 20
    """
    from boreod.table_model import explain_rows, explain_top, load
    from boreod.table_model.scoring import Scoring
    from boreod.table_model.writing import BATCH_ROWS
    from boreod.tables import open_table

    loaded = load(model, jobs)
    given = reading_options(
        separator, no_header, encoding, decimal, format, text, bad_cells=bad_cells, query=query
    )
    names = tuple(split_names(ids) or loaded.ids_)
    reading = Scoring(loaded, names).reading(given)
    wanted: dict[str, Any] = {"ids": names, "reasons": reasons, "novelty": not no_novelty}
    with open_table(table, batch_rows=BATCH_ROWS, **reading) as batches:
        if row or case:
            found = explain_rows(loaded, batches, rows=row or (), cases=case or (), **wanted)
        else:
            found = explain_top(loaded, batches, top, **wanted, verbose=not quiet)
    if json:
        print_json([item.to_dict() for item in found])
        return
    _print(found, names)
    if not quiet:
        typer.echo(
            "A reason is what it adds to the log-odds, against the mean of the inliers.", err=True
        )


def _print(found: list[Any], ids: tuple[str, ...]) -> None:
    from boreod.table_model.scoring import write_reason

    lines = [
        [
            str(item.row),
            *(cell(item.ids[name]) for name in ids),
            f"{item.probability:.4f}",
            "yes" if item.outlier else "no",
            ", ".join(
                [
                    *(cell(words) for words in (item.novel, item.outside) if words is not None),
                    *(cell(write_reason(*reason)) for reason in item.reasons),
                ]
            ),
        ]
        for item in found
    ]
    print_table(["row", *(cell(name) for name in ids), "probability", "outlier", "reasons"], lines)
