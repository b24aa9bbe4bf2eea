"""LOF and SimplifiedLOF: the density of a row's neighbors relative to the density of the row.

    reach_k(p, o) = max(d(p, o), kd_k(o)) in LOF, d(p, o) in SimplifiedLOF
    density_k(p)  = 1 / mean of reach_k(p, o) over the k nearest neighbors o
    lof_k(p)      = mean of density_k(o) over the neighbors / density_k(p)

A row whose neighbors are all copies of it has infinite density; its score is 1.

Breunig, Kriegel, Ng, Sander: LOF: identifying density-based local outliers. SIGMOD 2000.
Schubert, Zimek, Kriegel: Local outlier detection reconsidered. DMKD 28(1), 2014.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, mean_over_neighbors
from boreod.scores.knn import KNNWeight


class LOF(Score):
    """Mean reachability density of the neighbors / own reachability density."""

    name = "lof"
    title = "LOF"
    citation = "Breunig, Kriegel, Ng, Sander, SIGMOD 2000"
    formula = "mean reachability density of the neighbors / own"
    reads_radii = True

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return reachability densities."""
        return _reachability_density(block.distances, block.indices, block.radii(ks), np.array(ks))

    @np.errstate(invalid="ignore", divide="ignore", over="ignore")
    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the mean density of the neighbors / own density."""
        own = described[-1].own
        around = mean_over_neighbors(described[-1].reference, block.indices, np.array(ks))
        return np.where(np.isinf(own), 1.0, around / own)


class SimplifiedLOF(LOF):
    """LOF with densities that are 1 / mean distance to the neighbors."""

    name = "slof"
    title = "SimplifiedLOF"
    citation = "Schubert, Zimek, Kriegel, DMKD 2014"
    formula = "mean distance density of the neighbors / own"

    @np.errstate(divide="ignore", over="ignore")
    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return inverse mean distances."""
        # A sum of distances may be 0 or tiny.
        return np.array(ks) / KNNWeight().describe(block, ks, described)


@compiled
def _reachability_density(
    distances: NDArray, indices: NDArray, radii: NDArray, ks: NDArray
) -> NDArray:
    result = unset((distances.shape[0], ks.shape[0]))
    for row in range(distances.shape[0]):
        for column in range(ks.shape[0]):
            result[row, column] = reach_density(distances, indices, row, radii, column, ks[column])
    return result


@inner
def reach_density(
    distances: NDArray, indices: NDArray, row: int, radii: NDArray, column: int, k: int
) -> float:
    """Return the reachability density of one row for one k."""
    total = 0.0
    for place in range(k):
        total += max(distances[row, place], radii[indices[row, place], column])
    return k / total


@inner
def relative_density(own: float, around: float) -> float:
    """Return the score, which may be infinite, from the own density and the neighbors' mean."""
    return 1.0 if np.isinf(own) else around / own
