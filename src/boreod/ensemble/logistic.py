"""Logistic regression for many small problems, each solved to the optimum.

For every bag, the following objective is minimized, on standardized columns:

    mean of w log(1 + exp(-s f)) + penalty / 2 |beta|^2,  f = beta' phi + intercept, s = +1 or -1

The weights w of rows are 1 in balanced bags. Without an intercept, as in the paper's Equation 3,
columns are not centered, but only divided by the root of their mean square.

Bags are small and often separable. Without a penalty, the optimum of a separable bag is at
infinity. A tiny penalty makes every problem well posed, but slower methods than Newton's do not
reach the optimum. Newton's method solves for the coefficients if a bag has at least as many rows as
coefficients, and otherwise for one multiplier per row. The intercept is the coefficient of a column
of ones, and it is penalized too. Without an intercept, this column is all zeros.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import (
    all_products,
    compiled,
    factorize,
    inner,
    lower_products,
    products,
    unset,
)

MAX_STEPS = 200
# The gradient of the objective counts as zero if its largest component is at most this.
SMALL_GRADIENT = 1e-8
# Newton steps continue until the gradient is at most this, unless rounding prevents progress.
VANISHING_GRADIENT = 1e-10
# A Hessian is reused if at most this many further steps are expected.
MAX_OLD_STEPS = 6.0
# Number of lines of the Hessian that are computed together.
BLOCK = 32


def fit_logistic(
    columns: NDArray, targets: NDArray, penalty: float, weights: NDArray, fit_intercept: bool = True
) -> tuple[NDArray, float]:
    """Return the coefficients of one problem, and the largest component of the final gradient.

    The first coefficient is the intercept, which is 0 if ``fit_intercept`` is false.

    Examples
    --------
    >>> column = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> beta, gradient = fit_logistic(column, np.array([0.0, 1.0, 0.0, 1.0]), 1e-6, np.ones(4))
    >>> bool(beta[1] > 0), gradient <= SMALL_GRADIENT
    (True, True)
    """
    n = len(targets)
    design = np.full((1 + columns.shape[1], n), float(fit_intercept))
    design[1:] = columns.T
    beta, gradient = _minimize(design, 2.0 * targets - 1.0, weights, penalty, np.zeros(len(design)))
    return beta, float(np.abs(gradient).max()) / n


def fit_standardized(
    columns: NDArray, targets: NDArray, penalty: float, weights: NDArray, fit_intercept: bool = True
) -> tuple[NDArray, float]:
    """Solve one problem on standardized columns; return coefficients of the original columns.

    If there is an intercept, a column that is constant within the bag gets the coefficient 0.
    """
    center, inverse = standardization(columns, fit_intercept)
    standard = (columns - center) * inverse
    beta, gradient = fit_logistic(standard, targets, penalty, weights, fit_intercept)
    beta[1:] *= inverse
    beta[0] -= beta[1:] @ center
    return beta, gradient


def standardization(columns: NDArray, centered: bool = True) -> tuple[NDArray, NDArray]:
    """Return the centers and the inverse deviations of columns; a constant column has inverse 0.

    If ``centered`` is false, the center is 0, and the inverse is 0 only for columns of zeros.
    """
    center = columns.mean(axis=0) * centered
    spread = np.sqrt(((columns - center) ** 2).mean(axis=0))
    flat = spread <= 1e-12 * (1.0 + np.abs(center)) * centered
    return center, np.divide(1.0, spread, out=np.zeros_like(spread), where=~flat)


@compiled
def _minimize(
    design: NDArray, signs: NDArray, weights: NDArray, penalty: float, start: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the coefficients and the gradient of one problem."""
    beta, gradient, _ = descend(design, gram_of(design), signs, weights, penalty, start)
    return beta, gradient


@inner
def gram_of(design: NDArray) -> NDArray:
    """Return the Gram matrix of the rows if there are more coefficients than rows.

    Otherwise, return an empty matrix.
    """
    d, n = design.shape
    size = n if n < d else 0
    gram = unset((size, size))
    if size > 0:
        all_products(design, gram)
    return gram


@inner
def descend(
    design: NDArray, gram: NDArray, signs: NDArray, weights: NDArray, penalty: float, start: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Take Newton steps until the gradient vanishes; shorten steps that raise the objective.

    A step is taken without a look at the objective if it halves the smallest gradient so far. A
    comparison with the last gradient alone would let two kinds of steps alternate for ever: steps
    that lower the gradient but raise the objective, and steps that do the opposite.

    ``design`` has one line per coefficient, so that a slice selects coefficients. Computing a
    Hessian takes much longer than computing a gradient. So a Hessian is reused as long as the
    gradient decreases fast enough that only a few more steps are needed. Return the coefficients,
    the gradient, and the weighted residuals: weight * (target - probability).
    """
    n = design.shape[1]
    size = min(design.shape)
    ridge = penalty * n
    small = VANISHING_GRADIENT * n
    beta = start
    factor = unset((size, size))
    root = unset(n)
    is_known = False
    used = ridge
    gradient, residual = _evaluate(design, signs, weights, beta, ridge)
    smallest = np.inf
    for _ in range(MAX_STEPS):
        before = _largest(gradient)
        smallest = min(smallest, before)
        if before <= small:
            break
        is_new = not is_known
        if is_new:
            used = _make_factor(design, gram, residual, weights, ridge, root, factor)
        step = _newton_step(design, gram, root, factor, gradient, used)
        moved = beta - step
        new_gradient, new_residual = _evaluate(design, signs, weights, moved, ridge)
        if is_new and not _largest(new_gradient) < 0.5 * smallest:
            value = _objective(design, signs, weights, beta, ridge)
            length = 1.0
            while not _objective(design, signs, weights, moved, ridge) < value:
                length /= 2.0
                # Rounding prevents further progress.
                if length < 1e-8:
                    return beta, gradient, residual
                moved = beta - length * step
            new_gradient, new_residual = _evaluate(design, signs, weights, moved, ridge)
        after = _largest(new_gradient)
        is_known = after * (after / before) ** MAX_OLD_STEPS <= small
        if is_new or after < before:
            beta, gradient, residual = moved, new_gradient, new_residual
    return beta, gradient, residual


@inner
def _largest(values: NDArray) -> float:
    """Return the largest absolute value, or NaN if there is a NaN."""
    largest = 0.0
    for value in values:
        if not abs(value) <= largest:
            largest = abs(value)
        if np.isnan(largest):
            break
    return largest


@inner
def _objective(
    design: NDArray, signs: NDArray, weights: NDArray, beta: NDArray, ridge: float
) -> float:
    """Return the objective times the number of rows."""
    d, n = design.shape
    odds = unset(n)
    value = 0.0
    products(design, beta, odds, True)
    for place in range(d):
        value += 0.5 * ridge * beta[place] * beta[place]
    for row in range(n):
        margin = signs[row] * odds[row]
        value += weights[row] * (np.log1p(np.exp(-abs(margin))) + max(0.0, -margin))
    return value


@inner
def _evaluate(
    design: NDArray, signs: NDArray, weights: NDArray, beta: NDArray, ridge: float
) -> tuple[NDArray, NDArray]:
    """Return the gradient and the weighted residuals: weight * (target - probability)."""
    d, n = design.shape
    odds = unset(n)
    residual = unset(n)
    gradient = unset(d)
    products(design, beta, odds, True)
    for row in range(n):
        margin = signs[row] * odds[row]
        small = np.exp(-abs(margin))
        error = (small if margin > 0.0 else 1.0) / (1.0 + small)
        residual[row] = weights[row] * signs[row] * error
    products(design, residual, gradient, False)
    for place in range(d):
        gradient[place] = ridge * beta[place] - gradient[place]
    return gradient, residual


@inner
def _make_factor(
    design: NDArray, gram: NDArray, residual: NDArray, weights: NDArray, ridge: float,
    root: NDArray, factor: NDArray,
) -> float:  # fmt: skip
    """Factorize the matrix of a Newton step; return the ridge that was added to the matrix.

    With one unknown per coefficient, the matrix is design W design' + ridge. With one unknown per
    row, it is R gram R + ridge, where R R = W. If the factorization fails because of rounding, the
    ridge is raised. The step is then shorter, but still a descent.
    """
    n = design.shape[1]
    more = ridge
    for row in range(n):
        error = abs(residual[row]) / weights[row]
        root[row] = np.sqrt(weights[row] * (error * (1.0 - error)))
    for _ in range(10):
        if gram.shape[0] == 0:
            _fill_hessian(design, root, factor)
        else:
            for row in range(n):
                for other in range(row + 1):
                    factor[row, other] = gram[row, other] * root[other] * root[row]
        for place in range(factor.shape[0]):
            factor[place, place] += more
        if factorize(factor):
            break
        more *= 100.0
    return more


@inner
def _fill_hessian(design: NDArray, root: NDArray, out: NDArray) -> None:
    """Fill in the lower half of design W design'."""
    d, n = design.shape
    scaled = unset((d, n))
    for place in range(d):
        for row in range(n):
            scaled[place, row] = design[place, row] * root[row]
    for start in range(0, d, BLOCK):
        lower_products(scaled, start, min(start + BLOCK, d), out)


@inner
def _solve(factor: NDArray, vector: NDArray) -> None:
    """Solve factor factor' x = vector in place, first for factor and then for factor'."""
    for row in range(vector.shape[0]):
        # Four partial sums let the processor add in parallel.
        a, b, c, d = vector[row], 0.0, 0.0, 0.0
        whole = row - row % 4
        for place in range(0, whole, 4):
            a -= factor[row, place] * vector[place]
            b -= factor[row, place + 1] * vector[place + 1]
            c -= factor[row, place + 2] * vector[place + 2]
            d -= factor[row, place + 3] * vector[place + 3]
        for place in range(whole, row):
            a -= factor[row, place] * vector[place]
        vector[row] = ((a + b) + (c + d)) / factor[row, row]
    for row in range(vector.shape[0] - 1, -1, -1):
        vector[row] /= factor[row, row]
        value = vector[row]
        for place in range(row):
            vector[place] -= factor[row, place] * value


@inner
def _newton_step(
    design: NDArray, gram: NDArray, root: NDArray, factor: NDArray, gradient: NDArray, ridge: float
) -> NDArray:
    """Solve (design W design' + ridge) step = gradient.

    With one unknown per row, Woodbury's identity gives the step
    (g - design R (R gram R + ridge)^-1 R design' g) / ridge.
    """
    d, n = design.shape
    step = gradient.copy()
    if gram.shape[0] == 0:
        _solve(factor, step)
        return step
    inside = unset(n)
    products(design, gradient, inside, True)
    for row in range(n):
        inside[row] *= root[row]
    _solve(factor, inside)
    for row in range(n):
        inside[row] *= root[row]
    products(design, inside, step, False)
    for place in range(d):
        step[place] = (gradient[place] - step[place]) / ridge
    return step


@compiled
def add_up(table: NDArray, weights: NDArray, intercepts: NDArray) -> NDArray:
    """Return ``table @ weights + intercepts``; terms are added in the order of the columns.

    Unlike a BLAS product, the result for a row does not depend on the number of rows.
    """
    result = unset((table.shape[0], intercepts.shape[0]))
    for row in range(table.shape[0]):
        line = result[row]
        for bag in range(intercepts.shape[0]):
            line[bag] = 0.0
        for column in range(table.shape[1]):
            value = table[row, column]
            factors = weights[column]
            for bag in range(intercepts.shape[0]):
                line[bag] += value * factors[bag]
        for bag in range(intercepts.shape[0]):
            line[bag] += intercepts[bag]
    return result
