"""The commands ``boreod evaluate``, ``boreod reproduce`` and ``boreod datasets``."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.text import show_seconds
from boreod.tool.cli import options
from boreod.tool.cli.app import (
    plain_errors,
    print_json,
    print_notes,
    print_table,
    stop_with_journal,
)
from boreod.tool.cli.models import print_preparation

NAMES = ("claims", "table1", "tsne", "table2", "roc", "sensitivity", "budget",
         "aggregation")  # fmt: skip


@plain_errors
@options.reads_table
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
        Path, typer.Option("--output", "-o", help="Folder for tables, picture and report.")
    ] = Path("results"),
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas: detector, best, mean, greedy, ssad, ssad+or, be, "
            "bore, trees, catboost, xgboost, xgbod, iforest, knn; by default all that are "
            "installed, except knn."
        ),
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="Times per row, such as 20us,1ms; 'none' for no budgets.")
    ] = None,
    batch: options.Batch = None,
    method: Annotated[str, typer.Option(help="Method for budgets: detector or bore.")] = "detector",
    repetitions: Annotated[int, typer.Option(min=1, help="Number of splits.")] = 10,
    transductive: Annotated[
        bool, typer.Option("--transductive", help="Also fit to the test rows, without labels.")
    ] = False,
    *,
    reading: dict[str, Any],
    jobs: options.Processes = -1,
    seed: Annotated[int, typer.Option(help="Random seed of splits and methods.")] = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods and budgets on your own table, with error bars.

    In each of several splits, every method learns from the same 60 % of the labelled rows, and is
    judged on the other 40 %. The preparation of columns is learned from these 60 %, too. If a run
    was stopped, the same command continues it.

    Example: boreod evaluate payments.csv --label fraud --id id --methods be --budgets none
    """
    from boreod.files import write_text
    from boreod.paper.evaluation import Journal, Plan, TableRows, compare_methods
    from boreod.paper.evaluation.comparison import present
    from boreod.parallel import Progress
    from boreod.representation.memory import available_memory, check_reading
    from boreod.tables import Preparation
    from boreod.tables.training import Roles, Wishes, name_source, read_training_rows
    from boreod.text import count_of
    from boreod.tool.documents import to_markdown, to_page

    plan = Plan(
        options.split_names(methods),
        [] if budgets == "none" else options.split_names(budgets),
        method,
        batch,
        repetitions,
        "transductive" if transductive else "unseen",
        seed,
    )
    # Misspelled names must not wait for a large table.
    plan.check()
    columns = Roles(label, ids, drop, keep or None, since, labels, inlier_label)
    wishes = Wishes(
        assume=False,
        outlier_label=outlier_label,
        check_memory=partial(check_reading, available=available_memory()),
        progress=partial(Progress, total=None, wanted=not quiet),
    )
    rows, codes, *_ = read_training_rows(table, None, columns, wishes, reading)
    roles = {"label": label, "ids": ids or (), "keep": keep or None, "decimal": reading["decimal"]}
    preparation = Preparation().fit(rows, codes, **roles)
    if not quiet:
        print_preparation([row._asdict() for row in preparation.summary_], err=True)
        print_notes(preparation.notes_)
    try:
        found = compare_methods(
            TableRows(rows, roles),
            codes,
            plan,
            n_jobs=jobs,
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
        print_json({"methods": found.runs, "budgets": found.budget_runs, "advice": found.advice()})
        return
    typer.echo(to_markdown(section, level=1))
    typer.echo(f"Files: {output / 'comparison.html'}, {output / 'comparison.md'}")


@plain_errors
def reproduce(
    part: Annotated[str, typer.Argument(help=f"{', '.join(NAMES)}, or all.", metavar="PART")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, pictures and report.")
    ] = Path("results"),
    datasets: Annotated[
        str | None,
        typer.Option(help="Data sets, separated by commas; by default the twelve of the paper."),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of samples or splits; by default 10, or 1 with --quick. The part budget "
            "draws costs 20 times, or twice with --quick.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One repetition, on coarse grids, without other splits.")
    ] = False,
    data: options.DataFolder = None,
    jobs: options.Processes = -1,
    seed: Annotated[int, typer.Option(help="Random seed of splits and methods.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete the finished runs in the folder.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Reproduce one part of the paper as CSV, PNG, SVG and Markdown; `all` also writes HTML.

    If a run was stopped, the same command continues it.

    Example: boreod reproduce table2 --datasets wine --quick --jobs 1 -o results
    """
    from boreod.paper.reproduce import PARTS, SETS, Settings
    from boreod.paper.reproduce import reproduce as run
    from boreod.tool.documents import to_markdown

    if part != "all" and part not in PARTS:
        raise typer.BadParameter(f"must be one of {', '.join(PARTS)}, all; got {part!r}.")
    names = tuple(options.split_names(datasets) or SETS)
    for name in names:
        _check_dataset(name)
    if fresh:
        (output / "runs.jsonl").unlink(missing_ok=True)
    settings = Settings(output, names, repetitions, quick, data, jobs, seed, not quiet)
    started = time.perf_counter()
    try:
        sections = run(list(PARTS) if part == "all" else [part], settings)
    except KeyboardInterrupt:
        stop_with_journal(output / "runs.jsonl")
    if part == "all":
        typer.echo(f"Report: {output / 'report.html'} and {output / 'report.md'}")
    else:
        typer.echo(to_markdown(sections[0], level=1))
        typer.echo(f"Files are in {output}; their names begin with {part}.")
    typer.echo(f"Time: {show_seconds(time.perf_counter() - started)}")


@plain_errors
def datasets(
    name: Annotated[str | None, typer.Argument(help="Data set to write to a file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File: CSV, Parquet, Arrow or JSON lines.")
    ] = None,
    version: Annotated[int, typer.Option(help="Sample of the set, counted from 1.")] = 1,
    data: options.DataFolder = None,
) -> None:
    """List the data sets, or write one set to a table with the columns `id` and `outlier`.

    The order of the rows is random, so the first rows are a fair sample.

    Example: boreod datasets wdbc -o tumors.csv
    """
    from boreod.paper.datasets import catalogue, load

    if name is None:
        facts = [
            [info.name, info.n, info.d, info.outliers, len(info.versions), info.group]
            for info in catalogue()
        ]
        header = ["name", "rows", "columns", "outliers", "samples", "kind"]
        print_table(header, [[str(fact) for fact in line] for line in facts])
        return
    import numpy as np

    from boreod.tables import write_batches
    from boreod.tables.arrow import pa

    if output is None:
        raise typer.BadParameter(f"say where to write {name}: -o {name}.csv")
    _check_dataset(name)
    found = load(name, version, data)
    order = np.random.default_rng(0).permutation(len(found.y))
    columns = {
        "id": np.arange(1, len(order) + 1),
        **{key: found.X[order, place] for place, key in enumerate(found.feature_names)},
        "outlier": found.y[order],
    }
    write_batches(output, pa.table(columns).to_batches())
    typer.echo(f"{output}: {len(order)} rows, {int(found.y.sum())} of them outliers")


def _check_dataset(name: str) -> None:
    """Raise a usage error for a name that is not in the catalogue of data sets."""
    from boreod.paper.datasets.entries import find

    try:
        find(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
