"""Measure speed and peak memory of scoring a large file; memory must not depend on its length.

The number of rows can be given on the command line; the promise is about 2 million. All work is
done in children of a process that has imported next to nothing, because the peak memory of a child
starts at that of its parent.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from timing import report

ROWS = 2_000_000
BATCH = 100_000
COLUMNS = 10
# The most megabytes that scoring may need beyond a process that only loads the model.
BAR = 600


def make_rows(number: int, seed: int) -> Any:
    """Return rows with an id and a label; one in fifty is an outlier."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(seed)
    outlier = random.random(number) < 0.02
    rows = random.normal(size=(number, COLUMNS)) * np.where(outlier, 2.5, 1.0)[:, np.newaxis]
    columns = {f"V{place}": rows[:, place] for place in range(COLUMNS)}
    return pa.table({"id": np.arange(number) + seed * BATCH, **columns, "fraud": outlier})


def prepare(number: int) -> None:
    """Write a model and, in batches, a table."""
    from boreod.tables import write_batches
    from boreod.tool import fit_table

    training = make_rows(3000, 99_999)
    model = fit_table(training, label="fraud", ids="id", budget="20us", random_state=0)
    model.save("model.boreod")
    print(f"{len(model.columns_)} columns within 20us")
    starts = range(0, number, BATCH)
    tables = (make_rows(min(BATCH, number - start), start // BATCH) for start in starts)
    write_batches("rows.parquet", (batch for table in tables for batch in table.to_batches()))


def work(number: int) -> None:
    """Load the model, score the table if it has rows, and print seconds and peak memory in kB."""
    from boreod import load
    from boreod.tool import score_table

    model = load("model.boreod")
    started = time.perf_counter()
    if number:
        score_table(model, "rows.parquet", "scored.parquet")
    taken = time.perf_counter() - started
    print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def run(folder: str, task: str, number: int) -> str:
    """Run a child and return what it prints."""
    command = [sys.executable, str(Path(__file__).resolve()), str(number), task]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def main(number: int) -> None:
    """Compare a child that scores with one that only loads the model."""
    with tempfile.TemporaryDirectory() as folder:
        print(run(folder, "prepare", number), end="")
        _, before = map(float, run(folder, "work", 0).split())
        taken, peak = map(float, run(folder, "work", number).split())
    print(f"{number / taken:.0f} rows per second; {before / 1e3:.0f} MB with the model alone")
    above = (peak - before) * 1024 / 1e6
    report(f"peak memory above the model, {number} rows, MB", above, f"below {BAR}", above < BAR)


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    {"prepare": prepare, "work": work}.get("".join(sys.argv[2:]), main)(rows)
