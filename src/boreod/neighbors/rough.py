"""The float32 pass of the brute-force search, which selects a few candidates from many rows.

The table is stored in cells of nearby rows (:mod:`boreod.neighbors.rounded`). Every row of a block
has a list of candidates, each with an upper bound on its reduced distance. The k-th smallest of
these upper bounds is a bound on the distance to the k-th neighbor. The search compares a row with
the cells one after the other:

- The nearest cells come first, because they give a good bound early.
- A cell is skipped if its box is farther away than the bound.
- Otherwise, the row *meets* the cell: the rows of the cell that may be nearer than the bound become
  candidates.
- When a list is full, candidates that exceed the bound are dropped.

If several rows of a block meet a cell, a matrix product gives their distances, unless the rounding
error of the product is too large. Otherwise, differences of values give the distances.

Python allocates the memory, because creating or slicing arrays in kernels takes long to compile.
"""

import threading
from typing import cast

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, float32_products, inner, unset
from boreod.neighbors.metrics import distances_to_tile, length
from boreod.neighbors.rounded import (
    EXTRA,
    FACTOR,
    ROUNDED,
    Rounded,
    error_of_differences,
    error_of_products,
    growth_of,
    place_row,
)
from boreod.neighbors.tree import Cells, box_lengths

# The largest total number of rows in the nearest cells, which give the first bound.
NEAR_ROWS = 1024
# From this number of rows on, a matrix product is faster than differences.
TOGETHER = 4
# The error of products may be at most this share of the k-th reduced distance.
NEGLIGIBLE = 0.02
# Products are not used for a row whose squared length is larger, because float32 would overflow.
TOO_FAR = 1e30
# MARK marks a cell that gives the first bound. NO_RADIUS marks a cell whose radii are not needed.
MARK = -1.0
NO_RADIUS = -2.0
# Number of results of comparisons, one byte each, that are read as one 64-bit number.
GROUP = 8
# A bound is found in a histogram with this many bins (steps) of 2**15 float32 numbers each.
STEPS = 1024
SHIFT = 15

# Columns of `known`, which has one line per row: the bound on the k-th reduced distance, the length
# up to which candidates are complete, the largest error so far, the error of the distances to the
# current cell, and the squared length of the row relative to the center of the current cell.
BOUND, COMPLETE_TO, MET_ERROR, ERROR, SQUARE = range(5)
# Columns of `counts`: the number of candidates, whether the candidates are complete, and the center
# to which the row is relative.
COUNT, COMPLETE, CENTER = range(3)

# Holds the memory of the last search for a single row, which the next such search reuses.
_LAST = threading.local()


def find_candidates(
    table: Rounded,
    cells: Cells,
    rows: NDArray,
    k: int,
    reach: tuple[NDArray, NDArray],
    metric: int,
    tile: int,
    with_products: bool,
) -> tuple[NDArray, NDArray, NDArray, NDArray, int]:
    """Compare a block of rows with the table cell by cell, so that each cell is read once.

    ``reach`` holds the result of :func:`rough_reach` and the largest radius in every cell.

    Return the candidates, ``counts``, ``known``, the pairs, and the number of pairs. Complete
    candidates include every reference row up to the length ``COMPLETE_TO``. A pair is a row and a
    reference row whose radius may cover the row.
    """
    m, d = rows.shape
    growth = growth_of(d)
    rough, farthest = reach
    work = _work_for(m, d, len(farthest), tile, 4 * k + NEAR_ROWS + tile)
    bounds, known, counts, candidates, progress = work[:5]
    pairs = unset((2, 2 * tile * m if len(rough) else 0), np.int32)

    def meet(last: int, with_products: bool, farthest: NDArray) -> None:
        nonlocal pairs
        while _meet_cells(
            table, cells, rows, k, growth, metric, rough, work, last, with_products, farthest, pairs
        ):
            pairs = np.concatenate([pairs, unset(pairs.shape, np.int32)], axis=1)

    progress[:] = (-1, 0)
    n_turns = len(farthest) + 1
    if with_products:
        meet(n_turns, True, farthest)
        spoiled = known[:, MET_ERROR] > NEGLIGIBLE * known[:, BOUND]
        if spoiled.any():
            # The error of products is too large for these rows, so they meet their marked cells
            # again, without products. Other rows skip the cells: comparisons with NaN are false.
            bounds[~spoiled[:, np.newaxis] & (bounds == MARK)] = np.nan
            known[spoiled, :3] = (np.inf, np.inf, 0.0)
            counts[spoiled, COUNT] = 0
            progress[0] = 0
            meet(n_turns, False, np.full_like(farthest, NO_RADIUS))
    meet(2 * n_turns, with_products, farthest)
    return candidates, counts, known, pairs, int(progress[1])


def _work_for(m: int, d: int, n_cells: int, tile: int, room: int) -> tuple[NDArray, ...]:
    """Return the memory for a search; a single row reuses the memory of the last single row."""
    shape = (m, d, n_cells, tile, room)
    if m == 1 and getattr(_LAST, "shape", None) == shape:
        return cast(tuple[NDArray, ...], _LAST.work)
    kept = unset((m, room), np.float32)
    groups = unset(tile // GROUP, np.uint64)
    steps = unset(STEPS, np.int32)
    work = (
        unset((m, n_cells)),  # bounds: distances of rows to the boxes of cells
        unset((m, 5)),  # known
        unset((m, 3), np.int64),  # counts
        unset((m, room), np.int32),  # candidates
        unset(2, np.int64),  # progress: the next turn, and the number of pairs
        kept,  # upper bounds on the reduced distances of candidates
        kept.view(np.int32),  # bits: the memory of `kept`, read as integers
        unset((m, d + EXTRA), np.float32),  # placed: rows relative to centers
        unset((m, d + EXTRA), np.float32),  # gathered: placed rows that meet a cell
        unset((m, tile), np.float32),  # tiles: reduced distances of these rows to the cell's rows
        unset(m, np.int64),  # chosen: the rows that meet a cell
        groups,  # results of comparisons, eight per number
        groups.view(np.uint8),  # below: the memory of `groups`, one result per byte
        steps,  # histogram of the upper bounds of candidates
        steps.view(np.float32),  # number: the memory of `steps`, read as float32
    )
    if m == 1:
        _LAST.shape = shape
        _LAST.work = work
    return work


@compiled
def _meet_cells(
    table: Rounded, cells: Cells, rows: NDArray, k: int, growth: float, metric: int,
    reach: NDArray, work: tuple[NDArray, ...], last: int, with_products: bool,
    farthest: NDArray, pairs: NDArray,
) -> bool:  # fmt: skip
    """Continue a search, which has two rounds of turns with one turn per cell.

    In the first round, rows meet only the cells that are marked for them; in the second round, they
    meet all other cells. After each round, a turn without a cell shortens the lists. The search
    stops before the turn ``last``. Return whether it stopped earlier because the space for pairs is
    too small.
    """
    # Unpack all arrays here, because functions get them one by one. A function that got a tuple
    # would count references of all its arrays in every turn, which takes a tenth of the time of a
    # search for a single row.
    (
        bounds, known, counts, candidates, progress, kept, bits, placed, gathered, tiles, chosen,
        groups, below, steps, number,
    ) = work  # fmt: skip
    values, centers, center_of, radii, extent = table
    order, cuts, _, _ = cells
    n_cells, n_found, tile = farthest.shape[0], progress[1], tiles.shape[1]
    if progress[0] < 0:
        _begin(cells, rows, metric, NEAR_ROWS // tile, bounds, known, counts, steps)
        progress[0] = 0
    turn = progress[0] - 1
    while True:
        turn, cell, size = _next_turn(
            turn + 1, last, with_products, bounds, known, farthest, chosen
        )
        if turn == last:
            break
        marked, at_end = turn <= n_cells, cell == n_cells
        needed = ZERO if at_end else tile
        if reach.shape[0] > 0 and n_found + size * needed > pairs.shape[1]:
            progress[0], progress[1] = turn, n_found
            return True
        _make_room(
            chosen, size, needed, k, growth, extent, metric, known, counts, candidates, kept, bits,
            steps, number,
        )  # fmt: skip
        if at_end:
            continue
        start, stop, radius = cuts[cell], cuts[cell + 1], radii[cell]
        use_products = _place_rows(
            centers, center_of[cell], radius, extent, rows, chosen, size, with_products, known,
            counts, placed,
        )  # fmt: skip
        plain_error = error_of_differences(radius, rows.shape[1], metric)
        _measure(
            values, start, stop, rows.shape[1], chosen, size, metric, use_products, plain_error,
            known, placed, gathered, tiles,
        )  # fmt: skip
        for place in range(size):
            row = chosen[place]
            if _is_near(bounds[row, cell], known[row, COMPLETE_TO], NO_RADIUS, marked):
                _note(
                    order, start, stop, row, place, growth, known, counts, tiles, groups, below,
                    kept, candidates,
                )  # fmt: skip
        if farthest[cell] >= 0.0:
            n_found = _cover(
                order, start, stop, cell, marked, chosen, size, bounds, farthest, reach, known,
                tiles, groups, below, pairs, n_found,
            )  # fmt: skip
    progress[0], progress[1] = last, n_found
    return False


@inner
def _begin(
    cells: Cells, rows: NDArray, metric: int, n_near: int, bounds: NDArray, known: NDArray,
    counts: NDArray, near: NDArray,
) -> None:  # fmt: skip
    """Fill in the distances to boxes, mark the nearest cells of every row, and clear all lists."""
    n_cells = bounds.shape[1]
    size = n_near if n_near < n_cells else n_cells
    for row in range(rows.shape[0]):
        box_lengths(cells, rows, row, metric, bounds, row)
        for cell in range(n_cells):
            place, bound = cell, bounds[row, cell]
            if cell >= size:
                place = size - 1
                if not bound < bounds[row, near[place]]:
                    continue
            while place > 0 and bounds[row, near[place - 1]] > bound:
                near[place] = near[place - 1]
                place -= 1
            near[place] = cell
        for place in range(size):
            bounds[row, near[place]] = MARK
        known[row, BOUND] = known[row, COMPLETE_TO] = np.inf
        known[row, MET_ERROR] = known[row, ERROR] = known[row, SQUARE] = 0.0
        counts[row, COUNT], counts[row, COMPLETE], counts[row, CENTER] = 0, 1, -1


@inner
def _is_near(bound: float, limit: float, other: float, marked: bool) -> bool:
    """Return whether a row meets a cell in this round: one of two limits must reach its box.

    ``marked`` says whether the round is for marked cells, whose ``bound`` is MARK.
    """
    return (bound < 0.0) == marked and (bound <= limit or bound <= other)


@inner
def _next_turn(
    turn: int, last: int, with_products: bool, bounds: NDArray, known: NDArray, farthest: NDArray,
    chosen: NDArray,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the next turn in which rows meet a cell. Return the turn, the cell and the row count.

    If nearly all rows would meet the cell, all rows meet it, because a product of all rows need not
    gather rows first. In a turn without a cell, all rows are chosen.
    """
    m, n_cells = bounds.shape[0], farthest.shape[0]
    while turn < last:
        marked = turn <= n_cells
        size = ZERO
        cell = turn if marked else turn - n_cells - 1
        if cell < n_cells:
            for row in range(m):
                bound = bounds[row, cell]
                if _is_near(bound, known[row, COMPLETE_TO], farthest[cell], marked):
                    chosen[size] = row
                    size += 1
            if 0 < size <= m - m // 4 or (size > 0 and not with_products):
                return turn, cell, size
        if cell == n_cells or size > 0:
            for row in range(m):
                chosen[row] = row
            return turn, cell, m
        turn += 1
    return turn, ZERO, ZERO


@inner
def _place_rows(
    centers: NDArray, center: int, radius: float, extent: float, rows: NDArray, chosen: NDArray,
    size: int, with_products: bool, known: NDArray, counts: NDArray, placed: NDArray,
) -> bool:  # fmt: skip
    """Place chosen rows relative to the center of a cell; return whether a product is worthwhile.

    Set the error E of each row whose distances may come from a product, and -1 for all other rows.
    """
    d, n_good = rows.shape[1], 0
    for place in range(size):
        row = chosen[place]
        if counts[row, CENTER] != center:
            known[row, SQUARE] = place_row(rows, row, centers, center, extent, placed)
            counts[row, CENTER] = center
        known[row, ERROR] = -1.0
        if with_products and known[row, SQUARE] < TOO_FAR:
            error = error_of_products(known[row, SQUARE], radius, d)
            if error <= NEGLIGIBLE * known[row, BOUND]:
                known[row, ERROR] = error
                n_good += 1
    return n_good >= TOGETHER


@inner
def _measure(
    values: NDArray, start: int, stop: int, d: int, chosen: NDArray, size: int, metric: int,
    use_products: bool, plain_error: float, known: NDArray, placed: NDArray, gathered: NDArray,
    tiles: NDArray,
) -> None:  # fmt: skip
    """Fill in the reduced distances of chosen rows to the rows of a cell, and the errors E."""
    if use_products:
        if size < placed.shape[0]:
            for place in range(size):
                for column in range(placed.shape[1]):
                    gathered[place, column] = placed[chosen[place], column]
        together = placed if size == placed.shape[0] else gathered[:size]
        float32_products(together, values, start, stop, FACTOR, tiles)
    for place in range(size):
        row = chosen[place]
        if not use_products or known[row, ERROR] < 0.0:
            known[row, ERROR] = plain_error
            distances_to_tile(values, start, stop, placed, row, d, metric, tiles, place)


@inner
def _note(
    order: NDArray, start: int, stop: int, row: int, place: int, growth: float, known: NDArray,
    counts: NDArray, tiles: NDArray, groups: NDArray, below: NDArray, kept: NDArray,
    candidates: NDArray,
) -> None:  # fmt: skip
    """Add the rows of a cell that may be within a row's bound to the candidates of the row.

    Results of comparisons are stored as one byte each, and then read eight at a time.
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
            if left & np.uint64(255):
                found = np.float64(tiles[place, column])
                kept[row, so_far] = (growth * (found if found > 0.0 else 0.0) + error) * ROUNDED
                candidates[row, so_far] = order[start + column]
                so_far += 1
            left, column = left >> np.uint64(8), column + 1
    counts[row, COUNT] = so_far


@inner
def _make_room(
    chosen: NDArray, size: int, needed: int, k: int, growth: float, extent: float, metric: int,
    known: NDArray, counts: NDArray, candidates: NDArray, kept: NDArray, bits: NDArray,
    steps: NDArray, number: NDArray,
) -> None:  # fmt: skip
    """Update bounds and shorten the lists of chosen rows that lack room for ``needed`` candidates.

    If ``needed`` is 0, all lists are shortened. Candidates that are too far are dropped. If ties
    still leave too little room, only ``k`` candidates that define the bound are kept.
    """
    for place in range(size):
        row = chosen[place]
        count, stay = counts[row, COUNT], ZERO
        if count < k or (needed > 0 and count + needed <= kept.shape[1]):
            continue
        bound = np.float64(_bound_on(row, k, count, bits, steps, number)) * ROUNDED
        known[row, BOUND], known[row, COMPLETE_TO] = bound, length(bound, metric) * extent
        farthest = (growth * growth * bound + 2.1 * growth * known[row, MET_ERROR]) * ROUNDED
        limit = np.float32(farthest)
        for entry in range(count):
            kept[row, stay], candidates[row, stay] = kept[row, entry], candidates[row, entry]
            stay += kept[row, entry] <= limit
        if stay + needed > kept.shape[1]:
            count, stay, counts[row, COMPLETE] = stay, ZERO, 0
            for entry in range(count):
                if kept[row, entry] <= bound and stay < k:
                    kept[row, stay] = kept[row, entry]
                    candidates[row, stay] = candidates[row, entry]
                    stay += 1
        counts[row, COUNT] = stay


@inner
def _bound_on(
    row: int, k: int, count: int, bits: NDArray, steps: NDArray, number: NDArray
) -> np.float32:
    """Return the k-th smallest value, or a number slightly above it.

    The bits of nonnegative float32 numbers, read as integers, sort like the numbers.
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
        # The k-th value may be below all steps; then move the steps down.
        highest = ((lowest + 1) << SHIFT) - 1
    step, so_far = 0, steps[0]
    while so_far < k:
        step += 1
        so_far += steps[step]
    end = ((lowest + step + 1) << SHIFT) - 1
    steps[0] = end if end < highest else highest
    return number[0]


@inner
def _cover(
    order: NDArray, start: int, stop: int, cell: int, marked: bool, chosen: NDArray, size: int,
    bounds: NDArray, farthest: NDArray, reach: NDArray, known: NDArray, tiles: NDArray,
    groups: NDArray, below: NDArray, pairs: NDArray, found: int,
) -> int:  # fmt: skip
    """Add pairs for the rows of a cell whose radii may cover chosen rows; return the pair count."""
    width, here = stop - start, reach[start:stop]
    n_groups = (width + GROUP - 1) // GROUP
    for place in range(size):
        row = chosen[place]
        if not _is_near(bounds[row, cell], farthest[cell], NO_RADIUS, marked):
            continue
        slack = np.float32(known[row, ERROR] * ROUNDED)
        groups[n_groups - 1] = 0
        for column in range(width):
            below[column] = tiles[place, column] <= here[column] + slack
        for group in range(n_groups):
            if groups[group] == 0:
                continue
            for column in range(GROUP * group, min(GROUP * (group + 1), width)):
                if below[column]:
                    pairs[0, found], pairs[1, found] = row, order[start + column]
                    found += 1
    return found
