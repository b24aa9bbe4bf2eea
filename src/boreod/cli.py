"""The command line: one small function a command."""

import io
import sys
from typing import Annotated

import typer

import boreod

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a terminal without some letter gets another one in its place."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"boreod {boreod.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Outlier detection from a table and a few labelled outliers."""


@app.command()
def scorers(
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the outlier scores: name, smallest k, what they read, formula, publication."""
    from boreod.scorers import SCORERS

    if json:
        import json as encoder

        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        rows = [{name: getattr(scorer, name) for name in fields} for scorer in SCORERS.values()]
        typer.echo(encoder.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "k from", "reads", "score", box=None, pad_edge=False)
    for scorer in SCORERS.values():
        text = f"{scorer.title}: {scorer.formula}\n[dim]{scorer.citation}[/dim]"
        table.add_row(scorer.name, str(scorer.min_k), scorer.reads, text)
    Console().print(table)
