"""What a detector does with budgets: choose columns, price them, trace a curve."""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boreod.ensemble.ensemble import Ensemble
from boreod.ensemble.heads import PENALTY, LogisticHead
from boreod.ensemble.logistic import add_up
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.thresholds import choose_threshold
from boreod.ensemble.training import Training
from boreod.parallel import Threads, plain_interrupts
from boreod.parameters import check_parameters
from boreod.representation.scaling import MinMax, scale_within_bounds
from boreod.representation.transformer import OutlierRepresentation
from boreod.selection import (
    SECONDS,
    SHARED,
    BudgetCurve,
    Costs,
    PriceLists,
    Selection,
    Selector,
    budgets_over,
    check_costs,
    is_fresh,
    needs_clock,
    read_budget,
    read_budgets,
    sample_rows,
    trace_budgets,
)
from boreod.validation import check_values


class Budgeted(BaseEstimator):
    """The part of a detector that learns on some of its columns and keeps to budgets."""

    n_jobs: int | None
    verbose: bool
    budget: float | str | None
    costs: Any
    selection: str
    fill: bool
    costs_: Costs
    cost_: float
    selection_: Selection
    representation_: OutlierRepresentation
    oob_proba_: NDArray
    threshold_: float
    penalty_: float
    gradients_: NDArray
    _training: Training
    _ensemble: Ensemble
    _selector: Selector
    _options: dict[str, Any]
    _input_scaler: MinMax | None
    seen_: SeenRows

    def within(
        self,
        budget: float | str,
        *,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> Self:
        """Return a fitted detector whose predictions keep to a budget.

        Nothing is searched again: the bags of this fit are solved on the chosen columns, and those
        alone are computed for new rows. A time is that of one core in a batch of rows.

        Parameters
        ----------
        budget, costs, selection, fill
            As the parameters of the same names; None keeps this model's. ``costs="fresh"`` measures
            again, for the model that is returned.
        """
        fast = self._within(budget, costs, selection, fill)
        fast.threshold_ = fast.choose_threshold(self._options["threshold"])
        return fast

    def budget_curve(
        self,
        budgets: Any = None,
        *,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> BudgetCurve:
        """Return out-of-bag quality over budgets: ``print`` it, or ``plot`` it.

        Parameters
        ----------
        budgets
            List of budgets, None for a range from the cheapest column to everything.
        costs, selection, fill
            As the parameters of the same names; None keeps this model's.
        """
        check_is_fitted(self)
        model = self
        if is_fresh(costs):  # once for all budgets
            model = copy.copy(self)
            model.measure_costs()
            costs = SHARED
        if budgets is None:
            prices, unit = self.costs if costs is None else costs, self._unit
            check_costs(prices)
            model._take_time_if_needed(prices, unit)
            budgets = budgets_over(model._selector.prices.read(prices, unit))
        models = (model._within(b, costs, selection, fill) for b in read_budgets(budgets))
        return trace_budgets(models, self._training)

    def measure_costs(self) -> Costs:
        """Measure again what columns cost, on this machine, and return the prices.

        Budgets in time that are asked of this model from now on use them, and so do later fits to
        tables of this shape.
        """
        check_is_fitted(self)
        self._take_times(fresh=True)
        return self._selector.prices.read(SHARED)

    def _take_times(self, *, fresh: bool) -> None:
        """Price all columns by the clock: by what is remembered, unless it is to be fresh."""
        prices = self._selector.prices.timed(
            self._work_per_row, self._work_per_column, self._facts_of_work(), fresh=fresh
        )
        self._selector = replace(self._selector, prices=prices, known=[])
        if hasattr(self, "costs_") and self.costs_.unit == SECONDS:
            self.costs_ = prices.read(self.costs)

    def _facts_of_work(self) -> dict[str, Any]:
        """Return what a prediction does besides computing columns, as far as it takes time."""
        head, bags = self._ensemble.head, self._training.bags.rows
        facts = {
            "neighbors": self._training.representation.neighbors,
            "bags": len(bags),
            "aggregation": self._options["aggregation"],
            "scaling": type(self._training.scaler).__name__,
            "input_scaling": self._input_scaler is not None,
        }
        if not isinstance(head, LogisticHead):  # all of its work counts, whatever the columns
            facts["estimator"] = self._options["estimator"]
            facts["size"] = [bags.shape[1], len(self._ensemble.base)]
        return facts

    def choose_threshold(self, threshold: float | str, novelty: bool = False) -> float:
        """Return the probability that a threshold stands for, from out-of-bag scores.

        Parameters
        ----------
        threshold
            As the parameter of the same name.
        novelty
            Whether novel rows are alerts too, and count as such.
        """
        check_is_fitted(self)
        training = self._training
        always = self.seen_.novel_training_rows() if novelty else None
        return choose_threshold(
            threshold, self.oob_proba_, training.codes, training.weights, always
        )

    def _learn(self, columns: list[str]) -> None:
        """Solve the bags on some of the columns, with the options of the fit."""
        self._ensemble = Ensemble(
            self._training.keep(columns),
            self._options["estimator"],
            self._options["penalty"],
            self._options["aggregation"],
            self._options["calibration"],
            Threads(self.n_jobs, self.verbose),
        )
        self.representation_ = self._ensemble.representation
        widest = self.representation_.fitted_columns_.widest
        isolation = None if widest is None else widest.isolation
        self.seen_ = replace(self.seen_, isolation=isolation)
        self.oob_proba_ = expit(self._ensemble.oob_log_odds)
        if isinstance(self._ensemble.head, LogisticHead):
            self.penalty_ = self._ensemble.head.penalty
            self.gradients_ = self._ensemble.head.gradients

    def _prepare_budgets(self, points: NDArray) -> None:
        """Price all columns, so that budgets can be asked for."""
        fitted = self.representation_.fitted_columns_
        prices = PriceLists(fitted, len(points), sample_rows(points))
        self._selector = Selector(self._training, prices, getattr(self, "penalty_", PENALTY))
        self._take_time_if_needed(self.costs, self._unit)
        self.costs_ = self._selector.prices.read(self.costs, self._unit)

    @property
    def _unit(self) -> str:
        """Unit of the budget; seconds if there is none."""
        return SECONDS if self.budget is None else read_budget(self.budget)[1]

    def _take_time_if_needed(self, costs: Any, unit: str) -> None:
        if needs_clock(costs, unit) and self._selector.prices.measured is None:
            self._take_times(fresh=is_fresh(costs))

    def _within(self, budget: Any, costs: Any, selection: Any, fill: Any) -> Self:
        """Do the work of :meth:`within`, but choose no threshold."""
        check_is_fitted(self)
        fast = copy.copy(self)
        chosen = {"costs": costs, "selection": selection, "fill": fill}
        fast.set_params(budget=budget, **{k: v for k, v in chosen.items() if v is not None})
        check_parameters(fast)
        with plain_interrupts():
            if is_fresh(costs):
                fast._take_times(fresh=True)
            else:
                self._take_time_if_needed(fast.costs, fast._unit)
                fast._selector = self._selector
            fast._narrow()
        return fast

    def _narrow(self) -> None:
        """Choose the columns that the budget buys, and learn from these alone."""
        engine = Threads(self.n_jobs, self.verbose)
        choice = self._selector.choose(self.budget, self.costs, self.selection, self.fill, engine)
        self._learn(choice.columns)
        if self.fill and self.selection != "random":
            alone = self._selector.better_alone(choice, self.oob_proba_)
            if alone is not None:
                choice = alone
                self._learn(choice.columns)
        self.selection_, self.costs_, self.cost_ = choice, choice.costs, choice.cost

    def _scale_input(self, rows: NDArray) -> NDArray:
        """Bring raw columns to the training range; rows absurdly far outside stay computable."""
        scaler = self._input_scaler
        return rows if scaler is None else scale_within_bounds(rows, scaler.low, scaler.factor)

    def _work_per_row(self, rows: NDArray) -> NDArray:
        """Do what a prediction has to do whatever its columns are, for the price list."""
        check_values(self, rows)
        self._scale_input(rows)
        return expit(self._ensemble.work_per_row(rows))

    def _work_per_column(self, table: NDArray) -> NDArray:
        """Do what a prediction has to do with every column, for the price list."""
        scaled = self._training.scaler.transform(table)
        if not isinstance(self._ensemble.head, LogisticHead):
            return scaled
        n_bags = len(self._training.bags.rows)
        return add_up(scaled, np.ones((scaled.shape[1], n_bags)), np.zeros(n_bags))
