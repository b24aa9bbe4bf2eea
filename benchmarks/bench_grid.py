"""Compare the time of all 129 score columns with one neighbor search of scikit-learn.

Both use the same rows and the same number of threads.
"""

import os

import numpy as np
from sklearn.neighbors import NearestNeighbors
from timing import best_of_both, report

from boreod import OutlierRepresentation


def main() -> None:
    """Measure at n = 20000, d = 20."""
    rows = np.random.default_rng(0).normal(size=(20_000, 20))
    threads = len(os.sched_getaffinity(0))
    # The first call compiles.
    OutlierRepresentation().fit_transform(rows[:3000])
    ours, theirs = best_of_both(
        lambda: OutlierRepresentation(n_jobs=threads).fit_transform(rows),
        lambda: NearestNeighbors(n_neighbors=100, n_jobs=threads).fit(rows).kneighbors(),
    )
    print(f"boreod {ours:.2f} s, scikit-learn {theirs:.2f} s, {threads} threads")
    ratio = ours / theirs
    report("129 columns / one scikit-learn search", ratio, "at most 1.8", ratio <= 1.8)


if __name__ == "__main__":
    main()
