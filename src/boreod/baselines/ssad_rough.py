"""SSAD's dual problem solved to a few digits, which is all that a ranking needs.

Most steps move weights among few rows. So rounds alternate between a few steps on all rows, which
find out who takes part, and many on those rows alone, whose kernel fits into the cache.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernels import Dense
from boreod.baselines.pairwise import ROUNDING, descend
from boreod.baselines.ssad_dual import solve_ssad
from boreod.baselines.ssad_problem import Problem, check_feasible, most_labelled
from boreod.validation import INLIER, OUTLIER, UNLABELLED

KINDS = (UNLABELLED, INLIER, OUTLIER)
ROUGH = 3e-4  # of the range of f
ROUNDS = 12
STEPS_ON_ALL, STEPS_ON_FEW = 2, 300  # a round, per row
MORE_ROWS = 60  # of every kind that may join those with weights
INTERIOR_POINT = 1e-4  # tolerance of the exact method, where rounds do not suffice


def sort_by_kind(codes: NDArray) -> NDArray:
    """Return the order that :func:`solve_roughly` wants: unlabelled rows, inliers, outliers.

    Examples
    --------
    >>> sort_by_kind(np.array([1, 0, -1, 0])).tolist()
    [2, 1, 3, 0]
    """
    return np.concatenate([np.flatnonzero(codes == code) for code in KINDS])


def solve_roughly(problem: Problem, start: NDArray | None = None) -> NDArray:
    """Return weights near the optimum, within all limits.

    Parameters
    ----------
    problem
        What is to be solved, with rows sorted by kind and a dense Gram matrix. Rows whose cap is 0
        take no part.
    start
        Weights of the same rows for another kappa.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [-1.0]])
    >>> problem = Problem(Dense(rows @ rows.T), np.array([0, 0, 1]), np.ones(3), 2.0)
    >>> solve_roughly(problem).round(3).tolist()
    [1.0, 0.5, 0.5]
    """
    check_feasible(problem.codes, problem.caps, problem.kappa)
    if not isinstance(problem.gram, Dense):
        raise TypeError(f"Need a dense Gram matrix; got {type(problem.gram).__name__}.")
    weights = _make_feasible(problem, start)
    for _ in range(ROUNDS):
        outputs = problem.gram.times(problem.signs * weights)
        if _descend(problem, problem.gram.matrix, weights, outputs, STEPS_ON_ALL):
            return weights
        rows = _find_participants(problem, weights, outputs)
        few, matrix = weights[rows], problem.gram.matrix[np.ix_(rows, rows)]
        part = Problem(Dense(matrix), problem.codes[rows], problem.caps[rows], problem.kappa)
        _descend(part, matrix, few, outputs[rows], STEPS_ON_FEW)
        weights[rows] = few
    return _solve_slowly(problem)


def _descend(
    problem: Problem, matrix: NDArray, weights: NDArray, outputs: NDArray, steps: int
) -> bool:
    """Move weights and outputs, in place; return whether the optimum is reached."""
    ends = np.cumsum([(problem.codes == code).sum() for code in KINDS])
    surplus = max(0.0, float(weights[problem.codes != UNLABELLED].sum()) - problem.kappa)
    limit = steps * len(weights)
    taken = descend(matrix, ends, problem.caps, weights, outputs, surplus, ROUGH, limit)
    return taken < limit


def _find_participants(problem: Problem, weights: NDArray, outputs: NDArray) -> NDArray:
    """Return rows with weights, and of every kind those without that would rise first."""
    slopes = np.where(problem.caps > 0.0, problem.signs * outputs, np.inf)
    slopes[weights > 0.0] = -np.inf
    chosen = []
    for code in KINDS:
        rows = np.flatnonzero(problem.codes == code)
        count = int((weights[rows] > 0.0).sum()) + MORE_ROWS
        chosen.append(np.sort(rows[np.argsort(slopes[rows], kind="stable")[:count]]))
    return np.concatenate(chosen)


def _make_feasible(problem: Problem, start: NDArray | None) -> NDArray:
    """Return weights that meet all constraints, of each kind as close to the given as can be."""
    unlabelled, inliers, outliers = map(problem.capacity, KINDS)
    weights = np.zeros(len(problem.codes)) if start is None else start
    present = float(weights[problem.codes != UNLABELLED].sum())
    labelled = max(problem.kappa, 1.0 - unlabelled, present)
    labelled = min(labelled, most_labelled(unlabelled, inliers, outliers))
    # With u of unlabelled rows, inliers have (labelled + 1 - u) / 2 and outliers the rest.
    least = max(0.0, 1.0 - labelled, labelled + 1.0 - 2.0 * inliers)
    most = min(unlabelled, labelled + 1.0, 2.0 * outliers + 1.0 - labelled)
    total = 0.5 * (least + most)
    if start is not None:
        total = max(least, min(most, float(start[problem.codes == UNLABELLED].sum())))
    totals = (total, 0.5 * (labelled + 1.0 - total), 0.5 * (labelled - 1.0 + total))
    result = np.empty(len(weights))
    for code, wanted in zip(KINDS, totals, strict=True):
        rows = problem.codes == code
        result[rows] = _reach(wanted, weights[rows], problem.caps[rows])
    return result


def _reach(total: float, weights: NDArray, caps: NDArray) -> NDArray:
    """Return weights with this sum, all of them lower or all of them nearer to their caps."""
    present = float(weights.sum())
    total = min(max(0.0, total), float(caps.sum()))
    if abs(total - present) <= ROUNDING:  # dust on all rows would cost a step each
        return weights
    if total < present:
        return weights * (total / present)
    room = caps - weights
    return np.minimum(caps, weights + room * ((total - present) / room.sum()))


def _solve_slowly(problem: Problem) -> NDArray:
    """Return weights by the exact method, stopped early; they nearly meet the constraints."""
    rows = np.flatnonzero(problem.caps > 0.0)
    part = Problem(problem.gram.keep(rows), problem.codes[rows], problem.caps[rows], problem.kappa)
    weights = np.zeros(len(problem.codes))
    weights[rows] = solve_ssad(part, INTERIOR_POINT).weights
    return weights
