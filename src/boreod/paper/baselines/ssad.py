"""SSAD: semi-supervised anomaly detection, a one-class support vector machine with labels.

    min  1/2 |w|^2 - rho - kappa gamma + sum c xi,    gamma >= 0, xi >= 0
    s.t. <w, phi(x)> >= rho - xi            for unlabelled rows
         <w, phi(x)> >= rho + gamma - xi    for labelled inliers
         <w, phi(x)> <= rho - gamma + xi    for labelled outliers

Reference: Goernitz, Kloft, Rieck, Brefeld: Toward supervised anomaly detection. JAIR 46, 2013; the
convex form, without active learning.
"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from boreod.ensemble.logistic import standardization
from boreod.paper.baselines.ssad_solver import Problem, check_feasible, solve
from boreod.paper.baselines.ssad_tuning import gaussian, sample_rows, tune
from boreod.parallel import Threads, one_blas_thread, plain_interrupts
from boreod.representation.scaling import Scaler
from boreod.validation import (
    INLIER,
    OUTLIER,
    UNLABELLED,
    all_or_nothing,
    is_number,
    read_labels,
    read_rows,
    read_seed,
)

LARGEST_GAP = 1e-5
# The number of kernel values that are computed at a time.
BLOCK = 4_000_000


class SSAD(ClassifierMixin, BaseEstimator):
    """Semi-supervised anomaly detection with a Gaussian kernel.

    Parameters
    ----------
    kappa
        Importance of the margin gamma between labelled inliers and outliers, from 0; ``"cv"`` for
        the best of five values from 0.5 to 20. It is the least total weight of labelled rows, so
        few labelled rows cannot reach large values; without any it must be 0. If all rows are
        labelled, values up to 1 give the same result.
    weight_unlabelled, weight_labelled
        Price of a row on the wrong side, which is the upper limit of its weight.
    sigma
        Width of the kernel k(x, z) = exp(-|x - z|^2 / (2 sigma^2)), where columns are divided by
        their standard deviation; ``"scale"`` for the square root of columns times variance / 2
        (scikit-learn's ``gamma="scale"``), ``"cv"`` for the best of seven values from 0.005 to 5.
    max_rows
        If there are more rows, SSAD learns from a sample of this size; None for all rows, which
        needs memory for all pairs. Labelled outliers come first, up to half of the sample. Drawn
        rows have higher limits of their weights, so every kind of rows can reach the same total.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled).
    n_jobs
        Number of threads of the cross-validation, -1 for all cores. Results do not depend on it.
    random_state
        Random seed of folds and samples.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    sigma_, kappa_
        Values in use.
    rho_, gamma_
        Threshold and margin.
    weights_
        Weight of every training row in the solution, negative for labelled outliers, 0 for rows
        that were not drawn.
    gap_
        Relative difference of primal and dual value; zero except for rounding.
    cv_results_
        After ``"cv"``: ``"sigma"``, ``"kappa"`` and mean ``"auc"`` of all pairs, the best first.

    Notes
    -----
    ``"cv"`` means five stratified folds of the labelled rows (fewer if a class has less than five
    rows), judged by the area under the ROC curve; unlabelled rows are always learned from. Values
    of kappa that a fold cannot reach are not tried. Each pair is solved to a few digits, and then
    the best pair to all digits. If there are more than 3000 rows, the search uses a sample of 3000,
    drawn as for ``max_rows``, with at least 300 labelled inliers if there are that many.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(200, 3)), random.normal(4, 1, size=(10, 3))])
    >>> y = np.repeat([-1, 0, 1], [150, 50, 10])
    >>> model = SSAD(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0, 0.0], [4.0, 4.0, 4.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        kappa: float | str = 1.0,
        weight_unlabelled: float = 1.0,
        weight_labelled: float = 1.0,
        sigma: float | str = "scale",
        max_rows: int | None = 4000,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.kappa = kappa
        self.weight_unlabelled = weight_unlabelled
        self.weight_labelled = weight_labelled
        self.sigma = sigma
        self.max_rows = max_rows
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "SSAD":
        """Learn from labelled and unlabelled rows.

        Labels are 1 for outliers, 0 for inliers, -1 for unlabelled rows, or any with
        ``outlier_label``. One class may be missing, and so may both.
        """
        with plain_interrupts(), all_or_nothing(self), one_blas_thread():
            self._fit(X, y)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return rho - f(x): positive for outliers, close to ``rho_`` far from all rows."""
        check_is_fitted(self)
        points = self._scaler.transform(read_rows(self, X, fitting=False))
        size = max(1, BLOCK // len(self._anchors))
        outputs = [
            gaussian(cdist(points[start : start + size], self._anchors, "sqeuclidean"), self.sigma_)
            @ self._coefficients
            for start in range(0, len(points), size)
        ]
        scores = self.rho_ - np.concatenate(outputs)
        # Rows of the solution lie at the threshold except for rounding.
        scores[np.abs(scores) <= 1e-9 * abs(self.rho_)] = 0.0
        return scores

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row: that of outliers if the score is positive."""
        outlying = self.decision_function(X) > 0.0
        return self.classes_[outlying.astype(int)]

    def __sklearn_tags__(self) -> Any:
        """Declare that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        self._check_parameters()
        engine = Threads(self.n_jobs)
        rows = read_rows(self, X, fitting=True)
        codes, self.classes_ = read_partial_labels(y, len(rows), self.outlier_label)
        prices = float(self.weight_unlabelled), float(self.weight_labelled)
        caps = np.where(codes == UNLABELLED, *prices)
        check_feasible(codes, caps, 0.0 if self.kappa == "cv" else float(self.kappa))
        seeds = read_seed(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        self._scaler = Scaler("minmax", *standardization(rows))
        drawn, caps = sample_rows(codes, caps, self.max_rows or len(rows), seeds[0])
        points = self._scaler.transform(rows)[drawn]
        squared = cdist(points, points, "sqeuclidean")
        self.__dict__.pop("cv_results_", None)
        sigma = self.sigma
        if sigma == "scale":
            sigma = float(np.sqrt(points.shape[1] / 2) * points.std()) or 1.0
        kappa = self.kappa
        if "cv" in (sigma, kappa):
            self.cv_results_ = tune(squared, codes[drawn], caps, sigma, kappa, seeds[1], engine)
            sigma = self.cv_results_["sigma"][0]
            kappa = self.cv_results_["kappa"][0]
        self.sigma_ = float(sigma)
        self.kappa_ = float(kappa)
        problem = Problem(gaussian(squared, self.sigma_), codes[drawn], caps, self.kappa_)
        solution = solve(problem)
        self.rho_ = solution.rho
        self.gamma_ = solution.gamma
        self.gap_ = solution.gap
        if solution.gap > LARGEST_GAP:
            warnings.warn(
                f"SSAD stopped with a relative duality gap of {solution.gap:.1e}. Rescale columns, "
                "or take a smaller `sigma` or `max_rows`.",
                ConvergenceWarning,
                stacklevel=3,
            )
        weights = problem.signs * solution.weights
        self._anchors = points[weights != 0.0]
        self._coefficients = weights[weights != 0.0]
        self.weights_ = np.zeros(len(rows))
        self.weights_[drawn] = weights

    def _check_parameters(self) -> None:
        """Raise for a parameter that is not allowed, before any work is done."""
        allowed = {
            "sigma": "a positive number or 'scale' or 'cv'",
            "kappa": "a nonnegative number or 'cv'",
            "weight_unlabelled": "a positive number",
            "weight_labelled": "a positive number",
        }
        for name, what in allowed.items():
            value = getattr(self, name)
            if isinstance(value, str) and repr(value) in what:
                continue
            is_finite = is_number(value) and bool(np.isfinite(float(value)))
            if not is_finite or value < 0 or (value == 0 and name != "kappa"):
                raise ValueError(f"`{name}` must be {what}; got {value!r}.")
        most = self.max_rows
        if most is not None and not (is_number(most, Integral) and most >= 2):
            raise ValueError(f"`max_rows` must be an integer from 2, or None; got {most!r}.")


def read_partial_labels(y: Any, n_rows: int, outlier_label: Any) -> tuple[NDArray, NDArray]:
    """Return codes (1, 0, -1) and the two class labels; a class may have no row.

    ``read_labels`` needs both classes. If it fails, rows of the class that may be missing are added
    for the reading and removed afterwards.

    Examples
    --------
    >>> read_partial_labels([0, -1, -1], 3, None)
    (array([ 0, -1, -1]), array([0, 1]))
    >>> read_partial_labels([None, "bad"], 2, "bad")
    (array([-1,  1]), array(['not bad', 'bad'], dtype=object))
    """
    try:
        return read_labels(y, n_rows, outlier_label)
    except ValueError as error:
        reason = str(error).replace("BORE", "SSAD")
    witnesses = [INLIER, OUTLIER] if outlier_label is None else [f"not {outlier_label}"]
    try:
        labels = np.asarray(y).ravel()
        kind = labels.dtype if outlier_label is None else object
        extended = np.append(labels.astype(kind), np.array(witnesses, dtype=kind))
        codes, classes = read_labels(extended, n_rows + len(witnesses), outlier_label)
    except (ValueError, TypeError):
        raise ValueError(reason) from None
    return codes[:n_rows], classes
