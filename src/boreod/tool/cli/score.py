"""``boreod score``, ``boreod explain`` and ``boreod compile``, which use a model."""

import os
import shutil
import time
import warnings
from contextlib import nullcontext
from dataclasses import asdict
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NoReturn

import typer
from typer import Argument, Option

from boreod.text import count_of, show_bytes
from boreod.tool.cli import options
from boreod.tool.cli.app import cell, note, plain_errors, print_json, print_table
from boreod.tool.cli.models import describe_file, print_columns, print_limits, read_costs


@plain_errors
@options.reads_table
@options.takes("repairs", options.REPAIRS)
def score(
    model: options.ModelFile,
    table: options.Table,
    output: Annotated[
        str,
        Option(
            "--output",
            "-o",
            help="Output file; its suffix gives the format. A name without suffix is a new folder "
            "of Parquet files; - prints CSV on the screen.",
        ),
    ] = "-",
    reasons: Annotated[int, Option(min=0, max=100, help="Number of reasons for every row.")] = 0,
    top: Annotated[
        int | None,
        Option(min=1, help="Number of rows to write, the most suspicious first; by default all."),
    ] = None,
    numbers: options.Numbers = False,
    threshold: options.Threshold = None,
    alerts: Annotated[
        int | None, Option(min=1, help="Number of alerts in this table: its most suspicious rows.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        Option("--id", help="Columns to copy to the output; by default the ids of the fit."),
    ] = None,
    no_ids: Annotated[bool, Option("--no-ids", help="Write row numbers in place of ids.")] = False,
    all_columns: Annotated[
        bool, Option("--all-columns", help="Copy all columns to the output.")
    ] = False,
    no_novelty: options.NoNovelty = False,
    engine: Annotated[
        str, Option(help="threads, or dask to score Parquet files on a cluster.")
    ] = "threads",
    workers: Annotated[
        int | None,
        Option(min=1, help="Number of Dask workers with one core each; by default one per core."),
    ] = None,
    scheduler: Annotated[
        str | None, Option(help="Address of a running Dask cluster, such as tcp://...")
    ] = None,
    jobs: options.Jobs = None,
    strict: Annotated[
        bool,
        Option(
            "--strict", help="Write nothing if `boreod check` would raise an alarm; exit with 3."
        ),
    ] = False,
    *,
    repairs: dict[str, Any],
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Give every row of a table of any size a probability, a rank and a decision.

    The output has the id columns, or else row numbers; `probability`; `rank` (1 is the most
    suspicious row; novel rows come first); `outlier` (above the threshold, or novel); `novelty`
    (the share of training rows that are less isolated than the row); `outside` (columns outside
    the range of the training rows); and `reason_1` and so on, the strongest reason first. With
    --alerts 20, exactly twenty rows of this table are alerts. Novel rows are chosen first, and of
    rows with the same score, the first in the table. Notes name the differences that `boreod check`
    would find, the most important first. If very many rows are novel, the table is unlike the
    training table: the probability alone then decides ranks and alerts. The scores of a folder of
    Parquet files can be a folder with the same file names: -o scores/

    Example: boreod score fraud.boreod new.csv -o scored.csv --reasons 3
    """
    if sum([bool(ids), no_ids, all_columns]) > 1:
        raise typer.BadParameter("--id, --no-ids and --all-columns exclude each other.")
    if alerts is not None and threshold is not None:
        raise typer.BadParameter("--alerts and --threshold exclude each other.")
    _check_engine(engine, workers, scheduler, jobs)
    from boreod.parallel import dask
    from boreod.tables.arrow import MissingColumnsError
    from boreod.tool import ScoreOptions, UnlikeTrainingError, load_predictor, score_table

    started = time.perf_counter()
    loaded = load_predictor(model, jobs)
    reading |= options.read_repairs(model, repairs)
    wanted = ScoreOptions(
        carry=() if no_ids else options.split_names(ids),
        all_columns=all_columns,
        reasons=reasons,
        top=top,
        threshold=options.read_amount(threshold) if alerts is None else f"alerts:{alerts}",
        novelty=not no_novelty,
        numbers=numbers,
    )
    try:
        with dask(scheduler, workers) if engine == "dask" else nullcontext():
            found = score_table(
                loaded, table, output, wanted, reading=reading, strict=strict, verbose=not quiet
            )
    except UnlikeTrainingError as error:
        _refuse(error.findings, json)
    except MissingColumnsError as error:
        if not strict:
            raise
        from boreod.tool.scoring.checking import check_columns_of

        _refuse(list(check_columns_of(loaded, error.known)), json)
    for remark in () if quiet else found.notes:
        note(remark)
    _print_summary(found, output, time.perf_counter() - started, json, quiet)


def _check_engine(
    engine: str, workers: int | None, scheduler: str | None, jobs: int | None
) -> None:
    is_dask = engine == "dask"
    for is_wrong, words in (
        (engine not in ("threads", "dask"), f"--engine is threads or dask; got {engine!r}."),
        (not is_dask and (workers, scheduler) != (None, None),
         "--workers and --scheduler need --engine dask."),
        (None not in (workers, scheduler), "--workers and --scheduler exclude each other."),
        (is_dask and jobs is not None, "--jobs needs --engine threads; with dask, use --workers."),
    ):  # fmt: skip
        if is_wrong:
            raise typer.BadParameter(words)


def _refuse(findings: list[Any], json: bool) -> NoReturn:
    """Say why a table is not scored, and end."""
    if json:
        print_json({"findings": [found._asdict() for found in findings], "written": 0}, err=True)
    else:
        for found in findings:
            note(found.text)
        text = "The table is unlike the training table, so nothing is written (--strict)."
        typer.echo(text, err=True)
    raise typer.Exit(options.FOUND) from None


def _print_summary(found: Any, output: str, seconds: float, json: bool, quiet: bool) -> None:
    # If the output is "-", the table goes to standard output, and messages to standard error.
    to_screen = output == "-"
    if json:
        findings = [finding._asdict() for finding in found.findings]
        facts = {**asdict(found), "findings": findings, "output": output, "seconds": seconds}
        print_json(facts, err=to_screen)
        return
    if quiet:
        return
    if found.warning is not None:
        typer.echo(found.warning, err=to_screen)
    comes_first = found.ranked_by == "novelty"
    if found.asked is None:
        novel = f", or novel ({found.novel})" if comes_first else ""
        why = f"probability above {found.threshold:.4g}{novel}"
    else:
        novel = f", novel rows ({found.novel}) first" if comes_first and found.novel else ""
        why = f"the most suspicious rows of this table (you asked for {found.asked:,}){novel}"
    share = f"{found.outliers / max(1, found.rows):.2%}"
    verb = "is an alert" if found.outliers == 1 else "are alerts"
    alerts = f"{found.outliers:,} ({share}) {verb}: {why}."
    typer.echo(f"{count_of(found.rows, 'row')} in {seconds:.1f} s; {alerts}", err=to_screen)
    if not to_screen:
        files = f" in {found.files} files" if found.files > 1 else ""
        typer.echo(f"Scores: {cell(output)} ({count_of(found.written, 'row')}{files})")


@plain_errors
@options.reads_table
@options.takes("repairs", options.REPAIRS)
def explain(
    model: options.ModelFile,
    table: options.Table,
    top: Annotated[
        int, Option(min=1, help="Number of rows to show, the most suspicious first.")
    ] = 20,
    row: Annotated[
        list[int] | None,
        Option(min=1, help="Number of a row to show instead, from 1; may be repeated."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        Option("--id", help="Columns that name rows; by default the ids of the fit."),
    ] = None,
    case: Annotated[
        list[str] | None, Option(help="Id of a row to show instead; may be repeated.")
    ] = None,
    reasons: Annotated[int, Option(min=1, max=100, help="Number of reasons for every row.")] = 5,
    numbers: options.Numbers = False,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    *,
    repairs: dict[str, Any],
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the most suspicious rows of a table, or single rows, and why they are suspicious.

    A reason compares a value with the values of normal rows, describes the row's neighborhood, or
    names a known outlier nearby. With --numbers, a reason is the contribution of a column, or of
    all scores of one family, to the log-odds. Rows unlike all training rows are novel and come
    first.

    Example: boreod explain fraud.boreod new.csv --top 20
    """
    from boreod.tables import open_table
    from boreod.tool import explain_rows, explain_top, load_predictor
    from boreod.tool.scoring.scoring import BATCH_ROWS, Scoring

    loaded = load_predictor(model, jobs)
    names = tuple(options.split_names(ids) or loaded.preparation_.ids_)
    reading = Scoring(loaded, names).reading(reading | options.read_repairs(model, repairs))
    asked: dict[str, Any] = {"ids": names, "reasons": reasons, "novelty": not no_novelty}
    with open_table(table, batch_rows=BATCH_ROWS, **reading) as batches:
        if row or case:
            found = explain_rows(loaded, batches, rows=row or (), cases=case or (), **asked)
        else:
            found = explain_top(loaded, batches, top, **asked, verbose=not quiet)
    if json:
        print_json([item.to_dict() for item in found])
        return
    _print_rows(found, names, numbers)
    text = (
        "Normal rows are training rows that are not labelled outlier; --numbers shows what each "
        "column adds to the log-odds."
    )
    if numbers:
        text = "A number is what a reason adds to the log-odds, compared with the mean inlier."
    if not quiet:
        typer.echo(text, err=True)


def _print_rows(found: list[Any], ids: tuple[str, ...], numbers: bool) -> None:
    """Print rows with their reasons, in words or as numbers."""
    from boreod.tool.scoring.judging import write_reason

    lines = []
    for item in found:
        reasons = [item.outside, *item.words]
        if numbers:
            reasons = [item.novel, item.outside, *(write_reason(*pair) for pair in item.reasons)]
        between = ", " if numbers else "; "
        shown = between.join(cell(text) for text in reasons if text)
        decision = "yes" if item.outlier else "no"
        named = [cell(item.ids[name]) for name in ids]
        lines.append([str(item.row), *named, f"{item.probability:.4f}", decision, shown])
    print_table(["row", *(cell(name) for name in ids), "probability", "outlier", "reasons"], lines)


@plain_errors
def narrow(
    model: options.ModelFile,
    budget: Annotated[
        str, Option(help="Largest cost of scoring one row, as in `boreod fit`, such as 50us.")
    ],
    output: Annotated[Path, Option("--output", "-o", readable=False, help="Model file to write.")],
    batch: options.Batch = None,
    costs: Annotated[
        str | None, Option(help="Costs as in `boreod fit`; by default those of the fit.")
    ] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a model that keeps to another budget; no neighbors are searched again.

    The model file must hold the columns of the training rows. Files of small
    tables do; for large tables, fit with --narrowable.

    Example: boreod narrow fraud.boreod --budget 50us -o fast.boreod
    """
    from boreod import load
    from boreod.tables.writer import check_target

    check_target(output, [model])
    narrowed = load(model, jobs).within(
        options.read_amount(budget), batch_size=batch, costs=read_costs(costs)
    )
    narrowed.save(output)
    facts = describe_file(narrowed, output)
    if json:
        print_json(facts)
        return
    if not quiet:
        print_columns(facts)
        print_limits(facts)
    typer.echo(f"Model: {facts['file']} ({show_bytes(facts['bytes'])})")


@plain_errors
def compile(  # noqa: A001
    model: Annotated[
        Path | None, Argument(exists=True, help="Compile only what this model file needs.")
    ] = None,
    clean: Annotated[
        bool, Option("--clean", help="First delete what was compiled, also by older versions.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Compile the kernels that fitting and scoring need, and show where they are kept.

    The first call on a machine, or in a container, then takes no longer than later calls. After a
    power loss, --clean deletes the machine code of all kernels of boreod, and nothing else, and
    compiles anew. See docs/images.md.

    Example: boreod compile fraud.boreod
    """
    from boreod.compiled import count_kernels

    started = time.process_time()
    removed = remove_code() if clean else {}
    if model is None:
        _do_everything_once()
    else:
        _use(model)
    made, read, folders = count_kernels()
    seconds = time.process_time() - started
    if json:
        print_json({"compiled": made, "read": read, "seconds": seconds, "folders": folders,
                    "removed": removed})  # fmt: skip
        return
    for folder, number in removed.items():
        typer.echo(f"Removed {count_of(number, 'file')} of machine code from {folder}")
    typer.echo(f"Compiled {made} kernels in {seconds:.1f} CPU seconds; {read} were there already.")
    if folders:
        typer.echo(f"They are in {os.path.commonpath(folders)}")


def remove_code() -> dict[str, int]:
    """Delete the machine code of all kernels, and return how many files every folder had."""
    from boreod.compiled import KERNELS, count_kernels
    from boreod.files import code_in

    # Baselines belong to a higher layer, and have a kernel, too.
    for name in ("boreod.detector", "boreod.selection", "boreod.scores", "boreod.paper.baselines"):
        import_module(name)
    for kernel in KERNELS:
        # The dispatcher of a kernel knows its folder.
        _ = kernel.dispatcher
    files = {folder: code_in(folder, "*") for folder in count_kernels()[2]}
    for file in chain(*files.values()):
        if os.path.isdir(file):
            shutil.rmtree(file)
        else:
            os.remove(file)
    return {folder: len(found) for folder, found in files.items() if found}


def _use(path: Path) -> None:
    """Score and explain a single row and a batch of rows with a model."""
    import numpy as np

    from boreod.persistence import load_predictor
    from boreod.predictor import assess

    predictor = load_predictor(path, n_jobs=1)
    for n_rows in (1, 8):
        rows = np.zeros((n_rows, len(predictor.preparation_.names_)))
        assess(predictor, rows)
        if predictor.estimator is None:
            assess(predictor, rows, explain=True)


def _do_everything_once() -> None:
    """Fit, choose columns, save, load, score and explain on tables that reach every kernel."""
    import numpy as np

    from boreod import BORE, Detector, OutlierRepresentation, Reference
    from boreod.neighbors import BACKENDS
    from boreod.scores import SCORES

    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 3)), np.arange(60) % 6 == 0
    # Two rows are equal.
    rows[1] = rows[0]

    def use(model: Any) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.boreod")
            model.save(path)
            _use(path)

    with warnings.catch_warnings():
        # Fits to a tiny table raise warnings.
        warnings.simplefilter("ignore")
        detector = Detector(n_estimators=2, random_state=0).fit(rows, labels)
        detector.predict_proba(random.normal(size=(8, 3)))
        use(detector)
        columns = OutlierRepresentation(list(SCORES), [3, 5])
        for neighbors in BACKENDS:
            how = Reference(neighbors=neighbors)
            bore = BORE(columns, how, n_estimators=2, random_state=0)
            bore.fit(rows, labels).within(20, costs="complexity:additive")
            use(bore)
