"""ODIN: how many rows count this row among their k neighbors?

    odin_k(p) = - |RNN_k(p)| / k,    RNN_k(p) = { o : d(p, o) <= kd_k(o) }

The in-degree in the neighbor graph is low for outliers, so it is negated.

Hautamäki, Kärkkäinen, Fränti: Outlier detection using k-nearest neighbour graph. ICPR 2004.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score


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
def _count(offsets: NDArray, indices: NDArray, distances: NDArray, radii: NDArray) -> NDArray:
    m = offsets.shape[0] - 1
    counts = np.zeros((m, radii.shape[1]))
    for row in range(m):
        for entry in range(offsets[row], offsets[row + 1]):
            source = indices[entry]
            for column in range(radii.shape[1]):
                counts[row, column] += distances[entry] <= radii[source, column]
    return counts
