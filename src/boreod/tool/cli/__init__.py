"""The command line: one function for each command."""

from importlib import import_module

from boreod.tool.cli.app import app, main
from boreod.tool.cli.check import check, compare, report
from boreod.tool.cli.models import fit, info, scorers
from boreod.tool.cli.score import compile, explain, narrow, score  # noqa: A004

# The commands of the paper belong to a higher layer, so no import statement may name them.
paper = import_module("boreod.paper.commands")

of_tables = (fit, narrow, score, explain, check, compare, info, report, compile, scorers)
for command in (*of_tables, paper.datasets, paper.evaluate, paper.reproduce):
    app.command()(command)

__all__ = ["app", "main"]
