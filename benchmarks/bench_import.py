"""Import and help: CPU seconds of fresh processes with warm bytecode."""

import os
import resource
import subprocess
import sys

from timing import report


def cpu_seconds(code: str) -> float:
    """Return the best CPU seconds of seven runs."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    """Measure `import boreod` and `boreod --help`."""
    for name, code in (
        ("import boreod", "import boreod"),
        (
            "boreod --help",
            "import sys; sys.argv = ['boreod', '--help']; from boreod.cli import main; main()",
        ),
    ):
        took = cpu_seconds(code)
        report(f"{name}, CPU seconds", took, "below 0.3", took < 0.3)


if __name__ == "__main__":
    main()
