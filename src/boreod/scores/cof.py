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
from boreod.neighbors import Block, Ks, whole_vectors
from boreod.scores.base import Described, Score, mean_over_neighbors

ROWS_TOGETHER = 3  # rows side by side


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
        among = block.distances_among(ks[-1])
        bits = block.distances.view(np.int64), among.view(np.int64)
        return _chaining_distance(*bits, np.array(ks))

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the own chaining distance over the mean of the neighbors'."""
        own, reference = described[-1].own, described[-1].reference
        around = mean_over_neighbors(reference, block.indices, np.array(ks))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where((own == 0) & (around == 0), 1.0, own / around)


@compiled
def _chaining_distance(distances: NDArray, among: NDArray, ks: NDArray) -> NDArray:
    """Return average chaining distances; other distances come as the integers of their bits.

    Integers are in the order of the distances, and their minima are found by vectors at a time.
    Some rows go side by side, because each step of one must wait for the step before.
    """
    m = distances.shape[0]
    result = unset((m, ks.shape[0]))
    links = unset((ROWS_TOGETHER, among.shape[2]), np.int64)
    lengths = links.view(np.float64)
    nearest, total = unset(ROWS_TOGETHER, np.int64), unset(ROWS_TOGETHER)
    for start in range(0, m, ROWS_TOGETHER):
        size = min(ROWS_TOGETHER, m - start)
        for column in range(ks.shape[0]):
            k = ks[column]
            width = whole_vectors(k)
            for lane in range(size):  # lists are sorted: the first neighbor is the first link
                for place in range(width):  # what is no neighbor counts as in the chain
                    links[lane, place] = distances[start + lane, place] if place < k else -1
                nearest[lane], total[lane] = 0, 0.0
            for left in range(k, 0, -1):
                for lane in range(size):
                    last = nearest[lane]
                    total[lane] += left * lengths[lane, last]
                    nearest[lane] = _add(among[start + lane, last], links[lane, :width])
            for lane in range(size):
                result[start + lane, column] = total[lane] / (0.5 * k * (k + 1))
    return result


@inner
def _add(distances: NDArray, links: NDArray) -> int:
    """Take one step of Prim's algorithm: add a neighbor and return the next, the first if equal.

    The added one has a negative distance to itself, and so a negative link: less than every
    other, but the largest of all as an unsigned integer.
    """
    width, shortest = links.shape[0], np.uint64(2**64 - 1)
    for place in range(width):
        link = min(links[place], distances[place])
        links[place] = link
        shortest = min(shortest, np.uint64(link))
    nearest, wanted = width, np.int64(shortest)
    for place in range(width):
        nearest = min(nearest, place if links[place] == wanted else width)
    return nearest
