"""The choice of columns for a budget; one fit serves every budget.

A choice by value per cost can spend a budget on many cheap columns even if one expensive column
would be better. Therefore a single column is a candidate too. Every bag names the column that best
separates its outliers from its inliers, and the column that most bags name is the candidate. The
candidate is judged on out-of-bag rows, because a column may fit a few labels by chance.
"""

from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import PENALTY
from boreod.ensemble.parameters import ColumnSelection, Settings
from boreod.ensemble.training import Lessons, Training
from boreod.metrics import auc, average_ranks
from boreod.parallel import Engine, Threads
from boreod.selection.budgets import (
    Selection,
    budgets_over,
    check_units,
    price_columns,
    read_budget,
    too_low,
)
from boreod.selection.candidates import (
    FEW_BAGS,
    LOGISTIC,
    Learned,
    Learner,
    Offer,
    buy_untaught,
    cost_of_fewest,
)
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.measured import sample_rows
from boreod.selection.prices import PriceLists
from boreod.selection.pursuit import Paths, Rules, stable_set
from boreod.validation import OUTLIER

# The number of sets of offered columns whose paths are kept.
MAX_PATHS = 32
MEASURE_AGAIN = (
    "or measure again if the machine was busy: `measure_costs()`, or delete the folder 'prices' of "
    "the cache"
)


class Selector:
    """Chooses columns for budgets, and keeps the paths that were followed for earlier budgets.

    ``whole`` is the detector that was learned from all columns and heads, with its out-of-bag
    results. Some of the ``rows`` are kept to measure prices. ``neighbors`` is the search back end
    that the user set. Prices are computed when they are needed.
    """

    def __init__(self, training: Training, whole: Learned, rows: NDArray, neighbors: Any) -> None:
        self.training = training
        self.prices = PriceLists(training, whole[0], sample_rows(rows), neighbors)
        # Paths of detectors without a logistic regression have the default penalty.
        self.penalty = getattr(whole[0].logistic, "penalty", None) or PENALTY
        self.learner = Learner(training, whole)
        self.known: list[Paths] = []

    @classmethod
    def restore(cls, model: Any, lessons: Lessons, settings: Settings) -> "Selector":
        """Return the selector of a detector that was loaded from a file with these lessons."""
        fitted = model.fitted_
        training = lessons.restore(model, settings, Threads(model.n_jobs))
        # Times are measured on rows like those of the fit.
        rows = np.stack([fitted.seen.low, fitted.seen.high])
        if fitted.columns.widest is not None:
            rows = fitted.columns.widest.known.rows
            if fitted.input_scaler is not None:
                rows = fitted.input_scaler.low + rows / fitted.input_scaler.factor
        return cls(training, (fitted, model.oob_), rows, lessons.neighbors)

    def timed(self) -> "Selector":
        """Return a copy of the selector that will measure times again."""
        again = copy(self)
        again.prices = replace(self.prices, fresh=True)
        return again

    def buy(
        self, budget: Any, how: ColumnSelection, engine: Engine
    ) -> tuple[Selection, Fitted, OutOfBag]:
        """Choose columns and trees for a budget, and learn a detector from them alone."""
        amount, unit = read_budget(budget)
        check_units(unit, how.costs)
        prices = self.prices.read(how.costs, unit, how.batch_size).in_batches(how.batch_size)
        if how.batch_size is not None:
            _check_call(amount, how.batch_size, prices, self._least(prices))
        if not self.training.taught:
            choice, learned = buy_untaught(self.learner, amount, prices, engine)
        elif self.prices.whole.tree_heads:
            choose = partial(self._choose, how=how, engine=engine)
            best = None if how.method == "random" else self._best_single
            choice, learned = Offer(self.learner, amount, prices, choose, best).buy(engine)
        else:
            choice = self._choose(amount, prices, how, engine)
            if how.skip_unaffordable and how.method != "random":
                choice = self._better_alone(choice, self._learn(choice.columns, engine)[1])
            learned = self._learn(choice.columns, engine)
        return replace(choice, batch_size=how.batch_size), *learned

    def _learn(self, columns: list[str], engine: Engine) -> Learned:
        return self.learner.once(frozenset(columns), partial(self.training.learn, columns, engine))

    def _least(self, costs: Costs) -> float:
        """Return the price of the cheapest model: one column, and one tree per bag if needed."""
        if self.training.taught:
            return float(costs.alone.min()) + self._cost_of_fewest_trees(costs)
        scores = self.learner.split(costs.names)[1]
        return min((costs.total([name]) for name in scores), default=0.0)

    def _cost_of_fewest_trees(self, costs: Costs) -> float:
        """Return the price of one tree per bag; 0 if a logistic head makes trees unnecessary."""
        can_do_without = LOGISTIC in self.learner.recipe.kinds
        return 0.0 if can_do_without else cost_of_fewest(self.learner, costs)

    def budget_range(self, costs: Any, unit: str, batch_size: int | None) -> list[float | str]:
        """Return budgets from the price of the cheapest column to that of the whole detector."""
        prices = self.prices.read(costs, unit, batch_size).in_batches(batch_size)
        most = prices.cost_of_trees(self.prices.whole.tree_counts)
        return budgets_over(prices, most, self._cost_of_fewest_trees(prices))

    def _choose(
        self, budget: float, costs: Costs, how: ColumnSelection, engine: Engine
    ) -> Selection:
        cheapest = int(np.argmin(costs.alone))
        if costs.alone[cheapest] > budget:
            again = f", {MEASURE_AGAIN}" if costs.unit == SECONDS else ""
            what = f"the cheapest column, {costs.names[cheapest]!r}, costs"
            raise too_low(budget, what, costs.alone[cheapest], costs.unit, f". Raise it{again}.")
        if costs.total() <= budget:
            return price_columns(costs.names, {}, costs, budget)
        # A column that costs more than the budget would end the path of every bag that chooses it.
        affordable = list(compress(costs.names, costs.alone <= budget))
        fill = how.skip_unaffordable
        offered = costs.only(affordable) if fill and affordable != costs.names else costs
        names = offered.names
        shares: dict[str, float] = {}
        if how.method == "random":
            order = np.random.default_rng(self.training.seed).permutation(len(names))
        else:
            order, found = self._paths(offered, how.method == "budget").rank(budget, engine, fill)
            shares = dict(zip([names[place] for place in order], found.tolist(), strict=True))
        chosen = [names[place] for place in stable_set(order, offered, budget, fill)]
        if not chosen:
            raise too_low(
                budget,
                f"the first column, {names[order[0]]!r}, ends the choice, because it costs",
                costs.alone[order[0]],
                costs.unit,
                ". Raise the budget, or skip such columns: `skip_unaffordable=True`.",
            )
        return price_columns(chosen, shares, costs, budget)

    def _better_alone(self, choice: Selection, oob: OutOfBag) -> Selection:
        """Return a choice or, if it is clearly better, the single column that most bags name.

        The column and the choice are judged on out-of-bag rows. The column is clearly better if its
        AUC is higher by more than one standard error.
        """
        outliers, scores = oob.judged()
        is_everything = len(choice.columns) == len(choice.costs.names)
        if is_everything or not 0 < outliers.sum() < len(outliers):
            return choice
        quality = float(auc(outliers, scores))
        error = np.sqrt(quality * (1.0 - quality) / outliers.sum())
        name, quality_alone = self._best_single(choice.costs, choice.budget)
        if not quality_alone > quality + error:
            return choice
        return price_columns([name], choice.frequencies, choice.costs, choice.budget)

    def _paths(self, costs: Costs, cost_aware: bool) -> Paths:
        """Return the paths for these costs, as far as they have been followed."""
        for paths in self.known:
            if paths.rules.cost_aware == cost_aware and paths.costs == costs:
                return paths
        bags = self.training.bags
        # With tree heads, several candidates are compared, so paths of a few bags are enough.
        if self.prices.whole.tree_heads:
            bags = bags.first(FEW_BAGS)
        places = self.training.place_of(costs.names)
        rules = Rules(float(self.penalty), cost_aware, self.training.options.recipe.fit_intercept)
        paths = Paths(self.training.table, places, bags, costs, rules)
        self.known = [paths, *self.known][:MAX_PATHS]
        return paths

    def _best_single(self, costs: Costs, budget: float) -> tuple[str, float]:
        """Return the affordable column that most bags name, and an out-of-bag AUC of this choice.

        For the AUC, each bag scores its out-of-bag rows by the column that this bag names. The AUC
        is NaN if the out-of-bag rows do not have both classes.
        """
        offered = self.training.place_of(costs.names)[costs.alone <= budget]
        differences = self._differences
        named = offered[np.abs(differences[:, offered]).argmax(axis=1)]
        names, which, counts = np.unique(named, return_inverse=True, return_counts=True)
        strength = np.abs(differences[:, names]).mean(axis=0)
        best = self.training.columns.names[names[np.lexsort((-strength, -counts))[0]]]
        votes = self._ranks(names)[:, which]
        upwards = differences[np.arange(len(named)), named] > 0.0
        votes = np.where(upwards, votes, 1.0 - votes)
        mask = ~self.training.bags.holds[self._labelled]
        judged = mask.any(axis=1)
        outliers = self.training.codes[self._labelled[judged]] == OUTLIER
        if not 0 < outliers.sum() < len(outliers):
            return best, float("nan")
        return best, float(auc(outliers, votes[judged].mean(axis=1, where=mask[judged])))

    @cached_property
    def _differences(self) -> NDArray:
        """The mean rank of outliers minus the mean rank of inliers: (bags, columns)."""
        bags = self.training.bags
        ranks = self._ranks(np.arange(len(self.training.columns.names)))
        n = bags.n_outliers
        places = np.searchsorted(self._labelled, bags.rows)
        return np.array([ranks[p[:n]].mean(axis=0) - ranks[p[n:]].mean(axis=0) for p in places])

    @cached_property
    def _labelled(self) -> NDArray:
        """Places of the rows that count as outliers or inliers."""
        return np.flatnonzero(self.training.codes >= 0)

    def _ranks(self, columns: NDArray) -> NDArray:
        """Return the ranks of labelled rows in some columns, scaled to between 0 and 1.

        Unlike values, ranks do not depend on long tails.
        """
        values = self.training.table[np.ix_(self._labelled, columns)]
        return average_ranks(values) / (len(values) + 1)


def _check_call(budget: float, batch_size: int, costs: Costs, least: float) -> None:
    """Raise if a budget is below the lowest price of a row in calls with ``batch_size`` rows."""
    if budget < least:
        rows = "a row alone" if batch_size == 1 else f"a row in batches of {batch_size}"
        advice = (
            ", most of it for the call. Raise the budget, or pass more rows per call: a larger "
            f"`batch_size` (--batch); {MEASURE_AGAIN}."
        )
        raise too_low(budget, f"{rows} costs at least", least, costs.unit, advice)
