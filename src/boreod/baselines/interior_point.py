"""A primal-dual interior-point method for convex quadratic programs with few constraints.

    min  1/2 a' (K o ss') a + q' a     s.t.  A a = b,  0 <= a <= c

The last constraint may be ``>=``. Mehrotra's predictor and corrector share one factorization of
K plus a diagonal per step; some twenty steps reach the limits of rounding, whatever the data are.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernels import Solve
from boreod.baselines.quadratic_program import Point, Program

MOST_STEPS = 100
STALLED_STEPS = 8
TO_THE_WALL = 0.995  # share of the longest step that keeps all values positive


def minimize(program: Program, tolerance: float) -> tuple[NDArray, NDArray]:
    """Return the optimal weights and the multipliers of the constraints.

    ``tolerance`` is relative: of the duality gap, the gradient and the constraints.

    Examples
    --------
    >>> from boreod.baselines.kernels import Dense
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    >>> ones = np.ones(3)
    >>> program = Program(
    ...     Dense(rows @ rows.T), ones, 0 * ones, ones[None], ones[:1], False, ones, ones / 3
    ... )
    >>> minimize(program, 1e-9)[0].round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    point = _first_point(program)
    best, smallest, age = point, np.inf, 0
    for _ in range(MOST_STEPS):
        gradient = program.gradient(point.weights)
        dual, primal = _residuals(program, point, gradient)
        error = _error(program, point, gradient, dual, primal)
        best, smallest, age = (point, error, 0) if error < smallest else (best, smallest, age + 1)
        if smallest <= tolerance or age >= STALLED_STEPS:
            break
        point = _step(program, point, dual, primal)
    return best.weights, best.multipliers


def _first_point(program: Program) -> Point:
    """Let the multipliers balance the gradient at the start, all of them away from zero."""
    weights, constraints = program.start, program.constraints
    gradient = program.gradient(weights)
    multipliers = np.linalg.lstsq(constraints.T, gradient, rcond=None)[0]
    rest = gradient - constraints.T @ multipliers
    floor = np.abs(rest).mean() + 1e-3 * np.abs(gradient).mean() + np.finfo(np.float64).tiny
    surplus = 0.0
    if program.at_least:
        multipliers[-1] = max(multipliers[-1], floor)
        excess = constraints[-1] @ weights - program.targets[-1]
        surplus = max(float(excess), 0.1 * float(program.targets[-1]))
    low, high = np.maximum(rest, 0.0) + floor, np.maximum(-rest, 0.0) + floor
    return Point(weights, program.caps - weights, low, high, surplus, multipliers)


def _residuals(program: Program, point: Point, gradient: NDArray) -> tuple[NDArray, NDArray]:
    """Return what is missing from a zero gradient and from the constraints."""
    dual = gradient - program.constraints.T @ point.multipliers - point.low + point.high
    primal = program.constraints @ point.weights - program.targets
    primal[-1] -= point.surplus
    return dual, primal


def _products(program: Program, point: Point) -> tuple[NDArray, NDArray, float]:
    """Return the products that are all zero at the optimum."""
    surplus = point.surplus * point.multipliers[-1] if program.at_least else 0.0
    return point.weights * point.low, point.room * point.high, float(surplus)


def _error(
    program: Program, point: Point, gradient: NDArray, dual: NDArray, primal: NDArray
) -> float:
    low, high, surplus = _products(program, point)
    curvature = point.weights @ (gradient - program.linear)
    value = abs(0.5 * curvature + program.linear @ point.weights)
    size = max(value, 0.5 * abs(curvature), np.finfo(np.float64).tiny)
    return max(
        float(low.sum() + high.sum() + surplus) / size,
        float(np.abs(dual).max()) / max(float(np.abs(gradient).max()), np.finfo(np.float64).tiny),
        float(np.abs(primal / np.maximum(1.0, np.abs(program.targets))).max()),
    )


def _step(program: Program, point: Point, dual: NDArray, primal: NDArray) -> Point:
    """Predict with a plain Newton step, then aim at the middle as far as that one failed."""
    diagonal = point.low / point.weights + point.high / point.room
    signs = program.signs[:, np.newaxis]
    solve_unsigned = program.gram.solver(diagonal)

    def solve(right: NDArray) -> NDArray:
        return signs * solve_unsigned(signs * right)

    columns = solve(program.constraints.T)
    low, high, surplus = _products(program, point)
    count = 2 * len(low) + int(program.at_least)
    middle = (low.sum() + high.sum() + surplus) / count

    predicted = _direction(program, point, dual, primal, solve, columns, (-low, -high, -surplus))
    reached = point.move(predicted, _longest(program, point, predicted))
    share = (sum(np.sum(part) for part in _products(program, reached)) / count / middle) ** 3
    aim = share * middle
    aims = (
        aim - low - predicted.weights * predicted.low,
        aim - high - predicted.room * predicted.high,
        float(aim - surplus - predicted.surplus * predicted.multipliers[-1]),
    )
    corrected = _direction(program, point, dual, primal, solve, columns, aims)
    return point.move(corrected, TO_THE_WALL * _longest(program, point, corrected))


def _direction(
    program: Program,
    point: Point,
    dual: NDArray,
    primal: NDArray,
    solve: Solve,
    columns: NDArray,
    aims: tuple[NDArray, NDArray, float],
) -> Point:
    """Solve Newton's equations; ``aims`` are the wanted changes of the products."""
    low_aim, high_aim, surplus_aim = aims
    right = low_aim / point.weights - high_aim / point.room - dual
    plain = solve(right[:, np.newaxis])[:, 0]
    schur = program.constraints @ columns
    missing = -primal - program.constraints @ plain
    last = point.multipliers[-1]
    if program.at_least:
        schur[-1, -1] += point.surplus / last
        missing[-1] += surplus_aim / last
    multipliers = np.linalg.lstsq(schur, missing, rcond=None)[0]
    weights = plain + columns @ multipliers
    surplus = (surplus_aim - point.surplus * multipliers[-1]) / last if program.at_least else 0.0
    return Point(
        weights,
        -weights,
        (low_aim - point.low * weights) / point.weights,
        (high_aim + point.high * weights) / point.room,
        float(surplus),
        multipliers,
    )


def _longest(program: Program, point: Point, direction: Point) -> float:
    """Return the longest step, at most 1, that keeps everything nonnegative."""
    longest = 1.0
    pairs = [
        (point.weights, direction.weights),
        (point.room, direction.room),
        (point.low, direction.low),
        (point.high, direction.high),
    ]
    if program.at_least:
        pairs.append((np.array([point.surplus]), np.array([direction.surplus])))
        pairs.append((point.multipliers[-1:], direction.multipliers[-1:]))
    for values, changes in pairs:
        shrinking = changes < 0.0
        if shrinking.any():
            longest = min(longest, float((-values[shrinking] / changes[shrinking]).min()))
    return longest
