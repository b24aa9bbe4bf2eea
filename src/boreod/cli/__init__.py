"""The command line: one file a command, or two that belong together."""

from boreod.cli.app import app, main
from boreod.cli.catalogues import datasets, scorers
from boreod.cli.check import check, compare
from boreod.cli.compile import compile  # noqa: A004
from boreod.cli.evaluate import evaluate
from boreod.cli.explain import explain
from boreod.cli.fit import fit
from boreod.cli.info import info
from boreod.cli.report import report
from boreod.cli.reproduce import reproduce
from boreod.cli.score import score

WORK = (fit, score, explain, check, compare, info, report)
COMMANDS = (*WORK, compile, scorers, datasets, evaluate, reproduce)
for command in COMMANDS:
    app.command()(command)

__all__ = ["app", "main"]
