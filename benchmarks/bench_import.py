"""Compare the CPU seconds of new processes, with warm caches, with an import of Numba alone."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import cpu_seconds_of_process, report

from boreod import Detector

PEER = "import numpy, numba"
BARS = {
    "import boreod": 0.3,
    "boreod --help": 0.3,
    "boreod info model": 0.8,
    "boreod score model one_row.csv": 1.5,
    "boreod explain model one_row.csv": 2.0,
}


def cpu_seconds(code: str, folder: str) -> float:
    """Return the CPU seconds of a process that runs some code in a folder."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return cpu_seconds_of_process([sys.executable, "-c", code], env=environment, cwd=folder)


def code_of(what: str) -> str:
    """Return the code that a process runs for a command."""
    if not what.startswith("boreod "):
        return what
    return f"import sys; sys.argv = {what.split()!r}; from boreod.tool.cli import main; main()"


def main() -> None:
    """Report the best of seven rounds. Every process runs once in each round."""
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [50, 4950])
    X = random.normal(size=(5000, 8)) + 3.0 * y[:, np.newaxis]
    with tempfile.TemporaryDirectory() as folder:
        Detector(random_state=0).fit(X, y).save(Path(folder) / "model")
        row = ",".join(map(str, X[0]))
        header = ",".join(f"c{column}" for column in range(8))
        Path(folder, "one_row.csv").write_text(f"{header}\n{row}\n")
        rounds = [{w: cpu_seconds(code_of(w), folder) for w in (PEER, *BARS)} for _ in range(7)]
    best = {what: min(times[what] for times in rounds) for what in rounds[0]}
    for what, bar in BARS.items():
        ratio = f"{best[what] / best[PEER]:.2f} times `{PEER}`"
        report(f"{what}, CPU seconds, {ratio}", best[what], f"below {bar}", best[what] < bar)


if __name__ == "__main__":
    main()
