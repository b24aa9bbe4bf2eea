"""Simplified LOF: LOF with plain distances in place of reachability distances.

    density_k(p) = 1 / mean of d(p, o) over the k nearest neighbors o
    slof_k(p)    = mean of density_k(o) over the neighbors / density_k(p)

Schubert, Zimek, Kriegel: Local outlier detection reconsidered. DMKD 28(1), 2014.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import Block, Ks
from boreod.scores.base import Described
from boreod.scores.knnw import KNNWeight
from boreod.scores.lof import LOF


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
