"""Width of the kernel and weight of the margin of SSAD by cross-validation on labelled rows.

The kernel of all rows is computed once for each width. Folds do not copy it: rows that are left out
have the cap 0, so that their weights stay 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernel_rows import Table
from boreod.baselines.kernels import Dense, gaussian
from boreod.baselines.ssad_problem import Problem, check_feasible
from boreod.baselines.ssad_rough import solve_roughly, sort_by_kind
from boreod.baselines.ssad_sample import sample_rows
from boreod.metrics import auc
from boreod.parallel import Engine
from boreod.validation import INLIER, OUTLIER, UNLABELLED

SIGMAS = np.geomspace(0.005, 5.0, 7)
KAPPAS = np.geomspace(0.5, 20.0, 5)
MOST_FOLDS = 5
TUNING_ROWS = 3000


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, unlabelled ones among them, and labelled rows to judge."""

    training: NDArray
    test: NDArray

    def reorder(self, order: NDArray) -> "Fold":
        """Return the same fold of rows in another order."""
        places = np.argsort(order)
        return Fold(np.sort(places[self.training]), np.sort(places[self.test]))


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
        Runs widths side by side.
    """
    rows, caps = sample_rows(table.codes, caps, TUNING_ROWS, seed)
    order = sort_by_kind(table.codes[rows])
    folds = [fold.reorder(order) for fold in _split(table.codes[rows], seed)]
    rows, caps = rows[order], caps[order]
    codes, squared = table.codes[rows], table.squared_distances(rows)
    kappas = _reachable_kappas(codes, caps, folds, kappa)
    sigmas = SIGMAS if sigma is None else np.array([sigma])

    def judge(width: float) -> list[NDArray]:
        gram = Dense(gaussian(squared, width))
        return [_judge(gram, codes, caps, kappas, fold) for fold in folds]

    results = engine.map(judge, sigmas.tolist(), "cross-validation of SSAD")
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


def _judge(gram: Dense, codes: NDArray, caps: NDArray, kappas: NDArray, fold: Fold) -> NDArray:
    """Return the AUC of every kappa on the rows that were left out."""
    limits = caps.copy()
    limits[fold.test] = 0.0
    signed, weights = np.empty((len(codes), len(kappas))), None
    for place, kappa in enumerate(kappas):
        problem = Problem(gram, codes, limits, float(kappa))
        weights = solve_roughly(problem, weights)
        signed[:, place] = problem.signs * weights
    outputs = gram.matrix @ signed
    # Ranked as decision_function does: digits of a tiny f, far from all rows, do not count.
    level = np.abs(outputs[fold.training]).max(axis=0)
    return auc(codes[fold.test] == OUTLIER, level - outputs[fold.test])
