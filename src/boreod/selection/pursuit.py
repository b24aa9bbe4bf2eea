"""Orthogonal matching pursuit for logistic regression, plain and cost-aware.

The column that explains most of the residual joins, the model is solved again, and so on: the
paper's Algorithm 1. The criterion is the printed one,

    |phi_j' r| / (phi_j' phi_j)    plain,    the same / c(j)    cost-aware,

with the squared norm of the column, not the norm, and with the marginal cost c(j | chosen) where
columns share work. With an intercept (used everywhere in this library) the residual starts at
y - 1/2 on balanced rows; without, it starts at y as the paper prints.

The order does not depend on a budget. A path is therefore followed as far as a budget reaches, and
later from there on for a larger one.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, products, unset
from boreod.ensemble.logistic import descend, gram_of, standardization
from boreod.selection.costs import Costs, marginal_cost, pay

CHEAPEST = 1e-30  # free columns have no price to divide by
ROUNDING = 1.0 + 1e-12  # what fits exactly may seem not to


@dataclass(frozen=True)
class Path:
    """The way through the columns of one bag, as far as it has been followed.

    ``order`` are places of columns as they joined; ``coefficients`` those of the last model that
    was solved, for standardized columns, intercept first.
    """

    order: NDArray = field(default_factory=lambda: np.empty(0, np.int64))
    coefficients: NDArray = field(default_factory=lambda: np.zeros(1))

    def buy(self, costs: Costs, budget: float) -> tuple[NDArray, bool]:
        """Return the places of the columns up to the first that does not fit into a budget.

        Also whether that is all: a path that ends before could go on.
        """
        own, parts, needs, n_parts = costs.arrays
        count = _count(self.order, own, parts, needs, np.zeros(n_parts), costs.base, budget)
        return self.order[:count], count < len(self.order) or count == len(own)


def pursue(
    columns: NDArray,
    targets: NDArray,
    costs: Costs,
    budget: float = np.inf,
    *,
    penalty: float = 1e-6,
    cost_aware: bool = True,
    intercept: bool = True,
    weights: NDArray | None = None,
    path: Path | None = None,
) -> Path:
    """Follow the path of a bag, or go on with one, as far as a budget buys or through all columns.

    The first column that does not fit is on the path too. Columns are in the order of
    ``costs.names``, targets 1.0 for outliers and 0.0 for inliers; rows may have weights.

    Examples
    --------
    >>> columns = np.array([[1.0, 0.9], [1.0, 0.1], [0.0, 0.0], [0.0, 0.2]])
    >>> targets = np.array([1.0, 1.0, 0.0, 0.0])
    >>> costs = Costs({"expensive": 20.0, "cheap": 1.0})
    >>> pursue(columns, targets, costs).order
    array([1, 0])
    """
    if columns.shape != (len(targets), len(costs.names)):
        raise ValueError(
            f"`columns` must have {len(targets)} rows, one a target, and {len(costs.names)} "
            f"columns, one a price; got the shape {columns.shape}."
        )
    path = path or Path()
    weights = np.ones(len(targets)) if weights is None else weights
    center, inverse = standardization(columns) if intercept else (0.0, _inverse_length(columns))
    own, parts, needs, n_parts = costs.arrays
    raw = np.ascontiguousarray(columns.T)
    standard = np.ascontiguousarray(((columns - center) * inverse).T)
    while not path.buy(costs, budget)[1]:
        how = penalty, intercept, own, parts, needs, np.zeros(n_parts), cost_aware
        known = path.order, path.coefficients
        path = Path(*_follow(raw, standard, targets, weights, *how, *known, budget - costs.base))
    return path


def _inverse_length(columns: NDArray) -> NDArray:
    """Return what brings columns to mean square 1, and 0 for columns of zeros."""
    length = np.sqrt((columns**2).mean(axis=0))
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)


@compiled
def _follow(
    columns: NDArray,
    standard: NDArray,
    targets: NDArray,
    weights: NDArray,
    penalty: float,
    intercept: bool,
    own: NDArray,
    parts: NDArray,
    needs: NDArray,
    levels: NDArray,
    cost_aware: bool,
    known: NDArray,
    beta: NDArray,
    budget: float,
) -> tuple[NDArray, NDArray]:
    """Follow a path at least one step, and until the budget is spent.

    The last model is the one before the last column joined.
    """
    m, n = columns.shape
    squares, signs, explained, price = unset(m), unset(n), unset(m), unset(m)
    order, free = unset(m, np.int64), unset(m, np.bool_)
    design, gram = unset((m + 1, n)), unset((0, 0))
    design[0], free[:] = 1.0 if intercept else 0.0, True
    _measure(columns, targets, weights, squares, signs)
    count, spent = 0, 0.0
    while count < m and (count <= known.shape[0] or spent <= budget):
        if count < known.shape[0]:
            chosen = known[count]
        else:
            start, joined = _with_zeros(beta, count + 1), design[: count + 1]
            beta, _, residual = descend(joined, gram, signs, weights, penalty, start)
            if count == 0 and not intercept:
                for row in range(n):
                    residual[row] = weights[row] * targets[row]  # as the paper prints
            for column in range(m):
                price[column] = marginal_cost(own, parts, needs, levels, column)
            products(columns, residual, explained, False)
            chosen = _best(explained, squares, price, free, cost_aware)
        spent += marginal_cost(own, parts, needs, levels, chosen)
        pay(parts, needs, levels, chosen)
        order[count], free[chosen] = chosen, False
        count += 1
        for row in range(n):
            design[count, row] = standard[chosen, row]
        if gram.shape[0] == 0:
            gram = gram_of(design[: count + 1])
        else:
            for row in range(n):
                for other in range(n):
                    gram[row, other] += design[count, row] * design[count, other]
    return order[:count], beta


@inner
def _measure(
    columns: NDArray, targets: NDArray, weights: NDArray, squares: NDArray, signs: NDArray
) -> None:
    """Fill in the squared norms of columns and the signs of targets."""
    for column in range(columns.shape[0]):
        squares[column] = 0.0
        for row in range(columns.shape[1]):
            squares[column] += columns[column, row] * columns[column, row] * weights[row]
    for row in range(signs.shape[0]):
        signs[row] = 2.0 * targets[row] - 1.0


@inner
def _with_zeros(values: NDArray, size: int) -> NDArray:
    result = unset(size)
    for place in range(size):
        result[place] = values[place] if place < values.shape[0] else 0.0
    return result


@compiled
def _count(
    order: NDArray,
    own: NDArray,
    parts: NDArray,
    needs: NDArray,
    levels: NDArray,
    base: float,
    budget: float,
) -> int:
    """Return how many columns of a path fit into a budget."""
    cost = base
    for place, column in enumerate(order):
        cost += marginal_cost(own, parts, needs, levels, column)
        if cost > budget * ROUNDING:
            return place
        pay(parts, needs, levels, column)
    return order.shape[0]


@inner
def _best(
    products: NDArray, squares: NDArray, price: NDArray, free: NDArray, cost_aware: bool
) -> int:
    """Return the column with the largest criterion; the first of equal ones."""
    best, highest = -1, -1.0
    for column in range(products.shape[0]):
        if not free[column]:
            continue
        value = 0.0
        if squares[column] > 0.0:
            value = abs(products[column]) / squares[column]
            if cost_aware:
                value /= max(price[column], CHEAPEST)
        if value > highest:
            best, highest = column, value
    return best
