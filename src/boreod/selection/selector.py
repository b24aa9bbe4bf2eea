"""The choice of columns for a budget, from one fitted table: one fit serves every budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.training import Training
from boreod.metrics import auc
from boreod.parallel import Engine
from boreod.selection.budgets import read_budget, round_up, show_cost
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.prices import PriceLists, check_units
from boreod.selection.single import Singles
from boreod.selection.stability import Paths, stable_set

REMEMBERED = 32  # sets of offered columns whose paths are kept


@dataclass(frozen=True)
class Selection:
    """What a budget bought.

    Attributes
    ----------
    columns
        The chosen columns, the most stable first.
    frequencies
        Share of bags that bought a column on their own, for all columns that some bag bought and in
        the order in which they were considered; empty where no bag was asked.
    cost
        Cost of the chosen columns.
    budget
        What could be spent.
    costs
        Prices of all columns.
    """

    columns: list[str]
    frequencies: Mapping[str, float]
    cost: float
    budget: float
    costs: Costs = field(repr=False)

    def __str__(self) -> str:
        """Return a table of the chosen columns."""
        spent, budget = (show_cost(amount, self.costs.unit) for amount in (self.cost, self.budget))
        shares = [
            f"{self.frequencies[c]:6.0%}" if c in self.frequencies else "     -"
            for c in self.columns
        ]
        rows = [f"{share}  {name}" for share, name in zip(shares, self.columns, strict=True)]
        return "\n".join(
            [
                f"{len(rows)} columns for {spent} of {budget}; share of bags that want each",
                *rows,
            ]
        )


@dataclass
class Selector:
    """Chooses columns; remembers the paths that it has followed.

    Attributes
    ----------
    training
        Scaled rows, labels and bags.
    prices
        What columns can cost.
    penalty
        Ridge penalty of the logistic regressions.
    known
        Paths of the last price lists.
    """

    training: Training
    prices: PriceLists
    penalty: float
    known: list[Paths] = field(default_factory=list, repr=False)

    def choose(
        self, budget: Any, prices: Any, method: str, fill: bool, engine: Engine
    ) -> Selection:
        """Return the columns that a budget buys."""
        amount, unit = read_budget(budget)
        check_units(unit, prices)
        costs = self.prices.read(prices, unit)
        _check_affordable(amount, costs)
        if costs.total() <= amount:
            return _selection(costs.names, {}, costs, amount)
        # What could never be bought would only stand in the way of what comes after it.
        affordable = _affordable(costs, amount)
        offered = costs.only(affordable) if fill and affordable != costs.names else costs
        order, frequencies = self._rank(amount, offered, method, engine)
        chosen = [offered.names[place] for place in stable_set(order, offered, amount, fill)]
        if not chosen and method == "random":
            chosen = [next(name for name in (costs.names[p] for p in order) if name in affordable)]
        elif not chosen:
            chosen = [self._best_single(costs, amount)]
        return _selection(chosen, frequencies, costs, amount)

    def better_alone(self, choice: Selection, probabilities: NDArray) -> Selection | None:
        """Return a single affordable column if it is clearly better than a choice.

        Both are judged by the rows out of bag; clearly means by more than a standard error.
        """
        scores, outliers = self.training.judged(probabilities)
        is_everything = len(choice.columns) == len(choice.costs.names)
        if is_everything or not 0 < outliers.sum() < len(outliers):
            return None
        quality = float(auc(outliers, scores))
        error = np.sqrt(quality * (1.0 - quality) / outliers.sum())
        offered = self._offered(choice.costs, choice.budget)
        name = self._best_single(choice.costs, choice.budget)
        if choice.columns == [name] or not self._singles.quality(offered) > quality + error:
            return None
        return _selection([name], choice.frequencies, choice.costs, choice.budget)

    def _rank(
        self, budget: float, costs: Costs, method: str, engine: Engine
    ) -> tuple[NDArray, dict[str, float]]:
        """Return columns in the order in which they are bought, and how many bags want them."""
        if method == "random":
            return np.random.default_rng(self.training.seed).permutation(len(costs.names)), {}
        order, shares = self._paths(costs, method == "budget").rank(budget, engine)
        names = costs.names
        return order, dict(zip([names[place] for place in order], shares.tolist(), strict=True))

    def _paths(self, costs: Costs, cost_aware: bool) -> Paths:
        """Return the paths of all bags, as far as they are known."""
        for place, paths in enumerate(self.known):
            if paths.cost_aware == cost_aware and paths.costs == costs:
                self.known = [paths, *self.known[:place], *self.known[place + 1 :]]
                return paths
        paths = Paths(
            self.training.table,
            self._places(costs),
            self.training.bags,
            costs,
            self.penalty,
            cost_aware,
        )
        self.known = [paths, *self.known][:REMEMBERED]
        return paths

    def _best_single(self, costs: Costs, budget: float) -> str:
        """Return the affordable column that is best on its own."""
        best = self._singles.best(self._offered(costs, budget))
        return self.training.representation.columns_[best]

    def _offered(self, costs: Costs, budget: float) -> NDArray:
        """Return the places of affordable columns in the table."""
        return np.array(self._places(costs))[costs.alone <= budget]

    def _places(self, costs: Costs) -> list[int]:
        place = {name: number for number, name in enumerate(self.training.representation.columns_)}
        return [place[name] for name in costs.names]

    @cached_property
    def _singles(self) -> Singles:
        return Singles(self.training)


def _affordable(costs: Costs, budget: float) -> list[str]:
    """Return the columns that a budget can buy alone."""
    names = costs.names
    return [names[place] for place in np.flatnonzero(costs.alone <= budget)]


def _selection(
    columns: list[str], frequencies: Mapping[str, float], costs: Costs, budget: float
) -> Selection:
    return Selection(columns, frequencies, costs.total(columns), budget, costs)


def _check_affordable(budget: float, costs: Costs) -> None:
    unit = costs.unit
    cheapest = int(np.argmin(costs.alone))
    if costs.alone[cheapest] > budget:
        busy = ", or measure again if the machine was busy: costs='fresh' (--costs fresh)"
        raise ValueError(
            f"`budget` is {show_cost(budget, unit)}, but the cheapest column, "
            f"{costs.names[cheapest]!r}, costs "
            f"{show_cost(round_up(costs.alone[cheapest], unit), unit)}. Raise it"
            f"{busy if unit == SECONDS else ''}."
        )
