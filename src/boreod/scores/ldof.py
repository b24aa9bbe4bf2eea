"""LDOF: is the row farther from its neighbors than they are from each other?

    ldof_k(p) = mean of d(p, o) / mean of d(o, o') over pairs of the k nearest neighbors

Undefined ratios (neighbors that coincide) are 1.

Zhang, Hutter, Jin: A new local distance-based outlier detection approach for scattered real-world
data. PAKDD 2009.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, sum_in_lanes


class LDOF(Score):
    """Mean distance to the neighbors over the mean distance among them."""

    name = "ldof"
    title = "LDOF"
    citation = "Zhang, Hutter, Jin, PAKDD 2009"
    formula = "mean distance to the neighbors / mean distance among them"
    reads = "geometry"
    reads_radii = False
    min_k = 2

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the ratio from prefix sums."""
        return _scatter_ratio(block.distances, block.distances_among(ks[-1]), np.array(ks))


@compiled
def _scatter_ratio(distances: NDArray, among: NDArray, ks: NDArray) -> NDArray:
    m = distances.shape[0]
    result = unset((m, ks.shape[0]))
    for row in range(m):
        to_neighbors, among_neighbors, column = 0.0, 0.0, 0
        for place in range(ks[-1]):
            to_neighbors += distances[row, place]
            among_neighbors += sum_in_lanes(among[row, place, :place])
            k = place + 1
            if k == ks[column]:
                ratio = (to_neighbors / k) / (among_neighbors / (0.5 * k * (k - 1)))
                result[row, column] = ratio if np.isfinite(ratio) else 1.0
                column += 1
    return result
