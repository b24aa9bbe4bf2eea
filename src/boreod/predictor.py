"""A fitted detector that predicts and explains, but cannot learn, such as one loaded from a file.

Nothing here needs scikit-learn, except the check of a frame of plain numbers. Detectors, which
learn, are predictors too: both compute scores with the same code.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.ensemble.calibration import OutOfBag, expit, logit, read_threshold
from boreod.ensemble.fitted import Assessment, Explanation, Fitted
from boreod.ensemble.novelty import Novelty
from boreod.ensemble.parameters import DETECTOR, Settings, check_settings, complete_settings
from boreod.ensemble.profile import LearnedRows, TrainingProfile
from boreod.ensemble.training import Lessons, Training
from boreod.metrics import read_codes
from boreod.parallel import Engine, Threads, current_engine, for_collections, is_collection
from boreod.representation.array_rows import upper_floor
from boreod.representation.plan import FEW
from boreod.representation.scaling import SCALERS
from boreod.selection.budgets import (
    BudgetCurve,
    Selection,
    check_batches,
    check_purchase,
    check_size,
)
from boreod.selection.costs import Costs, kind_of_tree
from boreod.validation import OUTLIER, UNLABELLED, check_choice, check_fitted, same_filters

ONE_THREAD = Threads(1)
PARAMETERS = ("representation", "reference", "scaling", "n_estimators", "bagging", "heads",
              "estimator", "calibration", "prior", "threshold", "budget", "selection",
              "outlier_label", "n_jobs", "random_state", "verbose")  # fmt: skip


@dataclass
class TrainingRecord:
    """The facts that a detector keeps about its training table.

    Attributes
    ----------
    profile
        Quantiles of the training rows and a few known outliers with their ids, for reasons in
        words and for checks of later tables.
    learned_rows
        Hashes of the training rows.
    source
        Name of the file of the training table, without its folder; None if there was no file.
    curve
        Out-of-bag quality over budgets, from `boreod fit --curve`; None if it was not traced.
    table
        The training rows as the user passed them; None in a loaded model.
    """

    profile: TrainingProfile | None
    learned_rows: LearnedRows
    source: str | None = None
    curve: BudgetCurve | None = None
    table: Any = None


class Predictor:
    """Predictions for rows. Parameters and attributes are those of :class:`boreod.Detector`."""

    _preset = DETECTOR
    threshold_: float
    training_: Training | None
    reference_rows_: NDArray | None
    record_: TrainingRecord
    stored_: Any
    scaling: str
    estimator: Any
    calibration: str | None
    prior: float | None
    threshold: float | str | None
    budget: float | str | None
    outlier_label: Any
    n_jobs: int | None
    verbose: bool
    _costs: Costs | None = None
    _seconds_alone: float | None = None
    _lessons: Lessons | None = None

    def __init__(self, **parameters: Any) -> None:
        vars(self).update(dict.fromkeys(PARAMETERS) | parameters)

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier.

        If ``raw``, probabilities are not corrected for how rare outliers are. They are then the
        probabilities of the bags, where both classes have the same weight.
        """
        if is_collection(X):
            return self._by_partition("predict_proba", X, 2, raw=raw)
        outlier = expit(self._log_odds(X, corrected=not raw))
        # Fast path for one row: Python numbers take a third of the time of arrays.
        if len(outlier) == 1:
            alone = float(outlier[0])
            return np.array([[1.0 - alone, alone]])
        return np.column_stack([1.0 - outlier, outlier])

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return corrected log-odds of being an outlier."""
        return self._by_partition("decision_function", X) if is_collection(X) else self._log_odds(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row: outlier if its probability is above ``threshold_``."""
        if is_collection(X):
            return self._by_partition("predict", X, dtype=self.classes_.dtype)
        is_outlier = self._log_odds(X) > logit(self.threshold_)
        return self.classes_[is_outlier.astype(int)]

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the share of labelled rows for which ``predict`` returns the right label.

        Outliers are few, so this share is high even if ``predict`` finds none. A better measure is
        :func:`boreod.average_precision_scorer`.
        """
        found = self.predict(X) == self.classes_[1]
        codes = read_codes(y, self.classes_.tolist()[1])
        judged = codes != UNLABELLED
        return float(np.mean((codes == OUTLIER)[judged] == found[judged]))

    def explain(self, X: ArrayLike, grouped: bool = False) -> Explanation:
        """Return the contribution of each column to each row's log-odds.

        If ``grouped``, contributions of scores are summed by family (all LOF columns, ...).
        """
        # An unfitted model raises here, before its missing attributes are read.
        rows = prepare_here(self, X, "explain")
        return self.fitted_.explain(rows, self._engine, grouped)

    def reason(self, X: ArrayLike, number: int = 3, *, novelty: bool = True) -> list[list[Any]]:
        """Return the reasons for every probability in words, the strongest outlier evidence first.

        Each row gets at most ``number`` reasons. :meth:`explain` returns the numbers behind the
        reasons. If a row is novel, a reason says so, unless ``novelty`` is False.
        """
        return upper_floor("tool.reasons").reasons_of(self, X, number, novelty)

    def novelty(self, X: ArrayLike) -> Novelty:
        """Return how different each row is from the training rows, whatever its probability."""
        rows = prepare_here(self, X, "novelty")
        return self.fitted_.novelty(rows, self._engine)

    def choose_threshold(self, threshold: float | str | None, novelty: bool = False) -> float:
        """Return the probability that a threshold stands for, from out-of-bag scores.

        ``threshold`` is written in the same way as the parameter of the detector. If ``novelty`` is
        True, novel rows are alerts as well, and are counted among the alerts.
        """
        check_fitted(self)
        always = self.fitted_.seen.novel_training_rows() if novelty else None
        return self.oob_.choose_threshold(threshold, always)

    @property
    def oob_proba_(self) -> NDArray:
        """Corrected probability of every training row, from the bags that do not hold the row."""
        check_fitted(self)
        return self.oob_.probabilities

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_fitted(self)
        return list(self.fitted_.columns.names)

    @property
    def costs_(self) -> Costs | None:
        """Prices of columns and trees; None if the model file holds no prices."""
        return known_costs(self)

    def _take(self, fitted: Fitted, oob: OutOfBag, selection: Selection | None = None) -> None:
        """Set the attributes that hold what was learned."""
        self.fitted_ = fitted
        self.oob_ = oob
        self.selection_ = selection
        self.cost_ = None if selection is None else selection.cost
        self.classes_ = fitted.classes
        self._seconds_alone = None

    def _adopt(self, preparation: Any) -> None:
        """Set the preparation, and the names and the number of the columns that it reads."""
        self.preparation_ = preparation
        self.n_features_in_ = len(preparation.features_)
        vars(self).pop("feature_names_in_", None)
        if preparation.is_named:
            self.feature_names_in_ = np.array(preparation.features_, dtype=object)

    @property
    def _threads(self) -> Threads:
        return Threads(self.n_jobs, self.verbose)

    @property
    def _engine(self) -> Engine:
        return current_engine(self.n_jobs, self.verbose)

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        rows = prepare(self, X)
        # Counting cores takes longer than scoring one row.
        engine = ONE_THREAD if len(rows) == 1 else self._engine
        with same_filters(self.estimator is not None):
            return self.fitted_.log_odds(rows, engine, corrected)

    def _by_partition(
        self, method: str, X: Any, width: int | None = None, dtype: Any = np.float64, **options: Any
    ) -> Any:
        """Return the result of a method for a Dask collection as a lazy Dask array."""
        check_fitted(self)
        if self.preparation_.since_:
            raise TypeError(
                f"This model uses the {self.preparation_.since_[0].name!r}, and rows of a Dask "
                "collection come in parts. Pass X.compute(), sorted by time."
            )
        work = partial(getattr(type(self), method), **options)
        return for_collections().map_rows(work, X, for_workers(self, n_jobs=1), width, dtype)

    def _find_lessons(self) -> Lessons | None:
        return self._lessons

    def _price_of_rows(self, batch_size: int | None) -> float | None:
        costs = self._costs
        if costs is None or not set(self.columns_) <= set(costs.own):
            return None
        if batch_size is not None and costs.call is None:
            return self._seconds_alone if batch_size == 1 else None
        return self._price(costs, batch_size)

    def _price(self, costs: Costs, batch_size: int | None) -> float | None:
        trees = self.fitted_.tree_counts
        prices = costs.in_batches(batch_size)
        if not set(map(kind_of_tree, trees)) <= set(prices.trees):
            return None
        return prices.total(self.columns_) + prices.cost_of_trees(trees)

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn needs to check frames; a Detector has more tags."""
        from sklearn.utils import Tags, TargetTags

        return Tags(None, TargetTags(required=False))


def prepare(model: Predictor, X: Any, first_row: int = 1) -> NDArray:
    """Return the rows of a table as float64, with the columns ``preparation_.names_``.

    Columns are found by name. They may be in any order, and other columns may be between them.
    Errors number rows from ``first_row`` on.
    """
    check_fitted(model)
    return model.preparation_.read(model, X, first_row)


def prepare_here(model: Predictor, X: Any, method: str) -> NDArray:
    """Return the prepared rows of a table in this process; raise for a Dask collection."""
    if is_collection(X):
        raise TypeError(
            f"`{method}` takes rows of this process, not a Dask collection. Choose the rows "
            "that you want to know about and pass X.compute()."
        )
    return prepare(model, X)


def assess(
    model: Predictor, rows: NDArray, explain: bool = False, novelty: bool = True
) -> Assessment:
    """Return log-odds and, if requested, novelty and contributions, with one neighbor search.

    ``rows`` must be prepared. Contributions are summed by family.
    """
    engine = current_engine(model.n_jobs, model.verbose)
    with same_filters(model.estimator is not None):
        return model.fitted_.assess(rows, engine, explain, novelty)


def price_of_rows(model: Predictor, batch_size: int | None = None) -> float | None:
    """Return the cost of one row in calls with ``batch_size`` rows, from known prices.

    A ``batch_size`` of None means large batches. The result is None if a price is not known. If the
    price of a call is not known, the cost of a row alone is the time measured for such a call.
    """
    check_fitted(model)
    check_size(batch_size)
    return model._price_of_rows(batch_size)


def known_costs(model: Predictor) -> Costs | None:
    """Return prices of all columns; None if they have not been measured yet."""
    check_fitted(model)
    return model._costs


def settings_of(model: Predictor) -> Settings:
    """Return the groups of parameters of a detector, completed by its preset."""
    return complete_settings(vars(model), model._preset)


def for_workers(model: Predictor, n_jobs: int | None) -> Predictor:
    """Return the detector without training data, for ``n_jobs`` threads in another process."""
    check_fitted(model)
    parameters = {name: getattr(model, name) for name in PARAMETERS} | vars(settings_of(model))
    worker = type(model)(**{**parameters, "n_jobs": n_jobs, "verbose": False})
    record = replace(model.record_, curve=None, table=None)
    restore(worker, model.fitted_, model.oob_, model.threshold_, model.preparation_, record)
    return worker


def restore(
    model: Predictor,
    fitted: Fitted,
    oob: OutOfBag,
    threshold: float,
    preparation: Any,
    record: TrainingRecord,
    selection: Selection | None = None,
    stored: Any = None,
) -> None:
    """Set the learned attributes of a detector, so that it predicts, but cannot learn again."""
    check_parameters(model)
    # This raises an error if ``n_jobs`` is invalid.
    Threads(model.n_jobs, model.verbose)
    model.training_ = None
    model._take(fitted, oob, selection)
    model._adopt(preparation)
    n_rows = len(oob.codes)
    model.reference_rows_ = np.arange(n_rows) if oob.shares.n_rows == n_rows else None
    model.record_ = record
    model.threshold_ = threshold
    model.stored_ = stored


def set_prices(model: Predictor, costs: Costs | None, seconds_alone: float | None) -> None:
    """Set the prices of a detector, and the seconds of a call with a single row."""
    model._costs = costs
    model._seconds_alone = seconds_alone


def set_lessons(model: Predictor, lessons: Lessons | None) -> None:
    """Set what a loaded detector needs to learn again; None if its file does not hold it."""
    model._lessons = lessons


def lessons_of(model: Predictor) -> Lessons | None:
    """Return what a detector needs to learn again; None if it is not known any more."""
    return model._find_lessons()


def check_parameters(model: Any) -> Settings:
    """Raise for a parameter that is not allowed, before any work is done; return all groups."""
    settings = settings_of(model)
    check_choice("scaling", model.scaling, SCALERS)
    check_settings(settings, model)
    if model.threshold is not None:
        read_threshold(model.threshold)
    chosen = settings.selection
    check_purchase(model.budget, chosen.costs, chosen.method, chosen.skip_unaffordable)
    check_batches(chosen.batch_size, model.budget)
    given = model.representation
    if given is not None and not (isinstance(given, str) and given == FEW):
        from boreod.representation.transformer import OutlierRepresentation

        if not isinstance(given, OutlierRepresentation):
            raise TypeError(
                f"`representation` must be an OutlierRepresentation, {FEW!r} or None; "
                f"got {given!r}."
            )
    return settings
