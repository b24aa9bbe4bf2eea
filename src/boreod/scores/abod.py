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
from boreod.neighbors import Block, Ks
from boreod.scores.base import Described, Score, sum_in_lanes

EQUAL = 1e-12  # relative deviation up to which angles count as equal: they differ by rounding only


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
        return _angle_score(block.directions(ks[-1]), np.array(ks))


@compiled
def _angle_score(directions: NDArray, ks: NDArray) -> NDArray:
    m = directions.shape[0]
    result = unset((m, ks.shape[0]))
    inverse, product, weighted = unset(ks[-1]), unset(ks[-1]), unset(ks[-1])
    for row in range(m):
        size = _scale_to_longest(directions[row], inverse)
        weight, mean, squares, column = 0.0, 0.0, 0.0, 0
        weight_before, largest_before, largest = 0.0, 0.0, 0.0  # of single neighbors, of pairs
        for place in range(ks[-1]):
            own = inverse[place]
            if own > 0.0 and weight_before > 0.0:
                _multiply(directions[row], place, product)
                if weight == 0.0:  # the first pairs: v of the one of largest weight
                    nearest = 0
                    for other in range(1, place):
                        if inverse[other] > inverse[nearest]:
                            nearest = other
                    mean = product[nearest] * (inverse[nearest] * own) ** 2
                first, second = _deviate(
                    product[:place], inverse[:place], own, mean, weighted[:place]
                )
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
def _multiply(to: NDArray, place: int, product: NDArray) -> None:
    """Fill ``product`` with the inner products of one vector and those before it."""
    for other in range(place):
        product[other] = 0.0
    whole = to.shape[0] - to.shape[0] % 4
    for axis in range(0, whole, 4):  # four columns a pass: fewer loads and stores of `product`
        a, b, c, d = (
            to[axis, :place],
            to[axis + 1, :place],
            to[axis + 2, :place],
            to[axis + 3, :place],
        )
        p, q, r, s = to[axis, place], to[axis + 1, place], to[axis + 2, place], to[axis + 3, place]
        for other in range(place):
            product[other] += a[other] * p + b[other] * q + c[other] * r + d[other] * s
    for axis in range(whole, to.shape[0]):
        values, value = to[axis, :place], to[axis, place]
        for other in range(place):
            product[other] += values[other] * value


@inner
def _scale_to_longest(to: NDArray, inverse: NDArray) -> float:
    """Divide the vectors by the longest length, so that no power leaves the range of float64.

    Fills ``inverse`` with one over the new lengths, 0 for vectors without length.
    """
    k, largest = inverse.shape[0], 0.0
    for place in range(k):
        inverse[place] = 0.0
    for axis in range(to.shape[0]):
        for place in range(k):
            inverse[place] += to[axis, place] * to[axis, place]
    for place in range(k):
        largest = max(largest, inverse[place])
    longest = np.sqrt(largest)
    if longest == 0.0:
        return 1.0
    for axis in range(to.shape[0]):
        for place in range(k):
            to[axis, place] /= longest
    for place in range(k):
        if inverse[place] > 0.0:
            inverse[place] = longest / np.sqrt(inverse[place])
    return longest


@inner
def _deviate(
    product: NDArray, inverse: NDArray, own: float, mean: float, weighted: NDArray
) -> tuple[float, float]:
    """Return weighted sums of the new pairs' deviations from the mean so far, and their squares.

    Overwrites the products. Deviations from a mean that is nearly right do not cancel.
    """
    for other in range(product.shape[0]):
        w = inverse[other] * own
        deviation = product[other] * (w * w) - mean
        weighted[other] = w * deviation
        product[other] = weighted[other] * deviation
    return sum_in_lanes(weighted), sum_in_lanes(product)


@inner
def _log_variance(weight: float, squares: float, largest: float) -> float:
    """Return the logarithm of a variance; no v is larger than the largest weight."""
    if weight == 0.0 or not np.isfinite(squares):  # no pair, or beyond measure: deep inside
        return np.inf
    variance = squares / weight
    return np.log(variance) if variance > (EQUAL * largest) ** 2 else -np.inf
