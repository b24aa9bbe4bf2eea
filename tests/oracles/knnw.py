"""Sum of the distances to the k nearest neighbors.

    score(p) = sum of d(p, o) over o in N_k(p)

A sum and not a mean. High values are outliers. A new row is scored with the sum of its k
smallest distances to the reference.

F. Angiulli, C. Pizzuti: Outlier mining in large high-dimensional data sets. IEEE Transactions
on Knowledge and Data Engineering 17(2), 2005.
"""

import numpy as np

from .neighborhoods import distances, in_sample_lists, new_lists


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every row among the other rows."""
    distance = distances(points, points)
    lists = in_sample_lists(points, k)
    return np.array([sum(distance[p, o] for o in lists[p]) for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every query against the reference rows."""
    distance = distances(queries, reference)
    lists = new_lists(reference, queries, k)
    return np.array([sum(distance[q, o] for o in lists[q]) for q in range(len(queries))])
