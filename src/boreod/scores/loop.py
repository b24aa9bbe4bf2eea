"""LoOP: the probability that a row is less dense than its neighbors.

    pd_k(p)   = sqrt(mean of d(p, o)^2 over the k nearest neighbors o)
    plof_k(p) = max(0, pd_k(p) / mean of pd_k(o) - 1)
    Z_k       = extent * sqrt(mean of plof_k^2 over the reference rows)
    loop_k(p) = erf(plof_k(p) / (Z_k sqrt 2))

Kriegel, Kröger, Schubert, Zimek: LoOP: local outlier probabilities. CIKM 2009.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import inner
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, mean_over_neighbors
from boreod.scores.knn import sums_to


@dataclass(frozen=True)
class LoOP(Score):
    """Probability of being an outlier, from standard distances.

    Parameters
    ----------
    extent
        Number of standard deviations that count as normal, the paper's lambda.
    """

    name = "loop"
    title = "LoOP"
    citation = "Kriegel, Kröger, Schubert, Zimek, CIKM 2009"
    formula = "erf(max(0, standard distance / mean of the neighbors' - 1) / spread)"
    reads_radii = False

    extent: float = 1.0

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return standard distances."""
        return np.sqrt(sums_to(block.distances, np.array(ks), True) / np.array(ks))

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return how much the own standard distance exceeds the neighbors', 0 if it does not."""
        around = mean_over_neighbors(described[-1].reference, block.indices, np.array(ks))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            more = described[-1].own / around - 1.0
        return np.where((more > 0.0) & np.isfinite(more), more, 0.0)

    def summarize(self, scores: NDArray) -> NDArray:
        """Return the spread of the reference rows."""
        largest = np.maximum(scores.max(axis=0), np.finfo(np.float64).tiny)
        relative = scores / largest  # squares of these cannot overflow
        spread = self.extent * largest * np.sqrt((relative * relative).mean(axis=0))
        return np.where(scores.max(axis=0) == 0, 1.0, spread)[np.newaxis]

    def finish(self, scores: NDArray, summary: NDArray) -> NDArray:
        """Turn the excess into a probability."""
        with np.errstate(over="ignore"):  # infinity is certain
            return error_function()(scores / self.unit(summary))

    def unit(self, summary: NDArray) -> NDArray:
        """Return the excess whose probability is that of the error function at 1."""
        return summary[0] * np.sqrt(2.0)


@cache
def error_function() -> Any:
    """Return the error function; SciPy is imported when it is first needed."""
    from scipy.special import erf

    return erf


@inner
def excess(own: float, around: float) -> float:
    """Return how much a standard distance exceeds the mean of others; copies exceed nothing."""
    more = own / around - 1.0
    return more if more > 0.0 and np.isfinite(more) else 0.0
