"""The program: ``boreod``, and ``python -m boreod`` where it is not on the path."""

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line; Ctrl-C is told in a word, also while it is being imported."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # in the background it is ignored
        signal.signal(signal.SIGINT, _stop)
    from boreod.tool.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


def _stop(number: int, _: Any) -> None:
    """End at once: nothing was begun, and imports would make other errors of an interrupt."""
    sys.stderr.write("Stopped.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
