"""Logistic regression for many small problems, run to the optimum.

Minimized for every bag, over standardized columns and an intercept:

    mean of w log(1 + exp(-s f)) + penalty / 2 |beta|^2,  f = beta' phi + intercept, s = +1 or -1

The weights w of rows are 1 in balanced bags.

Bags are small and often separable; without a penalty their optimum is at infinity. A tiny penalty
makes every problem well posed. Newton's method is used because nothing less reaches such optima: it
solves for coefficients where a bag has more rows than columns and for one multiplier per row
otherwise, whichever is smaller. The intercept takes part in the penalty, as a column of ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import all_products, compiled, inner, product, products, solve, unset

MOST_STEPS = 200
SMALL_GRADIENT = 1e-8


@dataclass(frozen=True)
class Solution:
    """The optimum of one problem."""

    coefficients: NDArray  # intercept first, then one per column
    gradient: float  # the largest absolute component that is left

    @property
    def converged(self) -> bool:
        """Whether the gradient is as good as zero."""
        return self.gradient <= SMALL_GRADIENT


def fit_logistic(
    columns: NDArray, targets: NDArray, penalty: float, weights: NDArray | None = None
) -> Solution:
    """Solve one problem.

    Examples
    --------
    >>> column = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> solution = fit_logistic(column, np.array([0.0, 1.0, 0.0, 1.0]), penalty=1e-6)
    >>> solution.converged, bool(solution.coefficients[1] > 0)
    (True, True)
    """
    n = len(targets)
    design = np.ones((1 + columns.shape[1], n))
    design[1:] = columns.T
    start, signs = np.zeros(len(design)), 2.0 * targets - 1.0
    weights = np.ones(n) if weights is None else weights
    beta, gradient = _minimize(design, signs, weights, penalty, start)
    return Solution(beta, float(np.abs(gradient).max()) / n)


def fit_standardized(
    columns: NDArray, targets: NDArray, penalty: float, weights: NDArray | None = None
) -> Solution:
    """Solve one problem on columns brought to mean 0 and deviation 1; coefficients are for yours.

    A column that is constant within the bag says nothing there and gets the coefficient 0.
    """
    center, inverse = standardization(columns)
    solution = fit_logistic((columns - center) * inverse, targets, penalty, weights)
    beta = solution.coefficients.copy()
    beta[1:] *= inverse
    beta[0] -= beta[1:] @ center
    return Solution(beta, solution.gradient)


def standardization(columns: NDArray) -> tuple[NDArray, NDArray]:
    """Return center and inverse deviation of columns; the inverse is 0 for constant ones."""
    center, spread = columns.mean(axis=0), columns.std(axis=0)
    flat = spread <= 1e-12 * (1.0 + np.abs(center))
    return center, np.divide(1.0, spread, out=np.zeros_like(spread), where=~flat)


@compiled
def _minimize(
    design: NDArray, signs: NDArray, weights: NDArray, penalty: float, start: NDArray
) -> tuple[NDArray, NDArray]:
    """Return coefficients and gradient of one problem."""
    gram = gram_of(design)
    beta, gradient, _ = descend(design, gram, signs, weights, penalty, start)
    return beta, gradient


@inner
def gram_of(design: NDArray) -> NDArray:
    """Return the products of all pairs of rows of the table, if that is the smaller problem."""
    d, n = design.shape
    size = n if n < d else 0
    gram = unset((size, size))
    if size > 0:
        all_products(design, gram, True)
    return gram


@inner
def descend(
    design: NDArray,
    gram: NDArray,
    signs: NDArray,
    weights: NDArray,
    penalty: float,
    start: NDArray,
) -> tuple[NDArray, NDArray, NDArray]:
    """Take Newton steps, halved as long as they lead upwards, until the gradient vanishes.

    ``design`` has a row for every coefficient, so that some of the coefficients are a slice.
    Returns coefficients, gradient, and weighted targets minus probabilities.
    """
    n = design.shape[1]
    ridge = penalty * n
    beta = start
    value, gradient, residual = _evaluate(design, signs, weights, beta, ridge)
    for _ in range(MOST_STEPS):
        if _largest(gradient) <= SMALL_GRADIENT * n:
            break
        step = _newton_step(design, gram, residual, weights, gradient, ridge)
        size = 2.0
        new_value, new_gradient, new_residual = value, gradient, residual
        while size == 2.0 or (new_value > value and size > 1e-8):
            size /= 2.0
            moved = unset(beta.shape[0])
            for place in range(beta.shape[0]):
                moved[place] = beta[place] - size * step[place]
            new_value, new_gradient, new_residual = _evaluate(design, signs, weights, moved, ridge)
        if not (new_value < value or _largest(new_gradient) < _largest(gradient)):
            break  # rounding leaves no further progress
        beta, value, gradient, residual = moved, new_value, new_gradient, new_residual
    return beta, gradient, residual


@inner
def _largest(values: NDArray) -> float:
    """Return the largest absolute value, NaN if there is any."""
    largest = 0.0
    for value in values:
        if not abs(value) <= largest:
            largest = abs(value)
        if np.isnan(largest):
            break
    return largest


@inner
def _evaluate(
    design: NDArray, signs: NDArray, weights: NDArray, beta: NDArray, ridge: float
) -> tuple[float, NDArray, NDArray]:
    """Return objective, gradient and weighted targets minus probabilities."""
    d, n = design.shape
    odds, residual, gradient = unset(n), unset(n), unset(d)
    products(design, beta, odds, True)
    value = 0.5 * ridge * product(beta, beta)
    for row in range(n):
        margin = signs[row] * odds[row]
        small = np.exp(-abs(margin))
        value += weights[row] * (np.log1p(small) + max(0.0, -margin))
        error = (small if margin > 0.0 else 1.0) / (1.0 + small)
        residual[row] = weights[row] * signs[row] * error
    products(design, residual, gradient, False)
    for place in range(d):
        gradient[place] = ridge * beta[place] - gradient[place]
    return value, gradient, residual


@inner
def _newton_step(
    design: NDArray,
    gram: NDArray,
    residual: NDArray,
    weights: NDArray,
    gradient: NDArray,
    ridge: float,
) -> NDArray:
    """Solve (design W design' + ridge) step = gradient, in the smaller of the two dimensions."""
    d, n = design.shape
    root, step = unset(n), unset(d)
    for row in range(n):
        error = abs(residual[row]) / weights[row]
        root[row] = np.sqrt(weights[row] * (error * (1.0 - error)))
    if gram.shape[0] == 0:
        _step_of_columns(design, root, gradient, ridge, step)
    else:
        _step_of_rows(design, gram, root, gradient, ridge, step)
    return step


@inner
def _step_of_columns(
    design: NDArray, root: NDArray, gradient: NDArray, ridge: float, step: NDArray
) -> None:
    d, n = design.shape
    scaled, hessian, matrix = unset((d, n)), unset((d, d)), unset((d, d))
    for place in range(d):
        step[place] = gradient[place]
        for row in range(n):
            scaled[place, row] = design[place, row] * root[row]
    all_products(scaled, hessian, False)
    for place in range(d):
        hessian[place, place] += ridge
        for other in range(d):
            matrix[other, place] = hessian[place, other]
    solve(matrix, step)


@inner
def _step_of_rows(
    design: NDArray, gram: NDArray, root: NDArray, gradient: NDArray, ridge: float, step: NDArray
) -> None:
    """By Woodbury: (g - design R (R gram R + ridge)^-1 R design' g) / ridge, with R R = W."""
    d, n = design.shape
    inside, matrix = unset(n), unset((n, n))
    products(design, gradient, inside, True)
    for row in range(n):
        inside[row] = root[row] * inside[row]
        for other in range(n):
            matrix[other, row] = gram[row, other] * root[other] * root[row]
        matrix[row, row] += ridge
    solve(matrix, inside)
    for row in range(n):
        inside[row] = root[row] * inside[row]
    products(design, inside, step, False)
    for place in range(d):
        step[place] = (gradient[place] - step[place]) / ridge


@compiled
def add_up(table: NDArray, weights: NDArray, intercepts: NDArray) -> NDArray:
    """Return ``table @ weights + intercepts``, always added in the order of the columns.

    A matrix product of BLAS rounds differently for one row and for many; this one does not.
    """
    result = unset((table.shape[0], intercepts.shape[0]))
    for row in range(table.shape[0]):
        add_up_row(table, row, weights, intercepts, result[row])
    return result


@inner
def add_up_row(
    table: NDArray, row: int, weights: NDArray, intercepts: NDArray, line: NDArray
) -> None:
    """Fill in the sums of one row."""
    for bag in range(intercepts.shape[0]):
        line[bag] = 0.0
    for column in range(table.shape[1]):
        value, factors = table[row, column], weights[column]
        for bag in range(intercepts.shape[0]):
            line[bag] += value * factors[bag]
    for bag in range(intercepts.shape[0]):
        line[bag] += intercepts[bag]
