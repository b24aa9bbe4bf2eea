"""The facade of a detector: fit, predict, explain, budgets; presets give it its parameters."""

import copy
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names_in

from boreod.ensemble.bags import Bagging, Shares, draw_reference
from boreod.ensemble.calibration import check_alerts, warn_of_many_outliers, warn_without_score
from boreod.ensemble.heads import PENALTY
from boreod.ensemble.profile import LearnedRows
from boreod.ensemble.training import NotStoredError, Plan, Training
from boreod.parallel import plain_interrupts
from boreod.parallel.dask_tables import count_rows, gather_rows, is_collection
from boreod.predictor import Predictor, check_parameters, read_options
from boreod.representation.memory import available_memory, check_reading
from boreod.representation.transformer import make_representation
from boreod.selection.budgets import (
    NO_CURVE,
    BudgetCurve,
    read_budget,
    read_budgets,
    trace_budgets,
)
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.prices import (
    SAME,
    SHARED,
    budgets_over,
    check_batches,
    check_size,
    is_fresh,
    needs_clock,
)
from boreod.selection.selector import Selector
from boreod.text import suggest
from boreod.validation import (
    OUTLIER,
    all_or_nothing,
    check_fitted,
    read_labels,
    read_rows,
    read_seed,
    same_filters,
)


class OutlierDetector(Predictor, ClassifierMixin, BaseEstimator):
    """A predictor that learns; presets differ in the defaults of their parameters only."""

    _selector: Selector | None = None  # of a loaded model

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, **unsupported: Any
    ) -> "OutlierDetector":
        """Learn from labelled rows, and from others as far as they count as inliers.

        Parameters
        ----------
        X
            Table of numbers: array, pandas or polars frame.
        y
            1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
            ``outlier_label``. None if no row is labelled and inliers are assumed.
        **unsupported
            Nothing; ``sample_weight`` is refused with a reason.
        """
        self._refuse(unsupported)
        with plain_interrupts(), all_or_nothing(self), same_filters():
            self._fit(X, y)
        return self

    def draw_reference(
        self, codes: NDArray, seeds: list[int] | None = None
    ) -> tuple[NDArray | None, Shares]:
        """Return the rows that a fit would learn from, None for all, and which part they are.

        ``codes`` are the labels of all rows: 1 outlier, 0 inlier, -1 unlabelled; ``seeds`` are
        those of the fit, None to draw them.
        """
        check_parameters(self)
        seed = (seeds or draw_seeds(self.random_state))[3]
        return draw_reference(codes, self.reference_size, self.reference_sampling, seed)

    def within(
        self,
        budget: float | str,
        *,
        batch_size: int | str | None = SAME,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> "OutlierDetector":
        """Return a fitted detector whose predictions keep to a budget.

        Nothing is searched again: the bags of this fit are solved on the chosen columns, and those
        alone are computed for new rows. A time is that of one core for a row of a large batch, or
        of one of ``batch_size`` rows.

        Parameters
        ----------
        budget, costs, selection, fill
            As the parameters of the same names; None keeps this model's. ``costs="fresh"`` measures
            again, for the model that is returned.
        batch_size
            As the parameter of this name: None for large batches, whatever this model has, and
            ``"same"`` for what it has.
        """
        selector, fast = self._known_selector, copy.copy(self)
        fast._ask(budget, batch_size, costs, selection, fill)
        with plain_interrupts(), same_filters():
            if is_fresh(costs):
                fast._selector = selector.timed()
            fast._narrow()
        fast.threshold_ = fast.choose_threshold(selector.training.options.threshold)
        return fast

    def budget_curve(
        self,
        budgets: Any = None,
        *,
        batch_size: int | str | None = SAME,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> BudgetCurve:
        """Return out-of-bag quality over budgets: ``print`` it, or ``plot`` it.

        Parameters
        ----------
        budgets
            List of budgets, None for a range from the cheapest column to everything.
        batch_size
            As the parameter of this name, ``"same"`` for that of this model.
        costs, selection, fill
            As the parameters of the same names; None keeps this model's.
        """
        selector, asked = self._known_selector, copy.copy(self)
        check_size(batch_size, keep=True)
        if not selector.training.taught:
            raise ValueError(NO_CURVE)
        asked.set_params(budget=None, batch_size=None)._ask(None, SAME, costs, selection, fill)
        if is_fresh(costs):  # once for all budgets
            selector = selector.timed()
        if budgets is None:
            size = self._batches(batch_size, self._unit)
            prices = selector.prices.read(asked.costs, self._unit, size).in_batches(size)
            of_trees = selector.cost_of_all_trees(prices), selector.cost_of_fewest_trees(prices)
            budgets = budgets_over(prices, *of_trees)
        budgets = read_budgets(budgets)
        size = self._batches(batch_size, read_budget(budgets[0])[1])
        check_batches(size, budgets[0])
        how = size, asked.costs, asked.selection, asked.fill, self._threads
        with plain_interrupts(), same_filters():
            bought = (selector.buy(b, *how) for b in budgets)
            return trace_budgets((choice, oob) for choice, _, oob in bought)

    def measure_costs(self) -> Costs:
        """Measure again what columns cost, on this machine, and return the prices.

        Budgets in time that are asked of this model from now on use them, and so do later fits to
        tables of this shape.
        """
        self._selector = self._known_selector.timed()
        if self._costs is not None and self._costs.unit == SECONDS:
            self._costs = self._selector.prices.read(self.costs, SECONDS, self.batch_size)
        self._alone = None
        return self._selector.prices.read(SHARED, SECONDS, self.batch_size)

    @property
    def costs_(self) -> Costs | None:
        """Prices of columns and trees, taken at first use; None in files written without them."""
        check_fitted(self)
        if self._costs is None and self._selector is not None:
            self._costs = self._selector.prices.read(self.costs, self._unit, self.batch_size)
        return self._costs

    def price_of_rows(self, batch_size: int | None = None) -> float | None:
        """As of any predictor; prices of calls are measured if they are not known yet."""
        found, selector = super().price_of_rows(batch_size), self._selector
        if found is not None or selector is None or batch_size is None or self._costs is None:
            return found
        if self._costs.unit != SECONDS or not needs_clock(self.costs, SECONDS):
            return None
        if batch_size > 1:
            return self._price(selector.prices.read(self.costs, SECONDS, batch_size), batch_size)
        self._alone = selector.prices.time_alone(self.fitted_)
        return self._alone

    def _refuse(self, unsupported: dict[str, Any]) -> None:
        """Say why something that other classifiers take, or that nobody knows, is not taken."""
        for name in unsupported:
            known = [n for n in signature(self.fit).parameters if n != "unsupported"]
            why = suggest(name, known, "parameters")
            if name == "sample_weight":
                why = "Rows have no weights in a neighbor graph: leave it out."
            raise TypeError(f"{type(self).__name__}.fit does not take {name}. {why}")

    def _fit(self, X: ArrayLike, y: ArrayLike | None) -> None:
        """Read rows and labels, all or a sample of them, and learn."""
        check_parameters(self)
        seeds = draw_seeds(self.random_state)
        lazy = is_collection(X)
        rows: Any = X if lazy else read_rows(self, X, fitting=True)
        sizes = count_rows(X) if lazy else [len(rows)]
        n_rows = sum(sizes)
        labels = gather_rows(y) if is_collection(y) else y
        assume = self.inliers == "assumed"
        codes, classes = read_labels(labels, n_rows, self.outlier_label, assume)
        chosen, shares = self.draw_reference(codes, seeds)
        if lazy:
            n_taken = n_rows if chosen is None else len(chosen)
            check_reading(n_taken, 8 * n_taken * rows.shape[1], available_memory())
            rows = read_rows(self, gather_rows(X, chosen, sizes), fitting=True)
        elif chosen is not None:
            rows = rows[chosen]
        self.reference_rows_ = taken = np.arange(n_rows) if chosen is None else chosen
        self._learn(rows, (codes[taken], classes, shares), seeds)

    def _learn(
        self, rows: NDArray, labels: tuple[NDArray, NDArray, Shares], seeds: list[int]
    ) -> None:
        """Go the way from rows to bags; everything is fitted here."""
        check_alerts(self.threshold, labels[2].n_rows)
        warn_of_many_outliers(labels[0], labels[2], self.inliers == "assumed")
        on_budget = self.budget is not None
        representation = make_representation(
            self.representation,
            len(rows) - (0 if self.reference_outliers else int((labels[0] == OUTLIER).sum())),
            on_budget,
            seeds[0],
            taught=bool((labels[0] == OUTLIER).any()),
        )
        representation.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        if not isinstance(self.neighbors, str) or self.neighbors != "auto":
            representation.set_params(neighbors=self.neighbors)
        self.training_ = Training.fit(
            rows,
            labels,
            representation,
            [str(name) for name in _check_feature_names_in(self)],
            self._plan,
            read_options(self),
            seeds[1:3],
            self._threads,
        )
        whole = self.training_.learn(self.training_.columns.names, self._threads)
        self._take(*whole)
        warn_without_score(self.oob_proba_)
        penalty = self.penalty_ or PENALTY
        searched = representation.neighbors
        self._selector = Selector.fit(self.training_, whole, rows, searched, penalty)
        self._costs = self.stored_ = None
        self.learned_rows_ = LearnedRows.of(rows)
        if on_budget:
            self._narrow()
        elif not needs_clock(self.costs, SECONDS):
            self._costs = self._selector.prices.read(self.costs, SECONDS)
        self.threshold_ = self.choose_threshold(self.threshold)

    def _ask(self, budget: Any, batch_size: Any, costs: Any, selection: Any, fill: Any) -> None:
        """Set parameters of a purchase; None keeps what there is, and SAME does of batches."""
        given = {"budget": budget, "costs": costs, "selection": selection, "fill": fill}
        given = {name: value for name, value in given.items() if value is not None}
        asked = self.budget if budget is None else budget
        check_size(batch_size, keep=True)
        batch_size = self._batches(batch_size, "" if asked is None else read_budget(asked)[1])
        self.set_params(**given, batch_size=batch_size)
        check_parameters(self)

    def _batches(self, batch_size: Any, unit: str) -> Any:
        """Return how many rows come at once; units are the same in every batch."""
        if not isinstance(batch_size, str):
            return batch_size
        return self.batch_size if unit == SECONDS else None

    def _narrow(self) -> None:
        """Learn from the columns that the budget buys."""
        selector = self._known_selector
        how = self.budget, self.batch_size, self.costs, self.selection, self.fill
        choice, fitted, oob = selector.buy(*how, self._threads)
        self._take(fitted, oob, choice)
        self._costs = selector.prices.read(self.costs, self._unit, self.batch_size)

    @property
    def _plan(self) -> Plan:
        """How a table becomes bags."""
        assume = self.inliers == "assumed"
        drawn = self.n_estimators, self.share, self.ratio, self.min_inliers
        bagging = Bagging(*drawn, grouped=assume)
        return Plan(self.input_scaling, self.scaling, bagging, assume, self.reference_outliers)

    @property
    def _known_selector(self) -> Selector:
        check_fitted(self)
        if self._selector is None:
            raise NotStoredError
        return self._selector

    @property
    def _unit(self) -> str:
        """Unit of the budget; seconds if there is none."""
        return SECONDS if self.budget is None else read_budget(self.budget)[1]

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def draw_seeds(random_state: Any) -> list[int]:
    """Return the seeds of views, bags, what is learned from bags, and of a reference sample."""
    return read_seed(random_state).randint(np.iinfo(np.int32).max, size=4).tolist()
