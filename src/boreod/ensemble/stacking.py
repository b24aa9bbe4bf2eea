"""Weights of heads: logistic regression on what they say out of bag.

This is stacked generalization (Wolpert, 1992) with weights that are not negative (Breiman, Stacked
regressions, 1996). Rows count as often as they come, so what matters is to tell the few outliers
from the highest of many inliers; a weight by the average precision of each head alone does not see
that two heads say the same.

Few outliers tell little about weights. Below ten of them for every head, as many as a regression
should have (Peduzzi and others, 1996), weights are those by average precision. Above, they are
held near these as by a normal prior whose standard deviation is the mean weight. No head loses its
say altogether.

Weights that were learned from a row would flatter it. So out-of-bag rows are dealt into folds, and
each fold is averaged by weights learned from the others; new rows by those of all.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit, logit
from boreod.parallel import one_blas_thread
from boreod.validation import OUTLIER, UNLABELLED

FOLDS = 5
EVENTS = 10  # outliers for every head
LEAST = 0.1  # of the weight by average precision, that every head keeps
MOST_INLIERS = 50_000  # that weights are learned from; more of them change nothing


def stack(
    odds: NDArray, codes: NDArray, evidence: NDArray, n_folds: int = FOLDS
) -> tuple[NDArray, NDArray]:
    """Return weights of heads, which add up to 1, and their mean for all rows.

    ``odds`` are out-of-bag log-odds, (rows, heads), each on the same scale, NaN where a head cannot
    judge a row; ``codes`` tell which rows are outliers or inliers, and ``evidence`` is the average
    precision of every head. Without folds, 0, the mean flatters the rows a little.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> codes = (random.random(2000) < 0.1).astype(int)
    >>> good = 3.0 * codes - 1.5 + random.normal(size=2000)
    >>> weights, mean = stack(np.column_stack([good, random.normal(size=2000)]), codes,
    ...                       np.array([0.8, 0.2]))
    >>> weights.round(2).tolist()
    [0.99, 0.01]
    """
    start = evidence / evidence.sum()
    judged = np.flatnonzero(np.isfinite(odds).all(axis=1) & (codes != UNLABELLED))
    outliers = judged[codes[judged] == OUTLIER]
    inliers = judged[codes[judged] != OUTLIER]
    if len(outliers) < EVENTS * len(start) or len(inliers) < FOLDS:
        return start, mean_of(odds, start)
    with one_blas_thread():  # tables are small: threads would wait for each other
        point = _learn(odds, outliers, inliers, start)
        weights = _weights_of(point)
        mean = mean_of(odds, weights)
        for fold in range(n_folds):
            rest = [np.delete(rows, np.s_[fold::n_folds]) for rows in (outliers, inliers)]
            held = np.concatenate([outliers[fold::n_folds], inliers[fold::n_folds]])
            of_rest = _learn(odds, rest[0], rest[1], start, point)  # near that of all rows
            mean[held] = mean_of(odds[held], _weights_of(of_rest))
    return weights, mean


def mean_of(odds: NDArray, weights: NDArray) -> NDArray:
    """Average what heads say; a row that some of them cannot judge is judged by the others."""
    total, known_weights = np.zeros(len(odds)), np.zeros(len(odds))
    for column, weight in zip(odds.T, weights, strict=True):
        known = np.isfinite(column)
        total[known] += weight * column[known]
        known_weights[known] += weight
    return np.divide(total, known_weights, out=np.full(len(odds), np.nan), where=known_weights > 0)


def _weights_of(point: NDArray) -> NDArray:
    """Return weights that add up to 1, without the intercept."""
    return point[:-1] / point[:-1].sum()


def _learn(
    odds: NDArray,
    outliers: NDArray,
    inliers: NDArray,
    start: NDArray,
    first: NDArray | None = None,
) -> NDArray:
    """Return the weights and intercept that give outliers and inliers their labels.

    Weights are held near ``start``; the search for them begins at ``first``, if it is known.
    """
    from scipy.optimize import minimize

    step = -(-len(inliers) // MOST_INLIERS)
    some = inliers[::step]
    table = odds[np.concatenate([outliers, some])]
    targets = np.arange(len(table)) < len(outliers)
    counts = np.where(targets, 1.0, len(inliers) / len(some))
    strength = 0.5 * len(start) ** 2

    def loss(point: NDArray) -> tuple[float, NDArray]:
        away, z = point[:-1] - start, table @ point[:-1] + point[-1]
        residuals = counts * (expit(z) - targets)
        value = counts @ (np.logaddexp(0.0, z) - targets * z) + strength * (away @ away)
        slopes = residuals @ table + 2.0 * strength * away
        return float(value), np.append(slopes, residuals.sum())

    if first is None:
        first = np.append(start, logit(len(outliers) / (len(outliers) + len(inliers))))
    bounds = [*((LEAST * weight, None) for weight in start), (None, None)]
    return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
