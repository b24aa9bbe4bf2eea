"""Fit and score Forest cover (286048 rows) and KDD'99 http (567498 rows, most of them copies).

The environment variable BOREOD_EXTRA names the folder of cover.npz and http.npz. 60 % of the rows
are labelled. The other rows are unlabelled rows of the fit, and the AUC is that of these rows.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from mixtures import compile_everything, peak_memory
from numpy.typing import NDArray
from timing import report

SETS = ("cover", "http")


def load(name: str) -> tuple[NDArray, NDArray]:
    """Return rows and labels of a set."""
    path = Path(os.environ["BOREOD_EXTRA"]) / f"{name}.npz"
    with np.load(path) as file:
        return file["X"].astype(float), file["y"].astype(int)


def measure(name: str) -> None:
    """Fit, score all rows, and print times, quality and memory."""
    from boreod import BORE
    from boreod.metrics import auc
    from boreod.neighbors import distinct_rows

    compile_everything()
    rows, labels = load(name)
    known = np.where(np.random.default_rng(0).random(len(labels)) < 0.6, labels, -1)
    started = time.perf_counter()
    model = BORE(random_state=0).fit(rows, known)
    fitted = time.perf_counter()
    scores = model.decision_function(rows)
    scored = time.perf_counter()
    judged = known == -1
    quality = 100 * auc(labels[judged] == 1, scores[judged])
    graph = model.fitted_.columns.views[0].graph
    n_distinct = len(distinct_rows(graph.reference)[0])
    print(
        f"{name}: {len(rows)} rows, {n_distinct} distinct, search {graph.backend.name}; fit "
        f"{fitted - started:.0f} s, scoring {scored - fitted:.0f} s, AUC {quality:.2f}"
    )
    report(f"{name}: peak memory in GB", peak_memory(), "below 6", peak_memory() < 6)


def compare_searches() -> None:
    """Time a search of http with its copies, and of as many distinct rows in the same places."""
    from boreod.neighbors import NeighborGraph, TrainingGraph
    from boreod.parallel import Threads

    rows, _ = load("http")
    rows = (rows - rows.min(axis=0)) / np.ptp(rows, axis=0)
    moved = rows + np.random.default_rng(0).normal(0, 1e-4, rows.shape)
    seconds = []
    for table in (rows[:5000], moved, rows):
        started = time.perf_counter()
        graph = NeighborGraph.build(table, (100,), 0, "euclidean", "auto")
        TrainingGraph.build(graph, Threads(-1))
        seconds.append(time.perf_counter() - started)
    print(f"neighbor search of http: distinct rows {seconds[1]:.1f} s, copies {seconds[2]:.1f} s")
    ratio = seconds[2] / seconds[1]
    report("http: copies / distinct rows, search time", ratio, "at most 3", ratio <= 3)


def main() -> None:
    """Measure every set in a new process."""
    if "BOREOD_EXTRA" not in os.environ:
        print("skipped: BOREOD_EXTRA names no folder with cover.npz and http.npz")
        return
    for task in (*SETS, "copies"):
        subprocess.run([sys.executable, __file__, task], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "copies":
        compare_searches()
    else:
        measure(sys.argv[1])
