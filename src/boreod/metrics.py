"""Measures of how well scores rank outliers above inliers.

All measures take ``y_true``, which is true for outliers, and ``y_score``, which is high for
outliers. Equal scores count as if their order were drawn at random. ``weights`` holds, for each
row, the number of rows of a larger table that the row represents; None gives all rows weight 1.

The scorers work with scikit-learn's ``cross_val_score``, ``GridSearchCV`` and similar tools.
Scikit-learn's own scorers treat the label -1 as a third class. The scorers of this module ignore
unlabelled rows, whose label is -1, None, NaN or empty. If no inlier is labelled, unlabelled rows
count as inliers, as in the out-of-bag figures of a :class:`boreod.Detector`; precision is then a
lower bound.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.validation import INLIER, OUTLIER, UNLABELLED, label_code

RESAMPLES = 500


class Compared(NamedTuple):
    """The values of a measure for two rankings, and an interval for the first minus the second."""

    first: float
    second: float
    low: float
    high: float


def auc(y_true: NDArray, y_score: NDArray, weights: NDArray | None = None) -> NDArray:
    """Return the area under the ROC curve of one array of scores, or of each column of a table.

    Examples
    --------
    >>> float(auc(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.4, 0.8])))
    0.875
    """
    if weights is not None:
        false, true = roc_rates(y_true, y_score, weights)
        return np.asarray(np.trapezoid(true, false))
    n_outliers, n_inliers = _count(y_true)
    ranks = average_ranks(y_score)[np.asarray(y_true, bool)]
    above = ranks.sum(axis=0) - n_outliers * (n_outliers + 1) / 2
    return np.asarray(above / (n_outliers * n_inliers))


def early_auc(y_true: NDArray, y_score: NDArray, most: float = 0.1) -> float:
    """Return the area under the ROC curve up to false-positive rate ``most``, divided by ``most``.

    The result is the mean true-positive rate over false-positive rates from 0 to ``most``. A
    perfect ranking has the value 1, and a random ranking has the value ``most / 2``. The
    standardized value that scikit-learn returns for ``max_fpr`` differs: a random ranking has 0.5.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    >>> early_auc(np.array([True, False, True, False, False, False]), scores, most=0.25)
    0.5
    """
    if not 0.0 < most <= 1.0:
        raise ValueError(f"`most` must be above 0 and at most 1; got {most!r}.")
    false, true = roc_rates(y_true, y_score)
    # Keep the points with a false-positive rate below ``most``, and interpolate the curve at
    # ``most``. A vertical step exactly at ``most`` adds no area.
    end = int(np.searchsorted(false, most))
    share = (most - false[end - 1]) / (false[end] - false[end - 1])
    edge = true[end - 1] + share * (true[end] - true[end - 1])
    area = np.trapezoid(np.append(true[:end], edge), np.append(false[:end], most))
    return float(area / most)


def precision_at(y_true: NDArray, y_score: NDArray, number: int | None = None) -> float:
    """Return the share of outliers among the rows with the highest scores.

    By default, ``number`` is the number of outliers.

    Examples
    --------
    >>> precision_at(np.array([True, True, False, False]), np.array([0.9, 0.5, 0.5, 0.1]))
    0.75
    """
    if number is None:
        number = _count(y_true)[0]
    if not 1 <= number <= len(y_score):
        raise ValueError(f"`number` must be from 1 to {len(y_score)} (all rows); got {number!r}.")
    outliers = np.asarray(y_true, bool)
    last = np.sort(y_score)[-number]
    above = y_score > last
    # Rows with the last score share the remaining places evenly.
    found = outliers[above].sum() + outliers[y_score == last].mean() * (number - above.sum())
    return float(found / number)


def average_precision(y_true: NDArray, y_score: NDArray, weights: NDArray | None = None) -> float:
    """Return the mean of the precision at the score of each outlier.

    Examples
    --------
    >>> average_precision(np.array([True, False, True]), np.array([0.9, 0.8, 0.7])) * 6
    5.0
    """
    return _area_of_precision(*roc_rates(y_true, y_score, weights), _count(y_true, weights))


def roc_rates(
    y_true: NDArray, y_score: NDArray, weights: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    """Return the false- and true-positive rates at every distinct score, starting with 0 and 0.

    Examples
    --------
    >>> false, true = roc_rates(np.array([True, True, False]), np.array([0.9, 0.4, 0.4]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0], [0.0, 0.5, 1.0])
    """
    n_outliers, n_inliers = _count(y_true, weights)
    order, last_of_tie = _sort(y_score)
    counts = np.ones(len(order), int) if weights is None else weights[order]
    true = np.cumsum(counts * np.asarray(y_true, bool)[order])[last_of_tie]
    alarms = np.cumsum(counts)[last_of_tie]
    return np.append(0.0, (alarms - true) / n_inliers), np.append(0.0, true / n_outliers)


def resampled_rates(
    y_true: NDArray, rankings: list[NDArray], random_state: Any = 0, weights: NDArray | None = None
) -> Iterator[list[tuple[NDArray, NDArray]]]:
    """Yield the rates of all rankings for each of RESAMPLES resamples of the rows.

    A resample draws the rows of each class with replacement. All rankings are evaluated on the same
    resample. Rows are sorted only once, not once per resample.
    """
    random = np.random.default_rng(random_state)
    outliers = np.asarray(y_true, bool)
    classes = [np.flatnonzero(members) for members in (~outliers, outliers)]
    each_weight = 1 if weights is None else weights
    sorted_once = [_sort(scores) for scores in rankings]
    for _ in range(RESAMPLES):
        drawn = [random.choice(rows, len(rows)) for rows in classes]
        times = [each_weight * np.bincount(rows, minlength=len(outliers)) for rows in drawn]
        curves = []
        for order, last_of_tie in sorted_once:
            false, true = (
                np.append(0.0, np.cumsum(counts[order])[last_of_tie] / counts.sum())
                for counts in times
            )
            curves.append((false, true))
        yield curves


def _sort(y_score: NDArray) -> tuple[NDArray, NDArray]:
    """Return the order of descending scores, and a mask of the last row of each group of ties."""
    order = np.argsort(-y_score, kind="stable")
    return order, np.append(np.diff(y_score[order]) != 0, True)


def compare_rankings(
    y_true: NDArray,
    first: NDArray,
    second: NDArray,
    interval: float = 0.95,
    random_state: Any = 0,
    weights: NDArray | None = None,
) -> dict[str, Compared]:
    """Compare two rankings by AUC and average precision, with paired bootstrap intervals.

    Both rankings are evaluated on the same resamples of rows, so variation that the rankings share
    cancels out. ``interval`` is the probability that the intervals cover.

    Examples
    --------
    >>> outliers = np.arange(60) < 20
    >>> found = compare_rankings(outliers, -np.arange(60.0), np.zeros(60))
    >>> [round(value, 3) for value in found["AUC"]]
    [1.0, 0.5, 0.5, 0.5]
    """
    counts = _count(y_true, weights)
    differences = []
    for curves in resampled_rates(y_true, [first, second], random_state, weights):
        areas = [np.trapezoid(true, false) for false, true in curves]
        precisions = [_area_of_precision(false, true, counts) for false, true in curves]
        differences.append((areas[0] - areas[1], precisions[0] - precisions[1]))
    ends = [0.5 - interval / 2.0, 0.5 + interval / 2.0]
    spread = np.quantile(differences, ends, axis=0).T.tolist()
    measures: dict[str, Any] = {"AUC": auc, "average precision": average_precision}
    result = {}
    for (name, measure), (low, high) in zip(measures.items(), spread, strict=True):
        values = [float(measure(y_true, scores, weights)) for scores in (first, second)]
        result[name] = Compared(values[0], values[1], low, high)
    return result


def _area_of_precision(false: NDArray, true: NDArray, counts: tuple[float, float]) -> float:
    """Return the average precision, given the rates and the numbers of outliers and inliers."""
    hits = true * counts[0]
    alarms = hits + false * counts[1]
    precision = np.divide(hits, alarms, out=np.zeros_like(hits), where=alarms > 0)
    return float(np.sum(np.diff(true) * precision[1:]))


def average_ranks(values: NDArray) -> NDArray:
    """Return ranks along the first axis, starting at 1; equal values get their mean rank.

    Examples
    --------
    >>> average_ranks(np.array([0.3, 0.1, 0.3, 0.2])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    table = np.asarray(values).reshape(len(values), -1)
    result = np.empty(table.shape)
    for ranks, column in zip(result.T, table.T, strict=True):
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks[:] = (np.cumsum(counts) - 0.5 * (counts - 1))[places]
    return result.reshape(np.shape(values))


def _count(y_true: NDArray, weights: NDArray | None = None) -> tuple[Any, Any]:
    """Return the numbers or total weights of outliers and inliers; raise if a class is empty."""
    n_outliers = int(np.count_nonzero(y_true))
    n_inliers = len(y_true) - n_outliers
    if n_outliers == 0 or n_inliers == 0:
        raise ValueError(
            "Rankings are evaluated on rows of both classes; got "
            f"{n_outliers} outliers and {n_inliers} inliers."
        )
    if weights is None:
        return n_outliers, n_inliers
    outliers = np.asarray(y_true, bool)
    return float(weights[outliers].sum()), float(weights[~outliers].sum())


def average_precision_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the average precision of an estimator on the labelled rows of a table.

    Parameters
    ----------
    estimator
        A fitted classifier with ``decision_function`` or ``predict_proba``, such as a Detector or a
        pipeline that ends with one. The second of its ``classes_`` must be the outlier label.
    X
        The rows.
    y
        Labels of the rows; -1 and empty labels mark unlabelled rows.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from boreod import Detector, Heads, OutlierRepresentation, average_precision_scorer
    >>> random = np.random.default_rng(0)
    >>> y = np.repeat([1, 0, -1], [20, 60, 80])
    >>> X = random.normal(size=(160, 2)) + 4 * (y == 1)[:, None]
    >>> columns = OutlierRepresentation(["knn"], [5])
    >>> model = Detector(columns, n_estimators=20, heads=Heads("logistic"), random_state=0)
    >>> scores = cross_val_score(model, X, y, cv=3, scoring=average_precision_scorer)
    >>> bool(scores.min() > 0.9)
    True
    """
    return average_precision(*_judged(estimator, X, y))


def auc_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the area under the ROC curve of an estimator on the labelled rows of a table.

    The parameters are those of :func:`average_precision_scorer`.
    """
    return float(auc(*_judged(estimator, X, y)))


def read_codes(y: ArrayLike, outlier: Any) -> NDArray:
    """Return 1 for outliers, 0 for inliers and -1 for rows that a scorer must ignore."""
    labels = np.asarray(y).ravel().tolist()
    codes = np.array([label_code(value, outlier) for value in labels], dtype=np.int64)
    return codes if INLIER in codes else np.where(codes == UNLABELLED, INLIER, codes)


def _judged(estimator: Any, X: Any, y: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return a mask of outliers among the labelled rows, and the scores of these rows."""
    codes = read_codes(y, np.asarray(estimator.classes_).tolist()[1])
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    else:
        scores = np.asarray(estimator.predict_proba(X))[:, 1]
    judged = codes != UNLABELLED
    return codes[judged] == OUTLIER, scores[judged]
