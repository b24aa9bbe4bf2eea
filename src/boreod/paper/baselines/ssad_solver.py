"""SSAD's dual problem: its optimum, threshold and margin.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

where s = -1 for labelled outliers and +1 for all other rows. Let f = K (s a), and let rho and gamma
be the multipliers of the last two constraints. Rows with 0 < a < c lie at f = rho (unlabelled),
f = rho + gamma (inliers) and f = rho - gamma (outliers). The surplus is the sum of a
over labelled rows, minus kappa.

Pairwise steps move two or three weights at a time, along a direction that keeps the sum of s a.
Some directions also keep the sum over labelled rows, and the others raise or lower the surplus.
Each round takes a few of these steps on all rows, and then many steps on the rows with weights
above 0, whose kernel fits into the cache. That gives a few digits, and a ranking needs no more. To
get all digits, Newton steps optimize the weights that are not at a limit, and pairwise steps let
other rows in.

References: Goernitz, Kloft, Rieck, Brefeld: Toward supervised anomaly detection. JAIR 46, 2013.
Platt: Fast training of support vector machines using sequential minimal optimization, 1998. Rows
are chosen by slope alone: a choice by second-order information (Fan, Chen, Lin, JMLR 6, 2005) takes
fewer steps, but more time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner
from boreod.validation import UNLABELLED

# Unlabelled rows, inliers and outliers: their codes plus 1 are 0, 1 and 2.
N_KINDS = 3
SIGNS = np.array([1.0, 1.0, -1.0])
# Directions of pairwise steps. For each kind, a direction has the change of a weight that rises and
# of a weight that falls. The last column is the change of the surplus. Every change of weights that
# keeps the sum of s a is a sum of such directions, without cancellation.
DIRECTIONS = np.array(
    [
        # two unlabelled rows, two inliers, two outliers, the surplus
        [1, -1, 0, 0, 0, 0, 0],
        [0, 0, 1, -1, 0, 0, 0],
        [0, 0, 0, 0, 1, -1, 0],
        [0, -1, 0.5, 0, 0, -0.5, 0],
        [1, 0, 0, -0.5, 0.5, 0, 0],
        [0, -1, 1, 0, 0, 0, 1],
        [1, 0, 0, -1, 0, 0, -1],
        [1, 0, 0, 0, 1, 0, 1],
        [0, -1, 0, 0, 0, -1, -1],
        [0, 0, 1, 0, 1, 0, 2],
        [0, 0, 0, -1, 0, -1, -2],
    ]
)
SURPLUS = 2 * N_KINDS
# The rounding error of slopes, relative to the largest f.
ROUNDING = 1e-12
# Tolerances as shares of the range of f.
EXACT = 1e-10
ROUGH = 3e-4
MAX_ROUNDS = 20
MAX_NEWTON_STEPS = 10_000
# Weights that move by less than this count as if they never reached their limits.
SHORTEST = 1e-250
# A constraint that is missed by less than this is missed by rounding only.
TIGHT = 1e-9


@dataclass(frozen=True)
class Problem:
    """The kernel K, the codes of rows (1, 0, -1), the caps c of their weights, and kappa.

    Rows with the cap 0 take no part. ``kappa`` is at most :func:`most_labelled`.
    """

    kernel: NDArray
    codes: NDArray
    caps: NDArray
    kappa: float

    @property
    def signs(self) -> NDArray:
        """-1 for labelled outliers, +1 for all other rows."""
        return SIGNS[self.codes + 1]

    def surplus(self, weights: NDArray) -> float:
        """Return the excess of the weight of labelled rows over kappa."""
        return max(0.0, float(weights[self.codes != UNLABELLED].sum()) - self.kappa)


@dataclass(frozen=True)
class Solution:
    """The weights a and outputs f of all rows, the multipliers rho and gamma, and two values.

    The values are those of the primal and the dual problem, which are equal at the optimum.
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


def most_labelled(unlabelled: float, inliers: float, outliers: float) -> float:
    """Return the largest total weight of labelled rows, given the largest weight of each kind."""
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
    weights = minimize(problem)
    for _ in range(MAX_NEWTON_STEPS):
        if _take_newton_step(problem, weights) and _descend(problem, weights, EXACT, limit=50):
            break
    signs = problem.signs
    outputs = problem.kernel @ (signs * weights)
    rho, gamma = _find_multipliers(problem, weights, outputs)
    half = 0.5 * float((signs * weights) @ outputs)
    losses = np.maximum(
        0.0, (signs * rho + gamma * (problem.codes != UNLABELLED)) - signs * outputs
    )
    primal = half - rho - problem.kappa * gamma + float(problem.caps @ losses)
    return Solution(weights, outputs, rho, gamma, primal, -half)


def minimize(problem: Problem, start: NDArray | None = None) -> NDArray:
    """Return feasible weights that are optimal to a few digits.

    ``start`` may hold the weights of the same rows for another kappa.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [-1.0]])
    >>> problem = Problem(rows @ rows.T, np.array([0, 0, 1]), np.ones(3), 2.0)
    >>> minimize(problem).round(3).tolist()
    [1.0, 0.5, 0.5]
    """
    weights = _find_start(problem, start)
    for _ in range(MAX_ROUNDS):
        if _descend(problem, weights, ROUGH, limit=2 * len(weights)):
            break
        rows = np.flatnonzero(weights)
        few = weights[rows]
        kernel = problem.kernel[np.ix_(rows, rows)]
        part = Problem(kernel, problem.codes[rows], problem.caps[rows], problem.kappa)
        _descend(part, few, ROUGH, limit=300 * len(rows))
        weights[rows] = few
    return weights


def _find_start(problem: Problem, start: NDArray | None) -> NDArray:
    """Return feasible weights, as close to the start as kappa allows.

    Two solutions satisfy all constraints but the last: the start, and a solution with the largest
    weight of labelled rows. The result lies on the line between them.
    """
    capacities = np.bincount(problem.codes + 1, problem.caps, N_KINDS)
    unlabelled, inliers, outliers = capacities
    totals = np.array([min(unlabelled, 1.0), 1.0 - min(unlabelled, 1.0), 0.0])
    low = _spread_weights(problem, capacities, totals) if start is None else start
    # The totals of labelled inliers and outliers add up to `most_labelled`.
    totals[1:] = min(inliers, outliers + 1.0), min(outliers, unlabelled + inliers - 1.0)
    totals[0] = 1.0 + totals[2] - totals[1]
    high = _spread_weights(problem, capacities, totals)
    labelled = problem.codes != UNLABELLED
    missing = max(0.0, problem.kappa - float(low[labelled].sum()))
    share = min(1.0, missing / max(float((high - low)[labelled].sum()), np.finfo(np.float64).tiny))
    return np.minimum(problem.caps, (1.0 - share) * low + share * high)


def _spread_weights(problem: Problem, capacities: NDArray, totals: NDArray) -> NDArray:
    """Return weights with a given total of each kind; in a kind, all have equal shares of caps."""
    shares = totals / np.maximum(capacities, np.finfo(np.float64).tiny)
    return problem.caps * np.clip(shares, 0.0, 1.0)[problem.codes + 1]


def _descend(problem: Problem, weights: NDArray, tolerance: float, limit: int) -> bool:
    """Take pairwise steps that change ``weights``; return whether they reached the optimum."""
    return descend(
        problem.kernel,
        problem.codes,
        problem.caps,
        weights,
        problem.kernel @ (problem.signs * weights),
        problem.surplus(weights),
        tolerance,
        limit,
    )


def _take_newton_step(problem: Problem, weights: NDArray) -> bool:
    """Optimize the weights that are not at a limit, in place; return whether that succeeded.

    The step keeps the sum of s a and, if there is no surplus, the total weight of labelled rows. It
    ends when a weight or the surplus reaches its limit. The next step continues from there.
    """
    free = np.flatnonzero((weights > 0.0) & (weights < problem.caps))
    signs = problem.signs
    labelled = np.where(problem.codes == UNLABELLED, 0.0, 1.0)
    surplus = problem.surplus(weights)
    constraints = np.array([signs, labelled] if surplus <= TIGHT else [signs])[:, free]
    if len(free) <= len(constraints):
        return True
    slopes = signs[free] * (problem.kernel[free] @ (signs * weights))
    matrix = problem.kernel[np.ix_(free, free)] * np.outer(signs[free], signs[free])
    # If rows are very similar, rounding may give the matrix negative eigenvalues.
    ridge = 1e-15 * len(free) * matrix.diagonal().max()
    corner = -ridge * np.eye(len(constraints))
    blocks = np.block([[matrix + ridge * np.eye(len(free)), constraints.T], [constraints, corner]])
    direction = np.linalg.solve(blocks, np.append(-slopes, np.zeros(len(constraints))))[: len(free)]
    direction -= np.linalg.lstsq(constraints, constraints @ direction, rcond=None)[0]
    if slopes @ direction >= 0.0:
        return True
    limits = np.where(direction > 0.0, problem.caps[free], 0.0)
    sizes = np.abs(limits - weights[free]) / np.maximum(np.abs(direction), SHORTEST)
    size = min(1.0, float(sizes.min()))
    spent = -float(labelled[free] @ direction)
    if surplus > TIGHT and spent > 0.0:
        size = min(size, surplus / spent)
    moved = np.clip(weights[free] + size * direction, 0.0, problem.caps[free])
    weights[free] = np.where(sizes > size, moved, limits)
    return size == 1.0


def _find_multipliers(problem: Problem, weights: NDArray, outputs: NDArray) -> tuple[float, float]:
    """Return the threshold and the margin; if several margins are optimal, take the smallest.

    The slopes of rows whose weights can rise are upper bounds, and the slopes of rows whose weights
    can fall are lower bounds. They bound rho (unlabelled rows), rho + gamma (inliers) and
    gamma - rho (outliers).
    """
    slopes = find_extremes(problem.codes, problem.caps, weights, outputs)[0]
    up, down, up_in, down_in, up_out, down_out = slopes
    gamma = 0.0
    if problem.surplus(weights) <= TIGHT:
        least = max(0.0, down_in - up, down + down_out, 0.5 * (down_in + down_out))
        most = min(up_in - down, up + up_out, 0.5 * (up_in + up_out))
        gamma = max(0.0, least if least <= most else 0.5 * (least + most))
    low = max(down, down_in - gamma, gamma - up_out)
    high = min(up, up_in - gamma, gamma - down_out)
    return float(0.5 * (low + high) if np.isfinite(high) else low), float(gamma)


@compiled
def descend(
    kernel: NDArray,
    codes: NDArray,
    caps: NDArray,
    weights: NDArray,
    outputs: NDArray,
    surplus: float,
    tolerance: float,
    limit: int,
) -> bool:
    """Move feasible weights to the optimum in place; return False after ``limit`` steps.

    ``outputs`` holds f for these weights, and is updated in place, too. Steps end when no direction
    has a slope of more than ``tolerance`` times the range of f.
    """
    for _ in range(limit):
        slopes, movers, low, high = find_extremes(codes, caps, weights, outputs)
        changes, descent = _find_steepest(slopes, surplus)
        if descent <= max(tolerance * (high - low), ROUNDING * max(abs(low), abs(high))):
            return True
        size = descent / max(_find_curvature(kernel, codes, movers, changes), 1e-12)
        if changes[SURPLUS] < 0.0:
            size = min(size, surplus / -changes[SURPLUS])
        for place, row in enumerate(movers):
            if changes[place] != 0.0:
                left = caps[row] - weights[row] if changes[place] > 0.0 else weights[row]
                size = min(size, left / abs(changes[place]))
        surplus = max(0.0, surplus + changes[SURPLUS] * size)
        for place, row in enumerate(movers):
            if changes[place] != 0.0:
                old = weights[row]
                weights[row] = min(max(old + size * changes[place], 0.0), caps[row])
                change = SIGNS[codes[row] + 1] * (weights[row] - old)
                line = kernel[row]
                for other in range(len(outputs)):
                    outputs[other] += change * line[other]
    return False


@compiled
def find_extremes(
    codes: NDArray, caps: NDArray, weights: NDArray, outputs: NDArray
) -> tuple[NDArray, NDArray, float, float]:
    """Return the extreme slopes of each kind, their rows, and the smallest and largest f.

    For each kind, the smallest slope of rows whose weights can rise comes before the largest slope
    of rows whose weights can fall. Slopes are infinite if there is no such row.
    """
    slopes = np.full(2 * N_KINDS, np.inf)
    slopes[1::2] = -np.inf
    movers = np.full(2 * N_KINDS, -1)
    low = np.inf
    high = -np.inf
    for row in range(len(codes)):
        if caps[row] > 0.0:
            rising = 2 * (codes[row] + 1)
            falling = rising + 1
            low = min(low, outputs[row])
            high = max(high, outputs[row])
            slope = SIGNS[codes[row] + 1] * outputs[row]
            if slope < slopes[rising] and weights[row] < caps[row]:
                slopes[rising] = slope
                movers[rising] = row
            if slope > slopes[falling] and weights[row] > 0.0:
                slopes[falling] = slope
                movers[falling] = row
    return slopes, movers, low, high


@inner
def _find_steepest(slopes: NDArray, surplus: float) -> tuple[NDArray, float]:
    """Return the steepest direction and its descent."""
    best = DIRECTIONS[0]
    steepest = -np.inf
    for changes in DIRECTIONS:
        if changes[SURPLUS] >= 0.0 or surplus > 0.0:
            descent = 0.0
            for place, slope in enumerate(slopes):
                if changes[place] != 0.0:
                    descent -= changes[place] * slope
            if descent > steepest:
                best = changes
                steepest = descent
    return best, steepest


@inner
def _find_curvature(kernel: NDArray, codes: NDArray, movers: NDArray, changes: NDArray) -> float:
    """Return the second derivative along a direction."""
    curvature = 0.0
    for place, row in enumerate(movers):
        if changes[place] != 0.0:
            signed = SIGNS[codes[row] + 1] * changes[place]
            for other_place, other in enumerate(movers):
                if changes[other_place] != 0.0:
                    curvature += (
                        signed
                        * (SIGNS[codes[other] + 1] * changes[other_place])
                        * kernel[row, other]
                    )
    return curvature
