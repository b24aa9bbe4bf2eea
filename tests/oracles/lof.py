"""Local outlier factor.

    reach(p, o) = max(d(p, o), kd_k(o))
    lrd(p)      = k / sum of reach(p, o) over o in N_k(p);   +inf if that sum is 0
    LOF(p)      = mean of lrd(o) over o in N_k(p), divided by lrd(p)

LOF(p) = 1 if lrd(p) is infinite, and +inf if lrd(p) is finite and some lrd(o) is infinite.
High values are outliers. For a new row the kd_k(o) and lrd(o) are those of the reference alone.

M. M. Breunig, H.-P. Kriegel, R. T. Ng, J. Sander: LOF: identifying density-based local
outliers. SIGMOD 2000.
"""

import math

import numpy as np

from .neighborhoods import distances, in_sample_lists, k_distances, new_lists


def _density(distance: np.ndarray, neighbors: list[int], kd: list[float]) -> float:
    """Return lrd of one row from its distances to all reference rows and its neighbor list."""
    total = sum(max(float(distance[o]), kd[o]) for o in neighbors)
    return len(neighbors) / total if total > 0 else math.inf


def _factor(own: float, neighbor_densities: list[float]) -> float:
    """Return the mean density of the neighbors divided by the row's own density."""
    if math.isinf(own):
        return 1.0
    return sum(neighbor_densities) / len(neighbor_densities) / own


def _reference_densities(points: np.ndarray, k: int) -> list[float]:
    """Return lrd of every row among the other rows."""
    distance = distances(points, points)
    lists = in_sample_lists(points, k)
    kd = k_distances(points, k)
    return [_density(distance[p], lists[p], kd) for p in range(len(points))]


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return LOF of every row among the other rows."""
    lrd = _reference_densities(points, k)
    lists = in_sample_lists(points, k)
    return np.array([_factor(lrd[p], [lrd[o] for o in lists[p]]) for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return LOF of every query against the frozen reference."""
    distance = distances(queries, reference)
    kd = k_distances(reference, k)
    lrd = _reference_densities(reference, k)
    scores = []
    for q, neighbors in enumerate(new_lists(reference, queries, k)):
        own = _density(distance[q], neighbors, kd)
        scores.append(_factor(own, [lrd[o] for o in neighbors]))
    return np.array(scores)
