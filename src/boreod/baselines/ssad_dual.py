"""The dual problem of SSAD, its feasibility and its multipliers.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

with s = -1 for labelled outliers and +1 for all other rows. With f = K (s a), the multiplier rho of
the first constraint and gamma of the second, rows with 0 < a < c lie at f = rho (unlabelled),
f = rho + gamma (inliers) and f = rho - gamma (outliers).

Reference: Goernitz, Kloft, Rieck, Brefeld: Toward supervised anomaly detection. JAIR 46, 2013.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.quadratic_program import Program
from boreod.baselines.ssad_problem import (
    TIGHT,
    Problem,
    Solution,
    check_feasible,
    evaluate,
    most_labelled,
)
from boreod.baselines.ssad_tight import solve_tight
from boreod.baselines.working_set import minimize_growing, pick_evenly
from boreod.validation import INLIER, OUTLIER, UNLABELLED

EXACT = 1e-10


def solve_ssad(
    problem: Problem, tolerance: float = EXACT, first: NDArray | None = None
) -> Solution:
    """Solve the dual problem.

    Parameters
    ----------
    problem
        What is to be solved.
    tolerance
        Relative, of duality gap and constraints.
    first
        Rows of a similar problem's solution.

    Examples
    --------
    >>> from boreod.baselines.kernels import Dense
    >>> rows = np.array([[1.0], [2.0], [-1.0]])
    >>> problem = Problem(Dense(rows @ rows.T), np.array([0, 0, 1]), np.ones(3), 2.0)
    >>> solution = solve_ssad(problem)
    >>> round(solution.rho, 6), round(solution.gamma, 6)
    (1.25, 3.75)
    """
    check_feasible(problem.codes, problem.caps, problem.kappa)
    unlabelled, inliers, outliers = map(problem.capacity, (UNLABELLED, INLIER, OUTLIER))
    margin_matters = problem.kappa > max(0.0, 1.0 - unlabelled)
    if unlabelled + inliers <= 1.0 + TIGHT:
        weights = np.where(problem.codes == OUTLIER, 0.0, problem.caps)
        outputs = problem.gram.times(problem.signs * weights)
        return evaluate(problem, weights, float(outputs.max()), 0.0, np.arange(len(weights)))
    most = most_labelled(unlabelled, inliers, outliers)
    if margin_matters and problem.kappa >= most * (1.0 - TIGHT):
        return solve_tight(problem, tolerance)
    constraints, targets = [problem.signs], [1.0]
    if margin_matters:
        constraints.append((problem.codes != UNLABELLED).astype(np.float64))
        targets.append(problem.kappa)
    program = Program(
        problem.gram,
        problem.signs,
        np.zeros(len(problem.codes)),
        np.array(constraints),
        np.array(targets),
        margin_matters,
        problem.caps,
        _guess(problem),
    )
    rows = _first_rows(problem) if first is None else np.union1d(first, _first_rows(problem))
    weights, multipliers, rows = minimize_growing(program, rows, tolerance)
    gamma = float(multipliers[1]) if margin_matters else 0.0
    return evaluate(problem, weights, float(multipliers[0]), gamma, rows)


def _guess(problem: Problem) -> NDArray:
    """Return weights inside their limits that nearly meet the constraints."""
    labelled = max(problem.kappa, 1.0 - problem.capacity(UNLABELLED), 0.2)
    wanted = {UNLABELLED: 1.0, INLIER: 0.5 + 0.5 * labelled, OUTLIER: 0.5 * labelled}
    shares = np.zeros(len(problem.codes))
    for code, total in wanted.items():
        shares[problem.codes == code] = min(0.9, total / max(problem.capacity(code), 1e-300))
    return shares * problem.caps


def _first_rows(problem: Problem) -> NDArray:
    """Return rows of every kind that can surely meet the constraints."""
    kinds = [np.flatnonzero(problem.codes == code) for code in (UNLABELLED, INLIER, OUTLIER)]
    needed = 2.0 * (1.0 + problem.kappa)
    return np.concatenate([pick_evenly(rows, problem.caps[rows], needed) for rows in kinds])
