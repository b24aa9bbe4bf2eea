"""How well scores rank outliers above inliers.

Scores are high for outliers. Equal scores are never ordered by their labels: they count as if their
order were drawn at random.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def auc(scores: NDArray, outliers: NDArray) -> NDArray:
    """Return the area under the ROC curve, of one array of scores or of every column of a table.

    Parameters
    ----------
    scores
        High for outliers; a table has one row per judged row.
    outliers
        Whether each row is an outlier.

    Examples
    --------
    >>> float(auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])))
    0.875
    """
    n_outliers, n_inliers = _count(outliers)
    ranks = rankdata(scores, axis=0)[np.asarray(outliers, bool)]
    above = ranks.sum(axis=0) - n_outliers * (n_outliers + 1) / 2
    return np.asarray(above / (n_outliers * n_inliers))


def early_auc(scores: NDArray, outliers: NDArray, most: float = 0.1) -> float:
    """Return the area under the ROC curve over false-positive rates up to ``most``, divided by it.

    The mean true-positive rate of a detector that may raise few false alarms: 1 for a perfect
    ranking, ``most / 2`` for a random one. Not the standardized value of scikit-learn's
    ``max_fpr``, which is 0.5 for a random ranking.

    Parameters
    ----------
    scores
        High for outliers.
    outliers
        Whether each row is an outlier.
    most
        Largest false-positive rate.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    >>> early_auc(scores, np.array([True, False, True, False, False, False]), most=0.25)
    0.5
    """
    if not 0.0 < most <= 1.0:
        raise ValueError(f"`most` must be above 0 and at most 1; got {most!r}.")
    false, true = roc_rates(scores, outliers)
    end = int(
        np.searchsorted(false, most)
    )  # the first at or beyond: steps at the edge do not count
    share = (most - false[end - 1]) / (false[end] - false[end - 1])
    edge = true[end - 1] + share * (true[end] - true[end - 1])
    false, true = np.append(false[:end], most), np.append(true[:end], edge)
    return float(np.trapezoid(true, false) / most)


def precision_at(scores: NDArray, outliers: NDArray, number: int | None = None) -> float:
    """Return the share of outliers among the rows with the highest scores.

    Parameters
    ----------
    scores
        High for outliers.
    outliers
        Whether each row is an outlier.
    number
        How many rows, None for as many as there are outliers.

    Examples
    --------
    >>> precision_at(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.75
    """
    number = _count(outliers)[0] if number is None else number
    if not 1 <= number <= len(scores):
        raise ValueError(f"`number` must be from 1 to {len(scores)} (the rows); got {number!r}.")
    outliers = np.asarray(outliers, bool)
    last = np.sort(scores)[-number]
    above, tied = scores > last, scores == last
    places = number - above.sum()  # of the rows with this last score, which share them evenly
    return float((outliers[above].sum() + outliers[tied].mean() * places) / number)


def average_precision(scores: NDArray, outliers: NDArray) -> float:
    """Return the mean over outliers of the precision at their score.

    Parameters
    ----------
    scores
        High for outliers.
    outliers
        Whether each row is an outlier.

    Examples
    --------
    >>> average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True])) * 6
    5.0
    """
    n_outliers, n_inliers = _count(outliers)
    false, true = roc_rates(scores, outliers)
    hits, alarms = true * n_outliers, true * n_outliers + false * n_inliers
    precision = np.divide(hits, alarms, out=np.zeros_like(hits), where=alarms > 0)
    return float(np.sum(np.diff(true) * precision[1:]))


def true_positive_rates(scores: NDArray, outliers: NDArray, false_rates: NDArray) -> NDArray:
    """Return the ROC curve at given false-positive rates, the upper end of every vertical step.

    Parameters
    ----------
    scores
        High for outliers.
    outliers
        Whether each row is an outlier.
    false_rates
        False-positive rates from 0 to 1.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.7, 0.6])
    >>> true_positive_rates(scores, np.array([True, False, True, False]), np.array([0, 0.5, 1]))
    array([0.5, 1. , 1. ])
    """
    false, true = roc_rates(scores, outliers)
    top = np.append(np.diff(false) != 0, True)  # of several points above each other, the last
    return np.interp(false_rates, false[top], true[top])


def roc_rates(scores: NDArray, outliers: NDArray) -> tuple[NDArray, NDArray]:
    """Return false- and true-positive rates at every distinct score, from (0, 0) on.

    Parameters
    ----------
    scores
        High for outliers.
    outliers
        Whether each row is an outlier.

    Examples
    --------
    >>> false, true = roc_rates(np.array([0.9, 0.4, 0.4]), np.array([True, True, False]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0], [0.0, 0.5, 1.0])
    """
    n_outliers, n_inliers = _count(outliers)
    order = np.argsort(-scores, kind="stable")
    last_of_tie = np.append(np.diff(scores[order]) != 0, True)
    true = np.cumsum(np.asarray(outliers, bool)[order])[last_of_tie]
    alarms = np.flatnonzero(last_of_tie) + 1
    return np.append(0.0, (alarms - true) / n_inliers), np.append(0.0, true / n_outliers)


def _count(outliers: NDArray) -> tuple[int, int]:
    """Return the numbers of outliers and inliers, or say that there is only one class."""
    n_outliers = int(np.count_nonzero(outliers))
    n_inliers = len(outliers) - n_outliers
    if n_outliers == 0 or n_inliers == 0:
        raise ValueError(
            "Rankings are judged on rows of both classes; got "
            f"{n_outliers} outliers and {n_inliers} inliers."
        )
    return n_outliers, n_inliers
