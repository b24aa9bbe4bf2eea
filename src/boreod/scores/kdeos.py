"""KDEOS: how many standard deviations is the density below that of the neighbors?

    h_k(p)     = s / k * sum of the distances to the k - 1 nearest neighbors
    dens_k(p)  = sum of h_k(o)^-D phi(d(p, o) / h_k(o)) over p itself and its reverse neighbors o
    z_k(p)     = (mean - dens_k(p)) / standard deviation, both of dens_k over p and its k neighbors
    kdeos_k(p) = Phi(z_k(p))

with s = scale (4 pi)^(-1/10), the canonical bandwidth of the Gaussian kernel, and D the intrinsic
dimension. A row with bandwidth 0 adds 1 to rows at distance 0. Densities are kept as logarithms.

Schubert, Zimek, Kriegel: Generalized outlier detection with flexible kernel density estimates.
SDM 2014.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import EQUAL, Described, Score

LARGEST_TERM = 650.0  # a few thousand terms of this size are still finite
NEGLIGIBLE = -60.0  # beside the row's own kernel, whose exponent is 0


@dataclass(frozen=True)
class KDEOS(Score):
    """Standardized difference of kernel densities, as a normal probability.

    Parameters
    ----------
    scale
        Factor of the bandwidths.
    dimension
        Intrinsic dimension of the data.
    """

    name = "kdeos"
    title = "KDEOS"
    citation = "Schubert, Zimek, Kriegel, SDM 2014"
    formula = "normal cdf of (mean - own) / sd of kernel densities over p and its neighbors"
    reads = "reverse"
    min_k = 3
    descriptions = ("bandwidth", "log_bandwidth", "log_kernel_density")

    scale: float = 0.5
    dimension: float = 2.0

    def bandwidth(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return kernel bandwidths, from all but the last neighbor."""
        sums = np.cumsum(block.distances[:, : ks[-1]], axis=1)
        sums = np.ascontiguousarray(sums[:, [k - 2 for k in ks]])
        return self.scale * (4.0 * np.pi) ** -0.1 * sums / np.array(ks)

    def log_bandwidth(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the bandwidths, which would else be taken again for every pair."""
        with np.errstate(divide="ignore"):
            return np.log(described[0].own)

    def log_kernel_density(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of kernel densities, up to the constant of the normal density."""
        reverse = block.reverse
        return _log_density(
            reverse.offsets,
            reverse.indices,
            reverse.distances,
            block.radii(ks),
            described[0].reference,
            described[1].own,
            described[1].reference,
            self.dimension,
        )

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the normal probability of the standardized difference."""
        own, reference = described[-1].own, described[-1].reference
        return _standardized(block.indices, own, reference, np.array(ks))


@compiled
def _log_density(
    offsets: NDArray,
    sources: NDArray,
    distances: NDArray,
    radii: NDArray,
    bandwidths: NDArray,
    own_logs: NDArray,
    logs: NDArray,
    dimension: float,
) -> NDArray:
    log_of_one = 0.5 * math.log(2.0 * math.pi)  # a contribution of 1, without the constant
    m, n_ks = own_logs.shape
    result, unit, total = unset((m, n_ks)), unset(n_ks), unset(n_ks)
    for row in range(m):
        for column in range(n_ks):
            # Terms are relative to the row's own kernel, which is then exactly 1.
            own_log = own_logs[row, column]
            unit[column] = -dimension * own_log if own_log > -np.inf else log_of_one
            total[column] = 1.0
        for entry in range(offsets[row], offsets[row + 1]):
            source, distance = sources[entry], distances[entry]
            column = n_ks - 1
            while column >= 0 and distance <= radii[source, column]:  # these ascend with k
                bandwidth, exponent = bandwidths[source, column], -np.inf
                if bandwidth > 0.0:
                    u = distance / bandwidth
                    exponent = -dimension * logs[source, column] - 0.5 * u * u - unit[column]
                elif distance == 0.0:
                    exponent = log_of_one - unit[column]
                if exponent > NEGLIGIBLE:
                    total[column] += math.exp(min(exponent, LARGEST_TERM))
                column -= 1
        for column in range(n_ks):
            result[row, column] = unit[column] + math.log(total[column])
    return result


@compiled
def _standardized(indices: NDArray, own: NDArray, reference: NDArray, ks: NDArray) -> NDArray:
    result = unset(own.shape)
    density = unset(ks[-1] + 1)
    for row in range(own.shape[0]):
        for column, k in enumerate(ks):
            highest = own[row, column]
            for place in range(k):
                highest = max(highest, reference[indices[row, place], column])
            density[k] = math.exp(own[row, column] - highest)
            mean = density[k]
            for place in range(k):
                density[place] = math.exp(reference[indices[row, place], column] - highest)
                mean += density[place]
            mean /= k + 1
            squares = 0.0
            for place in range(k + 1):
                squares += (density[place] - mean) ** 2
            deviation = math.sqrt(squares / k)
            z = 0.0 if deviation <= EQUAL * mean else (mean - density[k]) / deviation
            result[row, column] = 0.5 * math.erfc(-z / math.sqrt(2.0))
    return result
