"""LOF and SimplifiedLOF: is it less dense here than around the neighbors?

    reach_k(p, o) = max(d(p, o), kd_k(o)) in LOF, d(p, o) in SimplifiedLOF
    density_k(p)  = 1 / mean of reach_k(p, o) over the k nearest neighbors o
    lof_k(p)      = mean of density_k(o) over the neighbors / density_k(p)

A row in a clump of copies has infinite density and scores 1.

Breunig, Kriegel, Ng, Sander: LOF: identifying density-based local outliers. SIGMOD 2000.
Schubert, Zimek, Kriegel: Local outlier detection reconsidered. DMKD 28(1), 2014.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, mean_over_neighbors
from boreod.scores.knn import KNNWeight


class LOF(Score):
    """Mean reachability density of the neighbors over the own one."""

    name = "lof"
    title = "LOF"
    citation = "Breunig, Kriegel, Ng, Sander, SIGMOD 2000"
    formula = "mean reachability density of the neighbors / own"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return reachability densities."""
        return _reachability_density(block.distances, block.indices, block.radii(ks), np.array(ks))

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the mean density of the neighbors over the own density."""
        own, reference = described[-1].own, described[-1].reference
        around = mean_over_neighbors(reference, block.indices, np.array(ks))
        with np.errstate(all="ignore"):  # infinities are replaced later
            return np.where(np.isinf(own), 1.0, around / own)


class SimplifiedLOF(LOF):
    """Mean distance density of the neighbors over the own one."""

    name = "slof"
    title = "SimplifiedLOF"
    citation = "Schubert, Zimek, Kriegel, DMKD 2014"
    formula = "mean distance density of the neighbors / own"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return inverse mean distances."""
        with np.errstate(divide="ignore", over="ignore"):  # of copies, and of almost copies
            return np.array(ks) / KNNWeight().describe(block, ks, described)


@compiled
def _reachability_density(
    distances: NDArray, indices: NDArray, radii: NDArray, ks: NDArray
) -> NDArray:
    result = unset((distances.shape[0], ks.shape[0]))
    for row in range(distances.shape[0]):
        for column, k in enumerate(ks):
            total = 0.0
            for place in range(k):
                total += max(distances[row, place], radii[indices[row, place], column])
            result[row, column] = k / total
    return result
