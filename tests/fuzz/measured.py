"""A fresh process that loads a model, and perhaps scores a table; it tells its peak memory.

``python -m fuzz.measured MODEL [TABLE OUTPUT]``
"""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak() -> int:
    """Return the high-water mark of this process in bytes; of its own memory where that is told."""
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(model: str, *rest: str) -> None:
    """Do what is asked for and print the peak and the exit code."""
    code = 0
    if rest:
        from boreod.cli import app

        try:
            app(["score", model, rest[0], "-o", rest[1], "--quiet", "--jobs", "1"])
        except SystemExit as end:
            code = int(end.code or 0)
    else:
        from boreod.table_model import TableModel

        TableModel.load(model)
    sys.stdout.write(f"{peak()} {code}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
