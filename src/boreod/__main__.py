"""The program: ``boreod``, and ``python -m boreod`` where it is not on the path."""

import os
import signal
import sys
from typing import Any

# Without so many kB, libraries cannot be loaded, or wait forever for memory.
MIN_ADDRESSES = 1_300_000
MIN_DATA = 600_000


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported takes effect after the import.

    Imports would turn an interrupt into other errors, or swallow it.
    """
    # Windows has no such limit.
    if os.name == "posix":
        _prepare_for_limit()
    pressed: list[int] = []

    def remember(number: int, _: Any) -> None:
        pressed.append(number)
        # A second Ctrl-C ends the process.
        signal.signal(number, signal.SIG_DFL)

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


def _prepare_for_limit() -> None:
    """End if memory is limited to too little (`ulimit -v` or `-d`); otherwise use it sparingly.

    OpenBLAS tries again and again to get memory for every thread, and no signal interrupts that. An
    allocator of Arrow takes 1 GB of addresses as soon as it can.
    """
    import resource

    kinds = {
        "address space, and the limit": (resource.RLIMIT_AS, MIN_ADDRESSES, "-v"),
        "data, and the limit": (resource.RLIMIT_DATA, MIN_DATA, "-d"),
    }
    limits = {what: resource.getrlimit(kind)[0] // 1024 for what, (kind, _, _) in kinds.items()}
    unlimited = resource.RLIM_INFINITY // 1024
    if set(limits.values()) == {unlimited}:
        return
    for what, (_, least, option) in kinds.items():
        if unlimited != limits[what] < least:
            sys.exit(
                f"Error: boreod needs {least} kB of {what} is {limits[what]} kB. Raise it "
                f"(ulimit {option}), or limit the memory of a container instead."
            )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


if __name__ == "__main__":
    main()
