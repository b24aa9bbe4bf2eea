"""Compare BORE with PyOD's XGBOD on pageblocks; compare classification with representation.

The first promise needs the environment variable BOREOD_DATA, and PyOD with XGBoost.
"""

import sys
from pathlib import Path

import numpy as np
from timing import best_of_both, report, seconds

from boreod import BORE
from boreod.paper.evaluation.methods import METHODS
from boreod.parallel import Threads

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import folder, load


def against_xgbod() -> None:
    """Compare the times of fits of BORE and XGBOD to the same labelled rows."""
    X, y = load("pageblocks", 0)
    # The first call compiles.
    BORE(random_state=0).fit(X[::10], y[::10])
    ours = min(seconds(lambda: BORE(random_state=0).fit(X, y)) for _ in range(3))
    peer = METHODS["xgbod"].make(None, 0)
    theirs = seconds(lambda: peer.fit(X, y))
    print(f"BORE {ours:.2f} s, XGBOD {theirs:.1f} s")
    report("XGBOD / BORE, fit on pageblocks", theirs / ours, "at least 10", theirs / ours >= 10)


def classification() -> None:
    """Measure how much time the classifier adds to the representation of 10000 new rows."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(5000, 20)), (np.arange(5000) < 100).astype(int)
    model = BORE(random_state=0).fit(X, y)
    new = random.normal(size=(10_000, 20))
    rows = model.fitted_.scale_input(new)
    whole, part = best_of_both(
        lambda: model.predict_proba(new), lambda: model.fitted_.columns.compute(rows, Threads(-1))
    )
    added = 100 * (whole / part - 1)
    print(f"predict_proba {whole:.2f} s, transform {part:.2f} s")
    report("classification adds, %", added, "at most 10", added <= 10)


def main() -> None:
    """Measure both."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
    elif not METHODS["xgbod"].is_installed:
        print("skipped: PyOD and XGBoost are not installed")
    else:
        against_xgbod()
    classification()


if __name__ == "__main__":
    main()
