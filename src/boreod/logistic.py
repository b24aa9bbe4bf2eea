"""Logistic regression for many small problems, run to the optimum.

Minimized for every bag, over standardized columns and an intercept:

    mean of log(1 + exp(-s f)) + penalty / 2 |beta|^2,    f = beta' phi + intercept, s = +1 or -1

Bags are small and often separable; without a penalty their optimum is at infinity. A tiny penalty
makes every problem well posed. Newton's method is used because nothing less reaches such optima: it
solves for coefficients where a bag has more rows than columns and for one multiplier per row
otherwise, whichever is smaller. The intercept takes part in the penalty, as a column of ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled

MOST_STEPS = 200
SMALL_GRADIENT = 1e-8


@dataclass(frozen=True)
class Solution:
    """The optimum of one problem.

    Attributes
    ----------
    coefficients
        Intercept first, then one per column.
    gradient
        Largest absolute component of the gradient that is left.
    objective
        Value of the minimized function.
    """

    coefficients: NDArray
    gradient: float
    objective: float

    @property
    def converged(self) -> bool:
        """Whether the gradient is as good as zero."""
        return self.gradient <= SMALL_GRADIENT


def fit_logistic(columns: NDArray, targets: NDArray, penalty: float) -> Solution:
    """Solve one problem.

    Examples
    --------
    >>> column = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> solution = fit_logistic(column, np.array([0.0, 1.0, 0.0, 1.0]), penalty=1e-6)
    >>> solution.converged, bool(solution.coefficients[1] > 0)
    (True, True)
    """
    design = np.hstack([np.ones((len(columns), 1)), columns])
    n = len(targets)
    beta, gradient, value = _descend(design, 2.0 * targets - 1.0, penalty * n, MOST_STEPS)
    return Solution(beta, float(np.abs(gradient).max()) / n, value / n)


def fit_standardized(columns: NDArray, targets: NDArray, penalty: float) -> Solution:
    """Solve one problem on columns brought to mean 0 and deviation 1; coefficients are for yours.

    A column that is constant within the bag says nothing there and gets the coefficient 0.
    """
    center, spread = columns.mean(axis=0), columns.std(axis=0)
    flat = spread <= 1e-12 * (1.0 + np.abs(center))
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=~flat)
    solution = fit_logistic((columns - center) * inverse, targets, penalty)
    beta = solution.coefficients.copy()
    beta[1:] *= inverse
    beta[0] -= beta[1:] @ center
    return Solution(beta, solution.gradient, solution.objective)


@compiled
def _descend(
    design: NDArray, signs: NDArray, ridge: float, most_steps: int
) -> tuple[NDArray, NDArray, float]:
    """Take Newton steps, halved as long as they lead upwards, until the gradient vanishes."""
    n, d = design.shape
    beta = np.zeros(d)
    value, gradient, weights = _evaluate(design, signs, beta, ridge)
    gram = design @ design.T if n < d else np.empty((0, 0))
    for _ in range(most_steps):
        if np.abs(gradient).max() <= SMALL_GRADIENT * n:
            break
        step = _newton_step(design, gram, weights, gradient, ridge)
        size = 1.0
        moved = beta - step
        new_value, new_gradient, new_weights = _evaluate(design, signs, moved, ridge)
        while new_value > value and size > 1e-8:
            size /= 2.0
            moved = beta - size * step
            new_value, new_gradient, new_weights = _evaluate(design, signs, moved, ridge)
        if new_value >= value and np.abs(new_gradient).max() >= np.abs(gradient).max():
            break  # rounding leaves no further progress
        beta, value, gradient, weights = moved, new_value, new_gradient, new_weights
    return beta, gradient, value


@compiled
def _evaluate(
    design: NDArray, signs: NDArray, beta: NDArray, ridge: float
) -> tuple[float, NDArray, NDArray]:
    """Return objective, gradient and the weights of the rows in the Hessian."""
    margins = signs * (design @ beta)
    value = 0.5 * ridge * (beta @ beta)
    errors = np.empty(margins.shape[0])  # 1 - probability of the right label
    for row in range(margins.shape[0]):
        small = np.exp(-abs(margins[row]))
        value += np.log1p(small) + max(0.0, -margins[row])
        errors[row] = (small if margins[row] > 0.0 else 1.0) / (1.0 + small)
    gradient = ridge * beta - design.T @ (signs * errors)
    return value, gradient, errors * (1.0 - errors)


@compiled
def _newton_step(
    design: NDArray, gram: NDArray, weights: NDArray, gradient: NDArray, ridge: float
) -> NDArray:
    """Solve (design' W design + ridge) step = gradient, in the smaller of the two dimensions."""
    root = np.sqrt(weights)
    if gram.shape[0] == 0:
        scaled = design * root.reshape(-1, 1)
        hessian = scaled.T @ scaled
        for place in range(hessian.shape[0]):
            hessian[place, place] += ridge
        return np.linalg.solve(hessian, gradient)
    # Woodbury: step = (g - design' R (R gram R + ridge)^-1 R design g) / ridge, with R R = W
    kernel = gram * root * root.reshape(-1, 1)
    for place in range(kernel.shape[0]):
        kernel[place, place] += ridge
    inner = np.linalg.solve(kernel, root * (design @ gradient))
    return (gradient - design.T @ (root * inner)) / ridge
