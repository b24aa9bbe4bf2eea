"""INFLO: is it less dense here than in the influence space, which looks both ways?

    IS_k(p)    = N_k(p) united with RNN_k(p)
    inflo_k(p) = kd_k(p) * mean of 1 / kd_k(o) over o in IS_k(p)

Nothing is pruned: the pruning of the original only sets inliers to 1.

Jin, Tung, Han, Wang: Ranking outliers using symmetric neighborhood relationship. PAKDD 2006.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score


class INFLO(Score):
    """Mean density of neighbors and reverse neighbors over the own one."""

    name = "inflo"
    title = "INFLO"
    citation = "Jin, Tung, Han, Wang, PAKDD 2006"
    formula = "mean density (1 / k-distance) of neighbors and reverse neighbors / own"
    reads = "reverse"
    descriptions = ()

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Compare the own k-distance with those of the influence space."""
        reverse = block.reverse
        return _influence(
            block.distances,
            block.indices,
            reverse.offsets,
            reverse.indices,
            reverse.distances,
            block.radii(ks),
            np.array(ks),
        )


@compiled
def _influence(
    distances: NDArray,
    indices: NDArray,
    offsets: NDArray,
    sources: NDArray,
    from_source: NDArray,
    radii: NDArray,
    ks: NDArray,
) -> NDArray:
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
                if distance < own[column]:
                    break  # among the neighbors of this and all larger k
                if distance > radii[source, column]:
                    continue  # not a reverse neighbor
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
    """Begin the sums of one row with its neighbors."""
    n_ks, first = ks.shape[0], 0  # the smallest k that has a neighbor in its list
    for column in range(n_ks):
        total[column], members[column] = 0.0, ks[column]
    for place in range(ks[n_ks - 1]):
        while ks[first] <= place:
            first += 1
        for column in range(first, n_ks):
            total[column] += 1.0 / radii[indices[place], column]


@inner
def _is_listed(distances: NDArray, indices: NDArray, distance: float, wanted: int) -> bool:
    """Look for a row in a list, at whose end or beyond it lies."""
    place = indices.shape[0] - 1
    while place >= 0 and distances[place] == distance:
        if indices[place] == wanted:
            return True
        place -= 1
    return False
