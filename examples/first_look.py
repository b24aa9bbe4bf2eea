"""A first look: find rare malignant samples among benign samples, from 20 labelled ones.

The built-in set "wdbc" is scikit-learn's breast cancer data with all 357 benign and 30 malignant
samples. Two thirds of the rows are labelled, and the other rows play the part of new rows. The
functions are those behind the commands `boreod fit`, `boreod score` and `boreod report`. At the
end, the files are in the folder "demo".
"""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from boreod import Detector
from boreod.metrics import auc
from boreod.paper.datasets import load
from boreod.tool import score_frame

FOLDER = Path("demo")
BUDGETS = ("20us", "60us", "200us")


def main() -> None:
    """Learn from two thirds of the rows, judge the others, and write a report."""
    data = load("wdbc")
    order = np.random.default_rng(0).permutation(len(data.y))
    columns = {name: data.X[order, place] for place, name in enumerate(data.feature_names)}
    table = pa.table({"sample": order, **columns, "malignant": data.y[order]})
    known, new = table.slice(0, 258), table.slice(258)
    truth = new["malignant"].to_numpy()

    print("boreod: learning from a few labelled outliers (the first run compiles kernels) ...")
    started = time.perf_counter()
    model = Detector(random_state=0).fit(known, label="malignant", ids="sample")
    scored = score_frame(model, new, reasons=3).to_pylist()
    print(f"{len(model.columns_)} columns, 50 bags: {time.perf_counter() - started:.1f} s\n")

    print(f"ROC AUC on {len(truth)} new rows, {truth.sum()} of them malignant")
    odds = model.decision_function(new)
    print(f"  all columns                     {auc(truth == 1, odds):.3f}")
    for budget in BUDGETS:
        fast = model.within(budget)
        what = f"within {budget} a row, {len(fast.columns_)} columns"
        print(f"  {what:<31} {auc(truth == 1, fast.decision_function(new)):.3f}")

    print("\nrank  probability  truth      what moved the log-odds most")
    for row in sorted(scored, key=lambda row: row["rank"])[:8]:
        kind = "malignant" if data.y[row["sample"]] else "benign"
        why = ", ".join(row[f"reason_{number}"] for number in (1, 2, 3))
        print(f"{row['rank']:>4}  {row['probability']:>11.3f}  {kind:<9}  {why}")

    FOLDER.mkdir(exist_ok=True)
    model.save(FOLDER / "tumors.boreod")
    model.record_.curve = model.budget_curve(BUDGETS)
    model.report(FOLDER / "report.html", title="Rare malignant samples")
    print(f"\nModel: {FOLDER / 'tumors.boreod'}\nReport: {(FOLDER / 'report.html').resolve()}")


if __name__ == "__main__":
    main()
