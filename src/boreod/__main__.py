"""The program: ``boreod``, and ``python -m boreod`` where it is not on the path."""

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported takes effect after the import.

    Imports would turn an interrupt into other errors, or swallow it.
    """
    pressed: list[int] = []

    def remember(number: int, _: Any) -> None:
        pressed.append(number)

    before = signal.getsignal(signal.SIGINT)
    # In the background (`boreod ... &`) there is another handler, which must stay.
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, remember)
    from boreod.tool.cli import main as run

    signal.signal(signal.SIGINT, before)
    if pressed:
        sys.stderr.write("Stopped.\n")
        sys.exit(128 + pressed[0])
    run()


if __name__ == "__main__":
    main()
