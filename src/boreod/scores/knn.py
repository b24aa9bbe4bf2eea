"""kNN, kNN-weight, ODIN and INFLO: scores that are read directly from the neighbor graph.

    knn_k(p)   = kd_k(p), the distance of p to its k-th nearest neighbor
    knnw_k(p)  = sum of d(p, o) over the k nearest neighbors o
    odin_k(p)  = - |RNN_k(p)| / k,    RNN_k(p) = { o : d(p, o) <= kd_k(o) }
    inflo_k(p) = kd_k(p) * mean of 1 / kd_k(o) over N_k(p) united with RNN_k(p)

ODIN is the negated in-degree in the neighbor graph, because outliers have a low in-degree. The
paper of INFLO prunes rows that are surely inliers by setting their scores to 1. This module does
not prune.

Ramaswamy, Rastogi, Shim: Efficient algorithms for mining outliers from large data sets.
SIGMOD 2000.
Angiulli, Pizzuti: Outlier mining in large high-dimensional data sets. TKDE 17(2), 2005.
Hautamäki, Kärkkäinen, Fränti: Outlier detection using k-nearest neighbour graph. ICPR 2004.
Jin, Tung, Han, Wang: Ranking outliers using symmetric neighborhood relationship. PAKDD 2006.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks, Reverse
from boreod.scores.base import Described, Score


class KNN(Score):
    """Distance to the k-th neighbor."""

    name = "knn"
    title = "kNN"
    citation = "Ramaswamy, Rastogi, Shim, SIGMOD 2000"
    formula = "distance to the k-th neighbor"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the k-distances of a block."""
        return block.own_radii(ks)


class KNNWeight(Score):
    """Sum of the distances to the k nearest neighbors."""

    name = "knnw"
    title = "kNN-weight"
    citation = "Angiulli, Pizzuti, TKDE 2005"
    formula = "sum of the distances to the k nearest neighbors"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return prefix sums of the sorted distances."""
        return sums_to(block.distances, ks)


class ODIN(Score):
    """Negated in-degree in the neighbor graph, divided by k."""

    name = "odin"
    title = "ODIN"
    citation = "Hautamäki, Kärkkäinen, Fränti, ICPR 2004"
    formula = "- number of rows that have p among their k neighbors / k"
    reads = "reverse"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Count reverse neighbors."""
        return -_count(block.reverse, block.radii(ks)) / np.array(ks)


def sums_to(values: NDArray, ks: Ks) -> NDArray:
    """Return the sums of the first k values of every row, one column per k."""
    return np.cumsum(values[:, : ks[-1]], axis=1).take([k - 1 for k in ks], axis=1)


@inner
def fill_sums(
    distances: NDArray, row: int, ks: NDArray, start: int, stop: int, squared: bool, sums: NDArray
) -> None:
    """Fill columns ``start`` to ``stop`` of one row of ``sums``; their ks must ascend."""
    total, place = 0.0, 0
    for column in range(start, stop):
        while place < ks[column]:
            distance = distances[row, place]
            total += distance * distance if squared else distance
            place += 1
        sums[row, column] = total


@compiled
def _count(reverse: Reverse, radii: NDArray) -> NDArray:
    offsets, indices, distances = reverse
    m = offsets.shape[0] - 1
    counts = np.zeros((m, radii.shape[1]))
    for row in range(m):
        for entry in range(offsets[row], offsets[row + 1]):
            source = indices[entry]
            for column in range(radii.shape[1]):
                counts[row, column] += distances[entry] <= radii[source, column]
    return counts


class INFLO(Score):
    """Mean density of neighbors and reverse neighbors / own density."""

    name = "inflo"
    title = "INFLO"
    citation = "Jin, Tung, Han, Wang, PAKDD 2006"
    formula = "mean density (1 / k-distance) of neighbors and reverse neighbors / own"
    reads = "reverse"
    descriptions = ()

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Compare the k-distance of each row with those of its neighbors and reverse neighbors."""
        radii = block.radii(ks)
        return _influence(block.distances, block.indices, block.reverse, radii, np.array(ks))


@compiled
def _influence(
    distances: NDArray, indices: NDArray, reverse: Reverse, radii: NDArray, ks: NDArray
) -> NDArray:
    offsets, sources, from_source = reverse
    m, n_ks = distances.shape[0], ks.shape[0]
    total, members, own = unset((m, n_ks)), unset((m, n_ks)), unset(n_ks)
    for row in range(m):
        _add_neighbors(indices[row], radii, ks, total[row], members[row])
        for column in range(n_ks):
            own[column] = distances[row, ks[column] - 1]
        for entry in range(offsets[row], offsets[row + 1]):
            source, distance = sources[entry], from_source[entry]
            for column in range(n_ks):
                k = ks[column]
                # The source is already among the k nearest neighbors, for this and all larger k.
                if distance < own[column]:
                    break
                # The source is not a reverse neighbor.
                if distance > radii[source, column]:
                    continue
                if not _is_listed(distances[row, :k], indices[row, :k], distance, source):
                    total[row, column] += 1.0 / radii[source, column]
                    members[row, column] += 1.0
        for column in range(n_ks):
            mean = total[row, column] / members[row, column]
            total[row, column] = own[column] * mean if own[column] > 0.0 else 1.0
    return total


@inner
def _add_neighbors(
    indices: NDArray, radii: NDArray, ks: NDArray, total: NDArray, members: NDArray
) -> None:
    """Start the sums of one row with the terms of its neighbors."""
    n_ks = ks.shape[0]
    # The first column whose k is large enough to count the neighbor at the current place.
    first = 0
    for column in range(n_ks):
        total[column], members[column] = 0.0, ks[column]
    for place in range(ks[n_ks - 1]):
        while ks[first] <= place:
            first += 1
        for column in range(first, n_ks):
            total[column] += 1.0 / radii[indices[place], column]


@inner
def _is_listed(distances: NDArray, indices: NDArray, distance: float, wanted: int) -> bool:
    """Return whether a sorted list holds a row whose distance is not below the last in the list."""
    place = indices.shape[0] - 1
    while place >= 0 and distances[place] == distance:
        if indices[place] == wanted:
            return True
        place -= 1
    return False
