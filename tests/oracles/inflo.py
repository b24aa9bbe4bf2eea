"""Influenced outlierness.

    IS(p)    = N_k(p) united with RNN_k(p), every row once
    INFLO(p) = kd_k(p) * mean of 1 / kd_k(o) over o in IS(p)

INFLO(p) = 1 if kd_k(p) = 0; otherwise +inf if kd_k(o) = 0 for some o in IS(p). Nothing is pruned.
High values are outliers. For a new row q, kd_k(q) is its k-th smallest distance to the reference,
RNN_k(q) = { o : d(q, o) <= kd_k(o) }, and the kd_k(o) are those of the reference alone.

W. Jin, A. K. H. Tung, J. Han, W. Wang: Ranking outliers using symmetric neighborhood relationship.
PAKDD 2006.
"""

import math

import numpy as np

from .neighborhoods import (
    distances,
    in_sample_lists,
    in_sample_reverse_sets,
    k_distances,
    new_lists,
    new_reverse_sets,
)


def _influenced(own: float, of_space: list[float]) -> float:
    """Return INFLO from a row's own k-distance and those of its influence space."""
    if own == 0:
        return 1.0
    if min(of_space) == 0:
        return math.inf
    return own * sum(1 / value for value in of_space) / len(of_space)


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return INFLO of every row among the other rows."""
    kd = k_distances(points, k)
    lists = in_sample_lists(points, k)
    reverse = in_sample_reverse_sets(points, k)
    scores = []
    for p in range(len(points)):
        space = sorted(set(lists[p]) | set(reverse[p]))
        scores.append(_influenced(kd[p], [kd[o] for o in space]))
    return np.array(scores)


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return INFLO of every query against the frozen reference."""
    kd = k_distances(reference, k)
    distance = distances(queries, reference)
    lists = new_lists(reference, queries, k)
    reverse = new_reverse_sets(reference, queries, k)
    scores = []
    for q in range(len(queries)):
        own = float(distance[q, lists[q][-1]])
        space = sorted(set(lists[q]) | set(reverse[q]))
        scores.append(_influenced(own, [kd[o] for o in space]))
    return np.array(scores)
