"""Connectivity-based outlier factor.

Grow a set from {p}: k times, add the member of N_k(p) that is nearest to the set (among equally
near ones the first in the neighbor list). c_1, ..., c_k are the distances bridged, in that order.

    ac(p)  = sum of (k + 1 - i) c_i over i = 1..k, divided by k (k + 1) / 2
    COF(p) = k ac(p) / sum of ac(o) over o in N_k(p)

If the sum is 0, COF(p) is +inf when ac(p) > 0 and 1 otherwise. High values are outliers. For a
new row the chain runs over the row and its neighbors; the ac(o) are those of the reference alone.

J. Tang, Z. Chen, A. W.-C. Fu, D. W. Cheung: Enhancing effectiveness of outlier detections for low
density patterns. PAKDD 2002.
"""

import math

import numpy as np

from .neighborhoods import in_sample_lists, new_lists, squared_distances


def _chaining(own: np.ndarray, among: np.ndarray, neighbors: list[int]) -> float:
    """Return ac of one row from its squared distances and those among the reference rows."""
    k = len(neighbors)
    waiting = list(neighbors)
    nearest = {o: float(own[o]) for o in neighbors}  # squared distance to the grown set
    total = 0.0
    for i in range(1, k + 1):
        chosen = min(waiting, key=lambda o: nearest[o])  # min keeps the first of equals
        total += (k + 1 - i) * math.sqrt(nearest[chosen])
        waiting.remove(chosen)
        for o in waiting:
            nearest[o] = min(nearest[o], float(among[chosen, o]))
    return total / (k * (k + 1) / 2)


def _factor(own: float, of_neighbors: list[float]) -> float:
    """Return the row's own ac divided by the mean ac of its neighbors."""
    total = sum(of_neighbors)
    if total > 0:
        return len(of_neighbors) * own / total
    return math.inf if own > 0 else 1.0


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return COF of every row among the other rows."""
    among = squared_distances(points, points)
    lists = in_sample_lists(points, k)
    ac = [_chaining(among[p], among, lists[p]) for p in range(len(points))]
    return np.array([_factor(ac[p], [ac[o] for o in lists[p]]) for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return COF of every query against the frozen reference."""
    among = squared_distances(reference, reference)
    lists = in_sample_lists(reference, k)
    ac = [_chaining(among[p], among, lists[p]) for p in range(len(reference))]
    squared = squared_distances(queries, reference)
    scores = []
    for q, neighbors in enumerate(new_lists(reference, queries, k)):
        own = _chaining(squared[q], among, neighbors)
        scores.append(_factor(own, [ac[o] for o in neighbors]))
    return np.array(scores)
