"""Kernel density estimation outlier score, for a single k and a Gaussian kernel.

With D the intrinsic dimension, s = scale * (1 / (4 pi))^(1/10) and phi, Phi the density and the
distribution function of the standard normal,

    h(p)    = s / k * sum of the k - 1 smallest distances from p to other rows
    dens(p) = sum of h(o)^(-D) phi(d(p, o) / h(o)) over o = p and o in RNN_k(p);
              a row o with h(o) = 0 contributes 1 if d(p, o) = 0 and nothing otherwise
    z(p)    = (mean - dens(p)) / sd, both over dens of p and of N_k(p), sd with divisor k
    KDEOS(p) = Phi(z(p))

z(p) = 0 where sd <= 1e-12 * mean. High values are outliers. A new row q receives densities from
itself and from the reference rows o with d(q, o) <= kd_k(o); the h(o), kd_k(o) and dens(o) are
those of the reference alone. Densities are kept as logarithms; z does not change if they all are
multiplied by a constant.

E. Schubert, A. Zimek, H.-P. Kriegel: Generalized outlier detection with flexible kernel density
estimates. SDM 2014.
"""

import math

import numpy as np

from .neighborhoods import (
    distances,
    in_sample_lists,
    in_sample_reverse_sets,
    log_of_sum,
    new_lists,
    new_reverse_sets,
)


def _width(own: np.ndarray, neighbors: list[int], scale: float) -> float:
    """Return h of one row from its distances to all reference rows and its neighbor list."""
    canonical = math.pow(1 / (4 * math.pi), 0.1)
    return scale * canonical * sum(float(own[o]) for o in neighbors[:-1]) / len(neighbors)


def _log_kernel(distance: float, width: float, dimension: float) -> float:
    """Return the logarithm of one contribution to a density."""
    if width == 0:
        return 0.0 if distance == 0 else -math.inf
    u = distance / width
    return -dimension * math.log(width) - u * u / 2 - math.log(2 * math.pi) / 2


def _score(log_own: float, of_neighbors: list[float]) -> float:
    """Return KDEOS from the log density of a row and those of its neighbors."""
    largest = max(log_own, *of_neighbors)
    own = math.exp(log_own - largest)
    values = [own] + [math.exp(value - largest) for value in of_neighbors]
    mean = sum(values) / len(values)
    sd = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    z = 0.0 if sd <= 1e-12 * mean else (mean - own) / sd
    return math.erfc(-z / math.sqrt(2)) / 2


def _reference(
    points: np.ndarray, k: int, scale: float, dimension: float
) -> tuple[list[float], list[float]]:
    """Return h and log dens of every row among the other rows."""
    distance = distances(points, points)
    lists = in_sample_lists(points, k)
    widths = [_width(distance[p], lists[p], scale) for p in range(len(points))]
    densities = []
    for p, reverse in enumerate(in_sample_reverse_sets(points, k)):
        givers = [p, *reverse]
        terms = [_log_kernel(float(distance[p, o]), widths[o], dimension) for o in givers]
        densities.append(log_of_sum(terms))
    return widths, densities


def in_sample(points: np.ndarray, k: int, scale: float = 0.5, dimension: float = 2) -> np.ndarray:
    """Return KDEOS of every row among the other rows."""
    _, density = _reference(points, k, scale, dimension)
    lists = in_sample_lists(points, k)
    return np.array(
        [_score(density[p], [density[o] for o in lists[p]]) for p in range(len(points))]
    )


def new_rows(
    reference: np.ndarray, queries: np.ndarray, k: int, scale: float = 0.5, dimension: float = 2
) -> np.ndarray:
    """Return KDEOS of every query against the frozen reference."""
    widths, density = _reference(reference, k, scale, dimension)
    distance = distances(queries, reference)
    lists = new_lists(reference, queries, k)
    reverse = new_reverse_sets(reference, queries, k)
    scores = []
    for q in range(len(queries)):
        terms = [_log_kernel(0.0, _width(distance[q], lists[q], scale), dimension)]
        terms += [_log_kernel(float(distance[q, o]), widths[o], dimension) for o in reverse[q]]
        scores.append(_score(log_of_sum(terms), [density[o] for o in lists[q]]))
    return np.array(scores)
