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
from boreod.metrics import auc
from boreod.paper.baselines.ssad_solver import (
    N_KINDS,
    TIGHT,
    Problem,
    minimize,
    most_labelled,
    solve,
)
from boreod.parallel import Engine, Threads, one_blas_thread, plain_interrupts
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

SIGMAS = np.geomspace(0.005, 5.0, 7)
KAPPAS = np.geomspace(0.5, 20.0, 5)
SMALLEST = float(np.nextafter(0.0, 1.0))
LARGEST_GAP = 1e-5
# The number of kernel values that are computed at a time.
BLOCK = 4_000_000


class SSAD(ClassifierMixin, BaseEstimator):
    """Semi-supervised anomaly detection with a Gaussian kernel.

    Parameters
    ----------
    kappa
        Importance of the margin gamma between labelled inliers and outliers, at least 0; ``"cv"``
        chooses the best of five values from 0.5 to 20. ``kappa`` is the least total weight of
        labelled rows, so few labelled rows cannot reach large values. If all rows are labelled,
        values up to 1 give the same result.
    sigma
        Width of the kernel k(x, z) = exp(-|x - z|^2 / (2 sigma^2)). Columns are first divided by
        their standard deviation. ``"scale"`` takes the square root of (columns times variance / 2),
        like scikit-learn's ``gamma="scale"``. ``"cv"`` chooses the best of seven values from 0.005
        to 5.
    max_rows
        If there are more rows, SSAD learns from a sample of this size. None takes all rows, and
        needs memory for all pairs of rows. Labelled outliers get up to half of the sample, and
        labelled inliers up to half of the rest; they get more if there are too few other rows. The
        limits of the weights of drawn rows are raised, so that the total weight of each kind of
        rows (outliers, inliers, unlabelled rows) has the same limit as without a sample.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled).
    n_jobs
        Number of threads of the cross-validation, -1 for all cores. It does not change results.
    random_state
        Random seed of folds and samples.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    sigma_, kappa_
        The values of ``sigma`` and ``kappa`` in use.
    rho_, gamma_
        The threshold rho and the margin gamma of the solution.
    weights_
        Weight of every training row in the solution, negative for labelled outliers, 0 for rows
        that were not drawn.
    gap_
        Relative difference of the primal and the dual value, which is 0 except for rounding.
    cv_results_
        If ``"cv"`` chose a value: ``"sigma"``, ``"kappa"`` and mean ``"auc"`` of all pairs of
        values, the best pair first.

    Notes
    -----
    ``"cv"`` uses five stratified folds of the labelled rows, or fewer if a class has less than five
    rows. Values are compared by the area under the ROC curve. All fits use all unlabelled rows.
    Values of kappa that a fold cannot reach are not tried. Each pair of values is solved to a few
    digits, and then the best pair to all digits.

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
        sigma: float | str = "scale",
        max_rows: int | None = 4000,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.kappa = kappa
        self.sigma = sigma
        self.max_rows = max_rows
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "SSAD":
        """Learn from labelled and unlabelled rows.

        Labels are 1 for outliers, 0 for inliers, -1 for unlabelled rows, or any with
        ``outlier_label``.
        """
        with plain_interrupts(), all_or_nothing(self), one_blas_thread():
            self._check_parameters()
            engine = Threads(self.n_jobs)
            rows = read_rows(self, X, fitting=True)
            labels, self.classes_ = read_labels(y, len(rows), self.outlier_label)
            seeds = read_seed(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
            drawn, caps = sample_rows(labels, self.max_rows or len(rows), seeds[0])
            codes = labels[drawn]
            folds = leave_out(codes, caps, seeds[1]) if "cv" in (self.sigma, self.kappa) else []
            kappas = reachable(self.kappa, codes, [caps, *folds])
            self._scaler = Scaler("minmax", *standardization(rows))
            points = self._scaler.transform(rows)[drawn]
            squared = cdist(points, points, "sqeuclidean")
            sigma = self.sigma
            if sigma == "scale":
                sigma = np.sqrt(points.shape[1] / 2) * points.std() or 1.0
            sigmas = SIGMAS if sigma == "cv" else np.array([float(sigma)])
            self.__dict__.pop("cv_results_", None)
            if folds:
                self.cv_results_ = tune(squared, codes, folds, sigmas, kappas, engine)
                sigmas = self.cv_results_["sigma"]
                kappas = self.cv_results_["kappa"]
            self.sigma_ = float(sigmas[0])
            self.kappa_ = float(kappas[0])
            problem = Problem(gaussian(squared, self.sigma_), codes, caps, self.kappa_)
            solution = solve(problem)
            self.rho_ = solution.rho
            self.gamma_ = solution.gamma
            self.gap_ = solution.gap
            if solution.gap > LARGEST_GAP:
                warnings.warn(
                    f"SSAD stopped with a relative duality gap of {solution.gap:.1e}. "
                    "Rescale columns, or take a smaller `sigma` or `max_rows`.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            weights = problem.signs * solution.weights
            self._anchors = points[weights != 0.0]
            self._coefficients = weights[weights != 0.0]
            self.weights_ = np.zeros(len(rows))
            self.weights_[drawn] = weights
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

    def _check_parameters(self) -> None:
        """Raise for a parameter that is not allowed, before any work is done."""
        allowed = {
            "sigma": ("a positive number or 'scale' or 'cv'", SMALLEST),
            "kappa": ("a nonnegative number or 'cv'", 0.0),
        }
        for name, (what, least) in allowed.items():
            value = getattr(self, name)
            is_word = isinstance(value, str) and repr(value) in what
            if not is_word and not (is_number(value) and least <= value < np.inf):
                raise ValueError(f"`{name}` must be {what}; got {value!r}.")
        most = self.max_rows
        if most is not None and not (is_number(most, Integral) and most >= 2):
            raise ValueError(f"`max_rows` must be an integer from 2, or None; got {most!r}.")


def sample_rows(codes: NDArray, most: int, seed: int) -> tuple[NDArray, NDArray]:
    """Return the rows of a sample, in ascending order, and the caps (limits) of their weights.

    First labelled outliers are drawn, then labelled inliers, then unlabelled rows. Each of these
    kinds takes half of the room that is left, or more if later kinds cannot fill the rest. The caps
    of a kind have the same sum as if all of its rows were drawn and had the cap 1.

    Examples
    --------
    >>> rows, caps = sample_rows(np.repeat([-1, 1], [90, 2]), most=32, seed=0)
    >>> np.unique(caps, return_counts=True)
    (array([1., 3.]), array([ 2, 30]))
    """
    random = np.random.default_rng(seed)
    kinds = [np.flatnonzero(codes == code) for code in (OUTLIER, INLIER, UNLABELLED)]
    room = min(most, len(codes))
    later = len(codes)
    caps = np.zeros(len(codes))
    for rows in kinds:
        later -= len(rows)
        drawn = random.permutation(rows)[: max((room + 1) // 2, room - later)]
        room -= len(drawn)
        caps[drawn] = len(rows) / max(1, len(drawn))
    rows = np.flatnonzero(caps)
    return rows, caps[rows]


def leave_out(codes: NDArray, caps: NDArray, seed: int) -> list[NDArray]:
    """Return the caps of rows in every fold of the cross-validation: 0 for rows to judge."""
    from sklearn.model_selection import StratifiedKFold

    labelled = np.flatnonzero(codes != UNLABELLED)
    counts = [int((codes == code).sum()) for code in (INLIER, OUTLIER)]
    if min(counts) < 2:
        raise ValueError(
            "Cross-validation ('cv') needs at least 2 labelled inliers and 2 labelled outliers; "
            f"got {counts[0]} and {counts[1]}. Pass numbers for `sigma` and `kappa`, "
            "or sigma='scale'."
        )
    splitter = StratifiedKFold(min(5, *counts), shuffle=True, random_state=seed)
    tests = [labelled[test] for _, test in splitter.split(labelled, codes[labelled])]
    return [np.where(np.isin(np.arange(len(codes)), test), 0.0, caps) for test in tests]


def reachable(kappa: Any, codes: NDArray, limits: list[NDArray]) -> NDArray:
    """Return the values of kappa that all of these caps can reach; raise if there are none."""
    kappas = KAPPAS if kappa == "cv" else np.array([float(kappa)])
    most = min(most_labelled(*np.bincount(codes + 1, caps, N_KINDS)) for caps in limits)
    found = kappas[kappas <= most * (1.0 + TIGHT)]
    if not len(found):
        where = "" if len(limits) == 1 else "No fold of the cross-validation ('cv') can be solved. "
        raise ValueError(
            f"{where}`kappa` is the least total weight of labelled rows; got {kappas[0]:.6g}, but "
            f"{(codes == INLIER).sum()} inliers and {(codes == OUTLIER).sum()} outliers reach at "
            f"most {most:.6g}. Lower `kappa` to that or less, or label more rows."
        )
    return found


def tune(
    squared: NDArray,
    codes: NDArray,
    folds: list[NDArray],
    sigmas: NDArray,
    kappas: NDArray,
    engine: Engine,
) -> dict[str, NDArray]:
    """Return every pair of sigma and kappa that was tried, with its mean AUC, the best pair first.

    ``squared`` holds the squared distances of all pairs of rows. Folds do not copy the kernel: rows
    that are left out have the cap 0, so their weights stay 0.
    """

    def judge(width: float) -> list[NDArray]:
        kernel = gaussian(squared, width)
        return [_judge(kernel, codes, limits, kappas) for limits in folds]

    results = engine.map(judge, sigmas.tolist(), "cross-validation of SSAD")
    tried = {
        "sigma": np.repeat(sigmas, len(kappas)),
        "kappa": np.tile(kappas, len(sigmas)),
        "auc": np.mean(results, axis=1).ravel(),
    }
    # If AUCs are equal, the widest kernel comes first, and then the smallest kappa.
    order = np.lexsort((tried["kappa"], -tried["sigma"], -tried["auc"].round(12)))
    return {name: values[order] for name, values in tried.items()}


def _judge(kernel: NDArray, codes: NDArray, limits: NDArray, kappas: NDArray) -> NDArray:
    """Return the AUC of every kappa on the rows that were left out."""
    test = limits == 0.0
    signed = np.empty((len(codes), len(kappas)))
    weights = None
    for place, kappa in enumerate(kappas):
        problem = Problem(kernel, codes, limits, float(kappa))
        weights = minimize(problem, weights)
        signed[:, place] = problem.signs * weights
    outputs = kernel @ signed
    # Rank as decision_function does: the difference drops digits of a tiny f far from all rows.
    level = np.abs(outputs[~test]).max(axis=0)
    return auc(codes[test] == OUTLIER, level - outputs[test])


def gaussian(squared_distances: NDArray, sigma: float) -> NDArray:
    """Return exp(-|x - z|^2 / (2 sigma^2)) of rows at these squared distances.

    Examples
    --------
    >>> gaussian(np.array([0.0, 2.0]), 1.0).round(3).tolist()
    [1.0, 0.368]
    """
    # If the width is tiny, the quotient overflows. The kernel is then 0.
    with np.errstate(over="ignore"):
        return np.exp(squared_distances / sigma / (-2.0 * sigma))
