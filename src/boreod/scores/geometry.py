"""COF, LDOF and FastABOD: distances or angles between the neighbors of a row.

COF: the length of the links in a chain that connects a row p with its neighbors. The chain starts
at p. Each step adds the neighbor that is nearest to any row of the chain. The distance from this
neighbor to the chain is a link; c_1 ... c_k are the links in the order of the steps. If several
neighbors are equally near, the first of them in the neighbor list is added.

    ac_k(p)  = sum of (k + 1 - i) c_i / (k (k + 1) / 2)
    cof_k(p) = ac_k(p) / mean of ac_k(o) over the k nearest neighbors o

LDOF: the distance of a row to its neighbors, relative to the distances among the neighbors. If all
neighbors coincide, the ratio is undefined and the score is 1.

    ldof_k(p) = mean of d(p, o) / mean of d(o, o') over pairs of the k nearest neighbors

FastABOD: the variance of the angles under which a row sees pairs of neighbors. An outlier sees all
its neighbors on one side, so the variance is small. A pair {b, c} of the k nearest neighbors stands
for the vectors b and c from p to the two neighbors. Neighbors that coincide with p count among the
k, but belong to no pair.

    v = <b, c> / (|b|^2 |c|^2),    w = 1 / (|b| |c|)
    abod_k(p) = - log of the w-weighted variance of v over all pairs

Tang, Chen, Fu, Cheung: Enhancing effectiveness of outlier detections for low density patterns.
PAKDD 2002.
Zhang, Hutter, Jin: A new local distance-based outlier detection approach for scattered real-world
data. PAKDD 2009.
Kriegel, Schubert, Zimek: Angle-based outlier detection in high-dimensional data. KDD 2008.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks, whole_vectors
from boreod.scores.base import EQUAL, Described, Score, mean_over_neighbors, sum_in_lanes

# Number of rows whose chains grow at the same time.
ROWS_TOGETHER = 3


class COF(Score):
    """Average chaining distance / mean average chaining distance of the neighbors."""

    name = "cof"
    title = "COF"
    citation = "Tang, Chen, Fu, Cheung, PAKDD 2002"
    formula = "average chaining distance / mean average chaining distance of the neighbors"
    reads = "geometry"

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return average chaining distances."""
        among = block.distances_among(ks[-1])
        return _chaining_distance(
            block.distances.view(np.int64), among.view(np.int64), np.array(ks)
        )

    @np.errstate(invalid="ignore", divide="ignore", over="ignore")
    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return own chaining distance / mean chaining distance of the neighbors."""
        own, reference = described[-1].own, described[-1].reference
        around = mean_over_neighbors(reference, block.indices, np.array(ks))
        return np.where((own == 0) & (around == 0), 1.0, own / around)


@compiled
def _chaining_distance(distances: NDArray, among: NDArray, ks: NDArray) -> NDArray:
    """Return average chaining distances.

    ``distances`` and ``among`` hold the bits of float64 distances as integers. These integers sort
    like the distances, and vector instructions can find their minima. Each step of a chain depends
    on the step before, so the chains of several rows grow at the same time.
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
            for lane in range(size):
                # Lists are sorted, so the first neighbor is the first link. The padding after
                # place k - 1 is negative, as if these places were in the chain already.
                for place in range(width):
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
    """Take one step of Prim's algorithm: update the links and return the next neighbor to add.

    ``distances`` holds the distances from the neighbor that was added last. The distance from this
    neighbor to itself is negative, so its link becomes negative and stays negative. As an unsigned
    integer, a negative link is larger than every nonnegative one, so it is never the shortest. If
    several links are equal, the first is taken.
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


class LDOF(Score):
    """Mean distance to the neighbors / mean distance among the neighbors."""

    name = "ldof"
    title = "LDOF"
    citation = "Zhang, Hutter, Jin, PAKDD 2009"
    formula = "mean distance to the neighbors / mean distance among them"
    reads = "geometry"
    min_k = 2

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the ratios; the sums over k neighbors continue the sums for smaller k."""
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


class FastABOD(Score):
    """Negated logarithm of the weighted variance of angles between pairs of neighbors."""

    name = "abod"
    title = "FastABOD"
    citation = "Kriegel, Schubert, Zimek, KDD 2008"
    formula = "- log weighted variance of angles to pairs of neighbors"
    reads = "geometry"
    min_k = 3

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the negated log variances; a variance of 0 gives infinity."""
        return _angle_score(block.points, block.reference, block.indices, np.array(ks))


@compiled
def _angle_score(points: NDArray, reference: NDArray, indices: NDArray, ks: NDArray) -> NDArray:
    m, d = points.shape
    result, width = unset((m, ks.shape[0])), whole_vectors(ks[-1])
    to, inverse, product, weighted = unset((d, width)), unset(width), unset(width), unset(width)
    for row in range(m):
        _turn_to_neighbors(points[row], reference, indices[row, : ks[-1]], to)
        size = _scale_to_longest(to, inverse)
        weight, mean, squares, column = 0.0, 0.0, 0.0, 0
        # `weight` is a sum over pairs, and `largest` a maximum over pairs. `weight_before` and
        # `largest_before` are a sum and a maximum over the neighbors before the current place.
        weight_before, largest_before, largest = 0.0, 0.0, 0.0
        for place in range(ks[-1]):
            own = inverse[place]
            if own > 0.0 and weight_before > 0.0:
                _multiply(to, place, product)
                # The first value of the mean is v of the pair with the largest weight.
                if weight == 0.0:
                    nearest = 0
                    for other in range(1, place):
                        if inverse[other] > inverse[nearest]:
                            nearest = other
                    mean = product[nearest] * (inverse[nearest] * own) ** 2
                first, second = _deviate(product, inverse, place, mean, weighted)
                weight += own * weight_before
                mean += first / weight
                squares += second - first * first / weight
                largest = max(largest, own * largest_before)
            weight_before += own
            largest_before = max(largest_before, own)
            if place + 1 == ks[column]:
                result[row, column] = 4.0 * np.log(size) - _log_variance(weight, squares, largest)
                column += 1
    return result


@inner
def _turn_to_neighbors(point: NDArray, reference: NDArray, neighbors: NDArray, to: NDArray) -> None:
    """Fill ``to`` with the vectors from a row to its neighbors: (columns, neighbors)."""
    d, width = to.shape
    for axis in range(d):
        for place in range(neighbors.shape[0], width):
            to[axis, place] = 0.0
    for place in range(neighbors.shape[0]):
        neighbor = reference[neighbors[place]]
        for axis in range(d):
            to[axis, place] = neighbor[axis] - point[axis]


@inner
def _scale_to_longest(to: NDArray, inverse: NDArray) -> float:
    """Divide all vectors by the largest length, and return this length.

    The division prevents overflow in powers of lengths. Fill ``inverse`` with 1 / new length, or
    with 0 for vectors of length 0.
    """
    d, width = to.shape
    for place in range(width):
        inverse[place] = 0.0
    for axis in range(d):
        for place in range(width):
            inverse[place] += to[axis, place] * to[axis, place]
    largest = 0.0
    for place in range(width):
        largest = max(largest, inverse[place])
    longest = np.sqrt(largest)
    if longest == 0.0:
        return 1.0
    for axis in range(d):
        for place in range(width):
            to[axis, place] /= longest
    for place in range(width):
        if inverse[place] > 0.0:
            inverse[place] = longest / np.sqrt(inverse[place])
    return longest


@inner
def _multiply(to: NDArray, place: int, product: NDArray) -> None:
    """Fill ``product`` with the inner products of one vector and the vectors before it.

    Loops run over whole vector registers, so a few values behind these products may change.
    """
    width = whole_vectors(place)
    for other in range(width):
        product[other] = 0.0
    whole = to.shape[0] - to.shape[0] % 4
    # Handling four columns at a time saves loads and stores of `product`.
    for axis in range(0, whole, 4):
        a, b, c, d = to[axis], to[axis + 1], to[axis + 2], to[axis + 3]
        p, q, r, s = a[place], b[place], c[place], d[place]
        for other in range(width):
            product[other] += a[other] * p + b[other] * q + c[other] * r + d[other] * s
    for axis in range(whole, to.shape[0]):
        values, value = to[axis], to[axis, place]
        for other in range(width):
            product[other] += values[other] * value


@inner
def _deviate(
    product: NDArray, inverse: NDArray, place: int, mean: float, weighted: NDArray
) -> tuple[float, float]:
    """Return the weighted sums of the new pairs' deviations from ``mean`` and of their squares.

    ``product`` is overwritten. Because ``mean`` is close to the true mean, the sums lose few digits
    to cancellation.
    """
    own = inverse[place]
    for other in range(whole_vectors(place)):
        w = inverse[other] * own
        deviation = product[other] * (w * w) - mean
        weighted[other] = w * deviation
        product[other] = weighted[other] * deviation
    return sum_in_lanes(weighted[:place]), sum_in_lanes(product[:place])


@inner
def _log_variance(weight: float, squares: float, largest: float) -> float:
    """Return the logarithm of a variance, or -inf if the variance may be a rounding error.

    ``largest`` is an upper bound of |v|, and rounding errors of v are proportional to it.
    """
    # A row without pairs, or with an overflow, counts as not outlying.
    if weight == 0.0 or not np.isfinite(squares):
        return np.inf
    variance = squares / weight
    return np.log(variance) if variance > (EQUAL * largest) ** 2 else -np.inf
