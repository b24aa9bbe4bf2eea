"""A table rounded to float32, by cells (leaves of a k-d tree), and error bounds of its distances.

Every cell has a center, which may be the center of an earlier cell. A row of a cell is stored as
its difference from the center, divided by the extent of the table, so its numbers are small. Let x
be a row of a cell and q any row, both relative to the center. Let r be the largest |x| of the cell,
D the distance of x and q, d the number of columns, and u = 2^-24. Rounding changes x by u |x| and q
by u |q|. The float32 distance F is computed in one of two ways. For both ways, the reduced
distances (the squares for ``euclidean``) satisfy

    F <= g D + E   and   D <= g F + E   (D and F reduced),

with g = (1 - c)^-4 and c = (d + 5) u. The two ways differ in E.

*Differences.* |q| is at most r + D, so rounding changes the length of q - x by at most 2 u r + u D.
Computing the length adds an error of less than (d + 4) u D. With e = 2 u r, the float32 length is
at most (1 + c) D + e. As (a + e)^2 <= (1 + c) a^2 + (1 + 1 / c) e^2, we get E = (1 + 1 / c) e^2.

*Products.* |q|^2 + |x|^2 - 2 q.x is an entry of a matrix product. The absolute values of its d + 2
terms add up to at most S^2, with S = |q| + r. In any order of addition, the error of the sum is at
most (d + 2) u S^2, and the error of the two squares in it is at most u S^2. Rounding the rows
changes the length by at most u S, and so the squared length by at most about u D^2 + u S^2. So E =
(d + 8) u S^2. If many rows meet a cell, products are ten times faster than differences. Products
are used if E is small compared with the k-th distance.
"""

from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import inner, unset
from boreod.neighbors.metrics import MANHATTAN
from boreod.neighbors.tree import Cells

# The relative rounding error of float32.
UNIT = 2.0**-24
# A float32 distance in a table of extent 1 loses at most this much by underflow.
UNDERFLOW = 1e-17
# Extents of tables are raised to at least this value.
MIN_EXTENT = 1e-140
# A few float32 operations change a number by less than this factor.
ROUNDED = 1.0 + 2.0**-20
# Number of additional columns in a product, for the squares.
EXTRA = 2
# Matrix products are multiplied by this factor, which gives |q|^2 + |x|^2 - 2 q.x.
FACTOR = np.full(1, -2.0, np.float32)
# A cell uses the center of an earlier cell if its radius grows by at most this factor.
MOST_SPREAD = 1.5

# A rounded table: its columns, cell by cell, with EXTRA columns for products; the centers; the
# index of every cell's center; the radii of cells around their centers; and the extent.
Rounded = tuple[NDArray, NDArray, NDArray, NDArray, float]


def round_table(points: NDArray, cells: Cells, metric: int) -> Rounded:
    """Return a table rounded to float32, cell by cell."""
    order, cuts, low, high = cells
    # Smaller extents are raised to MIN_EXTENT: squared differences that underflow to 0 in float64
    # would otherwise become large in float32.
    extent = max(float((high.max(axis=1) - low.min(axis=1)).max()), MIN_EXTENT)
    n, d = points.shape
    radii = unset(len(cuts) - 1)
    values = unset((d + EXTRA, n), np.float32)
    values[d + 1] = 1.0
    least = 0.0
    centers: list[NDArray] = []
    center_of: list[int] = []
    for cell, (start, stop) in enumerate(pairwise(cuts.tolist())):
        inside = points[order[start:stop]]
        mean = np.clip((inside / (stop - start)).sum(axis=0), low[:, cell], high[:, cell])
        spread = _longest((inside - mean) / extent, metric)
        placed = (inside - (centers[-1] if centers else mean)) / extent
        radius, least = _longest(placed, metric), min(least, spread)
        if radius > MOST_SPREAD * least or not centers:
            placed, radius, least = (inside - mean) / extent, spread, spread
            centers.append(mean)
        center_of.append(len(centers) - 1)
        radii[cell] = radius
        values[:d, start:stop] = placed.T
        rounded = values[:d, start:stop].astype(np.float64)
        values[d, start:stop] = -0.5 * (rounded * rounded).sum(axis=0)
    return values, np.array(centers), np.array(center_of), radii, extent


def _longest(rows: NDArray, metric: int) -> float:
    """Return the largest length of a row."""
    if metric == MANHATTAN:
        return float(np.abs(rows).sum(axis=1).max())
    return float(np.sqrt((rows * rows).sum(axis=1).max()))


@cache
def growth_of(n_columns: int) -> float:
    """Return the factor g of the error bounds."""
    return float((1.0 - _relative_error(n_columns)) ** -4)


@np.errstate(over="ignore")
def rough_reach(radii: NDArray, extent: float, n_columns: int, metric: int) -> NDArray:
    """Return upper bounds of reduced radii in float32, relative to the extent of the table."""
    # A radius too large for float32 becomes infinite and covers every row.
    reduced = radii / extent
    if metric != MANHATTAN:
        reduced = reduced**2
    return (reduced * (growth_of(n_columns) * ROUNDED)).astype(np.float32)


@inner
def _relative_error(n_columns: int) -> float:
    return (n_columns + 5) * UNIT


@inner
def place_row(
    rows: NDArray, row: int, centers: NDArray, center: int, extent: float, placed: NDArray
) -> float:
    """Fill in a row relative to a center; return its squared length."""
    d = rows.shape[1]
    factor = 1.0 / extent
    square = 0.0
    for column in range(d):
        value = np.float32((rows[row, column] - centers[center, column]) * factor)
        placed[row, column] = value
        square += np.float64(value) * np.float64(value)
    placed[row, d] = 1.0
    placed[row, d + 1] = -0.5 * square
    return square


@inner
def error_of_differences(radius: float, d: int, metric: int) -> float:
    """Return the error bound E for differences."""
    error = 2.1 * UNIT * radius + UNDERFLOW
    if metric == MANHATTAN:
        return 1.1 * error
    return 1.1 * error * error * (1.0 + 1.0 / _relative_error(d))


@inner
def error_of_products(square: float, radius: float, d: int) -> float:
    """Return the error bound E for products."""
    length = np.sqrt(square) + radius
    return 1.1 * ((d + 8) * UNIT * length * length + UNDERFLOW * UNDERFLOW / UNIT)
