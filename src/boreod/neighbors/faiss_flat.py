"""Exact search with faiss: its flat index gives candidates, float64 and a bound decide.

What is certain about the candidates? Let rows be centered and scaled, u = 2^-24, and let q' and x'
be the rows q and x in float32, D and D' the distances of q and x and of q' and x'. Rounding moves a
row by at most u times its length, and |x| <= |q| + D, so

    D' <= D + u (2 |q| + D).

faiss adds up squared differences, or takes |q'|^2 + |x'|^2 - 2 q'x', as it sees fit. Sums of d
products in float32, in any order, are off by at most d u times the sum of the absolute products,
and a few more operations follow. So both ways the computed square is at most

    D'^2 + g (|q'| + |x'|)^2 <= D'^2 + g (2 |q'| + D')^2,    g = (d + 8) u / (1 - (d + 8) u);

the second way is that bad when lengths are large beside distances. A row that is not among the
candidates has a computed square of at least L, the largest of them. So all rows up to the distance
D at which the bound reaches L are candidates. If k candidates are as near as that, then the k
nearest and all their ties are among them; if not, the row is searched by brute force.
"""

import threading
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.brute import BruteForce
from boreod.neighbors.candidates import nearest_among, search_again, with_spare
from boreod.neighbors.faiss_door import load_faiss, one_thread, refuse_manhattan
from boreod.neighbors.rounded import RoundedTable

UNIT = 2.0**-24  # relative rounding error of float32
UNDERFLOW = 1e-36  # of a float32 square, per column


class FaissFlat:
    """All distances by faiss in float32, the nearest checked.

    Parameters
    ----------
    points
        Reference rows as :func:`boreod.neighbors.metrics.embed` returns them.
    metric
        Code of the metric, euclidean or cosine.
    """

    name = "faiss-flat"
    exact: ClassVar[bool] = True

    def __init__(self, points: NDArray, metric: int) -> None:
        refuse_manhattan(metric, self.name)
        self._faiss = load_faiss()
        self.points, self.metric = points, metric
        self._table = RoundedTable(points)
        self._index: Any = self._faiss.IndexFlatL2(points.shape[1])
        self._index.add(self._table.rows)
        self._brute: BruteForce | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type, tuple[NDArray, int]]:
        return type(self), (self.points, self.metric)  # an index holds nothing else

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return the ``k`` nearest reference rows: distances and indices, in order."""
        rounded, lengths = self._table.round(rows)
        with one_thread(self._faiss):
            squares, candidates = self._index.search(rounded, with_spare(k, len(self.points)))
        complete_to = self._complete_to(squares, lengths)
        distances, indices, sure = nearest_among(
            self.points, rows, candidates, complete_to, k, self.metric
        )
        if (sure < k).any():
            search_again(distances, indices, rows, sure < k, self._brute_force())
        return distances, indices

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and every reference row that has the row within its radius.

        An index answers "which rows are near"; here every reference row has a radius of its own,
        so all of them must be met. Brute force does that, and the nearest come with it.
        """
        return self._brute_force().nearest_and_reverse(rows, k, radii)

    def _complete_to(self, squares: NDArray, lengths: NDArray) -> NDArray:
        """Return the length of difference up to which the candidates are all there are."""
        n, d = self.points.shape
        if squares.shape[1] == n:
            return np.full(len(squares), np.inf)
        g = (d + 8) * UNIT / (1 - (d + 8) * UNIT)
        q = np.where(np.isinf(lengths), 0.0, lengths) * (1 + 2 * UNIT)
        room = squares.max(axis=1).astype(np.float64) - 4 * g * q * q - d * UNDERFLOW
        # D' solves (1 + g) D'^2 + 4 g q D' = room
        rounded = (np.sqrt((2 * g * q) ** 2 + (1 + g) * np.maximum(room, 0)) - 2 * g * q) / (1 + g)
        length = (rounded - 2.1 * UNIT * q) / (1 + 2 * UNIT)
        # the last factor leaves room for float64, of these lines and of the distances
        proven = np.where((room > 0) & np.isfinite(lengths), length, -1.0)
        return proven * self._table.scale * (1 - g)

    def _brute_force(self) -> BruteForce:
        with self._lock:
            if self._brute is None:
                self._brute = BruteForce(self.points, self.metric)
            return self._brute
