"""Time a Detector with its defaults, and compare its trees with scikit-learn's.

The table has 5000 rows of 20 columns, and 100 of the rows are outliers. A fit, one row, many rows
and a budget are timed.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from timing import report, seconds

from boreod import Detector, save
from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.ensemble.heads import TreeHead
from boreod.parallel import Threads


def table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a normal cloud in which some rows, the outliers, are spread more widely."""
    random = np.random.default_rng(seed)
    rows, labels = random.normal(size=(n, 20)), (np.arange(n) < n // 50).astype(int)
    rows[labels == 1] *= 1.8
    return rows, labels


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """Return the seconds of the fastest of some calls."""
    return min(seconds(work) for _ in range(rounds))


def detector() -> None:
    """Fit once with compiled kernels, then score."""
    X, y = table(5000, 0)
    # The first call compiles.
    Detector(random_state=0).fit(X[::4], y[::4])
    found: list[Detector] = []
    took = seconds(lambda: found.append(Detector(random_state=0).fit(X, y)))
    model = found[0]
    report("fit of 5000 x 20, seconds", took, "below 6", took < 6)
    new = np.ascontiguousarray(table(10_000, 1)[0])
    model.predict_proba(new)
    one = 1e3 * best(lambda: model.predict_proba(new[:1]), 200)
    report("a row alone, ms", one, "below 2", one < 2)
    many = 1e6 * best(lambda: model.predict_proba(new)) / len(new)
    report("10,000 rows in one call, us a row", many, "below 60", many < 60)
    fast = model.within("20us").set_params(n_jobs=1)
    fast.predict_proba(new)
    ratio = best(lambda: fast.predict_proba(new)) / len(new) / 20e-6
    report("within('20us') on one core / 20 us", ratio, "below 1.15", ratio < 1.15)
    reasons = 1e6 * best(lambda: model.explain(new[:200]), 3) / 200
    print(f"reasons of 200 rows: {reasons:.0f} us a row")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.boreod"
        save(model, path)
        print(f"model file: {path.stat().st_size / 1e6:.1f} MB")


def trees() -> None:
    """Compare 500 trees in arrays with the same number in scikit-learn's forests."""
    X, y = table(5000, 0)
    bags = draw_bags(np.flatnonzero(y), np.flatnonzero(y == 0), 5000, BagPlan(50, 0.7, 10.0), 0)
    head = TreeHead.fit(X, bags, 10, False, 0, Threads(1))
    forests = [
        ExtraTreesClassifier(10, random_state=0).fit(X[rows], bags.targets) for rows in bags.rows
    ]
    new = np.ascontiguousarray(table(10_000, 1)[0])
    head.log_odds(new)
    for n in 1, 10_000:
        ours = best(lambda n=n: head.log_odds(new[:n]))
        theirs = best(lambda n=n: [forest.predict_proba(new[:n]) for forest in forests], 2)
        ratio = theirs / ours
        report(f"scikit-learn / ours, {n} rows, 500 trees", ratio, "at least 2", ratio >= 2)


if __name__ == "__main__":
    detector()
    trees()
