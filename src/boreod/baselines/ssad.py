"""SSAD: semi-supervised anomaly detection, a one-class machine that heeds labels.

    min  1/2 |w|^2 - rho - kappa gamma + sum c xi,    gamma >= 0, xi >= 0
    s.t. <w, phi(x)> >= rho - xi            for unlabelled rows
         <w, phi(x)> >= rho + gamma - xi    for labelled inliers
         <w, phi(x)> <= rho - gamma + xi    for labelled outliers

Reference: Goernitz, Kloft, Rieck, Brefeld: Toward supervised anomaly detection. JAIR 46, 2013; the
convex form, without active learning.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boreod.baselines.kernel_rows import Expansion, Table
from boreod.baselines.ssad_dual import solve_ssad
from boreod.baselines.ssad_input import (
    check_ssad_parameters,
    count_landmarks,
    read_partial_labels,
)
from boreod.baselines.ssad_problem import Problem, Solution, check_feasible
from boreod.baselines.ssad_tuning import tune
from boreod.ensemble.logistic import standardization
from boreod.parallel import Threads, one_blas_thread, plain_interrupts
from boreod.representation.scaling import scale_within_bounds
from boreod.validation import UNLABELLED, all_or_nothing, read_rows, read_seed

MANY_ROWS, ENOUGH_LANDMARKS = 4000, 1000
LARGEST_GAP = 1e-5
NEGLIGIBLE = 1e-10  # share of the largest output that left-out weights may sum to


class SSAD(ClassifierMixin, BaseEstimator):
    """Semi-supervised anomaly detection with a Gaussian kernel.

    Parameters
    ----------
    kappa
        Importance of the margin gamma between labelled inliers and outliers, from 0; ``"cv"`` for
        the best of five values from 0.5 to 20. It is the least total weight of labelled rows, so
        few labelled rows cannot reach large values; without any it must be 0. Where all rows are
        labelled, values up to 1 are all the same.
    weight_unlabelled, weight_labelled
        Price of a row on the wrong side, which is the upper limit of its weight.
    sigma
        Width of the kernel k(x, z) = exp(-|x - z|^2 / (2 sigma^2)), in units of scaled columns;
        ``"scale"`` for the square root of columns times variance / 2 (scikit-learn's
        ``gamma="scale"``), ``"cv"`` for the best of seven values from 0.005 to 5.
    scaling
        ``"sd"`` divides columns by their standard deviation, None leaves them.
    landmarks
        Number of rows that span the solution (Nystroem's approximation, with what it leaves of a
        training row's length as a direction of its own), up to half of them labelled outliers.
        None is exact and needs memory for all pairs of rows; ``"auto"`` is None up to 4000 rows
        and 1000 landmarks above.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled).
    n_jobs
        Number of threads of the cross-validation, -1 for all cores. Results do not depend on it.
    random_state
        Seed of folds and landmarks.
    verbose
        Show a progress bar when the work is long.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    sigma_, kappa_
        Values in use.
    rho_, gamma_
        Threshold and margin.
    weights_
        Weight of every training row in the solution, negative for labelled outliers.
    gap_
        Relative difference of primal and dual value; zero but for rounding.
    n_landmarks_
        Number of landmarks in use, None for the exact kernel.
    cv_results_
        After ``"cv"``: ``"sigma"``, ``"kappa"`` and mean ``"auc"`` of all pairs, the best first.

    Notes
    -----
    ``"cv"`` means five folds, stratified, of the labelled rows (fewer if a class has less than five
    rows), judged by the area under the ROC curve; unlabelled rows are always learned from. Values
    of kappa that a fold cannot reach are not tried. What is tried is solved to a few digits, always
    under the exact kernel, and the chosen pair then to all digits. Above 3000 rows the search sees
    a sample of 3000: all labelled outliers up to half of it, and of labelled inliers and unlabelled
    rows as many as is their proportion (300 labelled inliers at least, if there are). The weights
    of drawn rows have higher limits in return, so that every kind has the same total as before.

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
        scaling: str | None = "sd",
        landmarks: int | str | None = "auto",
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kappa = kappa
        self.weight_unlabelled = weight_unlabelled
        self.weight_labelled = weight_labelled
        self.sigma = sigma
        self.scaling = scaling
        self.landmarks = landmarks
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> "SSAD":
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X
            Table of numbers: array, pandas or polars frame.
        y
            1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
            ``outlier_label``. One class may be missing, and so may both.
        """
        with plain_interrupts(), all_or_nothing(self), one_blas_thread():
            self._fit(X, y)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return rho - f(x): positive for outliers, at most ``rho_`` far from all rows.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        check_is_fitted(self)
        return self.rho_ - self._function(self._scale(read_rows(self, X, fitting=False)))

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row, that of outliers where the score is positive.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        outlying = self.decision_function(X) > 0.0  # first, as it says so if there is no fit
        return self.classes_[outlying.astype(int)]

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        check_ssad_parameters(self)
        engine = Threads(self.n_jobs, self.verbose)
        rows = read_rows(self, X, fitting=True)
        codes, self.classes_ = read_partial_labels(y, len(rows), self.outlier_label)
        caps = np.where(codes == UNLABELLED, self.weight_unlabelled, self.weight_labelled)
        caps = caps.astype(np.float64)
        check_feasible(codes, caps, 0.0 if self.kappa == "cv" else float(self.kappa))
        seeds = read_seed(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        center, inverse = standardization(rows)
        self._center, self._factor = center, inverse if self.scaling == "sd" else None
        self.n_landmarks_ = count_landmarks(self.landmarks, len(rows), MANY_ROWS, ENOUGH_LANDMARKS)
        table = Table(self._scale(rows), codes, self.n_landmarks_, seeds[0])
        self._choose(table, caps, seeds[1], engine)
        self._learn(table, caps)

    def _choose(self, table: Table, caps: NDArray, seed: int, engine: Threads) -> None:
        """Settle width and kappa."""
        if hasattr(self, "cv_results_"):  # of an earlier fit
            delattr(self, "cv_results_")
        sigma = None if self.sigma == "cv" else self.sigma
        if sigma == "scale":
            sigma = float(np.sqrt(table.points.shape[1] / 2) * table.points.std()) or 1.0
        kappa = None if self.kappa == "cv" else float(self.kappa)
        if sigma is None or kappa is None:
            width = None if sigma is None else float(sigma)
            self.cv_results_ = tune(table, caps, width, kappa, seed, engine)
            sigma, kappa = self.cv_results_["sigma"][0], self.cv_results_["kappa"][0]
        self.sigma_, self.kappa_ = float(sigma), float(kappa)

    def _learn(self, table: Table, caps: NDArray) -> None:
        """Solve the problem of all rows."""
        rows = table.under_kernel(np.arange(len(caps)), self.sigma_)
        problem = Problem(rows.gram, table.codes, caps, self.kappa_)
        solution = solve_ssad(problem)
        _warn_of_gap(solution)
        self.rho_, self.gamma_, self.gap_ = solution.rho, solution.gamma, solution.gap
        self.weights_ = problem.signs * solution.weights
        coefficients = rows.spread(self.weights_)
        kept = np.ones(len(coefficients), dtype=bool)
        if self.n_landmarks_ is None:
            order = np.argsort(solution.weights, kind="stable")
            sums = np.cumsum(solution.weights[order])
            kept[order[sums <= NEGLIGIBLE * np.abs(solution.outputs).max()]] = False
        anchors = table.points[rows.anchors][kept]
        self._function = Expansion(anchors, coefficients[kept], self.sigma_)

    def _scale(self, rows: NDArray) -> NDArray:
        if self._factor is None:
            return rows
        return scale_within_bounds(rows, self._center, self._factor)


def _warn_of_gap(solution: Solution) -> None:
    from sklearn.exceptions import ConvergenceWarning

    if solution.gap > LARGEST_GAP:
        warnings.warn(
            f"SSAD stopped with a relative duality gap of {solution.gap:.1e}. Rescale columns, or "
            "take a smaller `sigma` or fewer `landmarks`.",
            ConvergenceWarning,
            stacklevel=5,
        )
