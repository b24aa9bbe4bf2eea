"""Stability selection under a budget: the columns that most bags choose, as far as they fit.

Every bag follows its own path and buys columns until one does not fit. Columns are ranked by the
share of bags that bought them; equal shares by their mean position among the bought ones (a bag
that did not buy a column counts as having it next), then by lower cost, then by column order. The
stable set takes columns in this order. By the *prefix* rule, the paper's, it ends at the first that
does not fit; by the *fill* rule that one is skipped and the next is tried. Columns that no bag
bought are not taken.

After Meinshausen, Bühlmann: Stability selection. J. R. Stat. Soc. B 72(4), 2010.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bags
from boreod.parallel import Engine, one_blas_thread
from boreod.selection.costs import Costs
from boreod.selection.pursuit import Path, pursue


@dataclass
class Paths:
    """The paths of all bags through some columns, followed as far as budgets asked for."""

    table: NDArray  # scaled training rows
    places: NDArray  # where in the table the columns of ``costs.names`` are
    bags: Bags
    costs: Costs
    penalty: float
    cost_aware: bool  # whether costs rule the order of columns
    paths: list[Path] = field(default_factory=list)  # one per bag

    def rank(self, budget: float, engine: Engine) -> tuple[NDArray, NDArray]:
        """Return places of the columns that some bag buys, best first, and their frequencies."""
        purchases = [path.buy(self.costs, budget)[0] for path in self._reach(budget, engine)]
        m = len(self.places)
        counts, positions = np.zeros(m), np.zeros(m)
        for bought in purchases:
            position = np.full(m, float(len(bought)))
            position[bought] = np.arange(len(bought))
            counts[bought] += 1
            positions += position
        order = np.lexsort((np.arange(m), self.costs.alone, positions, -counts))
        order = order[: np.count_nonzero(counts)]
        return order, counts[order] / len(purchases)

    def _reach(self, budget: float, engine: Engine) -> list[Path]:
        """Return the paths, followed at least as far as a budget buys."""
        known = self.paths or [Path() for _ in self.bags.rows]
        targets, weights = self.bags.targets, self.bags.weights

        def follow(number: int) -> Path:
            return pursue(
                self.table[np.ix_(self.bags.rows[number], self.places)],
                targets,
                self.costs,
                budget,
                penalty=self.penalty,
                cost_aware=self.cost_aware,
                weights=weights,
                path=known[number],
            )

        if not all(path.buy(self.costs, budget)[1] for path in known):
            with one_blas_thread():
                self.paths = engine.map(follow, list(range(len(known))), "paths")
        return self.paths


def stable_set(order: NDArray, costs: Costs, budget: float, fill: bool) -> list[int]:
    """Return the places of columns that fit into a budget, taken in order.

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
