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

from boreod.compiled import compiled
from boreod.logistic import MOST_STEPS, descend, gram_of, standardization
from boreod.selection.costs import Costs, marginal_costs, pay

CHEAPEST = 1e-30  # free columns have no price to divide by
ROUNDING = 1.0 + 1e-12  # what fits exactly may seem not to


@dataclass(frozen=True)
class Path:
    """The way through the columns of one bag, as far as it has been followed.

    Attributes
    ----------
    order
        Places of the columns in the order in which they joined.
    coefficients
        Of the last model that was solved, for standardized columns, intercept first.
    """

    order: NDArray = field(default_factory=lambda: np.empty(0, np.int64))
    coefficients: NDArray = field(default_factory=lambda: np.zeros(1))

    def buy(self, costs: Costs, budget: float, skip: bool) -> tuple[NDArray, bool]:
        """Return the places of the columns that a budget buys, and whether that is all.

        Buying ends at the first column that does not fit. With ``skip``, columns that would not
        even fit alone are passed over: no budget of this size could buy them.
        """
        own, parts, needs, n_parts = costs.arrays
        within_reach = costs.alone <= budget * ROUNDING if skip else np.ones(len(own), np.bool_)
        bought, ended = _buy(
            self.order, own, parts, needs, np.zeros(n_parts), within_reach, costs.base, budget
        )
        return bought, ended or len(self.order) == len(own)


def pursue(
    columns: NDArray,
    targets: NDArray,
    costs: Costs,
    budget: float = np.inf,
    *,
    penalty: float = 1e-6,
    cost_aware: bool = True,
    intercept: bool = True,
    skip: bool = False,
    path: Path | None = None,
) -> Path:
    """Follow a path as far as a budget buys, or through all columns.

    Parameters
    ----------
    columns
        Rows of one bag, columns in the order of ``costs.names``.
    targets
        1.0 for outliers and 0.0 for inliers.
    costs
        Prices of the columns.
    budget
        Where to stop: at the first column that does not fit, which is on the path too.
    penalty
        Ridge penalty of the refits per row, on standardized columns.
    cost_aware
        Whether costs rule the order too.
    intercept
        Whether models have one.
    skip
        Whether to go on beyond columns that would not even fit alone.
    path
        Path of the same bag to go on from.

    Examples
    --------
    >>> columns = np.array([[1.0, 0.9], [1.0, 0.1], [0.0, 0.0], [0.0, 0.2]])
    >>> targets = np.array([1.0, 1.0, 0.0, 0.0])
    >>> costs = Costs({"dear": 20.0, "cheap": 1.0})
    >>> pursue(columns, targets, costs).order
    array([1, 0])
    """
    path = path or Path()
    center, inverse = standardization(columns) if intercept else (0.0, _inverse_length(columns))
    own, parts, needs, n_parts = costs.arrays
    raw = np.ascontiguousarray(columns.T)
    standard = np.ascontiguousarray(((columns - center) * inverse).T)
    while not path.buy(costs, budget, skip)[1]:
        steps = max(4, len(path.order) // 4)  # a few at a time, then see what they cost
        order, coefficients = _follow(
            raw,
            standard,
            targets,
            penalty,
            intercept,
            own,
            parts,
            needs,
            np.zeros(n_parts),
            cost_aware,
            path.order,
            path.coefficients,
            len(path.order) + (steps if budget < np.inf else len(own)),
        )
        path = Path(order, coefficients)
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
    penalty: float,
    intercept: bool,
    own: NDArray,
    parts: NDArray,
    needs: NDArray,
    levels: NDArray,
    cost_aware: bool,
    known: NDArray,
    beta: NDArray,
    length: int,
) -> tuple[NDArray, NDArray]:
    """Follow a path to some length; the last model is the one before the last column joined."""
    m, n = columns.shape
    squares = (columns * columns).sum(axis=1)
    signs = 2.0 * targets - 1.0
    order, free = np.empty(m, np.int64), np.ones(m, np.bool_)
    design, gram = np.empty((m + 1, n)), np.empty((0, 0))
    design[0] = 1.0 if intercept else 0.0
    count = 0
    while count < min(m, length):
        price = marginal_costs(own, parts, needs, levels)
        if count < known.shape[0]:
            chosen = known[count]
        else:
            start = np.zeros(count + 1)
            start[: beta.shape[0]] = beta
            beta, _, _, residual = descend(
                design[: count + 1], gram, signs, penalty, start, MOST_STEPS
            )
            if count == 0 and not intercept:
                residual = targets  # as the paper prints
            chosen = _best(columns @ residual, squares, price, free, cost_aware)
        pay(parts, needs, levels, chosen)
        order[count], free[chosen] = chosen, False
        count += 1
        design[count] = standard[chosen]
        if gram.shape[0] == 0:
            gram = gram_of(design[: count + 1])
        else:
            gram += design[count] * design[count].reshape(-1, 1)
    return order[:count].copy(), beta


@compiled
def _buy(
    order: NDArray,
    own: NDArray,
    parts: NDArray,
    needs: NDArray,
    levels: NDArray,
    within_reach: NDArray,
    base: float,
    budget: float,
) -> tuple[NDArray, bool]:
    """Buy along a path; return what was bought and whether a column did not fit."""
    bought, count, cost = np.empty(order.shape[0], np.int64), 0, base
    for column in order:
        if not within_reach[column]:
            continue
        price = own[column]
        for place in range(parts.shape[1]):
            price += max(0.0, needs[column, place] - levels[parts[column, place]])
        if cost + price > budget * ROUNDING:
            return bought[:count].copy(), True
        cost += price
        pay(parts, needs, levels, column)
        bought[count] = column
        count += 1
    return bought[:count].copy(), False


@compiled
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
