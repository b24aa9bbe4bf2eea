"""Local density factor, with a Gaussian kernel and in logarithms.

With d the number of dimensions, h the bandwidth and c the smoothing,

    u(p, o) = max(d(p, o), kd_k(o)) / (h kd_k(o))
    LDE(p)  = mean of exp(-u(p, o)^2 / 2) / sqrt(2 pi) / (h kd_k(o))^d over o in N_k(p);
              +inf if some kd_k(o) = 0
    m(p)    = mean of LDE(o) over o in N_k(p)
    LDF(p)  = m(p) / (LDE(p) + c m(p)), between 0 and 1 / c

LDF(p) = 1 if m(p) is infinite, and 0 if m(p) is finite and LDE(p) is infinite. High values are
outliers. For a new row the kd_k(o) and LDE(o) are those of the reference alone.

L. J. Latecki, A. Lazarevic, D. Pokrajac: Outlier detection with kernel density functions.
MLDM 2007.
"""

import math

import numpy as np

from .neighborhoods import distances, in_sample_lists, k_distances, log_of_sum, new_lists


def _log_estimate(
    own: np.ndarray, kd: list[float], neighbors: list[int], dimensions: int, bandwidth: float
) -> float:
    """Return log LDE of one row from its distances to all reference rows."""
    terms = []
    for o in neighbors:
        if kd[o] == 0:
            return math.inf
        width = bandwidth * kd[o]
        u = max(float(own[o]), kd[o]) / width
        terms.append(-u * u / 2 - math.log(2 * math.pi) / 2 - dimensions * math.log(width))
    return log_of_sum(terms) - math.log(len(neighbors))


def _factor(log_own: float, of_neighbors: list[float], smoothing: float) -> float:
    """Return LDF from log LDE of a row and of its neighbors."""
    log_mean = log_of_sum(of_neighbors) - math.log(len(of_neighbors))
    if log_mean == math.inf:
        return 1.0
    if log_own == math.inf or log_mean == -math.inf:
        return 0.0
    if log_own < log_mean:  # divide by m
        return 1 / (math.exp(log_own - log_mean) + smoothing)
    ratio = math.exp(log_mean - log_own)  # divide by LDE(p)
    return ratio / (1 + smoothing * ratio)


def _reference_estimates(points: np.ndarray, k: int, bandwidth: float) -> list[float]:
    """Return log LDE of every row among the other rows."""
    distance = distances(points, points)
    kd = k_distances(points, k)
    lists = in_sample_lists(points, k)
    d = points.shape[1]
    return [_log_estimate(distance[p], kd, lists[p], d, bandwidth) for p in range(len(points))]


def in_sample(
    points: np.ndarray, k: int, bandwidth: float = 1.0, smoothing: float = 0.1
) -> np.ndarray:
    """Return LDF of every row among the other rows."""
    lde = _reference_estimates(points, k, bandwidth)
    scores = []
    for p, neighbors in enumerate(in_sample_lists(points, k)):
        scores.append(_factor(lde[p], [lde[o] for o in neighbors], smoothing))
    return np.array(scores)


def new_rows(
    reference: np.ndarray,
    queries: np.ndarray,
    k: int,
    bandwidth: float = 1.0,
    smoothing: float = 0.1,
) -> np.ndarray:
    """Return LDF of every query against the frozen reference."""
    lde = _reference_estimates(reference, k, bandwidth)
    kd = k_distances(reference, k)
    distance = distances(queries, reference)
    scores = []
    for q, neighbors in enumerate(new_lists(reference, queries, k)):
        own = _log_estimate(distance[q], kd, neighbors, reference.shape[1], bandwidth)
        scores.append(_factor(own, [lde[o] for o in neighbors], smoothing))
    return np.array(scores)
