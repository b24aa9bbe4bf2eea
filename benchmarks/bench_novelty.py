"""Novelty: are its p-values valid, does it catch moved rows, and how precise are its alerts?

It needs the environment variable BOREOD_DATA, the folder of the paper's data. The precision of
alerts also uses the sets in the folder `../extra` beside it, if there are any.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from few_labels import draw_few_labels
from sklearn.model_selection import train_test_split
from timing import report

from boreod import BORE, OutlierRepresentation
from boreod.predictor import assess

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import SETS, folder, load

SPLITS = 60
MOVED = 200
# Shares of labelled training outliers.
SHARES = (0.05, 0.25, 1.0)
MOST_ROWS = 5000


def split(X: np.ndarray, y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return training rows, test rows and their labels, from at most 5000 rows."""
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=seed)
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)


def check_p_values() -> None:
    """Report held-out inliers with p <= 0.05, and moved rows that are novel, for every set."""
    neighbors = OutlierRepresentation(["knn"], [10])
    for name in SETS:
        shares, caught = [], []
        for seed in range(SPLITS):
            X, X_test, y, y_test = split(*load(name, seed), seed)
            model = BORE(neighbors, random_state=seed).fit(X, y)
            p_values = model.novelty(X_test[y_test == 0]).p_values
            shares.append(np.mean(p_values <= 0.05))
            random = np.random.default_rng(seed)
            moved = X_test[random.integers(len(X_test), size=MOVED)].copy()
            varies = np.flatnonzero(np.ptp(X, axis=0))
            columns = random.choice(varies, MOVED)
            extent = np.ptp(X, axis=0)[columns] * random.choice([-20, 20], MOVED)
            moved[np.arange(MOVED), columns] += extent
            caught.append(model.novelty(moved).novel.sum())
        share = float(np.mean(shares))
        report(f"{name}: p <= 0.05, held-out inliers", share, "3 to 7 %", 0.03 <= share <= 0.07)
        fewest = min(caught)
        report(f"{name}: moved rows that are novel", fewest, f"{MOVED}", fewest == MOVED)


def compare_alerts() -> None:
    """Report the precision of alerts with and without novel rows, over all sets together."""
    tables = {name: load(name, 0) for name in SETS}
    for path in sorted((folder().parent / "extra").glob("*.npz")):
        data = np.load(path)
        tables[path.stem] = data["X"].astype(float), data["y"].astype(int)
    for share in SHARES:
        counts = np.zeros(4)
        for X, y in tables.values():
            for seed in range(2):
                counts += count(X, y, share, seed)
        hits, alerts, novel_hits, novel_alerts = counts
        before, after = hits / alerts, (hits + novel_hits) / (alerts + novel_alerts)
        print(f"{share:.0%} labelled: {hits:.0f} of {alerts:.0f} alerts are right; novel rows add "
              f"{novel_hits:.0f} of {novel_alerts:.0f}")  # fmt: skip
        what = f"precision of alerts with novelty less without, {share:.0%} labelled"
        change = float(after - before)
        report(what, change, "> -0.01", change > -0.01)


def count(X: np.ndarray, y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return the numbers of right and of all alerts above 0.5, then of those by novelty alone."""
    task = draw_few_labels(X, y, share, seed)
    model = BORE(random_state=seed).fit(task.rows, task.labels)
    # BORE uses arrays of numbers unchanged, so these rows need no preparation.
    found = assess(model, task.new_rows)
    risky = found.log_odds > 0
    added = found.novelty.novel & ~risky
    right = (risky & task.outliers).sum()
    return np.array([right, risky.sum(), (added & task.outliers).sum(), added.sum()])


def main() -> None:
    """Measure both."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore")
    check_p_values()
    compare_alerts()


if __name__ == "__main__":
    main()
