"""Compare the fit of all 50 bags of cardio with a loop over scikit-learn, at equal objectives.

It needs the environment variable BOREOD_DATA. Both minimize the mean log-loss on standardized
columns with a penalty of 1e-6 per row. The tolerance of scikit-learn is tightened until its
objective is within 1e-6 (relative) of ours on every bag.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from timing import best_of_both, report

from boreod import BORE
from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.logistic import fit_logistic
from boreod.parallel import Threads

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import folder, load

PENALTY = 1e-6


def objective(design: np.ndarray, targets: np.ndarray, beta: np.ndarray) -> float:
    """Return the value of the function that both minimize."""
    losses = np.logaddexp(0.0, -(2 * targets - 1) * (design @ beta))
    return float(losses.mean() + 0.5 * PENALTY * (beta @ beta))


def solve_with(solver: str, tolerance: float, bags: list, targets: np.ndarray) -> np.ndarray:
    """Solve one bag after the other with scikit-learn; return the objectives that it reaches."""
    values = []
    for design in bags:
        peer = LogisticRegression(
            C=1 / (PENALTY * len(targets)),
            fit_intercept=False,
            solver=solver,
            tol=tolerance,
            max_iter=100_000,
        )
        values.append(objective(design, targets, peer.fit(design, targets).coef_[0]))
    return np.array(values)


def main() -> None:
    """Measure on the representation of cardio, rows of the first split."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore")
    X, y = load("cardio", 0)
    engine = Threads(-1)
    table = BORE(random_state=0).fit(X, y).fitted_.represent(X, engine)
    labelled = np.random.default_rng(0).permutation(len(y))[: int(0.6 * len(y))]
    outliers, inliers = labelled[y[labelled] == 1], labelled[y[labelled] == 0]
    bags = draw_bags(outliers, inliers, len(y), BagPlan(50, 0.7), 0)
    targets = bags.targets
    designs = []
    for rows in bags.rows:
        part = table[rows]
        spread = part.std(axis=0)
        scaled = (part - part.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
        designs.append(np.hstack([np.ones((len(part), 1)), scaled]))
    solved = [fit_logistic(d[:, 1:], targets, PENALTY, np.ones(len(d)))[0] for d in designs]
    both = zip(designs, solved, strict=True)
    reached = np.array([objective(design, targets, beta) for design, beta in both])
    for solver in ("lbfgs", "newton-cg", "newton-cholesky"):
        for tolerance in 10.0 ** -np.arange(3, 14):
            values = solve_with(solver, tolerance, designs, targets)
            gap = ((values - reached) / reached).max()
            if gap <= 1e-6:
                break
        ours, theirs = best_of_both(
            lambda: LogisticHead.fit(table, bags, PENALTY, engine),
            lambda solver=solver, tolerance=tolerance: solve_with(
                solver, tolerance, designs, targets
            ),
            rounds=3,
        )
        print(f"{solver}: tol {tolerance:.0e}, gap {gap:.0e}; {ours:.3f} s against {theirs:.1f} s")
        ratio = theirs / ours
        report(f"scikit-learn {solver} / boreod, 50 bags", ratio, "at least 20", ratio >= 20)


if __name__ == "__main__":
    main()
