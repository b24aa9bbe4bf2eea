"""COF: how long is the chain that connects the neighbors, link by link?

Starting at p, always add the neighbor nearest to those added so far; c_1 ... c_k are the links.

    ac_k(p)  = sum of (k + 1 - i) c_i / (k (k + 1) / 2)
    cof_k(p) = ac_k(p) / mean of ac_k(o) over the k nearest neighbors o

Equal links are taken in the order of the neighbor list.

Tang, Chen, Fu, Cheung: Enhancing effectiveness of outlier detections for low density patterns.
PAKDD 2002.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, mean_over_neighbors


class COF(Score):
    """Average chaining distance over the mean of the neighbors'."""

    name = "cof"
    title = "COF"
    citation = "Tang, Chen, Fu, Cheung, PAKDD 2002"
    formula = "average chaining distance / mean of the neighbors'"
    reads = "geometry"
    reads_radii = False

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return average chaining distances."""
        return _chaining_distance(block.distances, block.distances_among(ks[-1]), np.array(ks))

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the own chaining distance over the mean of the neighbors'."""
        own, reference = described[-1].own, described[-1].reference
        around = mean_over_neighbors(reference, block.indices, np.array(ks))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where((own == 0) & (around == 0), 1.0, own / around)


@compiled
def _chaining_distance(distances: NDArray, among: NDArray, ks: NDArray) -> NDArray:
    m = distances.shape[0]
    result = unset((m, ks.shape[0]))
    link, outside = unset(ks[-1]), unset(ks[-1], np.int64)
    for row in range(m):
        for column, k in enumerate(ks):
            total = _chain(distances[row], among[row], k, link, outside)
            result[row, column] = total / (0.5 * k * (k + 1))
    return result


@inner
def _chain(distances: NDArray, among: NDArray, k: int, link: NDArray, outside: NDArray) -> float:
    """Run Prim's algorithm from the row over its first k neighbors; return the weighted links.

    Neighbors outside the chain keep their order, and with it the rule for equal links.
    """
    for place in range(k):
        link[place], outside[place] = distances[place], place
    total, nearest = 0.0, 0  # lists are sorted: the first neighbor is the first link
    for left in range(k, 0, -1):
        added = outside[nearest]
        total += left * link[nearest]
        for place in range(nearest, left - 1):
            link[place], outside[place] = link[place + 1], outside[place + 1]
        shortest = np.inf
        for place in range(left - 1):
            shorter = min(link[place], among[added, outside[place]])
            link[place] = shorter
            if shorter < shortest:
                shortest, nearest = shorter, place
    return total
