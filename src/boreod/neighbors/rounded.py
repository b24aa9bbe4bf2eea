"""A table rounded to float32, cell by cell, and what rounding does to distances.

Every cell has a center of its own. Its rows are differences from it, divided by the extent of the
table: small numbers where neighbors are near, wherever the table lies. Let u = 2^-24, x be a row
of a cell and q another one as they stand there, r the largest |x| of the cell, and D the distance
of the two. Rounding both moves them by u |x| and u |q|. The reduced distance F (the square for
``euclidean``) is computed in one of two ways, and both give

    F <= g D + E   and   D <= g F + E   (D and F reduced),

with g = (1 - c)^-4 and c = (d + 5) u. They differ in E.

*Differences.* |q| is at most r + D, so rounding changes the length of q - x by at most
2 u r + u D; computing it changes it by less than (d + 4) u D. With e = 2 u r the float32 length is
at most (1 + c) D + e, and (a + e)^2 <= (1 + c) a^2 + (1 + 1 / c) e^2 gives E = (1 + 1 / c) e^2.

*Products.* |q|^2 + |x|^2 - 2 q.x is one row of a matrix product with d + 2 terms, whose sizes add
up to at most S^2, S = |q| + r. In any order of addition the sum is known to (d + 2) u S^2, the two
squares in it to u S^2, and rounding the rows changes the length by u S, its square by a relative u
and u S^2. So E = (d + 8) u S^2. This is ten times faster where many rows meet a cell, and good as
long as E is small against the distance of the k nearest.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import inner, unset
from boreod.neighbors.cells import Cells
from boreod.neighbors.metrics import MANHATTAN

UNIT = 2.0**-24  # relative rounding error of float32
UNDERFLOW = 1e-17  # of a float32 distance in a table of extent 1
MIN_EXTENT = 1e-140  # of a table
EXTRA = 2  # columns of a product besides those of the table: the squares
FACTOR = np.full(1, -2.0, np.float32)  # of products

ONE_PLACE = 1.25  # how many times as large as the box of each of its cells that of a group may be
AT_ONCE = 2**20  # values that are copied at a time

# columns, cell by cell, and two more for products; centers, which of them is that of every cell,
# the radii of cells around it; extent
Rounded = tuple[NDArray, NDArray, NDArray, NDArray, float]


def round_table(points: NDArray, cells: Cells, metric: int) -> Rounded:
    """Return a table in float32, in cells."""
    order, cuts, low, high = cells
    # A smaller table stays smaller than 1: what vanishes in float64 squares of its differences
    # must not look large in float32.
    extent = max(float((high.max(axis=1) - low.min(axis=1)).max()), MIN_EXTENT)
    starts, n_cells, (n, d) = _group_cells(low, high, extent), len(cuts) - 1, points.shape
    centers = _find_centers(points, cells, starts)
    values, lengths, step = unset((d + EXTRA, n), np.float32), unset(n), max(1, AT_ONCE // d)
    values[d + 1] = 1.0
    for center, begin, end in zip(centers, cuts[starts], cuts[[*starts[1:], -1]], strict=True):
        for first in range(begin, end, step):
            some = slice(first, min(first + step, end))
            placed = (points[order[some]] - center) / extent
            values[:d, some] = placed.T
            rounded = values[:d, some].astype(np.float64)
            values[d, some] = -0.5 * (rounded * rounded).sum(axis=0)
            absolute = np.abs(placed).sum(axis=1)
            square = (placed * placed).sum(axis=1)
            lengths[some] = absolute if metric == MANHATTAN else np.sqrt(square)
    center_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=n_cells))
    return values, centers, center_of, np.maximum.reduceat(lengths, cuts[:-1]), extent


def _group_cells(low: NDArray, high: NDArray, extent: float) -> NDArray:
    """Return where groups of cells begin that are not much larger than each of their cells.

    Around the center of a group errors are hardly larger, and rows are brought there only once.
    """
    n_cells = low.shape[1]
    lows, highs = np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)
    sizes = ONE_PLACE**2 * np.square((highs - lows) / extent).sum(axis=1)
    starts, least, bottom, top = [0], sizes[0], lows[0], highs[0]
    for cell in range(1, n_cells):
        bottom, top = np.minimum(bottom, lows[cell]), np.maximum(top, highs[cell])
        least = min(least, sizes[cell])
        if np.square((top - bottom) / extent).sum() > least:
            starts.append(cell)
            least, bottom, top = sizes[cell], lows[cell], highs[cell]
    return np.array(starts)


def _find_centers(points: NDArray, cells: Cells, starts: NDArray) -> NDArray:
    """Return the means of the rows in groups of cells, inside of their boxes."""
    order, cuts, low, high = cells
    n, d = points.shape
    begins, centers, step = cuts[starts], unset((len(starts), d)), max(1, AT_ONCE // n)
    for first in range(0, d, step):
        some = slice(first, first + step)
        centers[:, some] = np.add.reduceat(points[:, some][order] / n, begins, axis=0)
    with np.errstate(over="ignore"):
        centers *= (n / np.diff(begins, append=n))[:, np.newaxis]
    lowest = np.minimum.reduceat(low, starts, axis=1).T
    return np.clip(centers, lowest, np.maximum.reduceat(high, starts, axis=1).T)


def growth_of(n_columns: int) -> float:
    """Return g."""
    return float((1.0 - _relative_error(n_columns)) ** -4)


@inner
def _relative_error(n_columns: int) -> float:
    return (n_columns + 5) * UNIT


@inner
def place_row(
    rows: NDArray, row: int, centers: NDArray, center: int, extent: float, placed: NDArray
) -> float:
    """Fill in a row as it stands around a center; return the square of its length."""
    d, factor, square = rows.shape[1], 1.0 / extent, 0.0
    for column in range(d):
        value = np.float32((rows[row, column] - centers[center, column]) * factor)
        placed[row, column] = value
        square += np.float64(value) * np.float64(value)
    placed[row, d], placed[row, d + 1] = 1.0, -0.5 * square
    return square


@inner
def error_of_differences(radius: float, d: int, metric: int) -> float:
    """Return E of the first way."""
    error = 2.1 * UNIT * radius + UNDERFLOW
    if metric == MANHATTAN:
        return 1.1 * error
    return 1.1 * error * error * (1.0 + 1.0 / _relative_error(d))


@inner
def error_of_products(square: float, radius: float, d: int) -> float:
    """Return E of the second way."""
    length = np.sqrt(square) + radius
    return 1.1 * ((d + 8) * UNIT * length * length + UNDERFLOW * UNDERFLOW / UNIT)
