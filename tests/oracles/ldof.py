"""Local distance-based outlier factor.

    a(p)    = mean of d(p, o) over o in N_k(p)
    b(p)    = mean of d(o, o') over the unordered pairs of different members of N_k(p)
    LDOF(p) = a(p) / b(p);   1 if b(p) = 0 or if there is no pair (k = 1)

High values are outliers. A new row is compared with its neighbors in the reference.

K. Zhang, M. Hutter, H. Jin: A new local distance-based outlier detection approach for scattered
real-world data. PAKDD 2009.
"""

import numpy as np

from .neighborhoods import distances, in_sample_lists, new_lists


def _factor(own: list[float], among: list[list[float]], neighbors: list[int]) -> float:
    """Return LDOF of one row from its distances and those among the reference rows."""
    k = len(neighbors)
    to_neighbors = sum(own[o] for o in neighbors)
    between = 0.0
    pairs = 0
    for i in range(k):
        for j in range(i + 1, k):
            between += among[neighbors[i]][neighbors[j]]
            pairs += 1
    if between == 0:
        return 1.0
    return (to_neighbors / k) / (between / pairs)


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return LDOF of every row among the other rows."""
    among = distances(points, points).tolist()
    lists = in_sample_lists(points, k)
    return np.array([_factor(among[p], among, lists[p]) for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return LDOF of every query against the reference rows."""
    among = distances(reference, reference).tolist()
    own = distances(queries, reference).tolist()
    lists = new_lists(reference, queries, k)
    return np.array([_factor(own[q], among, lists[q]) for q in range(len(queries))])
