"""Weights of heads: logistic regression on what they say out of bag.

This is stacked generalization (Wolpert, 1992) with weights that are not negative (Breiman, Stacked
regressions, 1996). All rows have the same weight, so what matters is to separate the few outliers
from the highest of many inliers. Weights in proportion to the average precision of each head alone
would not notice that two heads agree.

Few outliers say little about weights. A regression should have ten of them for every head (Peduzzi
and others, 1996); with fewer, weights are those in proportion to average precision. With more, they
are held near these, as by a normal prior whose standard deviation is the mean weight. No head loses
all of its weight.

Weights that were learned from a row would flatter it. So out-of-bag rows are split into folds, and
each fold is averaged with weights learned from the others. New rows use the weights of all folds.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit, logit
from boreod.parallel import one_blas_thread
from boreod.validation import OUTLIER, UNLABELLED

FOLDS = 5
MIN_OUTLIERS_PER_HEAD = 10
# Weights are learned from so many inliers at most; more of them change nothing.
MOST_INLIERS = 50_000


def stack(
    odds: NDArray, codes: NDArray, evidence: NDArray, n_folds: int = FOLDS
) -> tuple[NDArray, NDArray]:
    """Return weights of heads, which add up to 1, and their mean for all rows.

    ``odds`` are out-of-bag log-odds (rows, heads) on one scale, NaN where a head cannot judge a
    row. ``codes`` mark outliers and inliers, and ``evidence`` is the average precision of every
    head. Without folds (0) the mean flatters the rows a little.

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
    if len(outliers) < MIN_OUTLIERS_PER_HEAD * len(start) or len(inliers) < FOLDS:
        return start, mean_of(odds, start)
    # The tables are small, so threads of BLAS would only wait for each other.
    with one_blas_thread():
        point = _learn(odds, outliers, inliers, start)
        weights = _weights_of(point)
        mean = mean_of(odds, weights)
        for fold in range(n_folds):
            some = np.s_[fold::n_folds]
            held = np.concatenate([outliers[some], inliers[some]])
            # The optimum of the other folds is near that of all rows.
            nearby = _learn(odds, np.delete(outliers, some), np.delete(inliers, some), start, point)
            mean[held] = mean_of(odds[held], _weights_of(nearby))
    return weights, mean


def mean_of(odds: NDArray, weights: NDArray) -> NDArray:
    """Average the log-odds of heads; where some are NaN, those of the others."""
    total = np.zeros(len(odds))
    known_weights = np.zeros(len(odds))
    for column, weight in zip(odds.T, weights, strict=True):
        known = np.isfinite(column)
        total[known] += weight * column[known]
        known_weights[known] += weight
    return np.divide(total, known_weights, out=np.full(len(odds), np.nan), where=known_weights > 0)


def _weights_of(point: NDArray) -> NDArray:
    """Return weights that add up to 1; the last value of a point is the intercept."""
    return point[:-1] / point[:-1].sum()


def _learn(
    odds: NDArray,
    outliers: NDArray,
    inliers: NDArray,
    start: NDArray,
    first: NDArray | None = None,
) -> NDArray:
    """Return weights and intercept of the regression.

    Weights are held near ``start``; the search begins at ``first``, if it is known.
    """
    from scipy.optimize import minimize

    some = inliers[:: -(-len(inliers) // MOST_INLIERS)]
    table = odds[np.concatenate([outliers, some])]
    targets = np.arange(len(table)) < len(outliers)
    counts = np.where(targets, 1.0, len(inliers) / len(some))
    strength = 0.5 * len(start) ** 2

    def loss(point: NDArray) -> tuple[float, NDArray]:
        away = point[:-1] - start
        z = table @ point[:-1] + point[-1]
        residuals = counts * (expit(z) - targets)
        value = counts @ (np.logaddexp(0.0, z) - targets * z) + strength * (away @ away)
        slopes = residuals @ table + 2.0 * strength * away
        return float(value), np.append(slopes, residuals.sum())

    if first is None:
        first = np.append(start, logit(len(outliers) / (len(outliers) + len(inliers))))
    # Every head keeps a tenth of its first weight.
    bounds = [*((0.1 * weight, None) for weight in start), (None, None)]
    return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
