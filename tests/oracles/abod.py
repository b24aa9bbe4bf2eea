"""Angle-based outlier detection among the k nearest neighbors (FastABOD), as minus a logarithm.

For a row a and its neighbors b, c, over all unordered pairs {b, c} of N_k(a),

    v(b, c) = <b - a, c - a> / (|b - a|^2 |c - a|^2),   w(b, c) = 1 / (|b - a| |c - a|)
    vbar    = sum of w v / sum of w
    ABOF(a) = sum of w (v - vbar)^2 / sum of w
    score(a) = -log ABOF(a)

The published ABOF is low for outliers; its logarithm is negated here so that high values are
outliers. Neighbors that coincide with a occupy places among the k but form no pairs. With fewer
than two others left ABOF is +inf and the score -inf. Where all v are equal (a single pair, for
instance) ABOF is 0 and the score +inf; equal up to rounding counts as equal, that is, a standard
deviation of at most 1e-12 times the largest |v|. A new row is scored with its neighbors in the
reference. Lengths are measured in units of the farthest neighbor, so that nothing over- or
underflows; ABOF in the original unit is ABOF in that unit divided by unit^4.

H.-P. Kriegel, M. Schubert, A. Zimek: Angle-based outlier detection in high-dimensional data.
KDD 2008.
"""

import math

import numpy as np

from .neighborhoods import in_sample_lists, new_lists, squared_distances


def _score(row: np.ndarray, squared: np.ndarray, others: np.ndarray, neighbors: list[int]) -> float:
    """Return the score of one row from its squared distances to the other rows."""
    usable = [o for o in neighbors if squared[o] > 0]
    if len(usable) < 2:
        return -math.inf
    unit = math.sqrt(max(float(squared[o]) for o in usable))
    arrow = {o: (others[o] - row) / unit for o in usable}
    length = {o: math.sqrt(float(squared[o])) / unit for o in usable}
    values = []
    weights = []
    for i, b in enumerate(usable):
        for c in usable[i + 1 :]:
            product = float(np.dot(arrow[b], arrow[c]))
            values.append(product / (length[b] ** 2 * length[c] ** 2))
            weights.append(1 / (length[b] * length[c]))
    pairs = list(zip(values, weights, strict=True))
    mean = sum(w * v for v, w in pairs) / sum(weights)
    variance = sum(w * (v - mean) ** 2 for v, w in pairs) / sum(weights)
    if math.sqrt(variance) <= 1e-12 * max(abs(v) for v in values):
        return math.inf
    return 4 * math.log(unit) - math.log(variance)


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every row among the other rows."""
    squared = squared_distances(points, points)
    lists = in_sample_lists(points, k)
    return np.array([_score(points[p], squared[p], points, lists[p]) for p in range(len(points))])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return the score of every query against the reference rows."""
    squared = squared_distances(queries, reference)
    lists = new_lists(reference, queries, k)
    return np.array(
        [_score(queries[q], squared[q], reference, lists[q]) for q in range(len(queries))]
    )
