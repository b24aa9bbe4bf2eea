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
from scipy.linalg.lapack import dposv

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
    signs = 2.0 * targets - 1.0
    beta = np.zeros(design.shape[1])
    ridge = penalty * len(targets)
    value, gradient, weights = _evaluate(design, signs, beta, ridge)
    gram = design @ design.T if design.shape[0] < design.shape[1] else None
    for _ in range(MOST_STEPS):
        if np.abs(gradient).max() <= SMALL_GRADIENT * len(targets):
            break
        step = _newton_step(design, gram, weights, gradient, ridge)
        size = 1.0
        while True:
            moved = beta - size * step
            new_value, new_gradient, new_weights = _evaluate(design, signs, moved, ridge)
            if new_value <= value or size < 1e-8:
                break
            size /= 2
        if new_value >= value and np.abs(new_gradient).max() >= np.abs(gradient).max():
            break  # rounding leaves no further progress
        beta, value, gradient, weights = moved, new_value, new_gradient, new_weights
    left = float(np.abs(gradient).max()) / len(targets)
    return Solution(beta, left, float(value) / len(targets))


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


def _evaluate(
    design: NDArray, signs: NDArray, beta: NDArray, ridge: float
) -> tuple[float, NDArray, NDArray]:
    """Return objective, gradient and the weights of the rows in the Hessian."""
    margins = signs * (design @ beta)
    value = np.logaddexp(0.0, -margins).sum() + 0.5 * ridge * (beta @ beta)
    errors = np.exp(-np.logaddexp(0.0, margins))  # 1 - probability of the right label
    gradient = ridge * beta - design.T @ (signs * errors)
    return value, gradient, errors * (1.0 - errors)


def _newton_step(
    design: NDArray, gram: NDArray | None, weights: NDArray, gradient: NDArray, ridge: float
) -> NDArray:
    """Solve (design' W design + ridge) step = gradient, in the smaller of the two dimensions."""
    if gram is None:
        hessian = (design * weights[:, np.newaxis]).T @ design
        hessian.flat[:: len(hessian) + 1] += ridge
        return dposv(hessian, gradient)[1]
    # Woodbury: step = (g - design' R (R gram R + ridge)^-1 R design g) / ridge, with R R = W
    root = np.sqrt(weights)
    kernel = gram * np.outer(root, root)
    kernel.flat[:: len(kernel) + 1] += ridge
    inner = dposv(kernel, root * (design @ gradient))[1]
    return (gradient - design.T @ (root * inner)) / ridge
