"""kNN distance: how far away is the k-th neighbor?

    knn_k(p) = kd_k(p), the distance of p to its k-th nearest neighbor

Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets.
SIGMOD 2000.
"""

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
