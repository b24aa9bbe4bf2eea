"""Distance to the k-th nearest neighbor.

    score(p) = kd_k(p)

High values are outliers. A new row is scored with its k-th smallest distance to the reference.

S. Ramaswamy, R. Rastogi, K. Shim: Efficient algorithms for mining outliers from large data
sets. SIGMOD 2000.
"""

import numpy as np

from .neighborhoods import distances, in_sample_lists, new_lists


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every row among the other rows."""
    distance = distances(points, points)
    lists = in_sample_lists(points, k)
    return np.array([distance[p, lists[p][-1]] for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every query against the reference rows."""
    distance = distances(queries, reference)
    lists = new_lists(reference, queries, k)
    return np.array([distance[q, lists[q][-1]] for q in range(len(queries))])
