"""Time matching pursuit through all columns of cardio, and budgets on fitted models.

It needs the environment variable BOREOD_DATA. The peer follows the same paths and solves every step
from zero with scikit-learn, on standardized columns with a penalty of 1e-6 per row. The peer takes
long, so only two of its bags are timed.
"""

import os
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import LogisticRegression
from timing import cpu_seconds, report, seconds

from boreod import BORE, Detector
from boreod.ensemble.logistic import standardization
from boreod.parallel import Threads
from boreod.selection.costs import Costs
from boreod.selection.pursuit import Paths, Rules

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import folder, load

PENALTY = 1e-6
BUDGETS = ("10us", "20us", "50us", "100us", 300)


def solve_every_step(columns: np.ndarray, targets: np.ndarray, order: np.ndarray) -> None:
    """Solve the models of one path one after the other, from zero, with scikit-learn."""
    center, inverse = standardization(columns)
    standard = (columns - center) * inverse
    for step in range(1, len(order) + 1):
        peer = LogisticRegression(C=1 / (PENALTY * len(targets)), max_iter=100_000)
        peer.fit(standard[:, order[:step]], targets)


def paths() -> None:
    """Compare the time of all bags with the time of the peer, which is estimated from two bags."""
    model = BORE(random_state=0).fit(*load("cardio", 0))
    table, bags = model.training_.table, model.training_.bags
    random = np.random.default_rng(0)
    prices = random.choice([10.0, 20, 50, 100, 200, 300, 1000, 2000], table.shape[1])
    costs = Costs(dict(zip(model.columns_, prices.tolist(), strict=True)))

    def follow() -> Paths:
        paths = Paths(table, np.arange(len(prices)), bags, costs, Rules(PENALTY))
        paths.rank(np.inf, Threads(-1), fill=True)
        return paths

    orders = [path.order for path in follow().paths[:2]]
    ours = min(seconds(follow) for _ in range(3))
    both = zip(bags.rows[:2], orders, strict=True)
    work = [(table[rows], bags.targets, order) for rows, order in both]
    theirs = seconds(lambda: [solve_every_step(*bag) for bag in work]) * len(bags.rows) / 2
    print(f"50 paths through {table.shape[1]} columns: {ours:.2f} s, scikit-learn {theirs:.0f} s")
    report("scikit-learn / paths", theirs / ours, "at least 10", theirs >= 10 * ours)
    report("seconds for 50 paths", ours, "below 60", ours < 60)


def budgets(name: str, kind: type) -> None:
    """Time the first budget of a fit without known prices, and the same budget again.

    All fits and budgets use one thread.
    """
    X, y = load(name, 0)
    # The first call compiles.
    small = kind(random_state=0, n_jobs=1).fit(X[::5], y[::5])
    for budget in BUDGETS:
        small.within(budget)
    fit = min(cpu_seconds(lambda: kind(random_state=0, n_jobs=1).fit(X, y)) for _ in range(3))
    name = f"{name}, {kind.__name__}"
    for budget in BUDGETS:
        model = kind(random_state=0, n_jobs=1).fit(X, y)
        with TemporaryDirectory() as folder:
            os.environ["BOREOD_CACHE"] = folder
            first = cpu_seconds(lambda m=model, b=budget: m.within(b))
            later = min(cpu_seconds(lambda m=model, b=budget: m.within(b)) for _ in range(3))
        n_columns = len(model.within(budget).columns_)
        print(f"{name}, fit {fit:.2f} s: {budget} buys {n_columns} columns in {first:.3f} s")
        for which, taken, bar in (("first", first, 25), ("again", later, 10)):
            share = 100 * taken / fit
            what = f"{name}: within({budget!r}) {which}, % of fit, CPU time"
            report(what, share, f"below {bar}", share < bar)


def main() -> None:
    """Measure both."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore")
    paths()
    for name in ("cardio", "pageblocks"):
        budgets(name, BORE)
        budgets(name, Detector)


if __name__ == "__main__":
    main()
