"""The facade of a detector: fit, predict, explain, budgets; presets give it its parameters."""

import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from boreod.detector.parameters import check_parameters, count_apart, read_options, read_plan
from boreod.detector.scorers import read_codes
from boreod.ensemble.bags import Shares, draw_reference
from boreod.ensemble.calibration import OutOfBag, warn_without_score
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.fitted import Assessment, Fitted
from boreod.ensemble.heads import PENALTY
from boreod.ensemble.novelty import Novelty
from boreod.ensemble.training import NotStoredError, Training
from boreod.parallel import Engine, Threads, current_engine, plain_interrupts
from boreod.parallel.dask_tables import count_rows, gather_rows, is_collection, map_rows
from boreod.representation.memory import available_memory, check_reading
from boreod.representation.transformer import make_representation
from boreod.selection.budgets import (
    NO_CURVE,
    BudgetCurve,
    Selection,
    read_budget,
    read_budgets,
    trace_budgets,
)
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.prices import SHARED, budgets_over, is_fresh, needs_clock
from boreod.selection.selector import Selector
from boreod.validation import (
    OUTLIER,
    UNLABELLED,
    all_or_nothing,
    read_labels,
    read_rows,
    read_seed,
    same_filters,
)


class OutlierDetector(ClassifierMixin, BaseEstimator):
    """What all presets do; they differ in the defaults of their parameters only."""

    training_: Training | None
    reference_rows_: NDArray | None
    stored_: Any
    _selector: Selector | None
    _costs: Costs | None

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

    @classmethod
    def from_parts(
        cls,
        parameters: dict[str, Any],
        fitted: Fitted,
        oob: OutOfBag,
        threshold: float,
        costs: Costs | None = None,
        selection: Selection | None = None,
        stored: Any = None,
        *,
        named: bool = False,
    ) -> "OutlierDetector":
        """Return a detector that predicts, but cannot learn again.

        ``parameters`` are those of the constructor; ``named`` tells whether the training table had
        column names; the others are the attributes of these names.
        """
        model = cls(**parameters)
        check_parameters(model)
        Threads(model.n_jobs, model.verbose)  # says if there is no such number of threads
        names = list(fitted.seen.columns)
        model.n_features_in_ = len(names)
        if named:
            model.feature_names_in_ = np.array(names, dtype=object)
        model.training_ = model._selector = None
        model._costs, model.stored_ = costs, stored
        whole = oob.shares.n_rows == len(oob.codes)
        model.reference_rows_ = np.arange(len(oob.codes)) if whole else None
        model._take(fitted, oob, selection)
        model.threshold_ = threshold
        return model

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier; ``raw`` as the balanced bags see them."""
        if is_collection(X):
            return self._by_partition("predict_proba", X, 2, raw=raw)
        outlier = expit(self._log_odds(X, corrected=not raw))
        return np.column_stack([1.0 - outlier, outlier])

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return corrected log-odds of being an outlier."""
        return self._by_partition("decision_function", X) if is_collection(X) else self._log_odds(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row, by ``threshold_``."""
        if is_collection(X):
            return self._by_partition("predict", X, dtype=self.classes_.dtype)
        odds = self._log_odds(X)
        return self.classes_[(odds > logit(self.threshold_)).astype(int)]

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the share of labelled rows whose label ``predict`` finds.

        Outliers are few, so :func:`boreod.average_precision_scorer` tells more.
        """
        found = self.predict(X) == self.classes_[1]
        codes = read_codes(y, self.classes_.tolist()[1])
        judged = codes != UNLABELLED
        return float(np.mean((codes == OUTLIER)[judged] == found[judged]))

    def explain(self, X: ArrayLike, grouped: bool = False) -> Explanation:
        """Return what each column added to each row's log-odds.

        If ``grouped``, scores are summed by family (all of LOF, all of kNN, ...).
        """
        rows = self._read(X, "explain")
        return self.fitted_.explain(rows, self._engine, grouped)

    def novelty(self, X: ArrayLike) -> Novelty:
        """Return how unlike all training rows every row is, whatever the labels taught."""
        rows = self._read(X, "novelty")
        return self.fitted_.novelty(rows, self._engine)

    def assess(self, X: ArrayLike, explain: bool = False, novelty: bool = True) -> Assessment:
        """Return log-odds, and if wanted novelty and reasons, from one search of neighbors.

        Reasons are summed by family.
        """
        rows = self._read(X, "assess")
        with same_filters(self.estimator is not None):
            return self.fitted_.assess(rows, self._engine, explain, novelty)

    def prepare(self, X: ArrayLike) -> NDArray:
        """Return the rows of a table as float64, as everything else computes with them."""
        check_is_fitted(self)
        return read_rows(self, X, fitting=False)

    def prepare_training(self, X: ArrayLike, codes: NDArray) -> NDArray:
        """Return the training rows, whose codes are known, as the fit computed with them."""
        return self.prepare(X)

    def represent(self, X: ArrayLike) -> NDArray:
        """Return the scaled columns of rows that the bags learn from."""
        rows = self._read(X, "represent")
        return self.fitted_.represent(rows, self._engine)

    def choose_threshold(self, threshold: float | str | None, novelty: bool = False) -> float:
        """Return the probability that a threshold stands for, from out-of-bag scores.

        It is spelled as the parameter of this name. With ``novelty`` novel rows are alerts too, and
        count as such.
        """
        check_is_fitted(self)
        always = self.fitted_.seen.novel_training_rows() if novelty else None
        return self.oob_.choose_threshold(threshold, always)

    def within(
        self,
        budget: float | str,
        *,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> "OutlierDetector":
        """Return a fitted detector whose predictions keep to a budget.

        Nothing is searched again: the bags of this fit are solved on the chosen columns, and those
        alone are computed for new rows. A time is that of one core in a batch of rows.

        Parameters
        ----------
        budget, costs, selection, fill
            As the parameters of the same names; None keeps this model's. ``costs="fresh"`` measures
            again, for the model that is returned.
        """
        selector, fast = self._known_selector, copy.copy(self)
        fast._ask(budget, costs, selection, fill)
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
        selector, asked = self._known_selector, copy.copy(self).set_params(budget=None)
        if not selector.training.taught:
            raise ValueError(NO_CURVE)
        asked._ask(None, costs, selection, fill)
        if is_fresh(costs):  # once for all budgets
            selector = selector.timed()
        if budgets is None:
            prices = selector.prices.read(asked.costs, self._unit)
            of_trees = selector.cost_of_all_trees(prices), selector.cost_of_fewest_trees(prices)
            budgets = budgets_over(prices, *of_trees)
        how = asked.costs, asked.selection, asked.fill, self._threads
        with plain_interrupts(), same_filters():
            bought = (selector.buy(b, *how) for b in read_budgets(budgets))
            return trace_budgets((choice, oob) for choice, _, oob in bought)

    def measure_costs(self) -> Costs:
        """Measure again what columns cost, on this machine, and return the prices.

        Budgets in time that are asked of this model from now on use them, and so do later fits to
        tables of this shape.
        """
        self._selector = self._known_selector.timed()
        if self._costs is not None and self._costs.unit == SECONDS:
            self._costs = self._selector.prices.read(self.costs, SECONDS)
        return self._selector.prices.read(SHARED, SECONDS)

    @property
    def oob_proba_(self) -> NDArray:
        """Corrected probability of every training row from the bags that did not hold it."""
        check_is_fitted(self)
        return self.oob_.probabilities

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_is_fitted(self)
        return list(self.fitted_.columns.names)

    @property
    def costs_(self) -> Costs | None:
        """Prices of columns and trees, taken at first use; None in files written without them."""
        check_is_fitted(self)
        if self._costs is None and self._selector is not None:
            self._costs = self._selector.prices.read(self.costs, self._unit)
        return self._costs

    @property
    def known_costs(self) -> Costs | None:
        """Prices of all columns, None if they take time to measure and nobody asked yet."""
        check_is_fitted(self)
        return self._costs

    def _refuse(self, unsupported: dict[str, Any]) -> None:
        """Say why something that other classifiers take is not taken."""
        if unsupported:
            raise TypeError(
                f"{type(self).__name__}.fit does not take {', '.join(unsupported)}: rows have no "
                "weights in a neighbor graph, and bags are balanced already. Leave it out."
            )

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
        on_budget = self.budget is not None
        representation = make_representation(
            self.representation,
            len(rows) - count_apart(self, labels[0]),
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
            read_plan(self),
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
        if on_budget:
            self._narrow()
        elif not needs_clock(self.costs, SECONDS):
            self._costs = self._selector.prices.read(self.costs, SECONDS)
        self.threshold_ = self.choose_threshold(self.threshold)

    def _take(self, fitted: Fitted, oob: OutOfBag, selection: Selection | None = None) -> None:
        """Become the facade of what was learned."""
        self.fitted_, self.oob_, self.selection_ = fitted, oob, selection
        self.classes_ = fitted.classes
        self.cost_ = None if selection is None else selection.cost
        head = fitted.logistic
        self.penalty_ = None if head is None else head.penalty
        self.gradients_ = None if head is None else head.gradients

    def _ask(self, budget: Any, costs: Any, selection: Any, fill: Any) -> None:
        """Set parameters of a purchase; None keeps what there is."""
        given = {"budget": budget, "costs": costs, "selection": selection, "fill": fill}
        self.set_params(**{name: value for name, value in given.items() if value is not None})
        check_parameters(self)

    def _narrow(self) -> None:
        """Learn from the columns that the budget buys."""
        how = self.budget, self.costs, self.selection, self.fill
        choice, fitted, oob = self._known_selector.buy(*how, self._threads)
        self._take(fitted, oob, choice)
        self._costs = choice.costs

    @property
    def _known_selector(self) -> Selector:
        check_is_fitted(self)
        if self._selector is None:
            raise NotStoredError
        return self._selector

    @property
    def _unit(self) -> str:
        """Unit of the budget; seconds if there is none."""
        return SECONDS if self.budget is None else read_budget(self.budget)[1]

    @property
    def _threads(self) -> Threads:
        return Threads(self.n_jobs, self.verbose)

    @property
    def _engine(self) -> Engine:
        return current_engine(self.n_jobs, self.verbose)

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        rows = self._read(X, "predict")
        with same_filters(self.estimator is not None):
            return self.fitted_.log_odds(rows, self._engine, corrected)

    def _read(self, X: ArrayLike, method: str) -> NDArray:
        """Return rows of this process."""
        if is_collection(X):
            raise TypeError(
                f"`{method}` takes rows of this process, not a Dask collection. Choose the rows "
                "that you want to know about and pass X.compute()."
            )
        return self.prepare(X)

    def _by_partition(
        self, method: str, X: Any, width: int | None = None, dtype: Any = np.float64, **options: Any
    ) -> Any:
        """Return lazily, as a Dask array, what a method says about the rows of a collection."""
        work = partial(_call, method=method, **options)
        return map_rows(work, X, self.for_workers(n_jobs=1), width, dtype)

    def for_workers(self, n_jobs: int | None) -> "OutlierDetector":
        """Return the same detector without its training, for ``n_jobs`` threads elsewhere."""
        check_is_fitted(self)
        parameters = {**self.get_params(deep=False), "n_jobs": n_jobs, "verbose": False}
        named = hasattr(self, "feature_names_in_")
        return self.from_parts(parameters, self.fitted_, self.oob_, self.threshold_, named=named)

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _call(model: OutlierDetector, block: Any, *, method: str, **options: Any) -> NDArray:
    return getattr(model, method)(block, **options)


def draw_seeds(random_state: Any) -> list[int]:
    """Return the seeds of views, bags, what is learned from bags, and of a reference sample."""
    return read_seed(random_state).randint(np.iinfo(np.int32).max, size=4).tolist()
