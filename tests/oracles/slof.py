"""Simplified local outlier factor: LOF with the plain distance for the reachability distance.

    dens(p) = k / sum of d(p, o) over o in N_k(p);   +inf if that sum is 0
    SLOF(p) = mean of dens(o) over o in N_k(p), divided by dens(p)

SLOF(p) = 1 if dens(p) is infinite, and +inf if dens(p) is finite and some dens(o) is infinite.
High values are outliers. For a new row the dens(o) are those of the reference alone.

E. Schubert, A. Zimek, H.-P. Kriegel: Local outlier detection reconsidered: a generalized view on
locality with applications to spatial, video, and network outlier detection. Data Mining and
Knowledge Discovery 28(1), 2014.
"""

import math

import numpy as np

from .neighborhoods import distances, in_sample_lists, new_lists


def _density(distance: np.ndarray, neighbors: list[int]) -> float:
    """Return the density of one row from its distances to all reference rows."""
    total = sum(float(distance[o]) for o in neighbors)
    return len(neighbors) / total if total > 0 else math.inf


def _factor(own: float, neighbor_densities: list[float]) -> float:
    """Return the mean density of the neighbors divided by the row's own density."""
    if math.isinf(own):
        return 1.0
    return sum(neighbor_densities) / len(neighbor_densities) / own


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return SLOF of every row among the other rows."""
    distance = distances(points, points)
    lists = in_sample_lists(points, k)
    density = [_density(distance[p], lists[p]) for p in range(len(points))]
    return np.array(
        [_factor(density[p], [density[o] for o in lists[p]]) for p in range(len(points))]
    )


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return SLOF of every query against the frozen reference."""
    among = distances(reference, reference)
    lists = in_sample_lists(reference, k)
    density = [_density(among[p], lists[p]) for p in range(len(reference))]
    distance = distances(queries, reference)
    scores = []
    for q, neighbors in enumerate(new_lists(reference, queries, k)):
        own = _density(distance[q], neighbors)
        scores.append(_factor(own, [density[o] for o in neighbors]))
    return np.array(scores)
