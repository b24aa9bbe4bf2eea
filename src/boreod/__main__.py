"""The program: ``boreod``, and ``python -m boreod`` where it is not on the path."""

import os
import signal
import sys
from typing import Any

# Without so much address space, libraries cannot be loaded, or wait forever for memory.
MIN_ADDRESSES = 1_250_000 * 1024


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
    """End if the address space is limited (`ulimit -v`) to too little; otherwise use it sparingly.

    OpenBLAS tries again and again to get memory for every thread, and no signal interrupts that. An
    allocator of Arrow takes 1 GB of addresses as soon as it can.
    """
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    if limit < MIN_ADDRESSES:
        sys.exit(
            f"Error: boreod needs {MIN_ADDRESSES // 1024} kB of address space, and the limit is "
            f"{limit // 1024} kB. Raise it (ulimit -v), or limit the memory of a container instead."
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


if __name__ == "__main__":
    main()
