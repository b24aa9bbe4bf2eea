"""Local outlier probability.

    pd(p)   = sqrt(mean of d(p, o)^2 over o in N_k(p))
    plof(p) = max(0, pd(p) / mean of pd(o) over o in N_k(p) - 1);   0 if the mean is 0
    Z       = extent * sqrt(mean of plof(p)^2 over all rows);       1 if that is 0
    LoOP(p) = erf(plof(p) / (Z sqrt(2)))

extent is the lambda of the paper; plof is clipped at 0 before Z is formed. High values are
outliers. For a new row the pd(o) and Z are those of the reference alone.

H.-P. Kriegel, P. Kroger, E. Schubert, A. Zimek: LoOP: local outlier probabilities. CIKM 2009.
"""

import math

import numpy as np

from .neighborhoods import in_sample_lists, new_lists, squared_distances


def _spread(squared: np.ndarray, neighbors: list[int]) -> float:
    """Return pd of one row from its squared distances to all reference rows."""
    return math.sqrt(sum(float(squared[o]) for o in neighbors) / len(neighbors))


def _plof(own: float, of_neighbors: list[float]) -> float:
    """Return the clipped plof of one row."""
    total = sum(of_neighbors)
    return max(0.0, len(of_neighbors) * own / total - 1) if total > 0 else 0.0


def _reference(points: np.ndarray, k: int, extent: float) -> tuple[list[float], list[float], float]:
    """Return pd and plof of every row, and Z."""
    squared = squared_distances(points, points)
    lists = in_sample_lists(points, k)
    pd = [_spread(squared[p], lists[p]) for p in range(len(points))]
    plof = [_plof(pd[p], [pd[o] for o in lists[p]]) for p in range(len(points))]
    z = extent * math.sqrt(sum(value * value for value in plof) / len(points))
    return pd, plof, z if z > 0 else 1.0


def in_sample(points: np.ndarray, k: int, extent: float = 1.0) -> np.ndarray:
    """Return LoOP of every row among the other rows."""
    _, plof, z = _reference(points, k, extent)
    return np.array([math.erf(value / (z * math.sqrt(2))) for value in plof])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int, extent: float = 1.0) -> np.ndarray:
    """Return LoOP of every query against the frozen reference."""
    pd, _, z = _reference(reference, k, extent)
    squared = squared_distances(queries, reference)
    scores = []
    for q, neighbors in enumerate(new_lists(reference, queries, k)):
        value = _plof(_spread(squared[q], neighbors), [pd[o] for o in neighbors])
        scores.append(math.erf(value / (z * math.sqrt(2))))
    return np.array(scores)
