"""Column selection on a budget: cost-aware orthogonal matching pursuit and stability selection.

With r the residual of the model on the columns A chosen so far, the next column is the first that
attains the largest

    |phi_j' r| / (phi_j' phi_j c(j | A)),    c(j | A) = c(A + j) - c(A),

where c(A) is a base cost, the own costs of A, and for every part the largest amount any column of
A needs. Without costs c(j | A) is left out. Sums that decide ties are exact up to one rounding,
so that equal columns of equal cost have equal criteria.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import expit

Needs = Sequence[Mapping[str, float]]


def total_cost(chosen: Iterable[int], own: Sequence[float], needs: Needs, base: float) -> float:
    """Return what a set of columns costs; the empty set costs the base."""
    largest: dict[str, float] = {}
    terms = [float(base)]
    for j in chosen:
        terms.append(float(own[j]))
        for part, amount in needs[j].items():
            largest[part] = max(largest.get(part, 0.0), float(amount))
    return math.fsum([*terms, *largest.values()])


def _design(columns: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the scaled columns of a bag, after a column of ones if there is an intercept."""
    rows, count = columns.shape
    design = [np.ones(rows)] if intercept else []
    for j in range(count):
        column = np.array(columns[:, j], dtype=float)
        if intercept and np.all(column == column[0]):
            column = np.zeros(rows)
        if intercept:
            column = column - np.mean(column)
        scale = math.sqrt(np.mean(column**2))
        design.append(column / scale if scale > 0 else np.zeros(rows))
    return np.array(design).reshape(len(design), rows).T


def solve(columns: np.ndarray, targets: np.ndarray, penalty: float, intercept: bool) -> np.ndarray:
    """Return the fitted probabilities of ridge logistic regression at its optimum.

    The mean of log(1 + exp(-s f)) plus penalty / 2 |beta|^2, with penalty > 0, has one stationary
    point. Newton steps, halved until the gradient shrinks, lead to it.
    """
    design = _design(columns, intercept)
    rows, count = design.shape

    def gradient(beta: np.ndarray) -> np.ndarray:
        return design.T @ (expit(design @ beta) - targets) / rows + penalty * beta

    beta = np.zeros(count)
    for _ in range(1000):
        slope = gradient(beta)
        if np.all(np.abs(slope) < 1e-12):
            return expit(design @ beta)
        p = expit(design @ beta)
        curvature = design.T @ np.diag(p * (1 - p)) @ design / rows + penalty * np.eye(count)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while np.linalg.norm(gradient(beta - size * step)) >= np.linalg.norm(slope):
            size /= 2
            if size < 1e-12:
                raise ArithmeticError("no Newton step shrinks the gradient")
        beta = beta - size * step
    raise ArithmeticError("Newton's method did not converge")


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return a'b, the same for equal arguments wherever they lie in memory."""
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def _criterion(column: np.ndarray, residual: np.ndarray, cost: float) -> float:
    """Return the criterion of one column; a free column that is of any use comes first."""
    norm = _dot(column, column)
    usefulness = abs(_dot(column, residual)) / norm if norm > 0 else 0.0
    if usefulness == 0:
        return 0.0
    return usefulness / cost if cost > 0 else math.inf


def path(
    columns: np.ndarray,
    targets: np.ndarray,
    own: Sequence[float],
    needs: Needs,
    base: float,
    penalty: float,
    cost_aware: bool,
    intercept: bool,
) -> tuple[list[int], list[float]]:
    """Return the order in which one bag chooses all columns, and the total cost after each.

    Without an intercept the first residual is the targets, as printed in the paper.
    """
    chosen: list[int] = []
    spent: list[float] = []
    for _ in range(columns.shape[1]):
        residual = np.array(targets, dtype=float)
        if chosen or intercept:
            residual = targets - solve(columns[:, chosen], targets, penalty, intercept)
        best, highest = -1, -1.0
        for j in range(columns.shape[1]):
            if j in chosen:
                continue
            before = total_cost(chosen, own, needs, base)
            marginal = total_cost([*chosen, j], own, needs, base) - before
            value = _criterion(columns[:, j], residual, marginal if cost_aware else 1.0)
            if value > highest:
                best, highest = j, value
        chosen.append(best)
        spent.append(total_cost(chosen, own, needs, base))
    return chosen, spent


def stable_order(
    orders: Sequence[Sequence[int]],
    own: Sequence[float],
    needs: Needs,
    base: float,
    budget: float,
    printed: bool = False,
) -> tuple[list[int], list[float]]:
    """Return columns, most often bought first, and their shares J.

    Every bag buys along its path until a column does not fit. As printed, all columns are ranked
    and equal shares keep the column order. Otherwise columns that no bag bought are left out, and
    equal shares are ordered by lower mean position (positions count from 0; a bag that did not buy
    the column counts with the number of columns it bought), then lower cost alone, then column
    order.
    """
    purchases = []
    for order in orders:
        bought: list[int] = []
        for j in order:
            if total_cost([*bought, j], own, needs, base) > budget:
                break
            bought.append(j)
        purchases.append(bought)
    keys = []
    for j in range(len(own)):
        alone = total_cost([j], own, needs, base)
        count = sum(j in bought for bought in purchases)
        positions = [b.index(j) if j in b else len(b) for b in purchases]
        if printed:
            keys.append((-count, 0, 0.0, j))
        elif count > 0:
            keys.append((-count, sum(positions), alone, j))
    keys.sort()
    return [key[3] for key in keys], [-key[0] / len(purchases) for key in keys]


def stable_set(
    ranked: Sequence[int],
    own: Sequence[float],
    needs: Needs,
    base: float,
    budget: float,
    fill: bool,
) -> list[int]:
    """Return the ranked columns that fit: up to the first that does not, or skipping those."""
    chosen: list[int] = []
    for j in ranked:
        if total_cost([*chosen, j], own, needs, base) <= budget:
            chosen.append(j)
        elif not fill:
            break
    return chosen
