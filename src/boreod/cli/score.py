"""``boreod score``."""

import time
from typing import Annotated, Any

import typer

from boreod.cli.app import note, plain_errors
from boreod.cli.engines import chosen_engine
from boreod.cli.options import (
    Decimal,
    Encoding,
    EngineName,
    Format,
    Jobs,
    Json,
    ModelFile,
    NoHeader,
    NoNovelty,
    Quiet,
    Scheduler,
    Separator,
    Table,
    Text,
    Workers,
    all_names,
    read_amount,
    reading_options,
)


@plain_errors
def score(
    model: ModelFile,
    table: Table,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The name tells the format; a name without suffix is a new folder of Parquet "
            "files; - for CSV on the screen.",
        ),
    ] = "-",
    reasons: Annotated[int, typer.Option(min=0, max=100, help="Number of reasons a row.")] = 0,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only so many of the most suspicious rows, by rank.")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(help="As in `boreod fit`; that of the model if not given.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="Columns to carry through; those of the fit if not given."),
    ] = None,
    no_ids: Annotated[
        bool, typer.Option("--no-ids", help="Number the rows, carry nothing through.")
    ] = False,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Carry all columns through.")
    ] = False,
    no_novelty: NoNovelty = False,
    engine: EngineName = "threads",
    workers: Workers = None,
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    format: Format = None,  # noqa: A002
    text: Text = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give every row of a table of any size a probability, a rank and a decision.

    The output has the id columns, or else row numbers; `probability`, `rank` (1 is the most
    suspicious row, novel rows before others), `outlier` (above the threshold, or novel), `novelty`
    (share of the training rows that are less isolated), `outside` (columns outside the range of
    the training rows), and `reason_1` and so on: what moved the log-odds most. A folder of Parquet
    files can be scored into a folder with the same files: -o scores/

    Example: boreod score fraud.boreod new.csv -o scored.csv --reasons 3
    """
    if sum([bool(ids), no_ids, all_columns]) > 1:
        raise typer.BadParameter("--id, --no-ids and --all-columns exclude each other.")
    from boreod.table_model import TableModel, score_folder, score_table
    from boreod.table_model.unfinished import is_folder_name

    started = time.perf_counter()
    wanted: dict[str, Any] = {
        "carry": () if no_ids else None if ids is None else tuple(all_names(ids) or ()),
        "all_columns": all_columns,
        "reasons": reasons,
        "top": top,
        "threshold": read_amount(threshold),
        "novelty": not no_novelty,
        "reading": reading_options(separator, no_header, encoding, decimal, format, text),
        "verbose": not quiet,
    }
    loaded = TableModel.load(model, jobs)
    with chosen_engine(engine, workers, scheduler, jobs):
        in_pieces = engine != "threads" or is_folder_name(output)
        found = (score_folder if in_pieces else score_table)(loaded, table, output, **wanted)
    for remark in () if quiet else found.notes:
        note(remark)
    to_screen = output == "-"  # there the table itself is
    seconds = time.perf_counter() - started
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps({**asdict(found), "output": output, "seconds": seconds}), err=to_screen)
    elif not quiet:
        share = f"{found.outliers / found.rows:.2%}"
        novel = "" if found.novel is None else f", or novel ({found.novel})"
        typer.echo(
            f"{found.rows} rows in {seconds:.1f} s; {found.outliers} ({share}) are alerts: "
            f"probability above {found.threshold:.4g}{novel}.",
            err=to_screen,
        )
        if not to_screen:
            files = f" in {found.files} files" if found.files > 1 else ""
            typer.echo(f"Scores: {output} ({found.written} rows{files})")
