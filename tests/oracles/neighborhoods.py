"""Neighbor lists, k-distances and reverse neighbor sets by exhaustive search.

For rows x and y in d dimensions

    d2(x, y) = (x_1 - y_1)^2 + (x_2 - y_2)^2 + ... + (x_d - y_d)^2,   d(x, y) = sqrt(d2(x, y)),

the sum being accumulated in the order of the dimensions. Everything that is decided by
comparing distances (the order of a list, ties, membership in a reverse set) is decided by d2.

    N_k(p)   = the first k other rows, ordered by (d2, index): exactly k, ties cut by index
    kd_k(p)  = the distance from p to the last of them
    RNN_k(p) = { o != p : d(p, o) <= kd_k(o) }: every row whose k-distance reaches p, with ties

A new row q has its neighbors among the reference rows, and none of them is skipped. The
k-distance of a reference row is always taken among the other reference rows.
"""

import math

import numpy as np

Array = np.ndarray
Lists = list[list[int]]


def squared_distances(rows: Array, columns: Array) -> Array:
    """Return the matrix of d2 between every row of the first and every row of the second table."""
    total = np.zeros((len(rows), len(columns)))
    for dimension in range(rows.shape[1]):
        difference = rows[:, dimension][:, None] - columns[:, dimension][None, :]
        total = total + difference * difference
    return total


def distances(rows: Array, columns: Array) -> Array:
    """Return the matrix of Euclidean distances between the rows of two tables."""
    return np.asarray(np.sqrt(squared_distances(rows, columns)))


def in_sample_lists(points: Array, k: int) -> Lists:
    """Return N_k(p) for every row p: exactly k indices, never the row itself, nearest first."""
    if not 1 <= k <= len(points) - 1:
        raise ValueError("k must be at least 1 and less than the number of rows")
    lists = []
    for p, row in enumerate(squared_distances(points, points).tolist()):
        others = sorted((row[o], o) for o in range(len(points)) if o != p)
        lists.append([o for _, o in others[:k]])
    return lists


def new_lists(reference: Array, queries: Array, k: int) -> Lists:
    """Return N_k(q) for every query q: exactly k indices of reference rows, nearest first."""
    if not 1 <= k <= len(reference):
        raise ValueError("k must be at least 1 and at most the number of reference rows")
    lists = []
    for row in squared_distances(queries, reference).tolist():
        everyone = sorted((row[o], o) for o in range(len(reference)))
        lists.append([o for _, o in everyone[:k]])
    return lists


def squared_k_distances(points: Array, k: int) -> list[float]:
    """Return kd_k(p)^2 for every row p, the row itself not counted."""
    squared = squared_distances(points, points)
    lists = in_sample_lists(points, k)
    return [float(squared[p, lists[p][-1]]) for p in range(len(points))]


def k_distances(points: Array, k: int) -> list[float]:
    """Return kd_k(p) for every row p, the row itself not counted."""
    return [math.sqrt(value) for value in squared_k_distances(points, k)]


def in_sample_reverse_sets(points: Array, k: int) -> Lists:
    """Return RNN_k(p) for every row p, in the order of the indices."""
    squared = squared_distances(points, points).tolist()
    reach = squared_k_distances(points, k)
    n = len(points)
    return [[o for o in range(n) if o != p and squared[p][o] <= reach[o]] for p in range(n)]


def new_reverse_sets(reference: Array, queries: Array, k: int) -> Lists:
    """Return RNN_k(q) for every query q: indices of reference rows, in order."""
    squared = squared_distances(queries, reference).tolist()
    reach = squared_k_distances(reference, k)
    return [[o for o in range(len(reference)) if row[o] <= reach[o]] for row in squared]


def log_of_sum(logarithms: list[float]) -> float:
    """Return log(sum of exp(t)) over the given values t, which may be +inf or -inf."""
    largest = max(logarithms)
    if math.isinf(largest):
        return largest
    return largest + math.log(sum(math.exp(t - largest) for t in logarithms))
