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

LARGEST_DISTANCE = 1e150  # distance in bandwidths whose square is still finite
IN_A_CLUMP = 1.0  # the score of a row among copies
LARGEST_EXPONENT = 709.782712893384  # of a finite exponential


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
        ratios = _compare(own, reference, block.indices, np.array(ks))
        self.bound(ratios)
        ratios[np.isnan(ratios)] = IN_A_CLUMP
        return ratios

    def bound(self, log_ratios: NDArray) -> None:
        """Put bounded ratios in the place of what :func:`log_ratio` returned, and leave NaN."""
        np.exp(log_ratios, log_ratios)
        log_ratios += self.smoothing
        np.reciprocal(log_ratios, log_ratios)


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
        for column in range(ks.shape[0]):
            result[row, column] = log_density(
                distances, indices, row, radii, log_radii, column, ks[column], dimension,
                bandwidth, terms,
            )  # fmt: skip
    return result


@inner
def log_density(
    distances: NDArray, indices: NDArray, row: int, radii: NDArray, log_radii: NDArray,
    column: int, k: int, dimension: float, bandwidth: float, terms: NDArray,
) -> float:  # fmt: skip
    """Return the logarithm of the kernel density of one row; ``terms`` has space for k of them."""
    for place in range(k):
        neighbor = indices[row, place]
        radius = radii[neighbor, column]
        if radius == 0.0:
            terms[place] = np.inf
            continue
        u = min(max(distances[row, place], radius) / (bandwidth * radius), LARGEST_DISTANCE)
        terms[place] = -0.5 * u * u - dimension * log_radii[neighbor, column]
    return _log_mean_exp(terms, k)


@compiled
def _compare(own: NDArray, reference: NDArray, indices: NDArray, ks: NDArray) -> NDArray:
    result, terms = unset(own.shape), unset(ks[-1])
    for row in range(own.shape[0]):
        for column in range(ks.shape[0]):
            neighbors = indices, row, ks[column]
            result[row, column] = log_ratio(own[row, column], reference, column, *neighbors, terms)
    return result


@inner
def log_ratio(
    own: float, reference: NDArray, column: int, indices: NDArray, row: int, k: int, terms: NDArray
) -> float:
    """Return the logarithm of the own density over the neighbors' mean; NaN in a clump of copies.

    What no exponential can hold is infinite.
    """
    for place in range(k):
        terms[place] = reference[indices[row, place], column]
    around = _log_mean_exp(terms, k)
    if around == np.inf:
        return np.nan
    return own - around if own - around <= LARGEST_EXPONENT else np.inf


@inner
def _log_mean_exp(terms: NDArray, k: int) -> float:
    """Return log(mean(exp(terms))) of the first ``k`` without leaving the range of float64."""
    highest = terms[0]
    for place in range(k):
        highest = max(highest, terms[place])
    if highest == np.inf:
        return np.inf
    total = 0.0
    for place in range(k):
        total += np.exp(terms[place] - highest)
    return highest + np.log(total / k)
