"""The float32 pass of the brute-force search: few candidates out of many rows.

The table lies in cells of nearby rows (:mod:`boreod.neighbors.rounded`). A candidate is noted with
an upper bound on its reduced distance, and the k-th smallest of these bounds the k-th distance: a
cell whose box is farther away is not even looked at, and of the others only rows that may be nearer
are noted. The few nearest cells give a first bound.

Where several rows of a block meet a cell, their distances are products of matrices, unless the
error of these matters: then, and for few rows, they are sums of squared differences.

Memory is set aside by Python, and parts of kernels are told numbers of rows instead of rows: arrays
that are made or cut out inside of kernels take long to compile.
"""

import threading
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, float32_products, inner, unset
from boreod.neighbors.candidates import (
    BOUND,
    CENTER,
    COMPLETE,
    COMPLETE_TO,
    COUNT,
    ERROR,
    GROUP,
    MET_ERROR,
    ROUNDED,
    SQUARE,
    STEPS,
    make_room,
    note,
)
from boreod.neighbors.cells import Cells, box_lengths
from boreod.neighbors.metrics import MANHATTAN, distances_to_tile
from boreod.neighbors.rounded import (
    EXTRA,
    FACTOR,
    Rounded,
    error_of_differences,
    error_of_products,
    growth_of,
    place_row,
)

TILE, WIDE_TILE = 256, 1024  # rows of a cell, which meet the rows of a block together
WIDE = 500  # columns from which larger cells are better, because none can be left out
NEAR_ROWS = 1024  # of the nearest cells, which give a first bound
TOGETHER = 4  # rows for which a product is faster
NEGLIGIBLE = 0.02  # share of the k-th reduced distance that the error of products may have
TOO_FAR = 1e30  # for products: squares that float32 cannot hold, as infinity less infinity is NaN
MARK = -1.0  # in the place of the distance to a cell that gives a first bound
NO_RADIUS = -2.0  # of a cell, less than any distance

NO_PAIRS = unset((2, 0), np.int32)
_LAST = threading.local()  # memory of the search for one row


def find_candidates(
    table: Rounded,
    cells: Cells,
    rows: NDArray,
    k: int,
    reach: NDArray,
    farthest: NDArray,
    metric: int,
    with_products: bool,
) -> tuple[NDArray, NDArray, NDArray, NDArray, int]:
    """Meet the table cell by cell: a cell is read from memory once for the whole block.

    ``reach`` is what :func:`rough_reach` gives, and ``farthest`` the largest radius in every cell.

    Returns
    -------
    candidates, counts
        Indices of candidates of the nearest ``k``, and for every row how many there are, and
        whether there was space for all.
    known
        In the column ``COMPLETE_TO``, the length of difference up to which complete candidates
        hold every reference row. The k nearest are always within it.
    pairs, n_pairs
        Rows and reference rows of which the one may lie within the radius of the other, and how
        many such pairs there are.
    """
    (m, d), n_cells, tile = rows.shape, len(farthest), rows_of_cells(rows.shape[1])
    work = _work_for(m, d, n_cells, tile, 4 * k + NEAR_ROWS + tile)
    bounds, known, counts, candidates, progress = work[:5]
    pairs = unset((2, 2 * tile * m), np.int32) if len(reach) else NO_PAIRS
    fixed: tuple[Any, ...] = (*table, *cells, rows, k, growth_of(d), metric, reach, *work)

    def meet(last: int, with_products: bool, farthest: NDArray) -> None:
        nonlocal pairs
        while _meet_cells(*(*fixed, last, with_products, farthest, pairs)):
            pairs = np.concatenate([pairs, unset(pairs.shape, np.int32)], axis=1)

    progress[0], progress[1] = -1, 0
    n_turns = n_cells + 1
    if with_products:
        meet(n_turns, True, farthest)
        spoiled = known[:, MET_ERROR] > NEGLIGIBLE * known[:, BOUND]
        if spoiled.any():
            bounds[~spoiled[:, np.newaxis] & (bounds == MARK)] = np.nan  # which no limit exceeds
            known[spoiled, :3], counts[spoiled, COUNT] = (np.inf, np.inf, 0.0), 0
            progress[0] = 0
            meet(n_turns, False, np.full(n_cells, NO_RADIUS))
    meet(2 * n_turns, with_products, farthest)
    return candidates, counts, known, pairs, int(progress[1])


def rows_of_cells(n_columns: int) -> int:
    """Return how many rows a cell may have."""
    return TILE if n_columns < WIDE else WIDE_TILE


def _work_for(m: int, d: int, n_cells: int, tile: int, room: int) -> tuple[NDArray, ...]:
    """Return memory for a search; a row alone takes that of the last one."""
    shape = (m, d, n_cells, tile, room)
    if m == 1 and getattr(_LAST, "shape", None) == shape:
        return cast(tuple[NDArray, ...], _LAST.work)
    kept, placed = unset((m, room), np.float32), unset((2, m, d + EXTRA), np.float32)
    groups, steps = unset(tile // GROUP, np.uint64), unset(STEPS, np.int32)
    work = (
        unset((m, n_cells)),
        unset((m, 5)),
        unset((m, 3), np.int64),
        unset((m, room), np.int32),
        unset(2, np.int64),
        *(kept, kept.view(np.int32), placed[0], placed[1], unset((m, tile), np.float32)),
        *(unset(m, np.int64), groups, groups.view(np.uint8), steps, steps.view(np.float32)),
    )
    if m == 1:
        _LAST.shape, _LAST.work = shape, work
    return work


def rough_reach(radii: NDArray, extent: float, n_columns: int, metric: int) -> NDArray:
    """Return what lengths around the rows of the table become in the float32 pass."""
    with np.errstate(over="ignore"):  # too far for float32 covers everything
        reduced = radii / extent if metric == MANHATTAN else (radii / extent) ** 2
        return (reduced * (growth_of(n_columns) * ROUNDED)).astype(np.float32)


@inner
def _begin(
    low: NDArray, high: NDArray, rows: NDArray, metric: int, n_near: int,
    bounds: NDArray, known: NDArray, counts: NDArray, near: NDArray,
) -> None:  # fmt: skip
    """Fill in the distances to boxes, mark the few nearest cells of every row, and begin lists."""
    n_cells = bounds.shape[1]
    size = n_near if n_near < n_cells else n_cells
    for row in range(rows.shape[0]):
        box_lengths(low, high, rows, row, metric, bounds, row)
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


@compiled
def _meet_cells(
    values: NDArray, centers: NDArray, center_of: NDArray, radii: NDArray,
    extent: float, order: NDArray, cuts: NDArray, low: NDArray, high: NDArray,
    rows: NDArray, k: int, growth: float, metric: int, reach: NDArray,
    bounds: NDArray, known: NDArray, counts: NDArray, candidates: NDArray,
    progress: NDArray, kept: NDArray, bits: NDArray, placed: NDArray,
    gathered: NDArray, tiles: NDArray, chosen: NDArray, groups: NDArray,
    below: NDArray, steps: NDArray, number: NDArray, last: int,
    with_products: bool, farthest: NDArray, pairs: NDArray,
) -> bool:  # fmt: skip
    """Go on with a search: a turn for every cell that is marked, then for every one that is not.

    After either a turn without a cell makes lists short. Stops before the turn ``last``; returns
    whether it stopped earlier, because there is not enough space for pairs.
    """
    n_cells, n_found, tile = cuts.shape[0] - 1, progress[1], tiles.shape[1]
    if progress[0] < 0:
        _begin(low, high, rows, metric, NEAR_ROWS // tile, bounds, known, counts, steps)
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
        make_room(
            chosen, size, needed, k, growth, extent, metric, kept, bits, candidates, counts, known,
            steps, number,
        )  # fmt: skip
        if at_end:
            continue
        start, stop = cuts[cell], cuts[cell + 1]
        _measure(
            values, centers, center_of[cell], radii[cell], extent, start, stop, rows, chosen, size,
            metric, with_products, known, counts, placed, gathered, tiles,
        )  # fmt: skip
        for place in range(size):
            row = chosen[place]
            if _is_near(bounds[row, cell], known[row, COMPLETE_TO], NO_RADIUS, marked):
                note(
                    order, start, stop, row, place, growth, tiles, below, groups, kept, candidates,
                    counts, known,
                )  # fmt: skip
        if farthest[cell] >= 0.0:
            n_found = _cover(
                cell, marked, order, start, stop, chosen, size, bounds, farthest, known, tiles,
                reach, below, groups, pairs, n_found,
            )  # fmt: skip
    progress[0], progress[1] = last, n_found
    return False


@inner
def _is_near(bound: float, limit: float, other: float, marked: bool) -> bool:
    """Tell whether a row is within one of two limits of a cell with, or without, a mark."""
    return (bound < 0.0) == marked and (bound <= limit or bound <= other)


@inner
def _next_turn(
    turn: int,
    last: int,
    with_products: bool,
    bounds: NDArray,
    known: NDArray,
    farthest: NDArray,
    chosen: NDArray,
) -> tuple[int, int, int]:
    """Go on to the next turn in which rows meet a cell; fill in which, return how many, too.

    If few do not, they come along, because products of all rows need not gather any. In a turn
    without a cell there are all.
    """
    m, n_cells = bounds.shape[0], farthest.shape[0]
    while turn < last:
        marked, size = turn <= n_cells, ZERO
        cell = turn if marked else turn - n_cells - 1  # a remainder would take longer
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
def _measure(
    values: NDArray, centers: NDArray, center: int, radius: float, extent: float,
    start: int, stop: int, rows: NDArray, chosen: NDArray, size: int, metric: int,
    with_products: bool, known: NDArray, counts: NDArray, placed: NDArray,
    gathered: NDArray, tiles: NDArray,
) -> None:  # fmt: skip
    """Fill in reduced distances of the chosen rows to those of a cell, and their errors E."""
    d, n_good = rows.shape[1], 0
    plain_error = error_of_differences(radius, d, metric)
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
    use_products = n_good >= TOGETHER
    if use_products:
        if size < placed.shape[0]:
            _gather(placed, chosen, size, gathered)
        together = placed if size == placed.shape[0] else gathered[:size]
        float32_products(together, values, start, stop, FACTOR, tiles)
    for place in range(size):
        row = chosen[place]
        if not use_products or known[row, ERROR] < 0.0:
            known[row, ERROR] = plain_error
            distances_to_tile(values, start, stop, placed, row, d, metric, tiles, place)


@inner
def _gather(placed: NDArray, chosen: NDArray, size: int, gathered: NDArray) -> None:
    for place in range(size):
        for column in range(placed.shape[1]):
            gathered[place, column] = placed[chosen[place], column]


@inner
def _cover(
    cell: int, marked: bool, order: NDArray, start: int, stop: int,
    chosen: NDArray, size: int, bounds: NDArray, farthest: NDArray,
    known: NDArray, tiles: NDArray, reach: NDArray, below: NDArray,
    groups: NDArray, pairs: NDArray, found: int,
) -> int:  # fmt: skip
    """Note the rows of a cell whose radii may cover chosen rows; return how many so far."""
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
