"""A first look: find rare malignant samples among benign ones, from 15 labelled ones.

Uses the built-in set "wdbc": scikit-learn's breast cancer data with all 357 benign and 30 malignant
samples. Half of the rows are labelled; the other half is scored.
"""

import time

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from boreod import BORE
from boreod.datasets import load


def main() -> None:
    """Learn from one half of the rows and judge the other."""
    data = load("wdbc")
    X, y = data.X, data.y.astype(int)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)

    print("boreod: learning from 15 labelled outliers (the first run compiles kernels) ...")
    started = time.perf_counter()
    model = BORE(random_state=0).fit(X[train], y[train])
    risk = model.predict_proba(X[test])[:, 1]
    print(f"{len(model.columns_)} columns, 50 bags: {time.perf_counter() - started:.1f} s\n")

    table = model.representation_.transform(model._scale_input(X[test]))
    best = max(roc_auc_score(y[test], column) for column in table.T[30:])
    print(f"ROC AUC on {len(test)} new rows, {y[test].sum()} of them malignant")
    print(f"  BORE                                     {roc_auc_score(y[test], risk):.3f}")
    print(f"  best single score, chosen in hindsight   {best:.3f}")
    for budget in ("20us", "60us"):
        fast = model.within(budget)
        quality = roc_auc_score(y[test], fast.predict_proba(X[test])[:, 1])
        what = f"BORE within {budget} per row, {len(fast.columns_)} columns"
        print(f"  {what:<40} {quality:.3f}")
    print()

    print("rank  probability  truth      what moved its log-odds most")
    order = np.argsort(-risk)[:8]
    reasons = model.explain(X[test][order], grouped=True).top(3)
    for rank, (row, why) in enumerate(zip(order, reasons, strict=True), start=1):
        truth = "malignant" if y[test][row] else "benign"
        names = [data.feature_names[int(n[1:])] if n[1:].isdigit() else n for n, _ in why]
        moves = ", ".join(f"{n} {v:+.1f}" for n, (_, v) in zip(names, why, strict=True))
        print(f"{rank:>4}  {risk[row]:>11.3f}  {truth:<9}  {moves}")


if __name__ == "__main__":
    main()
