"""Lists of candidates for the nearest rows, one for every row of a block.

A candidate is noted with an upper bound on its reduced distance. The k-th smallest of these bounds
the k-th distance, so that candidates that are farther can be dropped when a list is full.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, inner
from boreod.neighbors.metrics import length

GROUP = 8  # comparisons, a byte each, that are looked at as one number of 64 bits
BYTE, BITS = np.uint64(255), np.uint64(8)
SHIFT = 15  # bits of a float32 number that a bound leaves out: 256 steps for a power of two
STEPS = 1024  # among which a bound is chosen
ROUNDED = 1.0 + 2.0**-20  # more than a few float32 operations lose

# Columns of what is known about every row of a block: the bound on its k-th distance, the length up
# to which its candidates are complete, the largest error met; for the cell that it meets the error
# of distances, and the square of its length around the center.
BOUND, COMPLETE_TO, MET_ERROR, ERROR, SQUARE = range(5)
# The same in whole numbers: how many candidates, whether these are all, around which center.
COUNT, COMPLETE, CENTER = range(3)


@inner
def note(
    order: NDArray, start: int, stop: int, row: int, place: int, growth: float,
    tiles: NDArray, below: NDArray, groups: NDArray, kept: NDArray,
    candidates: NDArray, counts: NDArray, known: NDArray,
) -> None:  # fmt: skip
    """Note the rows of a cell that may be nearer to a row than the bound on its k-th.

    Comparisons are noted first, a byte each, and then looked at eight by eight, in ``groups``.
    """
    width, error, so_far = stop - start, known[row, ERROR], counts[row, COUNT]
    n_groups = (width + GROUP - 1) // GROUP
    largest = known[row, MET_ERROR]
    known[row, MET_ERROR] = error if error > largest else largest
    limit = np.float32((growth * known[row, BOUND] + error) * ROUNDED)
    groups[n_groups - 1] = 0
    for column in range(width):
        below[column] = tiles[place, column] <= limit
    for group in range(n_groups):
        left, column = groups[group], GROUP * group
        while left != 0:
            if left & BYTE:
                found = np.float64(tiles[place, column])
                kept[row, so_far] = (growth * (found if found > 0.0 else 0.0) + error) * ROUNDED
                candidates[row, so_far] = order[start + column]
                so_far += 1
            left, column = left >> BITS, column + 1
    counts[row, COUNT] = so_far


@inner
def make_room(
    chosen: NDArray, size: int, needed: int, k: int, growth: float, extent: float, metric: int,
    kept: NDArray, bits: NDArray, candidates: NDArray, counts: NDArray,
    known: NDArray, steps: NDArray, number: NDArray,
) -> None:  # fmt: skip
    """Make lists of chosen rows short that lack the room needed; if none is, all of them."""
    for place in range(size):
        row = chosen[place]
        if needed == 0 or counts[row, COUNT] + needed > kept.shape[1]:
            _tighten(
                row, needed, k, growth, extent, metric, kept, bits, candidates, counts, known,
                steps, number,
            )  # fmt: skip


@inner
def _tighten(
    row: int, needed: int, k: int, growth: float, extent: float, metric: int,
    kept: NDArray, bits: NDArray, candidates: NDArray, counts: NDArray,
    known: NDArray, steps: NDArray, number: NDArray,
) -> None:  # fmt: skip
    """Drop candidates that are too far, so that there is room for some more.

    Ties may leave no room: then ``k`` stay that keep the bound.
    """
    count, stay = counts[row, COUNT], ZERO
    if count < k:
        return
    bound = np.float64(_bound_on(row, k, count, bits, steps, number)) * ROUNDED
    known[row, BOUND], known[row, COMPLETE_TO] = bound, length(bound, metric) * extent
    farthest = (growth * growth * bound + 2.1 * growth * known[row, MET_ERROR]) * ROUNDED
    limit = np.float32(farthest)
    for place in range(count):
        kept[row, stay], candidates[row, stay] = kept[row, place], candidates[row, place]
        stay += kept[row, place] <= limit
    if stay + needed > kept.shape[1]:
        count, stay, counts[row, COMPLETE] = stay, ZERO, 0
        for place in range(count):
            if kept[row, place] <= bound and stay < k:
                kept[row, stay], candidates[row, stay] = kept[row, place], candidates[row, place]
                stay += 1
    counts[row, COUNT] = stay


@inner
def _bound_on(
    row: int, k: int, count: int, bits: NDArray, steps: NDArray, number: NDArray
) -> np.float32:
    """Return a number that at least ``k`` values do not exceed, little more than the k-th of them.

    The bits of float32 numbers, none of them negative, have the order of the numbers. ``number``
    reads as such numbers what is written into ``steps``.
    """
    highest = ZERO
    for place in range(count):
        highest = bits[row, place] if bits[row, place] > highest else highest
    while True:
        lowest = (highest >> SHIFT) - (STEPS - 1)
        for step in range(STEPS):
            steps[step] = 0
        for place in range(count):
            if bits[row, place] <= highest:
                step = (bits[row, place] >> SHIFT) - lowest
                steps[step if step > 0 else 0] += 1
        if steps[0] < k:
            break
        highest = ((lowest + 1) << SHIFT) - 1  # the others are too different
    step, so_far = 0, steps[0]
    while so_far < k:
        step += 1
        so_far += steps[step]
    end = ((lowest + step + 1) << SHIFT) - 1
    steps[0] = end if end < highest else highest
    return number[0]
