"""SSAD's dual problem: whether it is feasible, its optimum, threshold and margin.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

where s = -1 for labelled outliers and +1 for all other rows. Let f = K (s a), and let rho and gamma
be the multipliers of the last two constraints. Rows with 0 < a < c lie at f = rho (unlabelled),
f = rho + gamma (inliers) and f = rho - gamma (outliers).

Most steps move weights among few rows. So each round takes a few pairwise steps on all rows, which
find the active rows, and then many steps on the active rows alone, whose kernel fits into the
cache. That gives a few digits, and a ranking needs no more. To get all digits, Newton steps
optimize the weights that are not at a limit, and pairwise steps let other rows in.

Reference: Goernitz, Kloft, Rieck, Brefeld: Toward supervised anomaly detection. JAIR 46, 2013.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from boreod.paper.baselines.pairwise import ROUNDING, descend, find_extremes
from boreod.validation import INLIER, OUTLIER, UNLABELLED

KINDS = (UNLABELLED, INLIER, OUTLIER)
# Tolerances as shares of the range of f.
EXACT = 1e-10
ROUGH = 3e-4
MAX_ROUNDS = 12
# Pairwise steps of a round, for each row.
STEPS_ON_ALL = 2
# In each kind, this many more rows may join those with weights.
MORE_ROWS = 60
# A constraint that is missed by less than this is missed by rounding only.
TIGHT = 1e-9


@dataclass(frozen=True)
class Problem:
    """The kernel K, codes of rows (1, 0, -1), caps c of their weights, and kappa.

    Rows with the cap 0 take no part.
    """

    kernel: NDArray
    codes: NDArray
    caps: NDArray
    kappa: float

    @property
    def signs(self) -> NDArray:
        """-1 for labelled outliers, +1 for all other rows."""
        return np.where(self.codes == OUTLIER, -1.0, 1.0)

    def outputs(self, weights: NDArray) -> NDArray:
        """Return f of all rows."""
        return self.kernel @ (self.signs * weights)

    def surplus(self, weights: NDArray) -> float:
        """Return the excess of the weight of labelled rows over kappa."""
        return max(0.0, float(weights[self.codes != UNLABELLED].sum()) - self.kappa)

    def keep(self, rows: NDArray) -> "Problem":
        """Return the problem in which all other rows have the weight 0."""
        kernel = self.kernel[np.ix_(rows, rows)]
        return Problem(kernel, self.codes[rows], self.caps[rows], self.kappa)


@dataclass(frozen=True)
class Solution:
    """The weights a and outputs f of all rows, both multipliers, and the values of both problems.

    The primal and the dual value are equal at the optimum.
    """

    weights: NDArray
    outputs: NDArray
    rho: float
    gamma: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Relative difference of the two values."""
        return abs(self.primal - self.dual) / max(abs(self.dual), np.finfo(np.float64).tiny)


def check_feasible(codes: NDArray, caps: NDArray, kappa: float) -> None:
    """Raise if no weights meet all constraints; the message says what to change."""
    unlabelled, inliers, outliers = _capacities(codes, caps)
    if unlabelled + inliers < 1.0 - TIGHT:
        counts = f"{(codes == UNLABELLED).sum()} unlabelled rows and {(codes == INLIER).sum()}"
        raise ValueError(
            "The weights of unlabelled rows and labelled inliers must be able to reach the sum 1; "
            f"{counts} inliers reach {unlabelled + inliers:.6g}. Outliers alone, one class, are "
            "not enough: raise `weight_unlabelled` or `weight_labelled`, or pass more such rows."
        )
    most = most_labelled(unlabelled, inliers, outliers)
    if kappa <= most * (1.0 + TIGHT):
        return
    if most == 0.0:
        raise ValueError(
            "No row is labelled, so there is no margin to weigh: `kappa` must be 0 then; got "
            f"{kappa:.6g}. Pass kappa=0, or labels."
        )
    raise ValueError(
        f"`kappa` is the least total weight of labelled rows; got {kappa:.6g}, but "
        f"{(codes == INLIER).sum()} inliers and {(codes == OUTLIER).sum()} outliers reach at most "
        f"{most:.6g}. Lower `kappa` to that or less, raise `weight_labelled`, or label more rows."
    )


def most_labelled(unlabelled: float, inliers: float, outliers: float) -> float:
    """Return the largest total weight of labelled rows, given the largest of each kind."""
    return min(inliers, outliers + 1.0) + min(outliers, unlabelled + inliers - 1.0)


def solve(problem: Problem) -> Solution:
    """Return the optimum with its multipliers.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [-1.0]])
    >>> problem = Problem(rows @ rows.T, np.array([0, 0, 1]), np.ones(3), 2.0)
    >>> solution = solve(problem)
    >>> round(solution.rho, 6), round(solution.gamma, 6)
    (1.25, 3.75)
    """
    weights = minimize(problem, EXACT)
    outputs = problem.outputs(weights)
    rho, gamma = _find_multipliers(problem, weights, outputs)
    signs = problem.signs
    half = 0.5 * float((signs * weights) @ outputs)
    margins = signs * rho + gamma * (problem.codes != UNLABELLED)
    losses = np.maximum(0.0, margins - signs * outputs)
    primal = half - rho - problem.kappa * gamma + float(problem.caps @ losses)
    return Solution(weights, outputs, rho, gamma, primal, -half)


def minimize(problem: Problem, tolerance: float, start: NDArray | None = None) -> NDArray:
    """Return feasible weights near the optimum.

    They violate optimality by at most ``tolerance`` times the range of f. ``start`` may hold the
    weights of the same rows for another kappa.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [-1.0]])
    >>> problem = Problem(rows @ rows.T, np.array([0, 0, 1]), np.ones(3), 2.0)
    >>> minimize(problem, ROUGH).round(3).tolist()
    [1.0, 0.5, 0.5]
    """
    check_feasible(problem.codes, problem.caps, problem.kappa)
    weights = _make_feasible(problem, start)
    for _ in range(MAX_ROUNDS):
        outputs = problem.outputs(weights)
        if _descend(problem, weights, outputs, ROUGH, STEPS_ON_ALL * len(weights)):
            break
        rows = _find_participants(problem, weights, outputs)
        few = weights[rows]
        _descend(problem.keep(rows), few, outputs[rows], ROUGH, 300 * len(rows))
        weights[rows] = few
    if tolerance >= ROUGH:
        return weights
    for _ in range(1000):
        _take_newton_steps(problem, weights)
        if _descend(problem, weights, problem.outputs(weights), tolerance, limit=50):
            break
    return weights


def _descend(
    problem: Problem, weights: NDArray, outputs: NDArray, tolerance: float, limit: int
) -> bool:
    """Move weights and outputs in place; return whether they reached the optimum."""
    steps = descend(
        problem.kernel,
        problem.codes,
        problem.caps,
        weights,
        outputs,
        problem.surplus(weights),
        tolerance,
        limit,
    )
    return steps < limit


def _find_participants(problem: Problem, weights: NDArray, outputs: NDArray) -> NDArray:
    """Return the rows with weights and, in each kind, some others with the smallest slopes."""
    slopes = np.where(problem.caps > 0.0, problem.signs * outputs, np.inf)
    slopes[weights > 0.0] = -np.inf
    chosen = []
    for code in KINDS:
        rows = np.flatnonzero(problem.codes == code)
        count = int((weights[rows] > 0.0).sum()) + MORE_ROWS
        chosen.append(rows[np.argsort(slopes[rows], kind="stable")[:count]])
    return np.sort(np.concatenate(chosen))


def _take_newton_steps(problem: Problem, weights: NDArray) -> None:
    """Optimize, in place, the weights that are not at a limit.

    A step ends where the first weight meets its limit. The next step continues without that row.
    """
    free = np.flatnonzero((weights > 0.0) & (weights < problem.caps))
    signs = problem.signs
    labelled = np.where(problem.codes == UNLABELLED, 0.0, 1.0)
    matrix = problem.kernel[np.ix_(free, free)] * np.outer(signs[free], signs[free])
    slopes = (signs * problem.outputs(weights))[free]
    size = 0.0
    while size < 1.0:
        surplus = problem.surplus(weights)
        constraints = np.array([signs, labelled] if surplus <= TIGHT else [signs])[:, free]
        if len(free) <= len(constraints):
            return
        direction = _newton_direction(matrix, slopes, constraints)
        if slopes @ direction >= 0.0:
            return
        caps = problem.caps[free]
        left = np.where(direction > 0.0, caps - weights[free], weights[free])
        # A weight that hardly moves has an infinite way to its limit.
        with np.errstate(over="ignore"):
            sizes = left / np.maximum(np.abs(direction), np.finfo(np.float64).tiny)
        spent = -float(labelled[free] @ direction)
        size = min(1.0, sizes.min(), surplus / spent if spent > 0.0 and surplus > TIGHT else 1.0)
        kept = sizes > size
        weights[free] = np.clip(weights[free] + size * direction, 0.0, caps)
        weights[free[~kept]] = np.where(direction > 0.0, caps, 0.0)[~kept]
        slopes = (slopes + size * (matrix @ direction))[kept]
        free = free[kept]
        matrix = matrix[np.ix_(kept, kept)]


def _newton_direction(matrix: NDArray, slopes: NDArray, constraints: NDArray) -> NDArray:
    """Return the step to the minimum that keeps the constraints."""
    ridge = 1e-14 * matrix.diagonal().max()
    # Where rows are very similar, rounding leaves negative eigenvalues.
    while True:
        try:
            factor = cho_factor(matrix + ridge * np.eye(len(matrix)), check_finite=False)
            break
        except LinAlgError:
            ridge *= 100.0
    plain = cho_solve(factor, slopes, check_finite=False)
    columns = cho_solve(factor, constraints.T, check_finite=False)
    multipliers = np.linalg.lstsq(constraints @ columns, constraints @ plain, rcond=None)[0]
    direction = columns @ multipliers - plain
    return direction - np.linalg.lstsq(constraints, constraints @ direction, rcond=None)[0]


def _find_multipliers(problem: Problem, weights: NDArray, outputs: NDArray) -> tuple[float, float]:
    """Return threshold and margin; if several are optimal, the smallest margin.

    The slopes of rows that can rise are upper bounds, and of rows that can fall lower bounds: of
    rho for unlabelled rows, of rho + gamma for inliers, and of gamma - rho for outliers.
    """
    slopes = find_extremes(problem.codes, problem.caps, weights, outputs)[0]
    (up, up_in, up_out), (down, down_in, down_out) = slopes.T
    gamma = 0.0
    if problem.surplus(weights) <= TIGHT:
        least = max(0.0, down_in - up, down + down_out, 0.5 * (down_in + down_out))
        most = min(up_in - down, up + up_out, 0.5 * (up_in + up_out))
        gamma = max(0.0, least if least <= most else 0.5 * (least + most))
    low = max(down, down_in - gamma, gamma - up_out)
    high = min(up, up_in - gamma, gamma - down_out)
    return float(0.5 * (low + high) if np.isfinite(high) else low), float(gamma)


def _make_feasible(problem: Problem, start: NDArray | None) -> NDArray:
    """Return weights that meet all constraints; the total of each kind stays close to the start."""
    unlabelled, inliers, outliers = _capacities(problem.codes, problem.caps)
    weights = np.zeros(len(problem.codes)) if start is None else start
    present = float(weights[problem.codes != UNLABELLED].sum())
    labelled = max(problem.kappa, 1.0 - unlabelled, present)
    labelled = min(labelled, most_labelled(unlabelled, inliers, outliers))
    # If unlabelled rows reach u, inliers reach (labelled + 1 - u) / 2 and outliers the rest.
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
    """Return weights with this sum: all of them fall, or all of them rise towards their caps."""
    present = float(weights.sum())
    total = min(max(0.0, total), float(caps.sum()))
    # Tiny changes of all weights would cost a step each.
    if abs(total - present) <= ROUNDING:
        return weights
    if total < present:
        return weights * (total / present)
    room = caps - weights
    return np.minimum(caps, weights + room * ((total - present) / room.sum()))


def _capacities(codes: NDArray, caps: NDArray) -> list[float]:
    """Return the largest total weight of unlabelled rows, inliers and outliers."""
    return [float(caps[codes == code].sum()) for code in KINDS]
