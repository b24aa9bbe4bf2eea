"""Solve a quadratic program on few rows, and let in others only where they would help.

Most rows get the weight 0, and a program without them has the same optimum. A row outside is wanted
if the gradient there, less the multipliers, is negative: a weight above 0 would pay.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.interior_point import minimize
from boreod.baselines.quadratic_program import Program

WORTH_SPLITTING = 600
NEARLY_ALL = 0.6
FIRST_ROWS = 250


def minimize_growing(
    program: Program, first: NDArray, tolerance: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Return weights, multipliers of the constraints, and the rows that took part.

    Parameters
    ----------
    program
        What is to be minimized.
    first
        Rows to begin with; they must be able to meet the constraints.
    tolerance
        As in :func:`boreod.baselines.interior_point.minimize`.
    """
    n = len(program.caps)
    inside = np.zeros(n, dtype=bool)
    inside[first] = True
    while True:
        if n <= WORTH_SPLITTING or inside.sum() > NEARLY_ALL * n:
            inside[:] = True
        rows = np.flatnonzero(inside)
        part = program if len(rows) == n else program.keep(rows)
        weights = np.zeros(n)
        weights[rows], multipliers = minimize(part, tolerance)
        if len(rows) == n:
            return weights, multipliers, rows
        gradient = program.gradient(weights)
        gain = program.constraints.T @ multipliers - gradient
        wanted = np.flatnonzero(~inside & (gain > tolerance * np.abs(gradient).max()))
        if len(wanted) == 0:
            return weights, multipliers, rows
        if len(wanted) > len(rows):  # the set at most doubles: many of these come for the same gain
            wanted = wanted[np.argsort(-gain[wanted], kind="stable")[: len(rows)]]
        inside[wanted] = True


def pick_evenly(rows: NDArray, caps: NDArray, total: float) -> NDArray:
    """Return some of the rows, evenly spread, enough to reach a total weight if all can.

    Examples
    --------
    >>> len(pick_evenly(np.arange(1000), np.full(1000, 0.01), total=4.0))
    400
    """
    count = max(FIRST_ROWS, int(np.ceil(total / caps.min(initial=np.inf))))
    if count >= len(rows):
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(int)]
