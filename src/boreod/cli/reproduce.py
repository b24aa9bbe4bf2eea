"""``boreod reproduce``."""

import time
from pathlib import Path
from typing import Annotated

import typer

from boreod.cli import options
from boreod.cli.app import plain_errors, stop_with_journal
from boreod.cli.options import split_names
from boreod.text import show_seconds

NAMES = ("table1", "tsne", "table2", "roc", "sensitivity", "budget", "quality")


@plain_errors
def reproduce(
    part: Annotated[
        str, typer.Argument(help=f"{', '.join(NAMES)}, or all of the paper.", metavar="PART")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of tables, pictures and report.")
    ] = Path("results"),
    datasets: Annotated[
        str | None,
        typer.Option(
            help="Names, separated by commas; all twelve if not given. For quality also "
            ".npz files, and all of --data if not given."
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Names of methods that quality compares; all installed if not given."),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of samples or splits: 10 (20 draws of costs, 5 seeds of quality), or 1 "
            "(2) with --quick.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only what the paper prints, on coarse grids.")
    ] = False,
    data: options.DataFolder = None,
    jobs: options.Processes = -1,
    seed: Annotated[int, typer.Option(help="Of splits and methods.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the finished runs in the folder.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Reproduce a table or figure of the paper: CSV, PNG, SVG, Markdown; HTML for all of them.

    The part quality is not in the paper: detectors with few labels, ours beside others. A run
    that was stopped goes on where it was when the same command is given again.

    Example: boreod reproduce table2 --datasets wine --quick --jobs 1 -o results
    """
    from boreod.documents import to_markdown
    from boreod.reproduce import PAPER_PARTS, PARTS, SETS, Settings
    from boreod.reproduce import reproduce as run
    from boreod.reproduce.quality import find_sets

    if part != "all" and part not in PARTS:
        raise typer.BadParameter(f"must be one of {', '.join(PARTS)}, all; got {part!r}.")
    if methods is not None and part != "quality":
        raise typer.BadParameter(f"--methods is for quality only; got the part {part!r}.")
    names = tuple(split_names(datasets) or (find_sets(data) if part == "quality" else SETS))
    for name in names if part != "quality" else ():
        options.check_dataset(name)
    if fresh:
        (output / "runs.jsonl").unlink(missing_ok=True)
    chosen = None if methods is None else tuple(split_names(methods) or ())
    settings = Settings(output, names, repetitions, quick, data, jobs, seed, not quiet, chosen)
    started = time.perf_counter()
    try:
        sections = run(list(PAPER_PARTS) if part == "all" else [part], settings)
    except KeyboardInterrupt:
        stop_with_journal(output / "runs.jsonl")
    if part == "all":
        typer.echo(f"Report: {output / 'report.html'} and {output / 'report.md'}")
    else:
        typer.echo(to_markdown(sections[0], level=1))
        typer.echo(f"Files: in {output}, their names begin with {part}")
    typer.echo(f"Time: {show_seconds(time.perf_counter() - started)}")
