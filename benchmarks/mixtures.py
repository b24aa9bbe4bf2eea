"""Tables for benchmarks of large fits: clusters, and outliers that were moved out of them."""

import resource

import numpy as np
from numpy.typing import NDArray

CLUSTERS = 20


def make_mixture(n: int, d: int = 20, seed: int = 0, draw: int = 0) -> tuple[NDArray, NDArray]:
    """Return rows and labels; ``seed`` determines the clusters, and ``draw`` their rows."""
    random = np.random.default_rng(seed)
    centers = random.normal(0, 3, (CLUSTERS, d))
    spreads = random.uniform(0.3, 1.5, (CLUSTERS, d))
    weights = random.dirichlet(np.full(CLUSTERS, 2.0))
    random = np.random.default_rng((seed, draw))
    cluster = random.choice(CLUSTERS, n, p=weights)
    rows = centers[cluster] + spreads[cluster] * random.normal(size=(n, d))
    outliers = random.choice(n, max(2, n // 500), replace=False)
    rows[outliers] += random.normal(size=(len(outliers), d)) * random.uniform(
        1, 3, (len(outliers), 1)
    )
    return rows, np.isin(np.arange(n), outliers).astype(int)


def peak_memory() -> float:
    """Return the peak memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def compile_everything() -> None:
    """Fit a small table, so that later times do not include compilation."""
    from boreod import BORE

    rows, labels = make_mixture(3000)
    BORE(random_state=0, budget="200us").fit(rows, labels).predict_proba(rows[:500])
