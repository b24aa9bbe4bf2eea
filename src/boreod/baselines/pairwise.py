"""SSAD's dual problem solved roughly and fast: two or three weights move at a time.

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
1998; the second row of a pair is chosen as in Fan, Chen, Lin: Working set selection using second
order information, JMLR 6, 2005.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset

KINDS = 3  # unlabelled rows, labelled inliers, labelled outliers, in this order
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
ROUNDING = 1e-12


@compiled
def descend(
    kernel: NDArray,
    ends: NDArray,
    caps: NDArray,
    weights: NDArray,
    outputs: NDArray,
    surplus: float,
    tolerance: float,
    limit: int,
) -> int:
    """Move weights to the optimum, in place; return the number of steps.

    Parameters
    ----------
    kernel
        K, its rows sorted by kind: unlabelled, inliers, outliers.
    ends
        Where each kind ends.
    caps
        c; rows with 0 take no part.
    weights
        Feasible weights a.
    outputs
        f = K (s a) of all rows, kept up to date.
    surplus
        What labelled rows have above kappa.
    tolerance
        Stop when no two rows are on the wrong sides by this share of the range of f.
    limit
        Largest number of steps.
    """
    diagonal = np.diag(kernel).copy()
    rising, falling = unset(KINDS, np.int64), unset(KINDS, np.int64)
    up, down = unset(KINDS), unset(KINDS)
    rows, changes = unset(KINDS, np.int64), unset(KINDS)
    for step in range(limit):
        low, high = np.inf, -np.inf
        for kind in range(KINDS):
            first = ends[kind - 1] if kind else 0
            sign = -1.0 if kind == KINDS - 1 else 1.0
            least, most = _find_extremes(
                outputs, weights, caps, first, ends[kind], sign, rising, falling, up, down, kind
            )
            low, high = min(low, least), max(high, most)
        best, violation = _steepest(up, down, surplus)
        if violation <= max(tolerance * (high - low), ROUNDING * max(abs(low), abs(high))):
            return step
        count, last, spent = _choose_rows(best, rising, falling, rows, changes)
        if count == 2:
            first = ends[last - 1] if last else 0
            rows[1] = _partner(
                kernel[rows[0]], diagonal, outputs, weights, caps, ends, rows, changes, first, last
            )
        size = _step_size(
            kernel, outputs, weights, caps, ends, rows[:count], changes[:count], spent, surplus
        )
        surplus = max(0.0, surplus + spent * size)
        _move(kernel, outputs, weights, caps, ends, rows[:count], changes[:count] * size)
    return limit


@compiled
def _find_extremes(
    outputs: NDArray,
    weights: NDArray,
    caps: NDArray,
    start: int,
    stop: int,
    sign: float,
    rising: NDArray,
    falling: NDArray,
    up: NDArray,
    down: NDArray,
    kind: int,
) -> tuple[float, float]:
    """Note the rows of a kind with the smallest and largest slope that can still move there."""
    low, high, least, most = np.inf, -np.inf, np.inf, -np.inf
    riser, faller = -1, -1
    for row in range(start, stop):
        cap = caps[row]
        if cap > 0.0:
            slope = sign * outputs[row]
            least, most = min(least, slope), max(most, slope)
            if slope < low and weights[row] < cap:
                low, riser = slope, row
            if slope > high and weights[row] > 0.0:
                high, faller = slope, row
    up[kind], down[kind], rising[kind], falling[kind] = low, high, riser, faller
    return (least, most) if sign > 0.0 else (-most, -least)


@compiled
def _steepest(up: NDArray, down: NDArray, surplus: float) -> tuple[int, float]:
    """Return the direction that goes down fastest: pairs of each kind first, then ``MIXED``."""
    best, violation = 0, -np.inf
    for kind in range(KINDS):
        if down[kind] - up[kind] > violation:
            best, violation = kind, down[kind] - up[kind]
    for place in range(len(MIXED)):
        if MIXED[place, KINDS] < 0.0 and surplus <= 0.0:
            continue
        slope = 0.0
        for kind in range(KINDS):
            change = MIXED[place, kind]
            if change != 0.0:
                slope -= change * (up[kind] if change > 0.0 else down[kind])
        if slope / LENGTHS[place] > violation:
            best, violation = KINDS + place, slope / LENGTHS[place]
    return best, violation


@compiled
def _choose_rows(
    best: int, rising: NDArray, falling: NDArray, rows: NDArray, changes: NDArray
) -> tuple[int, int, float]:
    """Note the rows of a direction and their changes; return how many, the last kind, surplus."""
    if best < KINDS:
        rows[0], rows[1], changes[0], changes[1] = rising[best], falling[best], 1.0, -1.0
        return 2, best, 0.0
    count, last = 0, 0
    for kind in range(KINDS):
        change = MIXED[best - KINDS, kind]
        if change != 0.0:
            rows[count] = rising[kind] if change > 0.0 else falling[kind]
            changes[count] = change
            count, last = count + 1, kind
    return count, last, MIXED[best - KINDS, KINDS]


@compiled
def _partner(
    similar: NDArray,
    diagonal: NDArray,
    outputs: NDArray,
    weights: NDArray,
    caps: NDArray,
    ends: NDArray,
    rows: NDArray,
    changes: NDArray,
    start: int,
    kind: int,
) -> int:
    """Return the second row of a pair with which the first gains most, were there no limits."""
    own, partner, most = diagonal[rows[0]], rows[1], -1.0
    signed = -changes[0] if rows[0] >= ends[1] else changes[0]
    other_signed = -changes[1] if kind == KINDS - 1 else changes[1]
    base, cross, rises = -signed * outputs[rows[0]], 2.0 * signed * other_signed, changes[1] > 0.0
    for row in range(start, ends[kind]):
        if (weights[row] < caps[row]) if rises else (weights[row] > 0.0):
            slope = base - other_signed * outputs[row]
            if slope > 0.0:
                curvature = own + diagonal[row] + cross * similar[row]
                gain = slope * slope / max(curvature, SMALLEST_CURVATURE)
                if gain > most:
                    partner, most = row, gain
    return partner


@compiled
def _step_size(
    kernel: NDArray,
    outputs: NDArray,
    weights: NDArray,
    caps: NDArray,
    ends: NDArray,
    rows: NDArray,
    changes: NDArray,
    spent: float,
    surplus: float,
) -> float:
    """Return the best size of a step that keeps within all limits."""
    slope, curvature = 0.0, 0.0
    room = surplus / -spent if spent < 0.0 else np.inf
    for place, row in enumerate(rows):
        signed = -changes[place] if row >= ends[1] else changes[place]
        slope -= signed * outputs[row]
        left = caps[row] - weights[row] if changes[place] > 0.0 else weights[row]
        room = min(room, left / abs(changes[place]))
        for other_place, other in enumerate(rows):
            other_signed = -changes[other_place] if other >= ends[1] else changes[other_place]
            curvature += signed * other_signed * kernel[row, other]
    return min(room, slope / max(curvature, SMALLEST_CURVATURE))


@compiled
def _move(
    kernel: NDArray,
    outputs: NDArray,
    weights: NDArray,
    caps: NDArray,
    ends: NDArray,
    rows: NDArray,
    changes: NDArray,
) -> None:
    """Take a step."""
    for place, row in enumerate(rows):
        old = weights[row]
        new = min(max(old + changes[place], 0.0), caps[row])
        weights[row] = new
        change = old - new if row >= ends[1] else new - old
        line = kernel[row]
        for other in range(len(outputs)):
            outputs[other] += change * line[other]
