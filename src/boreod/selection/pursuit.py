"""Orthogonal matching pursuit for logistic regression, plain and cost-aware.

In the paper's Algorithm 1, the column that explains most of the residual joins the model, the model
is solved again, and so on. The criterion is the one of the paper,

    |phi_j' r| / (phi_j' phi_j)    plain,    the same / c(j)    cost-aware,

with the squared norm of the column, not the norm. If columns share work, c(j) is the marginal cost
c(j | chosen). With an intercept, the residual starts at y - 1/2 on balanced rows. Without an
intercept, it starts at y, as the paper prints. If two columns are equally good, the first in the
table joins.

The order in which columns join, the *path*, does not depend on a budget. A path is therefore
followed as far as a budget reaches, and continued later for a larger budget.

*Stability selection.* Every bag follows its own path and buys columns until one does not fit the
budget. Columns are ranked by the share of bags that bought them. There are two rules:

- The paper's *prefix* rule takes columns in this order until one does not fit. The paper does not
  say how to break ties; column order breaks them here.
- The *fill* rule breaks ties by the mean position among the bought columns, then by lower cost,
  then by column order. A column that a bag did not buy has the position after the bought columns.
  The rule skips columns that do not fit, and never takes a column that no bag bought.

See Meinshausen, Bühlmann: Stability selection. J. R. Stat. Soc. B 72(4), 2010.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, products, unset
from boreod.ensemble.bags import Bags
from boreod.ensemble.logistic import descend, gram_of, standardization
from boreod.parallel import Engine, one_blas_thread
from boreod.selection.costs import Costs, Work, marginal_cost, pay

# The smallest divisor of the criterion, because columns may be free.
MIN_DIVISOR = 1e-30
# Equal columns may differ by rounding errors, so a later column must be better by this factor.
CLEARLY_BETTER = 1.0 + 1e-9


@dataclass(frozen=True)
class Path:
    """The path of one bag through the columns, as far as it has been followed.

    ``order`` holds the places of columns in the order in which they joined. ``spent`` holds, for
    each of these columns, the total cost up to this column. ``coefficients`` are the coefficients
    of the last model that was solved, for standardized columns, with the intercept first.
    """

    order: NDArray = field(default_factory=lambda: np.empty(0, np.int64))
    spent: NDArray = field(default_factory=lambda: np.empty(0))
    coefficients: NDArray = field(default_factory=lambda: np.zeros(1))

    def buy(self, costs: Costs, budget: float) -> tuple[NDArray, bool]:
        """Return the places of the columns before the first column that does not fit a budget.

        Also return whether the path is long enough for this budget.
        """
        # Rounding must not exclude a column that fits exactly.
        count = int(np.searchsorted(self.spent, budget * (1.0 + 1e-12) - costs.base, side="right"))
        return self.order[:count], count < len(self.order) or count == len(costs.own)


class Rules(NamedTuple):
    """The rules for following a path.

    If ``cost_aware`` is true, costs divide the criterion. If ``intercept`` is true, models have an
    intercept.
    """

    penalty: float = 1e-6
    cost_aware: bool = True
    intercept: bool = True


def pursue(
    columns: NDArray,
    targets: NDArray,
    costs: Costs,
    budget: float = np.inf,
    rules: Rules = Rules(),  # noqa: B008  (it cannot change)
    weights: NDArray | None = None,
    path: Path | None = None,
) -> Path:
    """Follow the path of a bag until a column does not fit the budget or all columns have joined.

    The first column that does not fit is on the path too. If ``path`` is given, it is continued.
    ``columns`` are in the order of ``costs.names``. ``targets`` are 1.0 for outliers and 0.0 for
    inliers.

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
            f"`columns` must have {len(targets)} rows (one per target) and {len(costs.names)} "
            f"columns (one per price); got the shape {columns.shape}."
        )
    path = path or Path()
    if weights is None:
        weights = np.ones(len(targets))
    center, inverse = standardization(columns, rules.intercept)
    standard = (columns - center) * inverse
    squares = (columns**2 * weights[:, np.newaxis]).sum(axis=0)
    columns = np.ascontiguousarray(columns.T)
    standard = np.ascontiguousarray(standard.T)
    bag = _Bag(columns, standard, squares, targets, 2.0 * targets - 1.0, weights)
    left = budget - costs.base
    while not path.buy(costs, budget)[1]:
        path = Path(*_follow(bag, costs.arrays, rules, path.order, path.coefficients, left))
    return path


class _Bag(NamedTuple):
    """The rows of a bag.

    ``columns`` holds the columns and ``standard`` the standardized columns; both have one line per
    column. ``squares`` holds the squared norms of the columns. ``signs`` are 1.0 for outliers and
    -1.0 for inliers.
    """

    columns: NDArray
    standard: NDArray
    squares: NDArray
    targets: NDArray
    signs: NDArray
    weights: NDArray


@dataclass
class Paths:
    """The paths of all bags through some columns, followed as far as budgets required.

    ``table`` holds scaled training rows. ``places`` are the places of ``costs.names`` in the table.
    """

    table: NDArray
    places: NDArray
    bags: Bags
    costs: Costs
    rules: Rules
    paths: list[Path] = field(default_factory=list)

    def rank(self, budget: float, engine: Engine, fill: bool) -> tuple[NDArray, NDArray]:
        """Return the places of columns, most frequently bought first, and their frequencies.

        If ``fill`` is true, only columns that some bag bought are returned.
        """
        purchases = [path.buy(self.costs, budget)[0] for path in self._reach(budget, engine)]
        m = len(self.places)
        counts = np.zeros(m)
        positions = np.zeros(m)
        for bought in purchases:
            position = np.full(m, float(len(bought)))
            position[bought] = np.arange(len(bought))
            counts[bought] += 1
            positions += position
        # The stable sort keeps the order of columns with equal counts.
        order = np.argsort(-counts, kind="stable")
        if fill:
            order = np.lexsort((self.costs.alone, positions, -counts))[: np.count_nonzero(counts)]
        return order, counts[order] / len(purchases)

    def _reach(self, budget: float, engine: Engine) -> list[Path]:
        """Return the paths of all bags, followed at least as far as the budget reaches."""
        known = self.paths or [Path() for _ in self.bags.rows]
        targets = self.bags.targets
        weights = self.bags.weights

        def follow(number: int) -> Path:
            columns = self.table[np.ix_(self.bags.rows[number], self.places)]
            return pursue(columns, targets, self.costs, budget, self.rules, weights, known[number])

        if not all(path.buy(self.costs, budget)[1] for path in known):
            with one_blas_thread():
                self.paths = engine.map(follow, list(range(len(known))), "paths")
        return self.paths


def stable_set(order: NDArray, costs: Costs, budget: float, fill: bool) -> list[int]:
    """Return the places of columns that fit into a budget, taken in the given order.

    Examples
    --------
    >>> costs = Costs({"a": 5.0, "b": 9.0, "c": 2.0})
    >>> stable_set(np.arange(3), costs, 8.0, fill=False), stable_set(np.arange(3), costs, 8.0, True)
    ([0], [0, 2])
    """
    chosen: list[int] = []
    for place in order.tolist():
        if costs.cost_of([*chosen, place]) <= budget:
            chosen.append(place)
        elif not fill:
            break
    return chosen


@compiled
def _follow(
    bag: _Bag, work: Work, rules: Rules, known: NDArray, beta: NDArray, budget: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Continue a path by at least one step, and until the budget is exceeded.

    Return the order, the costs up to each column, and the coefficients of the last model, which was
    solved before the last column joined.
    """
    m, n = bag.columns.shape
    explained = unset(m)
    order = unset(m, np.int64)
    spent_until = unset(m)
    free = unset(m, np.bool_)
    design = unset((m + 1, n))
    gram = unset((0, 0))
    levels = np.zeros(work.needs.shape[1])
    design[0] = 1.0 if rules.intercept else 0.0
    free[:] = True
    count = 0
    spent = 0.0
    while count < m and (count <= known.shape[0] or spent <= budget):
        if count < known.shape[0]:
            chosen = known[count]
        else:
            start = np.zeros(count + 1)
            start[:count] = beta[:count]
            joined = design[: count + 1]
            beta, _, residual = descend(joined, gram, bag.signs, bag.weights, rules.penalty, start)
            if count == 0 and not rules.intercept:
                # In the paper, the first residual is y.
                for row in range(n):
                    residual[row] = bag.weights[row] * bag.targets[row]
            products(bag.columns, residual, explained, False)
            chosen = _best(explained, bag.squares, free, work, levels, rules.cost_aware)
        spent += marginal_cost(work, levels, chosen)
        pay(work, levels, chosen)
        order[count] = chosen
        spent_until[count] = spent
        free[chosen] = False
        count += 1
        for row in range(n):
            design[count, row] = bag.standard[chosen, row]
        if gram.shape[0] == 0:
            gram = gram_of(design[: count + 1])
        else:
            for row in range(n):
                for other in range(n):
                    gram[row, other] += design[count, row] * design[count, other]
    return order[:count], spent_until[:count], beta


@inner
def _best(
    explained: NDArray,
    squares: NDArray,
    free: NDArray,
    work: Work,
    levels: NDArray,
    cost_aware: bool,
) -> int:
    """Return the free column with the largest criterion; if several are equal, the first one."""
    best = -1
    highest = -1.0
    for column in range(explained.shape[0]):
        if not free[column]:
            continue
        value = 0.0
        if squares[column] > 0.0:
            value = abs(explained[column]) / squares[column]
            if cost_aware:
                value /= max(marginal_cost(work, levels, column), MIN_DIVISOR)
        if value > highest * CLEARLY_BETTER:
            best = column
            highest = value
    return best
