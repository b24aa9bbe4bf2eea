"""The float32 pass of the brute-force search: few candidates out of many rows.

In float32 a processor compares twice as many rows at once, but distances are rounded. The bound on
what rounding does: let the table be centered and u = 2^-24. Rounding moves a row x by at most
u |x|, and the length of a difference is computed to a relative error below (d + 4) u. For rows q
and x at distance D, |x| is at most |q| + D, so the float32 distance differs from D by at most
2 u |q| + (d + 5) u D = e + c D.

So if k rows have float32 distances up to f, the k-th distance is at most B = (f + e) / (1 - c), and
every row that near has a float32 distance of at most B / (1 - c) + e: the limit that is safe.

The table lies in cells of nearby rows; a cell whose box is too far away is not even looked at.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
from boreod.neighbors.cells import Cells, box_lengths
from boreod.neighbors.metrics import MANHATTAN, bring_first, distances_to_tile, length

TILE = 256  # rows of a cell, which meet the rows of a block together
NEAR = 4  # cells that give a first limit
UNIT = 2.0**-24  # relative rounding error of float32
UNDERFLOW = 1e-17  # of a float32 distance in a table scaled to 1
ROUNDED = 1.0 + 2.0**-20  # more than a few float32 operations lose


@compiled
def find_candidates(
    columns: NDArray,
    cells: Cells,
    center: NDArray,
    scale: float,
    growth: float,
    rows: NDArray,
    k: int,
    reach: NDArray,
    farthest: NDArray,
    metric: int,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Meet the table cell by cell: a cell is read from memory once for the whole block.

    The table is in float32, centered and divided by ``scale``, one column after the other, in cells
    of up to TILE rows. ``reach`` is what :func:`rough_reach` gives, and ``farthest`` the largest
    radius in every cell.

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
    m, n_cells, room, none = rows.shape[0], cuts.shape[0] - 1, 4 * k + 4 * TILE, ZERO
    rough, error = unset((m, rows.shape[1]), np.float32), unset(m)
    candidates, kept = unset((m, room), np.int32), unset((m, room), np.float32)
    count, bounds, complete = unset(m, np.int64), unset((m, n_cells)), unset(m, np.bool_)
    limit, complete_to = unset(m, np.float32), unset(m)
    tile, near, met = unset(TILE, np.float32), unset(NEAR, np.int64), unset((m, n_cells), np.bool_)
    for row in range(m):
        error[row] = _round_row(rows[row], center, scale, metric, rough[row])
        box_lengths(low, high, rows[row], metric, bounds[row])
        limit[row], count[row], complete[row], met[row] = np.inf, 0, True, False
        for place in range(_nearest_cells(bounds[row], near)):
            cell = near[place]
            start, stop = cuts[cell], cuts[cell + 1]
            distances_to_tile(columns, start, stop, rough[row], metric, tile)
            here = order[start:stop]
            count[row] = _keep_below(tile, here, limit[row], kept[row], candidates[row], count[row])
            met[row, cell] = True
        count[row], _, limit[row], complete_to[row] = _tighten(
            kept[row], candidates[row], count[row], none, k, error[row], growth, scale, metric
        )
    source, covering, found = unset(TILE, np.int32), unset(TILE, np.int32), none
    for cell in range(n_cells):
        start, stop = cuts[cell], cuts[cell + 1]
        here = order[start:stop]
        for row in range(m):
            wanted = bounds[row, cell] <= complete_to[row] and not met[row, cell]
            covers = bounds[row, cell] <= farthest[cell]
            if wanted or covers:
                distances_to_tile(columns, start, stop, rough[row], metric, tile)
            if wanted:
                if count[row] + TILE > room:
                    count[row], fits, limit[row], complete_to[row] = _tighten(
                        kept[row], candidates[row], count[row], none + TILE, k, error[row], growth,
                        scale, metric,
                    )  # fmt: skip
                    complete[row] &= fits
                count[row] = _keep_below(
                    tile, here, limit[row], kept[row], candidates[row], count[row]
                )
            if covers:
                source, covering = _with_room(source, found), _with_room(covering, found)
                found = _keep_covering(
                    tile, here, reach[start:stop], error[row], metric, row, source, covering, found
                )
    for row in range(m):
        count[row], _, limit[row], complete_to[row] = _tighten(
            kept[row], candidates[row], count[row], none, k, error[row], growth, scale, metric
        )
    return candidates, count, complete, complete_to, source[:found], covering[:found]


def rough_reach(radii: NDArray, scale: float, n_columns: int) -> NDArray:
    """Return what lengths around the rows of the table become in the float32 pass."""
    with np.errstate(over="ignore"):  # too far for float32 covers everything
        return (radii * (growth_of(n_columns) / scale)).astype(np.float32)


def growth_of(n_columns: int) -> float:
    """Return one over 1 - c."""
    return 1.0 / (1.0 - (n_columns + 5) * UNIT)


@inner
def _nearest_cells(bounds: NDArray, at: NDArray) -> int:
    """Find the few cells that are nearest to a row, each once; return how many."""
    size = min(at.shape[0], bounds.shape[0])
    for cell in range(bounds.shape[0]):
        place = min(cell, size - 1)
        if cell >= size and not bounds[cell] < bounds[at[place]]:
            continue
        while place > 0 and bounds[at[place - 1]] > bounds[cell]:
            at[place] = at[place - 1]
            place -= 1
        at[place] = cell
    return size


@inner
def _round_row(row: NDArray, center: NDArray, scale: float, metric: int, rough: NDArray) -> float:
    """Fill in the centered, scaled row in float32; return the part of the error it always has."""
    reduced = 0.0
    for column in range(row.shape[0]):
        value = (row[column] - center[column]) / scale
        rough[column] = value
        reduced += abs(value) if metric == MANHATTAN else value * value
    return 2.1 * UNIT * length(reduced, metric) + UNDERFLOW


@inner
def _tighten(
    kept: NDArray,
    candidates: NDArray,
    count: int,
    room: int,
    k: int,
    error: float,
    growth: float,
    scale: float,
    metric: int,
) -> tuple[int, bool, np.float32, float]:
    """Drop candidates that are too far, so that there is room for some more.

    Returns how many stay, whether these are all, the reduced limit for others, and the length up to
    which it misses none. Ties may leave no room: then the first ``k`` stay, which keep the limit.
    """
    if count < k:
        return count, True, np.float32(np.inf), np.inf
    bring_first(kept, candidates, k, count)
    safe = (length(np.float64(kept[k - 1]), metric) + error) * growth * growth + error
    limit = np.float32((safe if metric == MANHATTAN else safe * safe) * ROUNDED)
    complete_to = np.inf  # too far for float32: it excludes nothing
    if limit < np.inf:
        complete_to = (length(np.float64(limit), metric) - error) / growth * scale
    stay = k
    for place in range(k, count):
        if kept[place] <= limit:
            kept[stay], candidates[stay] = kept[place], candidates[place]
            stay += 1
    if stay + room > kept.shape[0]:
        return k, False, limit, complete_to
    return stay, True, limit, complete_to


@inner
def _keep_below(
    tile: NDArray,
    rows: NDArray,
    limit: np.float32,
    kept: NDArray,
    candidates: NDArray,
    count: int,
) -> int:
    """Note the rows of a cell up to the limit, for which there is room; return how many so far."""
    for place in range(rows.shape[0]):
        if tile[place] <= limit:
            kept[count], candidates[count] = tile[place], rows[place]
            count += 1
    return count


@inner
def _keep_covering(
    tile: NDArray,
    rows: NDArray,
    reach: NDArray,
    error: float,
    metric: int,
    row: int,
    source: NDArray,
    covering: NDArray,
    found: int,
) -> int:
    """Note the rows of a cell whose radius may cover the row; return how many so far."""
    for place in range(rows.shape[0]):
        bound = reach[place] + np.float32(error)
        if tile[place] <= (bound if metric == MANHATTAN else bound * bound):
            source[found], covering[found] = row, rows[place]
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
