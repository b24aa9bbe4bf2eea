"""The float32 pass of the brute-force search: few candidates out of many rows.

The table lies in cells of nearby rows (:mod:`boreod.neighbors.rounded`). A candidate is noted with
an upper bound on its reduced distance, and the k-th smallest of these bounds the k-th distance: a
cell whose box is farther away is not even looked at, and of the others only rows that may be nearer
are noted. The few nearest cells give a first bound.

Where several rows of a block meet a cell, their distances are products of matrices, unless the
error of these matters: then, and for few rows, they are sums of squared differences.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, float32_products, inner, unset
from boreod.neighbors.cells import Cells, box_lengths
from boreod.neighbors.metrics import MANHATTAN, bring_first, distances_to_tile, length
from boreod.neighbors.rounded import (
    EXTRA,
    FACTOR,
    Rounded,
    error_of_differences,
    error_of_products,
    growth_of,
    place_row,
)

TILE = 256  # rows of a cell, which meet the rows of a block together
GROUP = 8  # comparisons, a byte each, that are looked at as one number of 64 bits
BYTE, BITS = np.uint64(255), np.uint64(8)
SHIFT = 15  # bits of a float32 number that a bound leaves out: 256 steps for a power of two
STEPS = 1024  # among which a bound is chosen
NEAR = 4  # cells that give a first bound
TOGETHER = 4  # rows for which a product is faster
NEGLIGIBLE = 0.02  # share of the k-th reduced distance that the error of products may have
TOO_FAR = 1e30  # for products: squares that float32 cannot hold, as infinity less infinity is NaN
ROUNDED = 1.0 + 2.0**-20  # more than a few float32 operations lose

# Columns of what is known about every row of a block: the bound on its k-th distance, the length up
# to which its candidates are complete, the largest error met, and the error of distances to a cell.
BOUND, COMPLETE_TO, MET_ERROR, ERROR = range(4)


@compiled
def find_candidates(
    table: Rounded,
    cells: Cells,
    growth: float,
    rows: NDArray,
    k: int,
    reach: NDArray,
    farthest: NDArray,
    metric: int,
    with_products: bool,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Meet the table cell by cell: a cell is read from memory once for the whole block.

    ``reach`` is what :func:`rough_reach` gives, and ``farthest`` the largest radius in every cell.

    Returns
    -------
    candidates, count
        Indices of candidates of the nearest ``k``, and how many of them there are, for every row.
    complete
        Whether there was space for all candidates of a row.
    complete_to
        Length of difference up to which complete candidates hold every reference row. The k
        nearest are always within it.
    source, covering
        Rows and reference rows of which the one may lie within the radius of the other.
    """
    order, cuts, low, high = cells
    m, n_cells, room, extent = rows.shape[0], cuts.shape[0] - 1, 4 * k + 4 * TILE, table[3]
    kept, candidates = unset((m, room), np.float32), unset((m, room), np.int32)
    count, complete, known = unset(m, np.int64), unset(m, np.bool_), unset((m, 4))
    placed, tiles = unset((m, rows.shape[1] + EXTRA), np.float32), unset((m, TILE), np.float32)
    bounds, met = unset((m, n_cells)), unset((m, n_cells), np.bool_)
    wanted, covers, chosen = unset(m, np.bool_), unset(m, np.bool_), unset(m, np.int64)
    groups, complete_to = unset(TILE // GROUP, np.uint64), unset(m)
    below = groups.view(np.uint8)
    for row in range(m):
        box_lengths(low, high, rows[row], metric, bounds[row])
        _mark_nearest(bounds[row], met[row])
        known[row, BOUND] = known[row, COMPLETE_TO] = np.inf
        known[row, MET_ERROR] = known[row, ERROR] = 0.0
        count[row], complete[row], wanted[row] = 0, True, True
    lists, work = (kept, candidates, count, complete), (placed, tiles, chosen, below, groups)
    by_products = with_products
    while _meet_nearest(table, cells, rows, k, growth, metric, by_products, met, wanted, known,
                        lists, work):  # fmt: skip
        by_products = not with_products  # for a plain False, callees are compiled again
    source, covering, found = unset(TILE, np.int32), unset(TILE, np.int32), ZERO
    for cell in range(n_cells):
        size, start, stop = ZERO, cuts[cell], cuts[cell + 1]
        for row in range(m):
            wanted[row] = bounds[row, cell] <= known[row, COMPLETE_TO] and not met[row, cell]
            covers[row] = bounds[row, cell] <= farthest[cell]
            if wanted[row] or covers[row]:
                chosen[size] = row
                size += 1
        if size == 0:
            continue
        _measure(
            table[0], table[1], table[2], extent, cell, start, stop, rows, chosen, size, metric,
            with_products, known, placed, tiles,
        )  # fmt: skip
        _note(
            order, start, stop, chosen, size, wanted, k, growth, extent, metric, tiles, below,
            groups, kept, candidates, count, complete, known,
        )  # fmt: skip
        for place in range(size):
            row = chosen[place]
            if covers[row]:
                source, covering = _with_room(source, found), _with_room(covering, found)
                found = _keep_covering(
                    tiles[place], order[start:stop], reach[start:stop], known[row, ERROR], row,
                    source, covering, found,
                )  # fmt: skip
    for row in range(m):
        _tighten(row, ZERO, k, growth, extent, metric, kept, candidates, count, complete, known)
        complete_to[row] = known[row, COMPLETE_TO]
    return candidates, count, complete, complete_to, source[:found], covering[:found]


def rough_reach(radii: NDArray, extent: float, n_columns: int, metric: int) -> NDArray:
    """Return what lengths around the rows of the table become in the float32 pass."""
    with np.errstate(over="ignore"):  # too far for float32 covers everything
        reduced = radii / extent if metric == MANHATTAN else (radii / extent) ** 2
        return (reduced * (growth_of(n_columns) * ROUNDED)).astype(np.float32)


@inner
def _mark_nearest(bounds: NDArray, met: NDArray) -> None:
    """Mark the few cells that are nearest to a row."""
    at = unset(NEAR, np.int64)
    size = min(NEAR, bounds.shape[0])
    for cell in range(bounds.shape[0]):
        met[cell] = False
        place = min(cell, size - 1)
        if cell >= size and not bounds[cell] < bounds[at[place]]:
            continue
        while place > 0 and bounds[at[place - 1]] > bounds[cell]:
            at[place] = at[place - 1]
            place -= 1
        at[place] = cell
    for place in range(size):
        met[at[place]] = True


@inner
def _meet_nearest(
    table: Rounded,
    cells: Cells,
    rows: NDArray,
    k: int,
    growth: float,
    metric: int,
    by_products: bool,
    met: NDArray,
    wanted: NDArray,
    known: NDArray,
    lists: tuple[NDArray, NDArray, NDArray, NDArray],
    work: tuple[NDArray, NDArray, NDArray, NDArray, NDArray],
) -> bool:
    """Get first bounds of wanted rows from the marked cells; want those that products spoil again.

    Returns whether there are any.
    """
    order, cuts, _, _ = cells
    kept, candidates, count, complete = lists
    placed, tiles, chosen, below, groups = work
    for cell in range(met.shape[1]):
        size, start, stop = ZERO, cuts[cell], cuts[cell + 1]
        for row in range(rows.shape[0]):
            if met[row, cell] and wanted[row]:
                chosen[size] = row
                size += 1
        if size == 0:
            continue
        _measure(
            table[0], table[1], table[2], table[3], cell, start, stop, rows, chosen, size, metric,
            by_products, known, placed, tiles,
        )  # fmt: skip
        _note(
            order, start, stop, chosen, size, wanted, k, growth, table[3], metric, tiles, below,
            groups, kept, candidates, count, complete, known,
        )  # fmt: skip
    spoiled = False
    for row in range(rows.shape[0]):
        if not wanted[row]:
            continue
        _tighten(row, ZERO, k, growth, table[3], metric, kept, candidates, count, complete, known)
        wanted[row] = by_products and known[row, MET_ERROR] > NEGLIGIBLE * known[row, BOUND]
        if wanted[row]:
            count[row], known[row, BOUND], known[row, MET_ERROR] = 0, np.inf, 0.0
            spoiled = True
    return spoiled


@inner
def _measure(
    values: NDArray,
    centers: NDArray,
    radii: NDArray,
    extent: float,
    cell: int,
    start: int,
    stop: int,
    rows: NDArray,
    chosen: NDArray,
    size: int,
    metric: int,
    with_products: bool,
    known: NDArray,
    placed: NDArray,
    tiles: NDArray,
) -> None:
    """Fill in reduced distances of the chosen rows to those of a cell, and their errors E."""
    d, radius, n_good = rows.shape[1], radii[cell], 0
    plain_error = error_of_differences(radius, d, metric)
    for place in range(size):
        row = chosen[place]
        square = place_row(rows, row, centers, cell, extent, placed, place)
        known[row, ERROR] = -1.0
        if with_products and square < TOO_FAR:
            error = error_of_products(square, radius, d)
            if error <= NEGLIGIBLE * known[row, BOUND]:
                known[row, ERROR] = error
                n_good += 1
    use_products = n_good >= TOGETHER
    if use_products:
        float32_products(placed[:size], values, start, stop, FACTOR, tiles)
    for place in range(size):
        row = chosen[place]
        if not use_products or known[row, ERROR] < 0.0:
            known[row, ERROR] = plain_error
            distances_to_tile(values, start, stop, placed[place, :d], metric, tiles[place])


@inner
def _note(
    order: NDArray,
    start: int,
    stop: int,
    chosen: NDArray,
    size: int,
    wanted: NDArray,
    k: int,
    growth: float,
    extent: float,
    metric: int,
    tiles: NDArray,
    below: NDArray,
    groups: NDArray,
    kept: NDArray,
    candidates: NDArray,
    count: NDArray,
    complete: NDArray,
    known: NDArray,
) -> None:
    """Note the rows of a cell that may be nearer to chosen rows than the bounds on their k-th.

    Comparisons are noted first, a byte each, and then looked at eight by eight, in ``groups``.
    """
    width = stop - start
    n_groups = (width + GROUP - 1) // GROUP
    for place in range(width, GROUP * n_groups):
        below[place] = 0
    for number in range(size):
        row = chosen[number]
        if not wanted[row]:
            continue
        if count[row] + TILE > kept.shape[1]:
            room = ZERO + TILE
            _tighten(row, room, k, growth, extent, metric, kept, candidates, count, complete, known)
        error, so_far = known[row, ERROR], count[row]
        known[row, MET_ERROR] = max(known[row, MET_ERROR], error)
        limit = np.float32((growth * known[row, BOUND] + error) * ROUNDED)
        for place in range(width):
            below[place] = tiles[number, place] <= limit
        for group in range(n_groups):
            left, place = groups[group], GROUP * group
            while left != 0:
                if left & BYTE:
                    at_most = growth * max(np.float64(tiles[number, place]), 0.0) + error
                    kept[row, so_far] = at_most * ROUNDED
                    candidates[row, so_far] = order[start + place]
                    so_far += 1
                left, place = left >> BITS, place + 1
        count[row] = so_far


@inner
def _tighten(
    row: int,
    needed: int,
    k: int,
    growth: float,
    extent: float,
    metric: int,
    all_kept: NDArray,
    all_candidates: NDArray,
    count: NDArray,
    complete: NDArray,
    known: NDArray,
) -> None:
    """Drop candidates that are too far, so that there is room for some more.

    Ties may leave no room: then the first ``k`` stay, which keep the bound.
    """
    kept, candidates = all_kept[row], all_candidates[row]
    if count[row] < k:
        return
    bound = np.float64(_bound_on(kept, candidates, k, count[row])) * ROUNDED
    known[row, BOUND], known[row, COMPLETE_TO] = bound, length(bound, metric) * extent
    farthest = (growth * growth * bound + 2.1 * growth * known[row, MET_ERROR]) * ROUNDED
    limit, stay = np.float32(farthest), ZERO
    for place in range(count[row]):
        kept[stay], candidates[stay] = kept[place], candidates[place]
        stay += kept[place] <= limit
    if stay + needed > kept.shape[0]:
        bring_first(kept, candidates, k, stay)
        stay, complete[row] = k, False
    count[row] = stay


@inner
def _bound_on(kept: NDArray, candidates: NDArray, k: int, count: int) -> np.float32:
    """Return a number that at least ``k`` values do not exceed, little more than the k-th of them.

    The bits of float32 numbers, none of them negative, have the order of the numbers.
    """
    bits, counts = kept.view(np.int32), np.zeros(STEPS, np.int32)
    highest = bits[0]
    for place in range(count):
        highest = max(highest, bits[place])
    lowest = (highest >> SHIFT) - (STEPS - 1)
    for place in range(count):
        counts[max((bits[place] >> SHIFT) - lowest, 0)] += 1
    if counts[0] >= k:  # they are too different
        bring_first(kept, candidates, k, count)
        return kept[k - 1]
    step, so_far = 0, counts[0]
    while so_far < k:
        step += 1
        so_far += counts[step]
    counts[0] = min(((lowest + step + 1) << SHIFT) - 1, highest)
    return counts.view(np.float32)[0]


@inner
def _keep_covering(
    tile: NDArray,
    here: NDArray,
    reach: NDArray,
    error: float,
    row: int,
    source: NDArray,
    covering: NDArray,
    found: int,
) -> int:
    """Note the rows of a cell whose radius may cover the row; return how many so far."""
    slack = np.float32(error * ROUNDED)
    for place in range(here.shape[0]):
        if tile[place] <= reach[place] + slack:
            source[found], covering[found] = row, here[place]
            found += 1
    return found


@inner
def _with_room(values: NDArray, used: int) -> NDArray:
    """Return an array that begins with the used values and has room for another cell."""
    if used + TILE <= values.shape[0]:
        return values
    longer = unset(2 * values.shape[0] + TILE, np.int32)
    for place in range(used):
        longer[place] = values[place]
    return longer
