"""Measure mean AUC on the paper's data over ten repetitions, with and without test rows in the fit.

It needs the environment variable BOREOD_DATA, the folder of the data sets.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from timing import report

from boreod import BORE, ColumnsLeftOutWarning

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import FLOORS, aucs, folder


def main() -> None:
    """Measure every set; extra arguments are passed to BORE as name=value."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore", ColumnsLeftOutWarning)
    options: dict[str, Any] = dict(argument.split("=") for argument in sys.argv[1:])
    for name, floor in FLOORS.items():
        pairs = [
            aucs(lambda seed: BORE(random_state=seed, **options), name, repetition)
            for repetition in range(10)
        ]
        known, unseen = np.mean(pairs, axis=0)
        spread = np.std(pairs, axis=0)[0]
        report(f"{name}: AUC, sd {spread:.1f}", known, f"at least {floor}", known >= floor)
        report(
            f"{name}: AUC lost on unseen rows", known - unseen, "at most 1.5", known - unseen <= 1.5
        )


if __name__ == "__main__":
    main()
