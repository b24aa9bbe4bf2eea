"""The float32 pass of the brute-force search: few candidates out of many rows.

In float32 a processor compares twice as many rows at once, but distances are rounded. The bound on
what rounding does: let the table be centered and u = 2^-24. Rounding moves a row x by at most
u |x|, and the length of a difference is computed to a relative error below (d + 4) u. For rows q
and x at distance D, |x| is at most |q| + D, so the float32 distance differs from D by at most
2 u |q| + (d + 5) u D.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled
from boreod.neighbors.metrics import MANHATTAN, as_lengths, distances_to_tile, length

TILE = 1024  # rows of the table that meet the rows of a block together
SAMPLE = 1024  # rows of the table from which a limit is guessed
UNIT = 2.0**-24  # relative rounding error of float32
UNDERFLOW = 1e-17  # of a float32 distance in a table scaled to 1


class RoughTable:
    """A table in float32, centered and scaled to [-1, 1], one column after the other.

    Parameters
    ----------
    points
        Reference rows.
    metric
        Code of the metric.
    """

    def __init__(self, points: NDArray, metric: int) -> None:
        self.metric = metric
        # Rows of a table are often sorted, so the sample is spread over all of it.
        step = -(-points.shape[0] // SAMPLE)
        self.center = np.median(points[::step], axis=0)
        centered = points.T - self.center[:, np.newaxis]
        self.scale = np.abs(centered).max() or 1.0
        self.columns = np.ascontiguousarray(centered / self.scale, dtype=np.float32)
        self.sample = np.ascontiguousarray(self.columns[:, ::step][:, :SAMPLE])

    def find_candidates(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        """Return candidates of the nearest ``k``, and of the rows whose radius covers the row.

        Returns
        -------
        candidates, count
            Indices, and how many of them there are, for every row.
        complete_to
            Length of difference up to which the candidates hold every reference row.
        source, covering
            Rows and reference rows of which the one may lie within the radius of the other.
        """
        return _scan(
            self.columns,
            self.sample,
            rows,
            self.center,
            self.scale,
            k,
            as_lengths(radii, self.metric),
            self.metric,
        )


@compiled
def _scan(
    columns: NDArray,
    sample: NDArray,
    rows: NDArray,
    center: NDArray,
    scale: float,
    k: int,
    radii: NDArray,
    metric: int,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Meet the table tile by tile: a tile is read from memory once for the whole block."""
    m, n = rows.shape[0], columns.shape[1]
    growth = 1.0 / (1.0 - (rows.shape[1] + 5) * UNIT)
    rough, error = _round_rows(rows, center, scale, metric)
    reach = (radii * (growth / scale)).astype(np.float32)
    limit, complete_to = np.empty(m, np.float32), np.empty(m)
    tile = np.empty(max(TILE, SAMPLE), np.float32)
    for row in range(m):
        limit[row] = _guess_limit(sample, rough[row], k, n, metric, tile)
        complete_to[row] = (length(np.float64(limit[row]), metric) - error[row]) / growth * scale
    candidates, count = np.empty((m, 8 * k + 64), np.int32), np.zeros(m, np.int64)
    source, covering, found = np.empty(256, np.int32), np.empty(256, np.int32), 0
    for start in range(0, n, TILE):
        stop = min(n, start + TILE)
        for row in range(m):
            distances_to_tile(columns, start, stop, rough[row], metric, tile)
            count[row] = _keep_below(tile, start, stop, limit[row], candidates[row], count[row])
            if reach.shape[0] > 0:
                if found + TILE > source.shape[0]:
                    source, covering = _lengthen(source), _lengthen(covering)
                before = found
                found = _keep_covering(
                    tile, start, stop, reach, np.float32(error[row]), metric, covering, found
                )
                source[before:found] = row
    return candidates, count, complete_to, source[:found], covering[:found]


@compiled
def _round_rows(
    rows: NDArray, center: NDArray, scale: float, metric: int
) -> tuple[NDArray, NDArray]:
    """Return centered, scaled rows in float32, and the part of the error they always have."""
    rough, error = np.empty(rows.shape, np.float32), np.empty(rows.shape[0])
    for row in range(rows.shape[0]):
        reduced = 0.0
        for column in range(rows.shape[1]):
            value = (rows[row, column] - center[column]) / scale
            rough[row, column] = value
            reduced += abs(value) if metric == MANHATTAN else value * value
        error[row] = 2.1 * UNIT * length(reduced, metric) + UNDERFLOW
    return rough, error


@compiled
def _guess_limit(
    sample: NDArray, row: NDArray, k: int, n: int, metric: int, tile: NDArray
) -> float:
    """Guess a reduced distance that a little more than ``k`` reference rows stay below."""
    size = sample.shape[1]
    expected = k * size / n
    rank = int(expected + 2.5 * np.sqrt(expected) + 2.0)
    if rank > size // 4:  # a large part of the table: nothing to be saved
        return 0.0
    distances_to_tile(sample, 0, size, row, metric, tile)
    lowest = np.full(rank, np.float32(np.inf))
    for value in tile[:size]:
        if value < lowest[-1]:
            place = rank - 1
            while place > 0 and lowest[place - 1] > value:
                lowest[place] = lowest[place - 1]
                place -= 1
            lowest[place] = value
    return lowest[-1]


@compiled
def _keep_below(
    tile: NDArray, start: int, stop: int, limit: np.float32, candidates: NDArray, count: int
) -> int:
    """Note the rows of a tile up to the limit; return how many there are, noted or not."""
    for place in range(stop - start):
        if tile[place] <= limit:
            if count < candidates.shape[0]:
                candidates[count] = start + place
            count += 1
    return count


@compiled
def _keep_covering(
    tile: NDArray,
    start: int,
    stop: int,
    reach: NDArray,
    error: np.float32,
    metric: int,
    covering: NDArray,
    found: int,
) -> int:
    """Note the rows of a tile whose radius may cover the row; return how many so far."""
    for index in range(start, stop):
        bound = reach[index] + error
        if tile[index - start] <= (bound if metric == MANHATTAN else bound * bound):
            covering[found] = index
            found += 1
    return found


@compiled
def _lengthen(values: NDArray) -> NDArray:
    """Return a longer array that begins with the values and has room for another tile."""
    longer = np.empty(2 * values.shape[0] + TILE, values.dtype)
    longer[: values.shape[0]] = values
    return longer
