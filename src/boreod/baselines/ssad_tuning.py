"""Width of the kernel and weight of the margin of SSAD by cross-validation on labelled rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernel_rows import Expansion, Table
from boreod.baselines.ssad_dual import solve_ssad
from boreod.baselines.ssad_problem import Problem, check_feasible
from boreod.engine import Engine
from boreod.labels import INLIER, OUTLIER, UNLABELLED
from boreod.metrics import auc

SIGMAS = np.geomspace(0.005, 5.0, 7)
KAPPAS = np.geomspace(0.5, 20.0, 5)
MOST_FOLDS = 5
ROUGH = 1e-4  # a ranking does not change with the digits after


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, unlabelled ones among them, and labelled rows to judge."""

    training: NDArray
    test: NDArray


def tune(
    table: Table,
    caps: NDArray,
    sigma: float | None,
    kappa: float | None,
    seed: int,
    engine: Engine,
) -> dict[str, NDArray]:
    """Return every pair that was tried with its mean AUC, the best first.

    Parameters
    ----------
    table
        Rows and labels.
    caps
        Upper limits of the weights.
    sigma, kappa
        A value to keep, or None to try the range of the paper. Values of kappa that the labelled
        rows of a fold cannot reach are not tried.
    seed
        Of the folds.
    engine
        Runs folds and widths side by side.
    """
    folds = _split(table.codes, seed)
    kappas = _reachable_kappas(table.codes, caps, folds, kappa)
    sigmas = SIGMAS if sigma is None else np.array([sigma])
    tasks = [(fold, float(width)) for width in sigmas for fold in folds]

    def judge(task: tuple[Fold, float]) -> NDArray:
        return _judge(table, caps, kappas, *task)

    results = engine.map(judge, tasks, "cross-validation of SSAD")
    means = np.reshape(results, (len(sigmas), len(folds), len(kappas))).mean(axis=1)
    tried: dict[str, Any] = {
        "sigma": np.repeat(sigmas, len(kappas)),
        "kappa": np.tile(kappas, len(sigmas)),
        "auc": means.ravel(),
    }
    # Of equals, the smoothest function and the smallest margin.
    order = np.lexsort((tried["kappa"], -tried["sigma"], -tried["auc"].round(12)))
    return {name: values[order] for name, values in tried.items()}


def _split(codes: NDArray, seed: int) -> list[Fold]:
    from sklearn.model_selection import StratifiedKFold

    labelled = np.flatnonzero(codes != UNLABELLED)
    counts = {code: int((codes == code).sum()) for code in (INLIER, OUTLIER)}
    if min(counts.values()) < 2:
        raise ValueError(
            "Cross-validation ('cv') needs at least 2 labelled inliers and 2 labelled outliers; "
            f"got {counts[INLIER]} and {counts[OUTLIER]}. Pass numbers for `sigma` and `kappa`, "
            "or sigma='scale'."
        )
    n_folds = min(MOST_FOLDS, *counts.values())
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    every = np.arange(len(codes))
    tests = [labelled[test] for _, test in splitter.split(labelled, codes[labelled])]
    return [Fold(np.setdiff1d(every, test), test) for test in tests]


def _reachable_kappas(
    codes: NDArray, caps: NDArray, folds: list[Fold], kappa: float | None
) -> NDArray:
    """Return the values of kappa that are feasible in all folds, or say why there are none."""
    reachable = []
    reason: ValueError | None = None
    for value in KAPPAS if kappa is None else [kappa]:
        try:
            for fold in folds:
                check_feasible(codes[fold.training], caps[fold.training], float(value))
        except ValueError as error:
            reason = reason or error
        else:
            reachable.append(float(value))
    if not reachable:
        raise ValueError(f"No fold of the cross-validation ('cv') can be solved. {reason}")
    return np.array(reachable)


def _judge(table: Table, caps: NDArray, kappas: NDArray, fold: Fold, sigma: float) -> NDArray:
    """Return the AUC of every kappa on the rows that were left out."""
    rows = table.under_kernel(fold.training, sigma)
    codes = table.codes[fold.training]
    weights, first = np.empty((len(codes), len(kappas))), None
    for place, kappa in enumerate(kappas):
        problem = Problem(rows.gram, codes, caps[fold.training], float(kappa))
        solution = solve_ssad(problem, ROUGH, first)
        weights[:, place], first = problem.signs * solution.weights, solution.rows
    function = Expansion(table.points[rows.anchors], rows.spread(weights), sigma)
    # Ranked by -f and not by rho - f: far from all rows f has digits that the difference drops.
    return auc(-function(table.points[fold.test]), table.codes[fold.test] == OUTLIER)
