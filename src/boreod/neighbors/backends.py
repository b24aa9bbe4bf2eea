"""Search back ends and the pilot that chooses between them.

Both are exact and agree to the last bit, so the choice changes nothing but the time. The number of
columns alone does not tell which is faster; timing both on a few rows does.
"""

import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.brute import BruteForce
from boreod.neighbors.tree import KDTree

PILOT_ROWS = 16
ALWAYS_BRUTE_BELOW = 2000  # rows; a tree cannot win back the pilot there
ALWAYS_BRUTE_ABOVE = 40  # columns; boxes hardly ever exclude each other there


class Backend(Protocol):
    """What the neighbor graph needs of a search."""

    name: str

    def __init__(self, points: NDArray, metric: int) -> None: ...

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the ``k`` nearest, by (distance, index)."""

    def nearest_and_reverse(
        self, rows: NDArray, k: int, radii: NDArray
    ) -> tuple[NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the nearest, and (offsets, indices, distances) of the reverse neighbors."""


BACKENDS: dict[str, type[Backend]] = {"brute": BruteForce, "tree": KDTree}


def choose_backend(points: NDArray, metric: int, k: int) -> Backend:
    """Return the back end that was faster on a few rows spread over the table."""
    n, d = points.shape
    brute: Backend = BruteForce(points, metric)
    if n < ALWAYS_BRUTE_BELOW or d > ALWAYS_BRUTE_ABOVE:
        return brute
    tree: Backend = KDTree(points, metric)
    pilot = np.ascontiguousarray(points[:: max(1, n // PILOT_ROWS)][:PILOT_ROWS])
    return min((brute, tree), key=lambda backend: _seconds(backend, pilot, k))


def _seconds(backend: Backend, rows: NDArray, k: int) -> float:
    """Time one search after a first one that compiles or loads the kernel."""
    backend.nearest(rows[:1], k)
    started = time.perf_counter()
    backend.nearest(rows, k)
    return time.perf_counter() - started
