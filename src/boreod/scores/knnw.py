"""kNN weight: how far away are the k neighbors together?

    knnw_k(p) = sum of d(p, o) over the k nearest neighbors o

Angiulli, Pizzuti: Outlier mining in large high-dimensional data sets. TKDE 17(2), 2005.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score


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
