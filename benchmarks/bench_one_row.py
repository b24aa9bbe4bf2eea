"""One new row against 5000 rows: all columns, one cheap column, and detectors within 20us."""

import time
from collections.abc import Callable

import numpy as np
from timing import report

from boreod import BORE, Detector, OutlierRepresentation


def cpu_seconds(work: Callable[[np.ndarray], object], row: np.ndarray) -> float:
    """Return the seconds of this thread, in which one row is computed; others may be at work."""
    started = time.thread_time()
    work(row)
    return time.thread_time() - started


def main() -> None:
    """Measure medians of 1000 calls."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(5000, 20)), np.repeat([1, 0], [100, 4900])
    model = OutlierRepresentation().fit(X)
    X[y == 1] += random.normal(0.0, 2.0, size=(100, 20))
    detector = Detector(random_state=0).fit(X, y)
    rows = random.normal(size=(1000, 1, 20))
    for name, work, bar in (
        ("all columns", model.transform, 1.0),
        ("knn_10", model.keep(["knn_10"]).transform, 0.1),
        ("Detector with its defaults", detector.predict_proba, 1.0),
        ("Detector within 20us", detector.within("20us").predict_proba, 0.06),
        ("BORE within 20us", BORE(random_state=0).fit(X, y).within("20us").predict_proba, 0.06),
    ):
        work(rows[0])
        median = 1000 * float(np.median([cpu_seconds(work, row) for row in rows]))
        report(f"one new row, {name}, ms (median)", median, f"below {bar}", median < bar)


if __name__ == "__main__":
    main()
