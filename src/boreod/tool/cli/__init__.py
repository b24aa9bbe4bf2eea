"""The command line: one file a command, or two that belong together."""

from importlib import import_module

from boreod.tool.cli.app import app, main
from boreod.tool.cli.check import check, compare
from boreod.tool.cli.compile import compile  # noqa: A004
from boreod.tool.cli.explain import explain
from boreod.tool.cli.fit import fit
from boreod.tool.cli.info import info
from boreod.tool.cli.report import report
from boreod.tool.cli.score import score
from boreod.tool.cli.scorers import scorers

# The commands of the paper stand on the floor above, which nothing here imports.
paper = import_module("boreod.paper.commands")

WORK = (fit, score, explain, check, compare, info, report)
COMMANDS = (*WORK, compile, scorers, paper.datasets, paper.evaluate, paper.reproduce)
for command in COMMANDS:
    app.command()(command)

__all__ = ["app", "main"]
