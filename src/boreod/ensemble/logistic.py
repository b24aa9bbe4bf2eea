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

from boreod.compiled import compiled, unset

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
    start = np.zeros(len(design))
    signs = 2.0 * targets - 1.0
    weights = np.ones(n) if weights is None else weights
    task = design, gram_of(design), signs, weights
    beta, gradient, _ = descend(*task, penalty, start, MOST_STEPS)
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
def gram_of(design: NDArray) -> NDArray:
    """Return the products of all pairs of rows of the table, if that is the smaller problem."""
    d, n = design.shape
    return design.T @ design if n < d else np.empty((0, 0))


@compiled
def descend(
    design: NDArray,
    gram: NDArray,
    signs: NDArray,
    weights: NDArray,
    penalty: float,
    start: NDArray,
    most_steps: int,
) -> tuple[NDArray, NDArray, NDArray]:
    """Take Newton steps, halved as long as they lead upwards, until the gradient vanishes.

    ``design`` has a row for every coefficient, so that some of the coefficients are a slice.
    Returns coefficients, gradient, and weighted targets minus probabilities.
    """
    n = design.shape[1]
    ridge = penalty * n
    beta = start
    value, gradient, residual = _evaluate(design, signs, weights, beta, ridge)
    for _ in range(most_steps):
        if np.abs(gradient).max() <= SMALL_GRADIENT * n:
            break
        step = _newton_step(design, gram, residual, weights, gradient, ridge)
        size = 1.0
        moved = beta - step
        new_value, new_gradient, new_residual = _evaluate(design, signs, weights, moved, ridge)
        while new_value > value and size > 1e-8:
            size /= 2.0
            moved = beta - size * step
            new_value, new_gradient, new_residual = _evaluate(design, signs, weights, moved, ridge)
        if not (new_value < value or np.abs(new_gradient).max() < np.abs(gradient).max()):
            break  # rounding leaves no further progress
        beta, value, gradient, residual = moved, new_value, new_gradient, new_residual
    return beta, gradient, residual


@compiled
def _evaluate(
    design: NDArray, signs: NDArray, weights: NDArray, beta: NDArray, ridge: float
) -> tuple[float, NDArray, NDArray]:
    """Return objective, gradient and weighted targets minus probabilities."""
    margins = signs * (beta @ design)
    value = 0.5 * ridge * (beta @ beta)
    residual = unset(margins.shape[0])
    for row in range(margins.shape[0]):
        small = np.exp(-abs(margins[row]))
        value += weights[row] * (np.log1p(small) + max(0.0, -margins[row]))
        error = (small if margins[row] > 0.0 else 1.0) / (1.0 + small)
        residual[row] = weights[row] * signs[row] * error
    return value, ridge * beta - design @ residual, residual


@compiled
def _newton_step(
    design: NDArray,
    gram: NDArray,
    residual: NDArray,
    weights: NDArray,
    gradient: NDArray,
    ridge: float,
) -> NDArray:
    """Solve (design W design' + ridge) step = gradient, in the smaller of the two dimensions."""
    errors = np.abs(residual) / weights
    root = np.sqrt(weights * (errors * (1.0 - errors)))
    if gram.shape[0] == 0:
        scaled = design * root
        hessian = scaled @ scaled.T
        for place in range(hessian.shape[0]):
            hessian[place, place] += ridge
        return np.linalg.solve(hessian, gradient)
    # Woodbury: step = (g - design R (R gram R + ridge)^-1 R design' g) / ridge, with R R = W
    kernel = gram * root * root.reshape(-1, 1)
    for place in range(kernel.shape[0]):
        kernel[place, place] += ridge
    inner = np.linalg.solve(kernel, root * (gradient @ design))
    return (gradient - design @ (root * inner)) / ridge


@compiled
def add_up(table: NDArray, weights: NDArray, intercepts: NDArray) -> NDArray:
    """Return ``table @ weights + intercepts``, always added in the order of the columns.

    A matrix product of BLAS rounds differently for one row and for many; this one does not.
    """
    result = np.zeros((table.shape[0], intercepts.shape[0]))
    for row in range(table.shape[0]):
        line = result[row]
        for column in range(table.shape[1]):
            value, factors = table[row, column], weights[column]
            for bag in range(intercepts.shape[0]):
                line[bag] += value * factors[bag]
        for bag in range(intercepts.shape[0]):
            line[bag] += intercepts[bag]
    return result
