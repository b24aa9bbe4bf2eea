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

from boreod.compiled import compiled, inner, unset
from boreod.neighbors.cells import Cells
from boreod.neighbors.metrics import MANHATTAN

UNIT = 2.0**-24  # relative rounding error of float32
UNDERFLOW = 1e-17  # of a float32 distance in a table of extent 1
MIN_EXTENT = 1e-140  # of a table
EXTRA = 2  # columns of a product besides those of the table: the squares
FACTOR = np.full(1, -2.0, np.float32)  # of products

# columns, cell by cell, and two more for products; centers and radii of the cells; extent
Rounded = tuple[NDArray, NDArray, NDArray, float]


def round_table(points: NDArray, cells: Cells, metric: int) -> Rounded:
    """Return a table in float32, in cells."""
    _, cuts, low, high = cells
    # A smaller table stays smaller than 1: what vanishes in float64 squares of its differences
    # must not look large in float32.
    extent = max(float((high.max(axis=1) - low.min(axis=1)).max()), MIN_EXTENT)
    (n, d), n_cells = points.shape, len(cuts) - 1
    values = unset((d + EXTRA, n), np.float32)
    centers, radii = unset((n_cells, d)), unset(n_cells)
    _round_cells(points, cells, extent, metric, values, centers, radii)
    return values, centers, radii, extent


@compiled
def _round_cells(
    points: NDArray,
    cells: Cells,
    extent: float,
    metric: int,
    values: NDArray,
    centers: NDArray,
    radii: NDArray,
) -> None:
    """Fill in values, centers (means of the rows, inside of the box) and radii."""
    order, cuts, low, high = cells
    d = points.shape[1]
    for cell in range(radii.shape[0]):
        start, stop = cuts[cell], cuts[cell + 1]
        center = centers[cell]
        for column in range(d):
            center[column] = 0.0
        for place in range(start, stop):
            for column in range(d):
                center[column] += points[order[place], column]
        for column in range(d):
            mean = center[column] / (stop - start)
            center[column] = min(max(mean, low[column, cell]), high[column, cell])
        radii[cell] = 0.0
        for place in range(start, stop):
            total, square = 0.0, 0.0
            for column in range(d):
                value = (points[order[place], column] - center[column]) / extent
                rounded = np.float32(value)
                values[column, place] = rounded
                total += abs(value) if metric == MANHATTAN else value * value
                square += np.float64(rounded) * np.float64(rounded)
            values[d, place], values[d + 1, place] = -0.5 * square, 1.0
            radii[cell] = max(radii[cell], total if metric == MANHATTAN else np.sqrt(total))


def growth_of(n_columns: int) -> float:
    """Return g."""
    return float((1.0 - _relative_error(n_columns)) ** -4)


@inner
def _relative_error(n_columns: int) -> float:
    return (n_columns + 5) * UNIT


@inner
def place_row(
    rows: NDArray, row: int, centers: NDArray, cell: int, extent: float, out: NDArray, to: int
) -> float:
    """Fill in a row as it stands in a cell, for both ways; return the square of its length."""
    d, factor = rows.shape[1], 1.0 / extent
    for column in range(d):
        out[to, column] = (rows[row, column] - centers[cell, column]) * factor
    first, second = 0.0, 0.0  # one sum would wait for every addition
    third, fourth = 0.0, 0.0
    whole = d - d % 4
    for column in range(0, whole, 4):
        first += np.float64(out[to, column]) ** 2
        second += np.float64(out[to, column + 1]) ** 2
        third += np.float64(out[to, column + 2]) ** 2
        fourth += np.float64(out[to, column + 3]) ** 2
    for column in range(whole, d):
        first += np.float64(out[to, column]) ** 2
    square = (first + second) + (third + fourth)
    out[to, d], out[to, d + 1] = 1.0, -0.5 * square
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
