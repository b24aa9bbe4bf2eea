"""BORE: representation, selection, scaling, balanced bags, one probability."""

import copy
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from boreod.bagging import draw_bags
from boreod.calibration import warn_without_score
from boreod.engine import Threads, plain_interrupts
from boreod.ensemble import Ensemble
from boreod.explanation import Explanation
from boreod.heads import PENALTY, LogisticHead
from boreod.labels import INLIER, OUTLIER, read_labels
from boreod.parameters import check_parameters
from boreod.rows import LARGEST, all_or_nothing, check_values, read_rows, read_seed
from boreod.scaling import SCALERS, MinMax
from boreod.selection import (
    BudgetCurve,
    Costs,
    PriceLists,
    Selector,
    budgets_over,
    check_costs,
    needs_clock,
    sample_rows,
    trace_budgets,
)
from boreod.thresholds import choose_threshold
from boreod.training import Training, make_representation


class BORE(ClassifierMixin, BaseEstimator):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are put next to the raw columns; on many balanced bags of labelled
    rows a logistic regression is run to its optimum; the bags' probabilities are averaged. Nothing
    needs tuning: the defaults are the paper's.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, or None for its defaults; with a budget and more than
        10000 rows these include the views ``"sample:256"`` and ``"sample:1024"``, whose searches
        are cheap.
    input_scaling
        ``"minmax"`` brings the raw columns to [0, 1] before neighbors are searched, None leaves
        them.
    scaling
        Of the representation's columns: ``"minmax"`` (the paper) or ``"rank"``.
    n_bags
        Number of bags.
    share
        Share of the smaller class that each bag holds, with as many rows of the other class.
    penalty
        Ridge penalty of the logistic regressions per row, on standardized columns; ``"auto"``
        chooses it by out-of-bag log-loss.
    classifier
        A scikit-learn classifier with ``predict_proba`` in the place of logistic regression.
    aggregation
        ``"mean"`` of the bags' probabilities, or mean of their ``"log-odds"``.
    calibration
        None corrects probabilities for the balanced bags only; ``"oob"`` also fits slope and
        intercept to out-of-bag log-odds. Both keep the ranking.
    threshold
        Of ``predict``: a probability, ``"alerts:20"``, ``"fpr:0.01"`` or ``"precision:0.8"``.
    budget
        Cost of one prediction: a time per row such as ``"200us"``, or units of ``costs``. The
        columns that fit are chosen; None takes all.
    costs
        Of the columns, see :mod:`boreod.selection.prices`: ``"measured:shared"``,
        ``"complexity:additive"``, or a dict such as ``{"lof_10": 50, "knn": 20}``. None measures
        seconds for budgets in time, and counts operations for other budgets.
    selection
        ``"budget"`` (cost-aware pursuit), ``"omp"`` (pursuit that ignores costs) or ``"random"``.
    fill
        Whether a column that does not fit is skipped and the next one tried; otherwise the first
        that does not fit is the end, as in the paper.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled). It is
        always the second class, whatever the alphabet says; scikit-learn's scorers expect the
        other order for words, so score models with labels 0 and 1.
    n_jobs
        Number of threads, -1 for all cores. Results do not depend on it.
    random_state
        Seed of bags, views and classifiers.
    verbose
        Show progress bars when the work is long.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    oob_proba_
        Corrected probability of every training row from the bags that did not hold it.
    threshold_
        Probability above which ``predict`` says outlier.
    columns_
        Names of the columns in use.
    costs_
        Prices of all columns: ``costs_.total(columns)``, ``costs_.marginal(column, given)``.
    cost_, selection_
        With a budget: what the columns in use cost together, and how stable each choice was.
    penalty_, gradients_
        Penalty used and largest component of the gradient left in each bag, for the logistic head.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(200, 3)), random.normal(4, 1, size=(10, 3))])
    >>> y = np.repeat([0, 1], [200, 10])
    >>> model = BORE(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0, 0.0], [4.0, 4.0, 4.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        representation: Any = None,
        input_scaling: str | None = "minmax",
        scaling: str = "minmax",
        n_bags: int = 50,
        share: float = 0.7,
        penalty: float | str = 1e-6,
        classifier: Any = None,
        aggregation: str = "mean",
        calibration: str | None = None,
        threshold: float | str = 0.5,
        budget: float | str | None = None,
        costs: Any = None,
        selection: str = "budget",
        fill: bool = True,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.representation = representation
        self.input_scaling = input_scaling
        self.scaling = scaling
        self.n_bags = n_bags
        self.share = share
        self.penalty = penalty
        self.classifier = classifier
        self.aggregation = aggregation
        self.calibration = calibration
        self.threshold = threshold
        self.budget = budget
        self.costs = costs
        self.selection = selection
        self.fill = fill
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, **unsupported: Any) -> "BORE":
        """Learn from labelled rows; unlabelled rows only take part as neighbors.

        Parameters
        ----------
        X
            Table of numbers: array, pandas or polars frame.
        y
            1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
            ``outlier_label``.
        **unsupported
            Nothing; ``sample_weight`` is refused with a reason.
        """
        if unsupported:
            raise TypeError(
                f"BORE.fit does not take {', '.join(unsupported)}: rows have no weights in a "
                "neighbor graph, and bags are balanced already. Leave it out."
            )
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        check_parameters(self)
        for stale in {"penalty_", "gradients_", "selection_", "cost_"} & set(vars(self)):
            delattr(self, stale)
        rows = read_rows(self, X, fitting=True)
        codes, classes = read_labels(y, len(rows), self.outlier_label)
        random = read_seed(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=3).tolist()
        self._input_scaler = MinMax().fit(rows) if self.input_scaling == "minmax" else None
        points = self._scale_input(rows)
        representation = make_representation(
            self.representation, len(rows), self.budget is not None, seeds[0]
        ).set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        table = representation.fit_compute(points, _check_feature_names_in(self))
        scaler = SCALERS[self.scaling]().fit(table)
        outliers, inliers = np.flatnonzero(codes == OUTLIER), np.flatnonzero(codes == INLIER)
        bags = draw_bags(outliers, inliers, len(rows), self.n_bags, self.share, seeds[1])
        self._training = Training(
            representation, scaler, scaler.transform(table), codes, bags, seeds[2]
        )
        self.classes_ = classes
        self._learn(representation.columns_)
        warn_without_score(self.oob_proba_)
        self._prepare_budgets(points)
        if self.budget is not None:
            self._narrow()
        self.threshold_ = self.choose_threshold(self.threshold)

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        raw
            Return the bags' mean, uncorrected for their balance.
        """
        outlier = expit(self._log_odds(X, corrected=not raw))
        return np.column_stack([1.0 - outlier, outlier])

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return corrected log-odds of being an outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        return self._log_odds(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row, by ``threshold_``.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        odds = self._log_odds(X)
        return self.classes_[(odds > logit(self.threshold_)).astype(int)]

    def within(
        self,
        budget: float | str,
        *,
        costs: Any = None,
        selection: str | None = None,
        fill: bool | None = None,
    ) -> "BORE":
        """Return a fitted detector whose predictions keep to a budget.

        Nothing is searched again: the bags of this fit are solved on the chosen columns, and those
        alone are computed for new rows. A time is that of one core in a batch of rows.

        Parameters
        ----------
        budget, costs, selection, fill
            As the parameters of the same names; None keeps this model's.
        """
        check_is_fitted(self)
        fast = copy.copy(self)
        chosen = {"costs": costs, "selection": selection, "fill": fill}
        fast.set_params(budget=budget, **{k: v for k, v in chosen.items() if v is not None})
        check_parameters(fast)
        with plain_interrupts():
            fast._narrow()
        fast.threshold_ = fast.choose_threshold(fast.threshold)
        return fast

    def budget_curve(self, budgets: Any = None, **options: Any) -> BudgetCurve:
        """Return out-of-bag quality over budgets: ``print`` it, or ``plot`` it.

        Parameters
        ----------
        budgets
            List of budgets, None for a range from the cheapest column to everything.
        **options
            ``costs``, ``selection`` and ``fill`` as in :meth:`within`.
        """
        check_is_fitted(self)
        if budgets is None:
            costs = self.costs if options.get("costs") is None else options["costs"]
            check_costs(costs)
            self._take_time_if_needed(costs)
            budgets = budgets_over(self._selector.prices.read(costs))
        elif isinstance(budgets, str | Real) or len(budgets) == 0:
            raise ValueError(f"`budgets` must be a list of at least one budget; got {budgets!r}.")
        models = (self.within(budget, **options) for budget in budgets)
        return trace_budgets(models, self._training.codes)

    def measure_costs(self) -> Costs:
        """Measure again what columns cost, on this machine, and return the prices.

        Budgets in time that are asked for from now on use them.
        """
        check_is_fitted(self)
        return self._selector.prices.measure(self._work_per_row, self._ensemble.work_per_column)

    def explain(self, X: ArrayLike, grouped: bool = False) -> Explanation:
        """Return what each column added to each row's log-odds.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        grouped
            Sum scores by family (all of LOF, all of kNN, ...); raw columns stay alone.
        """
        table = self._represent(X)
        result = self._ensemble.explain(table)
        return result.grouped(self.representation_.families_) if grouped else result

    def choose_threshold(self, threshold: float | str) -> float:
        """Return the probability that a threshold stands for, from out-of-bag scores."""
        check_is_fitted(self)
        return choose_threshold(threshold, self.oob_proba_, self._training.codes)

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_is_fitted(self)
        return self.representation_.columns_

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _learn(self, columns: list[str]) -> None:
        """Solve the bags on some of the columns."""
        wanted = set(columns)
        everything = self._training.representation.columns_
        self._ensemble = Ensemble(
            self._training.keep([name for name in everything if name in wanted]),
            self.classifier,
            self.penalty,
            self.aggregation,
            self.calibration,
            Threads(self.n_jobs, self.verbose),
        )
        self.representation_ = self._ensemble.representation
        self.oob_proba_ = expit(self._ensemble.oob_log_odds)
        if isinstance(self._ensemble.head, LogisticHead):
            self.penalty_ = self._ensemble.head.penalty
            self.gradients_ = self._ensemble.head.gradients

    def _prepare_budgets(self, points: NDArray) -> None:
        """Price all columns, so that budgets can be asked for."""
        fitted = self.representation_.fitted_columns_
        prices = PriceLists(fitted, len(points), sample_rows(points))
        self._selector = Selector(self._training, prices, getattr(self, "penalty_", PENALTY))
        self._take_time_if_needed(self.costs)
        self.costs_ = prices.read(self.costs)

    def _take_time_if_needed(self, costs: Any) -> None:
        if needs_clock(costs) and self._selector.prices.measured is None:
            self.measure_costs()

    def _narrow(self) -> None:
        """Choose the columns that the budget buys, and learn from these alone."""
        self._take_time_if_needed(self.costs)
        engine = Threads(self.n_jobs, self.verbose)
        choice = self._selector.choose(self.budget, self.costs, self.selection, self.fill, engine)
        self._learn(choice.columns)
        alone = self._selector.better_alone(choice, self.oob_proba_)
        if alone is not None and self.fill and self.selection != "random":
            choice = alone
            self._learn(choice.columns)
        self.selection_, self.costs_, self.cost_ = choice, choice.costs, choice.cost

    def _scale_input(self, rows: NDArray) -> NDArray:
        """Bring raw columns to the training range; rows absurdly far outside stay computable."""
        if self._input_scaler is None:
            return rows
        with np.errstate(over="ignore"):
            return np.clip(self._input_scaler.transform(rows), -LARGEST, LARGEST)

    def _represent(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        return self._ensemble.represent(self._scale_input(read_rows(self, X, fitting=False)))

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        table = self._represent(X)
        return self._ensemble.log_odds(table, corrected)

    def _work_per_row(self, rows: NDArray) -> NDArray:
        """Do what a prediction has to do whatever its columns are, for the price list."""
        check_values(self, rows)
        self._scale_input(rows)
        return expit(self._ensemble.work_per_row(rows))
