"""Outlier detection by in-degree number in the k-nearest-neighbor graph.

    score(p) = -|RNN_k(p)| / k,   RNN_k(p) = { o != p : d(p, o) <= kd_k(o) }

The published quantity is the in-degree, low for outliers; it is negated here so that high values
are outliers, and divided by k so that it averages -1 when there are no ties. A new row q has the
in-degree it would have if it were added: the number of reference rows o with d(q, o) <= kd_k(o).

V. Hautamaki, I. Karkkainen, P. Franti: Outlier detection using k-nearest neighbour graph.
ICPR 2004.
"""

import numpy as np

from .neighborhoods import in_sample_reverse_sets, new_reverse_sets


def in_sample(points: np.ndarray, k: int) -> np.ndarray:
    """Return the negated in-degree of every row, divided by k."""
    return np.array([-len(reverse) / k for reverse in in_sample_reverse_sets(points, k)])


def new_rows(reference: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Return the negated in-degree of every query, divided by k."""
    return np.array([-len(reverse) / k for reverse in new_reverse_sets(reference, queries, k)])
