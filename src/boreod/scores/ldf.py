"""LDF: a kernel density in place of LOF's, each neighbor with a bandwidth of its own.

    u(p, o)  = max(d(p, o), kd_k(o)) / (h kd_k(o))
    lde_k(p) = mean of exp(-u^2 / 2) / (sqrt(2 pi) (h kd_k(o))^d) over the k nearest neighbors o
    ldf_k(p) = m / (lde_k(p) + c m),    m = mean of lde_k(o) over the neighbors

Densities are kept as logarithms, because kd^d leaves the range of float64 for many columns.

Latecki, Lazarevic, Pokrajac: Outlier detection with kernel density functions. MLDM 2007.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score

LARGEST = 1e150  # distance in bandwidths whose square is still finite


@dataclass(frozen=True)
class LDF(Score):
    """Mean kernel density of the neighbors over the own one, bounded by 1 / smoothing.

    Parameters
    ----------
    bandwidth
        Factor h of the kernel widths.
    smoothing
        Constant c that bounds the score.
    """

    name = "ldf"
    title = "LDF"
    citation = "Latecki, Lazarevic, Pokrajac, MLDM 2007"
    formula = "m / (own kernel density + c m), m the neighbors' mean density"
    descriptions = ("log_radius", "log_density")

    bandwidth: float = 1.0
    smoothing: float = 0.1

    def log_radius(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the k-distances."""
        with np.errstate(divide="ignore"):
            return np.log(block.own_radii(ks))

    def log_density(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the kernel densities, up to a constant that cancels."""
        return _log_density(
            block.distances,
            block.indices,
            block.radii(ks),
            described[0].reference,
            np.array(ks),
            float(block.dimension),
            self.bandwidth,
        )

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the bounded ratio of densities; a clump of copies has infinite density."""
        own, reference = described[-1].own, described[-1].reference
        around = _log_mean_density(reference, block.indices, np.array(ks))
        with np.errstate(invalid="ignore", over="ignore"):
            ratio = 1.0 / (np.exp(own - around) + self.smoothing)
        return np.where(around == np.inf, 1.0, ratio)


@compiled
def _log_density(
    distances: NDArray,
    indices: NDArray,
    radii: NDArray,
    log_radii: NDArray,
    ks: NDArray,
    dimension: float,
    bandwidth: float,
) -> NDArray:
    result = unset((distances.shape[0], ks.shape[0]))
    terms = unset(ks[-1])
    for row in range(distances.shape[0]):
        for column, k in enumerate(ks):
            for place in range(k):
                neighbor = indices[row, place]
                radius = radii[neighbor, column]
                if radius == 0.0:
                    terms[place] = np.inf
                    continue
                u = min(max(distances[row, place], radius) / (bandwidth * radius), LARGEST)
                terms[place] = -0.5 * u * u - dimension * log_radii[neighbor, column]
            result[row, column] = _log_mean_exp(terms[:k])
    return result


@compiled
def _log_mean_density(log_density: NDArray, indices: NDArray, ks: NDArray) -> NDArray:
    result = unset((indices.shape[0], ks.shape[0]))
    terms = unset(ks[-1])
    for row in range(indices.shape[0]):
        for column, k in enumerate(ks):
            for place in range(k):
                terms[place] = log_density[indices[row, place], column]
            result[row, column] = _log_mean_exp(terms[:k])
    return result


@inner
def _log_mean_exp(terms: NDArray) -> float:
    """Return log(mean(exp(terms))) without leaving the range of float64."""
    highest = terms[0]
    for term in terms:
        highest = max(highest, term)
    if highest == np.inf:
        return np.inf
    total = 0.0
    for term in terms:
        total += np.exp(term - highest)
    return highest + np.log(total / terms.shape[0])
