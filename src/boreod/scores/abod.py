"""FastABOD: do the neighbors lie in many directions, or all on one side?

Over pairs {b, c} of the k nearest neighbors, with b and c meant relative to p:

    v = <b, c> / (|b|^2 |c|^2),    w = 1 / (|b| |c|)
    abod_k(p) = - log of the w-weighted variance of v

Neighbors that coincide with p keep their place in the list and are passed over.

Kriegel, Schubert, Zimek: Angle-based outlier detection in high-dimensional data. KDD 2008.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks, whole_vectors
from boreod.scores.base import EQUAL, Described, Score, sum_in_lanes


class FastABOD(Score):
    """Negated logarithm of the weighted variance of angles to pairs of neighbors."""

    name = "abod"
    title = "FastABOD"
    citation = "Kriegel, Schubert, Zimek, KDD 2008"
    formula = "- log weighted variance of angles to pairs of neighbors"
    reads = "geometry"
    reads_radii = False
    min_k = 3

    def describe(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the negated log variances; no variance at all is infinitely outlying."""
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
        weight_before, largest_before, largest = 0.0, 0.0, 0.0  # of single neighbors, of pairs
        for place in range(ks[-1]):
            own = inverse[place]
            if own > 0.0 and weight_before > 0.0:
                _multiply(to, place, product)
                if weight == 0.0:  # the first pairs: v of the one of largest weight
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
    """Fill ``to`` with the vectors from a row to its neighbors, one column after the other."""
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
    """Divide the vectors by the longest length, so that no power leaves the range of float64.

    Fills ``inverse`` with one over the new lengths, 0 for vectors without length.
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
    """Fill ``product`` with the inner products of one vector and those before it, or some more."""
    width = whole_vectors(place)
    for other in range(width):
        product[other] = 0.0
    whole = to.shape[0] - to.shape[0] % 4
    for axis in range(0, whole, 4):  # four columns a pass: fewer loads and stores of `product`
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
    """Return weighted sums of the new pairs' deviations from the mean so far, and their squares.

    Overwrites the products. Deviations from a mean that is nearly right do not cancel.
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
    """Return the logarithm of a variance; no v is larger than the largest weight."""
    if weight == 0.0 or not np.isfinite(squares):  # no pair, or beyond measure: deep inside
        return np.inf
    variance = squares / weight
    return np.log(variance) if variance > (EQUAL * largest) ** 2 else -np.inf
