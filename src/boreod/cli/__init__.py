"""The command line: one file a command."""

import io
import os
import signal
import sys
from contextlib import suppress

from boreod.cli.app import app
from boreod.cli.datasets import datasets
from boreod.cli.evaluate import evaluate
from boreod.cli.explain import explain
from boreod.cli.fit import fit
from boreod.cli.info import info
from boreod.cli.report import report
from boreod.cli.reproduce import reproduce
from boreod.cli.score import score
from boreod.cli.scorers import scorers

app.command()(fit)
app.command()(score)
app.command()(explain)
app.command()(info)
app.command()(report)
app.command()(scorers)
app.command()(datasets)
app.command()(evaluate)
app.command()(reproduce)

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a terminal without some letter gets another one in its place."""
    # a service that is stopped leaves as little behind as one who presses Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        app()
    except SystemExit as end:
        if end.code == 1:
            _leave_at_once()
        raise


def _leave_at_once() -> None:
    """End a failed program; Python itself would abort if a thread still waits for a pipe."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # there may be none
            stream.flush()
    os._exit(1)
