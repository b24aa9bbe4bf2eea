"""Solve SSAD's dual problem by steps that move two or three weights at a time.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

The surplus is the excess of the last sum over kappa. In the two sums, the weight of a row of each
kind, and the surplus, have the coefficients

    unlabelled (1, 0)    inlier (1, 1)    outlier (-1, 1)    surplus (0, -1)

Weights stay feasible if they move along a direction that changes neither sum. Every such direction
is a sum, without cancellation, of elementary ones: a row gives weight to another of its kind, or
three of the four kinds move together (``MIXED``). So weights are optimal if the objective falls
along none of these. In each kind, two rows are enough: of those that can rise, the one with the
smallest slope, and of those that can fall, the one with the largest.

Reference: Platt: Fast training of support vector machines using sequential minimal optimization,
1998. Rows are chosen by slope alone: a choice by second-order information (Fan, Chen, Lin, JMLR 6,
2005) takes fewer steps, but more time.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset

# Unlabelled rows, inliers and outliers: their codes plus 1 are 0, 1 and 2.
N_KINDS = 3
# Changes of a row of each kind, and of the surplus: four directions, each also backwards.
MIXED = np.kron([[-2, 1, -1, 0], [-1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 2]], [[1.0], [-1.0]])
# Lengths of these directions; that of a pair of rows is 1.
LENGTHS = np.abs(MIXED[:, :N_KINDS]).sum(axis=1) / 2.0
RISING, FALLING = 0, 1
# The rounding error of slopes, relative to the largest output.
ROUNDING = 1e-12


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
) -> int:
    """Move weights to the optimum in place; return the number of steps, ``limit`` at most.

    The weights must be feasible at the start. ``outputs`` holds their f, and is updated with them.
    Steps end when no direction has a slope of more than ``tolerance`` times the range of f.
    """
    rows = unset(N_KINDS, np.int64)
    changes = unset(N_KINDS)
    for step in range(limit):
        slopes, movers, low, high = find_extremes(codes, caps, weights, outputs)
        best, violation = _find_steepest(slopes, surplus)
        if violation <= max(tolerance * (high - low), ROUNDING * max(abs(low), abs(high))):
            return step
        count, spent = _choose_rows(best, movers, rows, changes)
        size = _find_size(kernel, codes, caps, weights, outputs, rows[:count], changes)
        if spent < 0.0:
            size = min(size, surplus / -spent)
        surplus = max(0.0, surplus + spent * size)
        for place in range(count):
            row = rows[place]
            old = weights[row]
            weights[row] = min(max(old + size * changes[place], 0.0), caps[row])
            change = _sign(codes[row]) * (weights[row] - old)
            line = kernel[row]
            for other in range(len(outputs)):
                outputs[other] += change * line[other]
    return limit


@compiled
def find_extremes(
    codes: NDArray, caps: NDArray, weights: NDArray, outputs: NDArray
) -> tuple[NDArray, NDArray, float, float]:
    """Return the extreme slopes of each kind, their rows, and the range of f.

    The first column has the smallest slope of rows that can rise. The second column has the
    largest slope of rows that can fall. Slopes are infinite if there is no such row.
    """
    slopes = unset((N_KINDS, 2))
    slopes[:, RISING] = np.inf
    slopes[:, FALLING] = -np.inf
    movers = np.full((N_KINDS, 2), -1)
    low = np.inf
    high = -np.inf
    for row in range(len(codes)):
        if caps[row] > 0.0:
            kind = codes[row] + 1
            low = min(low, outputs[row])
            high = max(high, outputs[row])
            slope = _sign(codes[row]) * outputs[row]
            if slope < slopes[kind, RISING] and weights[row] < caps[row]:
                slopes[kind, RISING] = slope
                movers[kind, RISING] = row
            if slope > slopes[kind, FALLING] and weights[row] > 0.0:
                slopes[kind, FALLING] = slope
                movers[kind, FALLING] = row
    return slopes, movers, low, high


@inner
def _sign(code: int) -> float:
    return -1.0 if code == 1 else 1.0


@inner
def _find_steepest(slopes: NDArray, surplus: float) -> tuple[int, float]:
    """Return the steepest direction (pairs of each kind, then ``MIXED``) and its descent."""
    best = 0
    violation = -np.inf
    for kind in range(N_KINDS):
        descent = slopes[kind, FALLING] - slopes[kind, RISING]
        if descent > violation:
            best = kind
            violation = descent
    for place in range(len(MIXED)):
        if MIXED[place, N_KINDS] < 0.0 and surplus <= 0.0:
            continue
        descent = 0.0
        for kind in range(N_KINDS):
            change = MIXED[place, kind]
            if change != 0.0:
                descent -= change * slopes[kind, RISING if change > 0.0 else FALLING]
        if descent / LENGTHS[place] > violation:
            best = N_KINDS + place
            violation = descent / LENGTHS[place]
    return best, violation


@inner
def _choose_rows(best: int, movers: NDArray, rows: NDArray, changes: NDArray) -> tuple[int, float]:
    """Write the rows of a direction and their changes; return the count and the surplus change."""
    if best < N_KINDS:
        rows[0] = movers[best, RISING]
        rows[1] = movers[best, FALLING]
        changes[0] = 1.0
        changes[1] = -1.0
        return 2, 0.0
    count = 0
    for kind in range(N_KINDS):
        change = MIXED[best - N_KINDS, kind]
        if change != 0.0:
            rows[count] = movers[kind, RISING if change > 0.0 else FALLING]
            changes[count] = change
            count += 1
    return count, MIXED[best - N_KINDS, N_KINDS]


@inner
def _find_size(
    kernel: NDArray,
    codes: NDArray,
    caps: NDArray,
    weights: NDArray,
    outputs: NDArray,
    rows: NDArray,
    changes: NDArray,
) -> float:
    """Return the best size of a step that keeps weights within their limits."""
    slope = 0.0
    curvature = 0.0
    longest = np.inf
    for place, row in enumerate(rows):
        signed = _sign(codes[row]) * changes[place]
        slope -= signed * outputs[row]
        left = caps[row] - weights[row] if changes[place] > 0.0 else weights[row]
        longest = min(longest, left / abs(changes[place]))
        for other_place, other in enumerate(rows):
            other_signed = _sign(codes[other]) * changes[other_place]
            curvature += signed * other_signed * kernel[row, other]
    return min(longest, slope / max(curvature, 1e-12))
