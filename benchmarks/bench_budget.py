"""The paper's budget experiment: three ways to choose columns, 20 random costs, twelve sets.

It needs the environment variable BOREOD_DATA. Scores cost one of {10, ..., 2000} at random and raw
columns cost 1. Every draw of costs has its own split, and its own sample if the data set has
several samples. Test rows are unlabelled rows of the fit, as in the paper. Arguments are names of
data sets and of rules (prefix, fill).
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from timing import report

from boreod import BORE, ColumnSelection
from boreod.paper.reproduce.budgets import draw_costs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import SETS, folder, load

DRAWS = 20
METHODS = ("budget", "omp", "random")
BUDGETS = 10


def one_draw(name: str, draw: int, fill: bool) -> tuple[float, float, list[float]]:
    """Return the AUC of the full model, the AUC at 1 % of its cost, and the mean of each method."""
    X, y = load(name, draw % 10)
    test = train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=draw)[1]
    labels = y.copy()
    labels[test] = -1
    model = BORE(random_state=draw, selection=ColumnSelection(costs="complexity:additive")).fit(
        X, labels
    )
    costs = draw_costs(model.training_, draw)
    total = costs.total()

    def auc(budget: float, method: str) -> float:
        try:
            fast = model.within(budget, costs=costs, method=method, skip_unaffordable=fill)
        except ValueError as error:
            if "ends the choice" not in str(error):
                raise
            # The first column costs more than the budget, and no columns give all rows one score.
            return 0.5
        # All bags score unlabelled rows.
        return roc_auc_score(y[test], fast.oob_proba_[test])

    budgets = np.geomspace(10, total, BUDGETS)
    means = [float(np.mean([auc(budget, method) for budget in budgets])) for method in METHODS]
    return roc_auc_score(y[test], model.oob_proba_[test]), auc(0.01 * total, "budget"), means


def main() -> None:
    """Measure all sets with the paper's rule (prefix), and with columns skipped (fill)."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore")
    rules = [rule for rule in ("prefix", "fill") if rule in sys.argv] or ["prefix", "fill"]
    names = [name for name in SETS if name in sys.argv] or list(SETS)
    for fill in (rule == "fill" for rule in rules):
        print(f"rule: {'fill' if fill else 'prefix, as in the paper'}")
        kept, better = 0, 0
        for name in names:
            draws = [one_draw(name, draw, fill) for draw in range(DRAWS)]
            full, cheap = np.mean([d[0] for d in draws]), np.mean([d[1] for d in draws])
            means = np.mean([d[2] for d in draws], axis=0)
            kept += cheap >= 0.98 * full
            better += means[0] > means[1:].max()
            shown = ", ".join(f"{m} {100 * v:.1f}" for m, v in zip(METHODS, means, strict=True))
            print(f"{name:13} full {100 * full:.1f}, at 1 % {100 * cheap:.1f} "
                  f"({cheap / full:.1%}); mean over budgets: {shown}", flush=True)  # fmt: skip
        # The bars hold for all sets together.
        if len(names) < len(SETS):
            continue
        bar = f"9 of {len(SETS)}"
        report("sets that keep 98 % of the AUC at 1 % of the cost", kept, bar, kept >= 9)
        report("sets on which cost-aware selection is best", better, bar, better >= 9)


if __name__ == "__main__":
    main()
