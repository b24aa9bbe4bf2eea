"""SSAD where labelled rows must give all they can: two of the three kinds are at their limits.

This is no corner case: with inliers and unlabelled rows only, ``kappa = 1`` leaves the weights of
unlabelled rows no choice but 0. An interior-point method needs an interior, so those rows are taken
out. The margin gamma can then be arbitrarily large at no cost; the smallest is taken.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.quadratic_program import Program
from boreod.baselines.ssad_problem import TIGHT, Problem, Solution, evaluate
from boreod.baselines.working_set import minimize_growing, pick_evenly
from boreod.validation import INLIER, OUTLIER, UNLABELLED


def solve_tight(problem: Problem, tolerance: float) -> Solution:
    """Solve a problem whose kappa is the largest that is feasible."""
    free, total, limits = _find_choice(problem)
    shares = np.zeros(len(problem.codes))
    for code, share in limits.items():
        shares[problem.codes == code] = share
    weights, signs = shares * problem.caps, problem.signs
    rows = np.flatnonzero(problem.codes == free)
    used = total / problem.capacity(free)
    if TIGHT < used < 1.0 - TIGHT:
        program = Program(
            problem.gram.keep(rows),
            signs[rows],
            (signs * problem.gram.times(signs * weights))[rows],
            np.ones((1, len(rows))),
            np.array([total]),
            False,
            problem.caps[rows],
            used * problem.caps[rows],
        )
        first = pick_evenly(np.arange(len(rows)), program.caps, 2.0 * total)
        weights[rows], multipliers, _ = minimize_growing(program, first, tolerance)
        level = float(multipliers[0]) * signs[rows[0]]
        outputs = problem.gram.times(signs * weights)
    else:  # any level that keeps all these rows on their side is right; take the nearest
        at_caps = used > 0.5
        weights[rows] = problem.caps[rows] if at_caps else 0.0
        outputs = problem.gram.times(signs * weights)
        level = float(max(outputs[rows]) if at_caps == (free != OUTLIER) else min(outputs[rows]))
    rho, gamma = _smallest_margin(problem, outputs, free, level)
    return evaluate(problem, weights, rho, gamma, np.arange(len(weights)))


def _find_choice(problem: Problem) -> tuple[int, float, dict[int, float]]:
    """Return the kind of rows that has a choice, its total weight, and shares of the others."""
    unlabelled, inliers, outliers = map(problem.capacity, (UNLABELLED, INLIER, OUTLIER))
    if inliers > outliers + 1.0:
        return INLIER, outliers + 1.0, {UNLABELLED: 0.0, OUTLIER: 1.0}
    if outliers < unlabelled + inliers - 1.0:
        return UNLABELLED, 1.0 + outliers - inliers, {INLIER: 1.0, OUTLIER: 1.0}
    return OUTLIER, unlabelled + inliers - 1.0, {UNLABELLED: 1.0, INLIER: 1.0}


def _smallest_margin(
    problem: Problem, outputs: NDArray, free: int, level: float
) -> tuple[float, float]:
    """Return threshold and smallest margin, from the level at which the free rows lie."""
    unlabelled, inliers, outliers = (
        outputs[problem.codes == code] for code in (UNLABELLED, INLIER, OUTLIER)
    )
    if free == INLIER:
        below = unlabelled.min(initial=np.inf), outliers.min(initial=np.inf)
        gamma = max(0.0, level - below[0], (level - below[1]) / 2)
        return level - gamma, gamma
    if free == UNLABELLED:
        above = inliers.max(initial=-np.inf) - level
        return level, max(0.0, above, level - outliers.min(initial=np.inf))
    above = inliers.max(initial=-np.inf) - level
    gamma = max(0.0, unlabelled.max(initial=-np.inf) - level, above / 2)
    return level + gamma, gamma
