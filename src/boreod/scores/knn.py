"""kNN, kNN-weight and ODIN: what the neighbor graph says without any comparison.

    knn_k(p)  = kd_k(p), the distance of p to its k-th nearest neighbor
    knnw_k(p) = sum of d(p, o) over the k nearest neighbors o
    odin_k(p) = - |RNN_k(p)| / k,    RNN_k(p) = { o : d(p, o) <= kd_k(o) }

The in-degree in the neighbor graph is low for outliers, so it is negated.

Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets.
SIGMOD 2000.
Angiulli, Pizzuti: Outlier mining in large high-dimensional data sets. TKDE 17(2), 2005.
Hautamäki, Kärkkäinen, Fränti: Outlier detection using k-nearest neighbour graph. ICPR 2004.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
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
        return sums_to(block.distances, np.array(ks), False)


class ODIN(Score):
    """Negated in-degree in the neighbor graph, divided by k."""

    name = "odin"
    title = "ODIN"
    citation = "Hautamäki, Kärkkäinen, Fränti, ICPR 2004"
    formula = "- number of rows that have p among their k neighbors / k"
    reads = "reverse"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Count reverse neighbors."""
        reverse = block.reverse
        counts = _count(reverse.offsets, reverse.indices, reverse.distances, block.radii(ks))
        return -counts / np.array(ks)


@compiled
def sums_to(distances: NDArray, ks: NDArray, squared: bool) -> NDArray:
    """Return the sums of the first k distances, or of their squares, for every k."""
    n_rows, n_ks = distances.shape[0], ks.shape[0]
    result = unset((n_rows, n_ks))
    for row in range(n_rows):
        fill_sums(distances, row, ks, ZERO, n_ks, squared, result)
    return result


@inner
def fill_sums(
    distances: NDArray, row: int, ks: NDArray, start: int, stop: int, squared: bool, sums: NDArray
) -> None:
    """Fill in the sums of one row for some of the ks, which ascend."""
    total, place = 0.0, 0
    for column in range(start, stop):
        while place < ks[column]:
            distance = distances[row, place]
            total += distance * distance if squared else distance
            place += 1
        sums[row, column] = total


@compiled
def _count(offsets: NDArray, indices: NDArray, distances: NDArray, radii: NDArray) -> NDArray:
    m = offsets.shape[0] - 1
    counts = unset((m, radii.shape[1]))
    for row in range(m):
        for column in range(radii.shape[1]):
            counts[row, column] = 0.0
        for entry in range(offsets[row], offsets[row + 1]):
            source = indices[entry]
            for column in range(radii.shape[1]):
                counts[row, column] += distances[entry] <= radii[source, column]
    return counts
