"""CPU seconds of first calls, before any kernel is compiled and after `boreod compile`."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from timing import cpu_seconds_of_process, report

import boreod

COMMAND = "from boreod.tool.cli import main; main()"
BORE_FIT = """
import numpy as np, boreod
X, y = np.load("rows.npy"), np.load("labels.npy")
model = boreod.BORE(random_state=0).fit(X, y)
"""
WITHIN = BORE_FIT + "model.within('20us')\n"


def cpu_seconds(folder: Path, code: str, *arguments: str, cache: Path | None = None) -> float:
    """Return the CPU seconds of a process, with an empty cache if ``cache`` is None."""
    with TemporaryDirectory() as empty:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache or empty)}
        command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
        return cpu_seconds_of_process(command, env=environment, cwd=folder)


def make_tables(folder: Path, seed: int) -> None:
    """Write 5000 rows with outliers, new rows, and a model of the 5000 rows within 20us."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(5000, 20))
    y = (random.random(5000) < 0.05).astype(int)
    X[y == 1] += 1.5 * random.normal(size=(y.sum(), 20))
    np.save(folder / "rows.npy", X)
    np.save(folder / "labels.npy", y)
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(20)])
    frame.iloc[:200].to_csv(folder / "new.csv", index=False)
    frame.assign(y=y).to_csv(folder / "table.csv", index=False)
    model = boreod.Detector(random_state=0).fit(frame, y)
    model.within("20us").save(folder / "small.boreod")


def main() -> None:
    """Measure first calls: with an empty cache, and after `boreod compile`."""
    score = (COMMAND, "score", "small.boreod", "new.csv", "-o", "out.csv")
    fit = (COMMAND, "fit", "table.csv", "--label", "y", "-o", "out.boreod")
    calls = {
        "boreod score, within 20us (25 before)": (score, 8.0),
        "boreod fit, 5000 x 20 (59 before)": (fit, 25.0),
        "BORE().fit, 5000 x 20 (50 before)": ((BORE_FIT,), 25.0),
    }
    with TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name, "cache")
        make_tables(folder, seed=0)
        for title, (call, bar) in calls.items():
            took = cpu_seconds(folder, *call)
            report(f"first {title}, CPU seconds", took, f"at most {bar:g}", took <= bar)
        once, more = (cpu_seconds(folder, code) for code in (BORE_FIT, WITHIN))
        print(f"what a first within adds to the first fit: {more - once:.1f} CPU seconds")
        print(f"boreod compile: {cpu_seconds(folder, COMMAND, 'compile', cache=cache):.1f} seconds")
        for title, (call, _) in calls.items():
            print(f"then {title}: {cpu_seconds(folder, *call, cache=cache):.1f}")


if __name__ == "__main__":
    main()
