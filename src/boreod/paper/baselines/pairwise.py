"""Steps towards the optimum of SSAD's dual problem: two or three weights move at a time.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

Call what the last sum has above kappa the surplus. A row of each kind, and the surplus, count in
the two sums by

    unlabelled (1, 0)    inlier (1, 1)    outlier (-1, 1)    surplus (0, -1)

and weights stay feasible if they move along a direction that both sums do not see. Every such
direction is a sum, without cancellation, of those that cannot be taken apart: a row gives to
another of its kind, or three of the four kinds move together (``MIXED``). So a point is optimal as
soon as none of these goes down, and of each kind only the row most willing to rise and the row most
willing to fall need be looked at. No case is special: rows without any freedom do not move.

Reference: Platt: Fast training of support vector machines using sequential minimal optimization,
1998. Rows are chosen by slope alone: a choice by second-order information (Fan, Chen, Lin, JMLR 6,
2005) takes fewer steps, and more time.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset

KINDS = 3  # unlabelled rows, labelled inliers, labelled outliers: their codes -1, 0, 1 plus 1
MIXED = np.array(  # changes of a row of each kind, and of the surplus
    [
        [-2.0, 1.0, -1.0, 0.0],
        [2.0, -1.0, 1.0, 0.0],
        [-1.0, 1.0, 0.0, 1.0],
        [1.0, -1.0, 0.0, -1.0],
        [1.0, 0.0, 1.0, 1.0],
        [-1.0, 0.0, -1.0, -1.0],
        [0.0, 1.0, 1.0, 2.0],
        [0.0, -1.0, -1.0, -2.0],
    ]
)
LENGTHS = np.abs(MIXED[:, :KINDS]).sum(axis=1) / 2.0  # a pair has the length 1
SMALLEST_CURVATURE = 1e-12
ROUNDING = 1e-12  # relative to the largest output
RISING, FALLING = 0, 1


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
    """Move weights to the optimum, in place; return the number of steps, ``limit`` at most.

    ``kernel`` is K, ``caps`` are c (rows with 0 take no part), ``weights`` a feasible a,
    ``outputs`` f = K (s a) of all rows, kept up to date, ``surplus`` what labelled rows have above
    kappa. It ends where no two rows are on the wrong sides by ``tolerance`` times the range of f.
    """
    rows, changes = unset(KINDS, np.int64), unset(KINDS)
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

    The first column of slopes has the smallest slope of rows that can rise, the second the largest
    of rows that can fall; infinite where there is no such row.
    """
    slopes, movers = unset((KINDS, 2)), np.full((KINDS, 2), -1)
    slopes[:, RISING], slopes[:, FALLING] = np.inf, -np.inf
    low, high = np.inf, -np.inf
    for row in range(len(codes)):
        cap = caps[row]
        if cap > 0.0:
            kind, weight, output = codes[row] + 1, weights[row], outputs[row]
            low, high = min(low, output), max(high, output)
            slope = _sign(codes[row]) * output
            if slope < slopes[kind, RISING] and weight < cap:
                slopes[kind, RISING], movers[kind, RISING] = slope, row
            if slope > slopes[kind, FALLING] and weight > 0.0:
                slopes[kind, FALLING], movers[kind, FALLING] = slope, row
    return slopes, movers, low, high


@inner
def _sign(code: int) -> float:
    return -1.0 if code == 1 else 1.0


@inner
def _find_steepest(slopes: NDArray, surplus: float) -> tuple[int, float]:
    """Return the direction that goes down fastest: pairs of each kind first, then ``MIXED``."""
    best, violation = 0, -np.inf
    for kind in range(KINDS):
        descent = slopes[kind, FALLING] - slopes[kind, RISING]
        if descent > violation:
            best, violation = kind, descent
    for place in range(len(MIXED)):
        if MIXED[place, KINDS] < 0.0 and surplus <= 0.0:
            continue
        descent = 0.0
        for kind in range(KINDS):
            change = MIXED[place, kind]
            if change != 0.0:
                descent -= change * slopes[kind, RISING if change > 0.0 else FALLING]
        if descent / LENGTHS[place] > violation:
            best, violation = KINDS + place, descent / LENGTHS[place]
    return best, violation


@inner
def _choose_rows(best: int, movers: NDArray, rows: NDArray, changes: NDArray) -> tuple[int, float]:
    """Note the rows of a direction and their changes; return how many, and that of the surplus."""
    if best < KINDS:
        rows[0], rows[1] = movers[best, RISING], movers[best, FALLING]
        changes[0], changes[1] = 1.0, -1.0
        return 2, 0.0
    count = 0
    for kind in range(KINDS):
        change = MIXED[best - KINDS, kind]
        if change != 0.0:
            rows[count] = movers[kind, RISING if change > 0.0 else FALLING]
            changes[count] = change
            count += 1
    return count, MIXED[best - KINDS, KINDS]


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
    slope, curvature, longest = 0.0, 0.0, np.inf
    for place, row in enumerate(rows):
        signed = _sign(codes[row]) * changes[place]
        slope -= signed * outputs[row]
        left = caps[row] - weights[row] if changes[place] > 0.0 else weights[row]
        longest = min(longest, left / abs(changes[place]))
        for other_place, other in enumerate(rows):
            other_signed = _sign(codes[other]) * changes[other_place]
            curvature += signed * other_signed * kernel[row, other]
    return min(longest, slope / max(curvature, SMALLEST_CURVATURE))
