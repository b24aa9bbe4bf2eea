"""kNN and kNN-weight: how far away is the k-th neighbor, how far away are all k together?

    knn_k(p)  = kd_k(p), the distance of p to its k-th nearest neighbor
    knnw_k(p) = sum of d(p, o) over the k nearest neighbors o

Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets.
SIGMOD 2000.
Angiulli, Pizzuti: Outlier mining in large high-dimensional data sets. TKDE 17(2), 2005.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score


class KNN(Score):
    """Distance to the k-th neighbor."""

    name = "knn"
    title = "kNN"
    citation = "Ramaswamy, Rastogi, Shim, SIGMOD 2000"
    formula = "distance to the k-th neighbor"
    reads_radii = False

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the k-distances of a block."""
        return block.own_radii(ks)


class KNNWeight(Score):
    """Sum of the distances to the k nearest neighbors."""

    name = "knnw"
    title = "kNN-weight"
    citation = "Angiulli, Pizzuti, TKDE 2005"
    formula = "sum of the distances to the k nearest neighbors"
    reads_radii = False

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return prefix sums of the sorted distances."""
        sums = np.cumsum(block.distances[:, : ks[-1]], axis=1)
        return np.ascontiguousarray(sums[:, [k - 1 for k in ks]])
