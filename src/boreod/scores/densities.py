"""LDF, KDEOS and LoOP: a density of the row, compared with the densities of its neighbors.

LDF is LOF with a kernel density, in which each neighbor has its own bandwidth.

    u(p, o)  = max(d(p, o), kd_k(o)) / (h kd_k(o))
    lde_k(p) = mean of exp(-u^2 / 2) / (sqrt(2 pi) (h kd_k(o))^d) over the k nearest neighbors o
    ldf_k(p) = m / (lde_k(p) + c m),    m = mean of lde_k(o) over the neighbors

KDEOS: how far the density of a row is below the mean density around it, in standard deviations.

    h_k(p)     = s / k * sum of the distances to the k - 1 nearest neighbors
    dens_k(p)  = sum of h_k(o)^-D phi(d(p, o) / h_k(o)) over p itself and its reverse neighbors o
    z_k(p)     = (mean - dens_k(p)) / sd,    mean and sd of dens_k over p and its k neighbors
    kdeos_k(p) = Phi(z_k(p))

Here s = scale (4 pi)^(-1/10), the canonical bandwidth of the Gaussian kernel, and D is the
intrinsic dimension. A row with bandwidth 0 adds 1 to the densities of rows at distance 0.

The densities of LDF and KDEOS are stored as logarithms, because kd^d can exceed the range of
float64 if there are many columns.

LoOP: the probability that a row is less dense than its neighbors.

    pd_k(p)   = sqrt(mean of d(p, o)^2 over the k nearest neighbors o)
    plof_k(p) = max(0, pd_k(p) / mean of pd_k(o) - 1)
    Z_k       = extent * sqrt(mean of plof_k^2 over the reference rows)
    loop_k(p) = erf(plof_k(p) / (Z_k sqrt 2))

Latecki, Lazarevic, Pokrajac: Outlier detection with kernel density functions. MLDM 2007.
Schubert, Zimek, Kriegel: Generalized outlier detection with flexible kernel density estimates.
SDM 2014.
Kriegel, Kröger, Schubert, Zimek: LoOP: local outlier probabilities. CIKM 2009.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks, Reverse
from boreod.scores.base import EQUAL, Described, Score, mean_over_neighbors
from boreod.scores.knn import sums_to

# Distances, in bandwidths, are cut to this value, so that their squares are finite.
LARGEST_DISTANCE = 1e150
# The score of a row if one of its neighbors has infinite density, because that neighbor has copies.
IN_A_CLUMP = 1.0
# The largest x for which exp(x) is finite.
LARGEST_EXPONENT = 709.782712893384


@dataclass(frozen=True)
class LDF(Score):
    """Mean kernel density of the neighbors / own kernel density, bounded by 1 / smoothing.

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
    formula = "m / (own kernel density + c m), m the neighbors' mean; bandwidth = 1, c = 0.1"
    descriptions = ("log_radius", "log_density")
    reads_radii = True

    bandwidth: float = 1.0
    smoothing: float = 0.1

    @np.errstate(divide="ignore")
    def log_radius(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the k-distances."""
        return np.log(block.own_radii(ks))

    def log_density(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the kernel densities, without a constant that cancels later."""
        return _log_density(
            block.distances, block.indices, block.radii(ks), described[0].reference, np.array(ks),
            float(block.dimension), self.bandwidth,
        )  # fmt: skip

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the bounded ratios of densities; a neighbor with many copies gives IN_A_CLUMP."""
        last = described[-1]
        ratios = _compare(last.own, last.reference, block.indices, np.array(ks))
        self.bound(ratios)
        ratios[np.isnan(ratios)] = IN_A_CLUMP
        return ratios

    def bound(self, log_ratios: NDArray) -> None:
        """Turn results of :func:`log_ratio` into bounded ratios, in place; NaN stays NaN."""
        np.exp(log_ratios, log_ratios)
        log_ratios += self.smoothing
        np.reciprocal(log_ratios, log_ratios)


@compiled
def _log_density(
    distances: NDArray, indices: NDArray, radii: NDArray, log_radii: NDArray, ks: NDArray,
    dimension: float, bandwidth: float,
) -> NDArray:  # fmt: skip
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
    """Return the logarithm of the kernel density of one row; ``terms`` is a buffer of length k."""
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
            result[row, column] = log_ratio(
                own[row, column], reference, column, indices, row, ks[column], terms
            )
    return result


@inner
def log_ratio(
    own: float, reference: NDArray, column: int, indices: NDArray, row: int, k: int, terms: NDArray
) -> float:
    """Return the logarithm of own density / mean density of the neighbors.

    The result is NaN if a neighbor has infinite density. It is infinite if the ratio itself would
    overflow.
    """
    for place in range(k):
        terms[place] = reference[indices[row, place], column]
    around = _log_mean_exp(terms, k)
    if around == np.inf:
        return np.nan
    return own - around if own - around <= LARGEST_EXPONENT else np.inf


@inner
def _log_mean_exp(terms: NDArray, k: int) -> float:
    """Return log(mean(exp(terms))) of the first ``k`` terms without overflow."""
    highest = terms[0]
    for place in range(k):
        highest = max(highest, terms[place])
    if highest == np.inf:
        return np.inf
    total = 0.0
    for place in range(k):
        total += np.exp(terms[place] - highest)
    return highest + np.log(total / k)


# Exponents are cut to this value, so that the sum of a few thousand terms is finite.
LARGEST_TERM = 650.0
# Terms with a smaller exponent are ignored, because they are negligible beside the row's own
# kernel, whose exponent is 0.
NEGLIGIBLE = -60.0


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
    formula = "normal cdf of (mean - own) / sd of the neighbors' kernel densities; dimension = 2"
    reads = "reverse"
    min_k = 3
    descriptions = ("bandwidth", "log_bandwidth", "log_kernel_density")

    scale: float = 0.5
    dimension: float = 2.0

    def bandwidth(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return kernel bandwidths, computed from the k - 1 nearest neighbors."""
        sums = sums_to(block.distances, tuple(k - 1 for k in ks))
        return self.scale * (4.0 * np.pi) ** -0.1 * sums / np.array(ks)

    @np.errstate(divide="ignore")
    def log_bandwidth(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of the bandwidths, so that they are not computed for every pair."""
        return np.log(described[0].own)

    def log_kernel_density(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return logarithms of kernel densities, without the constant of the normal density."""
        return _log_kernel_density(
            block.reverse, block.radii(ks), described[0].reference, described[1].own,
            described[1].reference, self.dimension,
        )  # fmt: skip

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the normal probability of the standardized difference."""
        last = described[-1]
        return _standardized(block.indices, last.own, last.reference, np.array(ks))


@compiled
def _log_kernel_density(
    reverse: Reverse, radii: NDArray, bandwidths: NDArray, own_logs: NDArray, logs: NDArray,
    dimension: float,
) -> NDArray:  # fmt: skip
    offsets, sources, distances = reverse
    # The logarithm of density 1, minus the constant that all logarithms of densities leave out.
    log_of_one = 0.5 * math.log(2.0 * math.pi)
    m, n_ks = own_logs.shape
    result, unit, total = unset((m, n_ks)), unset(n_ks), unset(n_ks)
    for row in range(m):
        for column in range(n_ks):
            # Terms are divided by the row's own kernel, so the row itself contributes exactly 1.
            own_log = own_logs[row, column]
            unit[column] = -dimension * own_log if own_log > -np.inf else log_of_one
            total[column] = 1.0
        for entry in range(offsets[row], offsets[row + 1]):
            source, distance = sources[entry], distances[entry]
            column = n_ks - 1
            # Radii ascend with k.
            while column >= 0 and distance <= radii[source, column]:
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


@dataclass(frozen=True)
class LoOP(Score):
    """Probability of being an outlier, from standard distances.

    Parameters
    ----------
    extent
        Number of standard deviations that count as normal, called lambda in the paper of LoOP.
    """

    name = "loop"
    title = "LoOP"
    citation = "Kriegel, Kröger, Schubert, Zimek, CIKM 2009"
    formula = "erf(max(0, standard distance / mean over the neighbors - 1) / spread); lambda = 1"

    extent: float = 1.0

    @np.errstate(over="ignore")
    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return standard distances."""
        return np.sqrt(sums_to(np.square(block.distances[:, : ks[-1]]), ks) / np.array(ks))

    @np.errstate(invalid="ignore", divide="ignore", over="ignore")
    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return own standard distance / mean over the neighbors - 1; negative results become 0."""
        around = mean_over_neighbors(described[-1].reference, block.indices, np.array(ks))
        more = described[-1].own / around - 1.0
        return np.where((more > 0.0) & np.isfinite(more), more, 0.0)

    def summarize(self, scores: NDArray) -> NDArray:
        """Return the spread Z_k of the reference rows."""
        largest = np.maximum(scores.max(axis=0), np.finfo(np.float64).tiny)
        # Quotients are at most 1, so their squares cannot overflow.
        relative = scores / largest
        spread = self.extent * largest * np.sqrt((relative * relative).mean(axis=0))
        return np.where(scores.max(axis=0) == 0, 1.0, spread)[np.newaxis]

    @np.errstate(over="ignore")
    def finish(self, scores: NDArray, summary: NDArray) -> NDArray:
        """Turn the results of :meth:`compare` into probabilities."""
        from scipy.special import erf

        # A quotient may overflow to infinity, whose error function is 1.
        probabilities: NDArray = erf(scores / self.unit(summary))
        return probabilities

    def unit(self, summary: NDArray) -> NDArray:
        """Return Z_k sqrt 2, the divisor inside the error function."""
        return summary[0] * np.sqrt(2.0)


@inner
def excess(own: float, around: float) -> float:
    """Return own / around - 1, or 0 if the result is negative or, as among copies, not finite."""
    more = own / around - 1.0
    return more if more > 0.0 and np.isfinite(more) else 0.0
