"""Compare the time of all 129 score columns with PyOD's, for four of the scores at eleven ks.

PyOD needs many minutes, so its scores are computed only once.
"""

import numpy as np
from timing import best_of_both, report, seconds

from boreod import OutlierRepresentation
from boreod.representation.plan import PAPER_KS


def fit_pyod(rows: np.ndarray) -> None:
    """Fit kNN, LOF, COF and ABOD at every k."""
    from pyod.models.abod import ABOD
    from pyod.models.cof import COF
    from pyod.models.knn import KNN
    from pyod.models.lof import LOF

    for k in PAPER_KS:
        for detector in (KNN, LOF, COF, ABOD):
            if k == 1 and detector in (COF, ABOD):
                continue  # PyOD refuses k = 1 for these detectors.
            took = seconds(lambda d=detector, k=k: d(n_neighbors=k).fit(rows))
            print(f"  PyOD {detector.__name__} k={k}: {took:.1f} s", flush=True)


def main() -> None:
    """Measure at n = 3000, d = 20."""
    rows = np.random.default_rng(0).normal(size=(3000, 20))
    # The first call compiles.
    OutlierRepresentation().fit_transform(rows)
    ours, _ = best_of_both(lambda: OutlierRepresentation().fit_transform(rows), lambda: None)
    theirs = seconds(lambda: fit_pyod(rows))
    print(f"boreod {ours:.2f} s, PyOD {theirs:.1f} s")
    ratio = theirs / ours
    report("PyOD, 4 scores / boreod, 12 scores", ratio, "at least 200", ratio >= 200)


if __name__ == "__main__":
    main()
