"""Payments of a shop, 200,000 rows to learn from: time, memory, size and quality beside CatBoost.

Of about a thousand frauds in these rows, some 130 are labelled, and all other rows have no label.
CatBoost reads the same columns: amounts as numbers, dates as seconds, words as categories. It has
its default settings and takes the other rows as inliers. With the option ``--no-catboost`` only
boreod is measured. The number of rows can be given on the command line.
"""

import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from payments import make_payments
from timing import cpu_seconds, report

from boreod import Detector
from boreod.metrics import average_precision

ROWS = 200_000
NEW_ROWS = 60_000
KNOWN = 150
LABEL = "fraud"
ID = "payment_id"


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns as CatBoost takes them: numbers, and words without gaps."""
    given = frame.drop(columns=[LABEL, ID])
    for name in ("amount", "fee"):
        cleaned = given[name].str.replace(r"[^0-9.]", "", regex=True)
        given[name] = cleaned.astype(float)
    for name in ("paid_at", "signed_up_at"):
        given[name] = given[name].astype("int64") / 1e9
    words = given.select_dtypes(exclude="number").columns
    return given.assign(**{name: given[name].astype(str) for name in words})


def precision_of_catboost(old: pd.DataFrame, new: pd.DataFrame, is_fraud: np.ndarray) -> float:
    """Fit CatBoost and return its average precision on new rows."""
    from catboost import CatBoostClassifier

    table = plain(old)
    words = list(table.select_dtypes(exclude="number").columns)
    model = CatBoostClassifier(
        verbose=0, random_seed=0, thread_count=2, cat_features=words, allow_writing_files=False
    )
    model.fit(table, (old[LABEL] == "yes").astype(int))
    return average_precision(is_fraud, model.predict_proba(plain(new))[:, 1])


def main() -> None:
    """Print what a fit takes, and whether the promises are kept."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    rows = numbers[0] if numbers else ROWS
    frame, fraud = make_payments(rows + NEW_ROWS, KNOWN, seed=0)
    old, new, is_fraud = frame[:rows], frame[rows:], fraud[rows:]
    # Kernels are compiled before anything is timed.
    Detector(random_state=0).fit(old[:2000], label=LABEL, ids=ID).predict_proba(new[:100])
    model = Detector(random_state=0)
    taken = cpu_seconds(lambda: model.fit(old, label=LABEL, ids=ID))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found: list[np.ndarray] = []
    scoring = cpu_seconds(lambda: found.append(model.predict_proba(new)[:, 1])) / len(new)
    quality = average_precision(is_fraud, found[0])
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.boreod")
        model.save(path)
        size = path.stat().st_size / 1e6
    report("fit of payments, CPU seconds", taken, "at most 40", taken <= 40)
    report("model file, MB", size, "at most 25", size <= 25)
    report("scoring in batches, microseconds a row", 1e6 * scoring, "at most 60", scoring <= 60e-6)
    print(
        f"average precision {quality:.3f}; {peak:.2f} GB at the peak, with the frame of {rows} rows"
    )
    if "--no-catboost" in sys.argv:
        return
    other: list[float] = []
    theirs = cpu_seconds(lambda: other.append(precision_of_catboost(old, new, is_fraud)))
    report("fit / CatBoost's fit and scoring", taken / theirs, "at most 0.1", taken <= 0.1 * theirs)
    report("precision minus CatBoost's", quality - other[0], "at least 0", quality >= other[0])


if __name__ == "__main__":
    main()
