"""Time one new row against 5000 rows: all columns, one cheap column, detectors within 20us."""

from functools import partial

import numpy as np
from mixtures import make_mixture
from timing import cpu_seconds, report

from boreod import BORE, Detector, OutlierRepresentation
from boreod.neighbors import NeighborGraph


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
        median = 1000 * float(np.median([cpu_seconds(partial(work, row)) for row in rows]))
        report(f"one new row, {name}, ms (median)", median, f"below {bar}", median < bar)
    print_growth()


def print_growth() -> None:
    """Print how the time to search for one row grows with the table, in a cloud and in clusters."""
    random = np.random.default_rng(1)
    for name in ("cloud", "mixture"):
        for n in (5_000, 50_000, 500_000):
            size = n + 200
            rows = random.normal(size=(size, 20)) if name == "cloud" else make_mixture(size)[0]
            graph = NeighborGraph.build(rows[200:].copy(), (10,), 0, "euclidean", "auto")
            unknown, one = np.array([-1]), rows[:200, np.newaxis]
            work = partial(graph.new_block, own=unknown)
            work(one[0])
            median = 1e6 * float(np.median([cpu_seconds(partial(work, row)) for row in one]))
            print(f"10 neighbors of a row in a {name} of {n} x 20: {median:.0f} us "
                  f"({graph.backend.name})")  # fmt: skip


if __name__ == "__main__":
    main()
