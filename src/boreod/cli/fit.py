"""``boreod fit``."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.cli.app import plain_errors
from boreod.cli.options import (
    Decimal,
    Encoding,
    Format,
    Json,
    NoHeader,
    Quiet,
    Separator,
    Table,
    Text,
    all_names,
    read_amount,
    reading_options,
)


@plain_errors
def fit(
    table: Table,
    label: Annotated[str, typer.Option(help="Column of labels; empty cells are unlabelled.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file; TABLE.boreod here if not given."),
    ] = None,
    outlier_label: Annotated[
        str | None, typer.Option(help="The label of outliers, if not 1, true or yes.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Columns that name rows, not learned from.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Columns to leave out.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="The only columns to learn from.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="To score one row: a time such as 200us, or units of --costs such as 300; "
            "no limit if not given."
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Of columns: measured:shared (times, remembered from earlier fits), "
            "measured:additive, fresh (times, measured again), complexity:shared, "
            "complexity:additive (units), or a JSON file such as "
            '{"lof": 50, "knn_10": 20, "amount": 3} (units).'
        ),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="A probability, or fpr:0.01, alerts:20, precision:0.8.")
    ] = "0.5",
    reference_size: Annotated[
        int | None,
        typer.Option(min=2, help="Learn from so many rows: all outliers and a sample of others."),
    ] = None,
    neighbors: Annotated[str, typer.Option(help="Search: auto, brute or tree.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all cores.")] = -1,
    separator: Separator = None,
    no_header: NoHeader = False,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    format: Format = None,  # noqa: A002
    text: Text = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a table with a few labelled outliers, and write one model file.

    Options that name columns may be repeated, or have commas between names.

    Example: boreod fit payments.csv --label fraud --id id --budget 200us -o fraud.boreod
    """
    from boreod.cli.facts import print_fit
    from boreod.cli.prices import read_costs
    from boreod.table_model import TableModel, fit_table
    from boreod.table_model.fitting import name_source
    from boreod.table_model.model import check_model_path
    from boreod.tables import open_table, read_table

    if output is None:
        if table == "-":
            raise typer.BadParameter("A table from a pipe has no name: name the model file (-o).")
        output = Path(name_source(table).partition(".")[0] + ".boreod")
    check_model_path(output, [] if table == "-" else [table])
    prices, limit = read_costs(costs), read_amount(budget)
    reading = reading_options(separator, no_header, encoding, decimal, format, text)
    reading["types"] = {label: "text", **reading["types"]}
    source: Any = table
    if table == "-":
        source = read_table(table, **reading)
        known = source.column_names
    else:
        with open_table(table, **reading) as reader:
            known = reader.schema.names
    model = fit_table(
        source,
        label=label,
        outlier_label=outlier_label,
        ids=all_names(ids, known) or (),
        drop=all_names(drop, known) or (),
        keep=all_names(keep, known),
        name=name_source(table),
        reading=reading,
        neighbors=neighbors,
        reference_size=reference_size,
        budget=limit,
        costs=prices,
        threshold=read_amount(threshold),
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    model.save(output)
    shown = shlex.quote(str(output))
    advice = [f"boreod score {shown} new.csv -o scored.csv", f"boreod info {shown}"]
    if table != "-":
        advice.append(f"boreod report {shown} {shlex.quote(table)} -o report.html")
    print_fit(TableModel.load(output), output, advice, json=json, quiet=quiet)
