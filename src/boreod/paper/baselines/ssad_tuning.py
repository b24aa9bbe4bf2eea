"""Cross-validation of SSAD's kernel width and margin weight on labelled rows.

A sample replaces a large number of rows, to limit the time. Its kernel is computed once for each
width. Folds do not copy it: rows that are left out have the cap 0, so their weights stay 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc
from boreod.paper.baselines.ssad_solver import ROUGH, Problem, check_feasible, minimize
from boreod.parallel import Engine
from boreod.validation import INLIER, OUTLIER, UNLABELLED

SIGMAS = np.geomspace(0.005, 5.0, 7)
KAPPAS = np.geomspace(0.5, 20.0, 5)
TUNING_ROWS = 3000
# A sample has at least this many labelled inliers, so that folds can be judged.
FEWEST_INLIERS = 300


def tune(
    squared: NDArray,
    codes: NDArray,
    caps: NDArray,
    sigma: Any,
    kappa: Any,
    seed: int,
    engine: Engine,
) -> dict[str, NDArray]:
    """Return every pair that was tried with its mean AUC, the best first.

    ``squared`` are the squared distances of all pairs of rows, ``caps`` the upper limits of the
    weights. For ``"cv"``, the range of the paper is tried, except for values of kappa that the
    labelled rows of a fold cannot reach.
    """
    rows, caps = sample_rows(codes, caps, TUNING_ROWS, seed)
    if len(rows) < len(codes):
        codes = codes[rows]
        squared = squared[np.ix_(rows, rows)]
    folds = _split(codes, seed)
    sigmas = SIGMAS if sigma == "cv" else np.array([float(sigma)])
    kappas = KAPPAS if kappa == "cv" else np.array([float(kappa)])
    kappas = _reachable(kappas, codes, caps, folds)

    def judge(width: float) -> list[NDArray]:
        kernel = gaussian(squared, width)
        return [_judge(kernel, codes, caps, kappas, test) for test in folds]

    results = engine.map(judge, sigmas.tolist(), "cross-validation of SSAD")
    means = np.reshape(results, (len(sigmas), len(folds), len(kappas))).mean(axis=1)
    tried: dict[str, Any] = {
        "sigma": np.repeat(sigmas, len(kappas)),
        "kappa": np.tile(kappas, len(sigmas)),
        "auc": means.ravel(),
    }
    # If AUCs are equal, the widest kernel comes first, and then the smallest kappa.
    order = np.lexsort((tried["kappa"], -tried["sigma"], -tried["auc"].round(12)))
    return {name: values[order] for name, values in tried.items()}


def _split(codes: NDArray, seed: int) -> list[NDArray]:
    """Return the labelled rows by which each fold is judged."""
    from sklearn.model_selection import StratifiedKFold

    labelled = np.flatnonzero(codes != UNLABELLED)
    counts = {code: int((codes == code).sum()) for code in (INLIER, OUTLIER)}
    if min(counts.values()) < 2:
        raise ValueError(
            "Cross-validation ('cv') needs at least 2 labelled inliers and 2 labelled outliers; "
            f"got {counts[INLIER]} and {counts[OUTLIER]}. Pass numbers for `sigma` and `kappa`, "
            "or sigma='scale'."
        )
    splitter = StratifiedKFold(min(5, *counts.values()), shuffle=True, random_state=seed)
    return [labelled[test] for _, test in splitter.split(labelled, codes[labelled])]


def _reachable(kappas: NDArray, codes: NDArray, caps: NDArray, folds: list[NDArray]) -> NDArray:
    """Return the values of kappa that are feasible in all folds, or raise if there are none."""
    reachable = []
    reasons = []
    for kappa in kappas.tolist():
        try:
            for test in folds:
                check_feasible(np.delete(codes, test), np.delete(caps, test), kappa)
            reachable.append(kappa)
        except ValueError as error:
            reasons.append(error)
    if not reachable:
        raise ValueError(f"No fold of the cross-validation ('cv') can be solved. {reasons[0]}")
    return np.array(reachable)


def _judge(
    kernel: NDArray, codes: NDArray, caps: NDArray, kappas: NDArray, test: NDArray
) -> NDArray:
    """Return the AUC of every kappa on the rows that were left out."""
    limits = caps.copy()
    limits[test] = 0.0
    signed = np.empty((len(codes), len(kappas)))
    weights = None
    for place, kappa in enumerate(kappas):
        problem = Problem(kernel, codes, limits, float(kappa))
        weights = minimize(problem, ROUGH, weights)
        signed[:, place] = problem.signs * weights
    outputs = kernel @ signed
    # Rank as decision_function does: the difference drops digits of a tiny f far from all rows.
    level = np.abs(np.delete(outputs, test, axis=0)).max(axis=0)
    return auc(codes[test] == OUTLIER, level - outputs[test])


def sample_rows(codes: NDArray, caps: NDArray, most: int, seed: int) -> tuple[NDArray, NDArray]:
    """Return rows in ascending order and their caps.

    Labelled outliers are at most half of a sample. Labelled inliers and unlabelled rows share the
    rest in proportion, with enough inliers to judge by. A drawn row stands for others, so its cap
    grows: every kind of rows can reach the same total weight as before.

    Examples
    --------
    >>> codes = np.repeat([-1, 1], [90, 2])
    >>> rows, caps = sample_rows(codes, np.ones(92), most=32, seed=0)
    >>> np.unique(caps, return_counts=True)
    (array([1., 3.]), array([ 2, 30]))
    """
    if len(codes) <= most:
        return np.arange(len(codes)), caps
    random = np.random.default_rng(seed)
    present = {code: np.flatnonzero(codes == code) for code in (OUTLIER, INLIER, UNLABELLED)}
    n_inliers = len(present[INLIER])
    outliers = min(len(present[OUTLIER]), most // 2)
    others = most - outliers
    fair = round(others * n_inliers / max(1, n_inliers + len(present[UNLABELLED])))
    inliers = min(n_inliers, max(fair, min(FEWEST_INLIERS, others // 2)))
    counts = {OUTLIER: outliers, INLIER: inliers, UNLABELLED: others - inliers}
    grown = caps.copy()
    kept = []
    for code, rows in present.items():
        drawn = random.permutation(rows)[: counts[code]]
        if len(drawn):
            grown[drawn] *= caps[rows].sum() / caps[drawn].sum()
            kept.append(drawn)
    rows = np.sort(np.concatenate(kept))
    return rows, grown[rows]


def gaussian(squared_distances: NDArray, sigma: float) -> NDArray:
    """Return exp(-|x - z|^2 / (2 sigma^2)) of rows at these squared distances.

    Examples
    --------
    >>> gaussian(np.array([0.0, 2.0]), 1.0).round(3).tolist()
    [1.0, 0.368]
    """
    # If the width is tiny, the quotient overflows. The kernel is then 0.
    with np.errstate(over="ignore"):
        values = squared_distances / sigma
        values /= -2.0 * sigma
    return np.exp(values, out=values)
