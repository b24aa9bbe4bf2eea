"""BORE: representation, scaling, balanced bags, one probability."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from boreod.bagging import Bags, draw_bags
from boreod.calibration import calibrate, correct_for_balance, warn_without_score
from boreod.engine import Threads
from boreod.explanation import Explanation, contribute
from boreod.heads import ClassifierHead, Head, LogisticHead, choose_penalty, combine
from boreod.labels import INLIER, OUTLIER, read_labels
from boreod.parameters import check_parameters
from boreod.representation import OutlierRepresentation
from boreod.rows import LARGEST, all_or_nothing, read_rows, read_seed
from boreod.scaling import SCALERS, MinMax
from boreod.thresholds import choose_threshold


class BORE(ClassifierMixin, BaseEstimator):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are put next to the raw columns; on many balanced bags of labelled
    rows a logistic regression is run to its optimum; the bags' probabilities are averaged. Nothing
    needs tuning: the defaults are the paper's.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, or None for its defaults.
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
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled). It is
        always the second class, whatever the alphabet says; scikit-learn's scorers expect the
        other order for words, so score models with labels 0 and 1.
    n_jobs
        Number of threads, -1 for all cores, also of the representation. Results do not depend on
        it.
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
        for stale in {"penalty_", "gradients_"} & set(vars(self)):
            delattr(self, stale)
        self._aggregation = self.aggregation
        rows = read_rows(self, X, fitting=True)
        codes, classes = read_labels(y, len(rows), self.outlier_label)
        random = read_seed(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=3).tolist()
        engine = Threads(self.n_jobs, self.verbose)

        self._input_scaler = MinMax().fit(rows) if self.input_scaling == "minmax" else None
        self.representation_ = self._make_representation(seeds[0])
        names = _check_feature_names_in(self)
        table = self.representation_.fit_compute(self._scale_input(rows), names)
        self._scaler = SCALERS[self.scaling]().fit(table)
        table = self._scaler.transform(table)
        outliers, inliers = np.flatnonzero(codes == OUTLIER), np.flatnonzero(codes == INLIER)
        bags = draw_bags(outliers, inliers, len(rows), self.n_bags, self.share, seeds[1])
        self._head = self._fit_head(table, bags, codes, seeds[2], engine)
        self._base = table[inliers].mean(axis=0)
        self.classes_ = classes
        self._judge_out_of_bag(table, bags, codes)

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        raw
            Return the bags' mean, uncorrected for their balance.
        """
        odds = self._mean_log_odds(X)
        outlier = expit(odds if raw else self._correction.apply(odds))
        return np.column_stack([1.0 - outlier, outlier])

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return corrected log-odds of being an outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        odds = self._mean_log_odds(X)
        return self._correction.apply(odds)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row, by ``threshold_``.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        odds = self.decision_function(X)
        return self.classes_[(odds > _log_odds(self.threshold_)).astype(int)]

    def explain(self, X: ArrayLike, grouped: bool = False) -> Explanation:
        """Return what each column added to each row's log-odds.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        grouped
            Sum scores by family (all of LOF, all of kNN, ...); raw columns stay alone.
        """
        check_is_fitted(self)
        if not isinstance(self._head, LogisticHead):
            raise TypeError(
                f"Exact contributions exist for the logistic head only; this model uses "
                f"{self.classifier!r}. Use a permutation importance, or leave `classifier` out."
            )
        table = self._represent(X)
        odds = self._correction.apply(self._mean_of_bags(table))
        base = float(self._correction.apply(self._mean_of_bags(self._base[np.newaxis]))[0])
        slope = self._correction.slope
        contributions = slope * contribute(
            table,
            self._base,
            self._head.coefficients,
            self._head.intercepts,
            self._aggregation,
            (odds - base) / slope,
        )
        result = Explanation(list(self.columns_), contributions, base, odds)
        return result.grouped(self.representation_.families_) if grouped else result

    def choose_threshold(self, threshold: float | str) -> float:
        """Return the probability that a threshold stands for, from out-of-bag scores.

        Parameters
        ----------
        threshold
            As the parameter of the same name.
        """
        check_is_fitted(self)
        return choose_threshold(threshold, self.oob_proba_, self._codes)

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

    def _make_representation(self, seed: int) -> OutlierRepresentation:
        if self.representation is None:
            return OutlierRepresentation(
                n_jobs=self.n_jobs, random_state=seed, verbose=self.verbose
            )
        copy = clone(self.representation).set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        return copy if copy.random_state is not None else copy.set_params(random_state=seed)

    def _fit_head(
        self, table: NDArray, bags: Bags, codes: NDArray, seed: int, engine: Threads
    ) -> Head:
        if self.classifier is not None:
            return ClassifierHead(table, bags, self.classifier, seed, engine)
        if self.penalty == "auto":
            head = choose_penalty(table, bags, codes, self.aggregation, engine)
        else:
            head = LogisticHead(table, bags, float(self.penalty), engine)
        self.penalty_, self.gradients_ = head.penalty, head.gradients
        return head

    def _judge_out_of_bag(self, table: NDArray, bags: Bags, codes: NDArray) -> None:
        """Correct for the bags' balance, calibrate, choose the threshold: all out of bag."""
        odds = combine(self._head.log_odds(table), self._aggregation, ~bags.holds)
        self._correction = correct_for_balance(bags)
        if self.calibration == "oob":
            self._correction = calibrate(odds, codes, self._correction)
        self._codes = codes
        self.oob_proba_ = expit(self._correction.apply(odds))
        warn_without_score(odds)
        self.threshold_ = choose_threshold(self.threshold, self.oob_proba_, codes)

    def _scale_input(self, rows: NDArray) -> NDArray:
        """Bring raw columns to the training range; rows absurdly far outside stay computable."""
        if self._input_scaler is None:
            return rows
        with np.errstate(over="ignore"):
            return np.clip(self._input_scaler.transform(rows), -LARGEST, LARGEST)

    def _represent(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        rows = self._scale_input(read_rows(self, X, fitting=False))
        return self._scaler.transform(self.representation_.compute(rows))

    def _mean_of_bags(self, table: NDArray) -> NDArray:
        return combine(self._head.log_odds(table), self._aggregation)

    def _mean_log_odds(self, X: ArrayLike) -> NDArray:
        return self._mean_of_bags(self._represent(X))


def _log_odds(probability: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(probability) - np.log1p(-probability))
