"""A fitted detector that predicts and explains, and cannot learn: what a model file gives back.

Scikit-learn is not needed here. Estimators, which learn, are predictors too: one way to scores.
"""

import inspect
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.ensemble.bags import check_bags, check_reference
from boreod.ensemble.calibration import OutOfBag, expit, logit
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.fitted import Assessment, Fitted
from boreod.ensemble.members import KINDS, Recipe
from boreod.ensemble.novelty import Novelty
from boreod.ensemble.profile import LearnedRows
from boreod.ensemble.scorers import read_codes
from boreod.ensemble.training import Options, Training
from boreod.parallel import Engine, Threads, current_engine
from boreod.parallel.dask_tables import is_collection, map_rows
from boreod.representation.plan import FEW
from boreod.representation.scaling import SCALERS
from boreod.selection.budgets import Selection
from boreod.selection.costs import Costs, kind_of_tree
from boreod.selection.prices import check_batches, check_purchase, check_size
from boreod.text import suggest
from boreod.validation import (
    OUTLIER,
    UNLABELLED,
    check_choice,
    check_fitted,
    read_rows,
    same_filters,
)

ONE_THREAD = Threads(1)


class Predictor:
    """Predictions for rows of numbers. Parameters and attributes are those of :class:`BORE`."""

    __signature__: inspect.Signature
    method_name = "Detector"
    n_features_in_: int
    feature_names_in_: NDArray
    threshold_: float
    training_: Training | None
    reference_rows_: NDArray | None
    learned_rows_: LearnedRows | None  # None in files that do not tell
    stored_: Any
    _costs: Costs | None
    _alone: float | None = None  # seconds of a row that comes alone, if it was timed

    def __init_subclass__(cls, **options: Any) -> None:
        """Show the parameters that there are; others are taken only to be told."""
        super().__init_subclass__(**options)
        cls.__signature__ = inspect.Signature(_parameters(cls))

    def __init__(
        self,
        representation: Any = "few",
        neighbors: Any = "auto",
        reference_size: int | None = None,
        reference_sampling: str = "stratified",
        reference_outliers: bool = False,
        input_scaling: str | None = "minmax",
        scaling: str = "both",
        inliers: str = "assumed",
        n_estimators: int = 50,
        share: float = 0.7,
        ratio: float | None = 10.0,
        min_inliers: int = 50,
        heads: Any = KINDS,
        n_trees: int = 10,
        penalty: float | str = 3e-3,
        estimator: Any = None,
        aggregation: str = "mean",
        calibration: str | None = "platt",
        prior: float | None = None,
        threshold: float | str | None = None,
        budget: float | str | None = None,
        batch_size: int | None = None,
        costs: Any = None,
        selection: str = "budget",
        fill: bool = True,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            raise TypeError(
                f"{type(self).__name__} has no parameter {name!r}. "
                f"{suggest(name, names_of_parameters(type(self)), 'parameters')}"
            )
        self.representation = representation
        self.neighbors = neighbors
        self.reference_size = reference_size
        self.reference_sampling = reference_sampling
        self.reference_outliers = reference_outliers
        self.input_scaling = input_scaling
        self.scaling = scaling
        self.inliers = inliers
        self.n_estimators = n_estimators
        self.share = share
        self.ratio = ratio
        self.min_inliers = min_inliers
        self.heads = heads
        self.n_trees = n_trees
        self.penalty = penalty
        self.estimator = estimator
        self.aggregation = aggregation
        self.calibration = calibration
        self.prior = prior
        self.threshold = threshold
        self.budget = budget
        self.batch_size = batch_size
        self.costs = costs
        self.selection = selection
        self.fill = fill
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        learned: LearnedRows | None = None,
        alone: float | None = None,
    ) -> Self:
        """Return a detector that predicts, but cannot learn again.

        ``parameters`` are those of the constructor; ``named`` tells whether the training table had
        column names, ``alone`` what a row that comes alone takes; the others are the attributes of
        these names.
        """
        model = cls(**parameters)
        check_parameters(model)
        Threads(model.n_jobs, model.verbose)  # says if there is no such number of threads
        names = list(fitted.seen.columns)
        model.n_features_in_ = len(names)
        if named:
            model.feature_names_in_ = np.array(names, dtype=object)
        model.training_ = None
        model._costs, model.stored_, model.learned_rows_ = costs, stored, learned
        whole = oob.shares.n_rows == len(oob.codes)
        model.reference_rows_ = np.arange(len(oob.codes)) if whole else None
        model._take(fitted, oob, selection)
        model._alone = alone
        model.threshold_ = threshold
        return model

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier; ``raw`` as the balanced bags see them."""
        if is_collection(X):
            return self._by_partition("predict_proba", X, 2, raw=raw)
        outlier = expit(self._log_odds(X, corrected=not raw))
        if len(outlier) == 1:
            alone = float(outlier[0])
            return np.array([[1.0 - alone, alone]])
        result = np.empty((len(outlier), 2))
        result[:, 0], result[:, 1] = 1.0 - outlier, outlier
        return result

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
        check_fitted(self)
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
        check_fitted(self)
        always = self.fitted_.seen.novel_training_rows() if novelty else None
        return self.oob_.choose_threshold(threshold, always)

    @property
    def oob_proba_(self) -> NDArray:
        """Corrected probability of every training row from the bags that did not hold it."""
        check_fitted(self)
        return self.oob_.probabilities

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_fitted(self)
        return list(self.fitted_.columns.names)

    @property
    def known_costs(self) -> Costs | None:
        """Prices of all columns, None if they take time to measure and nobody asked yet."""
        check_fitted(self)
        return self._costs

    def price_of_rows(self, batch_size: int | None = None) -> float | None:
        """Return what a row costs, by known prices, if so many come at once; None if not known.

        ``batch_size`` is None for large batches. Where no price of a call is known, a row alone
        costs what it took when it was timed.
        """
        check_size(batch_size)
        costs = self.known_costs
        if costs is None or not set(self.columns_) <= set(costs.own):
            return None
        if batch_size is not None and costs.call is None:
            return self._alone if batch_size == 1 else None
        return self._price(costs, batch_size)

    def _price(self, costs: Costs, batch_size: int | None) -> float | None:
        trees, then = self.fitted_.tree_counts, costs.in_batches(batch_size)
        if not set(map(kind_of_tree, trees)) <= set(then.trees):
            return None
        return then.total(self.columns_) + then.cost_of_trees(trees)

    def _take(self, fitted: Fitted, oob: OutOfBag, selection: Selection | None = None) -> None:
        """Become the facade of what was learned."""
        self.fitted_, self.oob_, self.selection_, self._alone = fitted, oob, selection, None
        self.classes_ = fitted.classes
        self.cost_ = None if selection is None else selection.cost
        head = fitted.logistic
        self.penalty_ = None if head is None else head.penalty
        self.gradients_ = None if head is None else head.gradients

    @property
    def _threads(self) -> Threads:
        return Threads(self.n_jobs, self.verbose)

    @property
    def _engine(self) -> Engine:
        return current_engine(self.n_jobs, self.verbose)

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        rows = self.prepare(X)
        engine = ONE_THREAD if len(rows) == 1 else self._engine  # counting cores takes time
        if self.estimator is None:
            return self.fitted_.log_odds(rows, engine, corrected)
        with same_filters():
            return self.fitted_.log_odds(rows, engine, corrected)

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

    def for_workers(self, n_jobs: int | None) -> Self:
        """Return the same detector without its training, for ``n_jobs`` threads elsewhere."""
        check_fitted(self)
        parameters = {name: getattr(self, name) for name in names_of_parameters(type(self))}
        parameters |= {"n_jobs": n_jobs, "verbose": False}
        named = hasattr(self, "feature_names_in_")
        parts, learned = (self.fitted_, self.oob_, self.threshold_), self.learned_rows_
        return self.from_parts(parameters, *parts, named=named, learned=learned)

    def __sklearn_tags__(self) -> Any:
        """Answer scikit-learn, which checks frames of numbers; estimators have more to say."""
        of_estimator = getattr(super(), "__sklearn_tags__", None)
        if of_estimator is not None:
            return of_estimator()
        from sklearn.utils import Tags, TargetTags

        return Tags(None, TargetTags(required=False))


def names_of_parameters(kind: type) -> list[str]:
    """Return what the constructor of a predictor takes."""
    return [of.name for of in _parameters(kind)]


def _parameters(kind: Any) -> list[inspect.Parameter]:
    known = list(inspect.signature(kind.__init__).parameters.values())[1:]  # without self
    return [of for of in known if of.kind is not inspect.Parameter.VAR_KEYWORD]


def _call(model: Predictor, block: Any, *, method: str, **options: Any) -> NDArray:
    return getattr(model, method)(block, **options)


def read_options(model: Any) -> Options:
    """Return what learning again needs."""
    heads = tuple(model.heads) if isinstance(model.heads, list | tuple) else (model.heads,)
    recipe = Recipe(heads, model.estimator, model.penalty, model.n_trees, model.aggregation)
    return Options(recipe, model.calibration, model.threshold, model.prior)


def check_parameters(model: Any) -> None:
    """Raise for a parameter that is not allowed, before any work is done."""
    check_choice("input_scaling", model.input_scaling, ("minmax", None))
    check_choice("scaling", model.scaling, SCALERS)
    check_choice("inliers", model.inliers, ("labelled", "assumed"))
    check_reference(model.reference_size, model.reference_sampling)
    check_bags(model.n_estimators, model.share, model.ratio, model.min_inliers)
    read_options(model).check()
    check_purchase(model.budget, model.costs, model.selection, model.fill)
    check_batches(model.batch_size, model.budget)
    if not isinstance(model.reference_outliers, bool | np.bool_):
        raise ValueError(
            f"`reference_outliers` must be True or False; got {model.reference_outliers!r}."
        )
    given = model.representation
    if given is None or (isinstance(given, str) and given == FEW):
        return
    from boreod.representation.transformer import OutlierRepresentation

    if not isinstance(given, OutlierRepresentation):
        raise TypeError(
            f"`representation` must be an OutlierRepresentation, {FEW!r} or None; got {given!r}."
        )
