"""The command line: one file a command."""

import io
import sys

from boreod.cli.app import app
from boreod.cli.evaluate import evaluate
from boreod.cli.reproduce import reproduce
from boreod.cli.scorers import scorers

app.command()(scorers)
app.command()(evaluate)
app.command()(reproduce)

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a terminal without some letter gets another one in its place."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    app()
