"""``boreod score``."""

import time
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated, Any

import typer

from boreod.text import count_of
from boreod.tool.cli import options
from boreod.tool.cli.app import note, plain_errors, print_json
from boreod.tool.cli.options import read_amount, reads_table, split_names

ENGINES = ("threads", "dask")


@plain_errors
@reads_table
def score(
    model: options.ModelFile,
    table: options.Table,
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
    numbers: options.Numbers = False,
    threshold: Annotated[
        str | None, typer.Option(help="As in `boreod fit`; that of the model if not given.")
    ] = None,
    alerts: Annotated[
        int | None,
        typer.Option(min=1, help="So many rows of this table are alerts, those of rank 1 on."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", help="Columns that name rows, carried through; those of the fit if not given."
        ),
    ] = None,
    no_ids: Annotated[
        bool, typer.Option("--no-ids", help="Number the rows, carry nothing through.")
    ] = False,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Carry all columns through.")
    ] = False,
    no_novelty: options.NoNovelty = False,
    engine: Annotated[
        str, typer.Option(help="threads, or dask: Parquet in chunks, on a cluster.")
    ] = "threads",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Of dask, one core each; all cores if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask cluster that is running, such as tcp://..."),
    ] = None,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Give every row of a table of any size a probability, a rank and a decision.

    The output has the id columns, or else row numbers; `probability`, `rank` (1 is the most
    suspicious row, novel rows before others), `outlier` (above the threshold, or novel), `novelty`
    (share of the training rows that are less isolated), `outside` (columns outside the range of
    the training rows), and `reason_1` and so on: what speaks most for an outlier. With --alerts 20
    exactly twenty rows of this table are alerts, novel ones first; of equal ones those that come
    first. What `boreod check` would find is noted. A folder of Parquet files can be scored into a
    folder with the same files: -o scores/

    Example: boreod score fraud.boreod new.csv -o scored.csv --reasons 3
    """
    if sum([bool(ids), no_ids, all_columns]) > 1:
        raise typer.BadParameter("--id, --no-ids and --all-columns exclude each other.")
    if alerts is not None and threshold is not None:
        raise typer.BadParameter("--alerts and --threshold exclude each other.")
    _check_engine(engine, workers, scheduler, jobs)
    from boreod.parallel import dask
    from boreod.tool import load_predictor, score_folder, score_table
    from boreod.tool.scoring.folders import is_folder_name

    started = time.perf_counter()
    loaded = load_predictor(model, jobs)
    with dask(scheduler, workers) if engine == "dask" else nullcontext():
        in_chunks = engine != "threads" or is_folder_name(output)
        found = (score_folder if in_chunks else score_table)(
            loaded,
            table,
            output,
            carry=() if no_ids else split_names(ids),
            all_columns=all_columns,
            reasons=reasons,
            top=top,
            threshold=read_amount(threshold) if alerts is None else f"alerts:{alerts}",
            numbers=numbers,
            novelty=not no_novelty,
            reading=reading,
            verbose=not quiet,
        )
    for remark in () if quiet else found.notes:
        note(remark)
    _print(found, output, time.perf_counter() - started, json, quiet)


def _print(found: Any, output: str, seconds: float, json: bool, quiet: bool) -> None:
    to_screen = output == "-"  # there the table itself is
    if json:
        print_json({**asdict(found), "output": output, "seconds": seconds}, err=to_screen)
        return
    if quiet:
        return
    share = f"{found.outliers / max(1, found.rows):.2%}"
    verb = "is an alert" if found.outliers == 1 else "are alerts"
    rows = count_of(found.rows, "row")
    counted = f"{rows} in {seconds:.1f} s; {found.outliers:,} ({share}) {verb}: "
    if found.asked is None:
        novel = "" if found.novel is None else f", or novel ({found.novel})"
        told = f"probability above {found.threshold:.4g}{novel}."
    else:
        novel = f"novel rows first ({found.novel}), " if found.novel else ""
        told = f"as many rows of this table as you asked for, {novel}the most suspicious ones."
    typer.echo(counted + told, err=to_screen)
    if not to_screen:
        files = f" in {found.files} files" if found.files > 1 else ""
        typer.echo(f"Scores: {output} ({count_of(found.written, 'row')}{files})")


def _check_engine(
    engine: str, workers: int | None, scheduler: str | None, jobs: int | None
) -> None:
    if engine not in ENGINES:
        words = f"--engine is {' or '.join(ENGINES)}; got {engine!r}."
    elif engine == "threads" and (workers, scheduler) != (None, None):
        words = "--workers and --scheduler are of --engine dask."
    elif workers is not None and scheduler is not None:
        words = "--workers and --scheduler exclude each other."
    elif engine == "dask" and jobs is not None:
        words = "--jobs is of --engine threads; dask has --workers."
    else:
        return
    raise typer.BadParameter(words)
