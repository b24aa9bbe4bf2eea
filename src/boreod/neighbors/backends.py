"""Search back ends, the pilot that chooses between two of them, and how others are asked for.

The exact ones agree to the last bit, so the choice between them changes nothing but the time. The
number of columns alone does not tell which is faster; timing both on some rows does.
"""

import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.approximate import ApproximateSearch
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.faiss_flat import FaissFlat
from boreod.neighbors.faiss_ivf import FaissIVF
from boreod.neighbors.foreign_search import ForeignNeighbors, ForeignSearch, is_foreign_search
from boreod.neighbors.inverted_lists import InvertedLists
from boreod.neighbors.tree import KDTree

PILOT_ROWS = 16
LARGE_TABLE = 20000  # rows; there brute force works best on whole blocks, as it does later
PILOT_ROWS_LARGE = 128
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


BACKENDS: dict[str, type[Backend]] = {
    "brute": BruteForce,
    "tree": KDTree,
    "faiss-flat": FaissFlat,
    "faiss-ivf": FaissIVF,
}


def is_exact(backend: Backend | type[Backend]) -> bool:
    """Tell whether a back end, or a class of them, finds all neighbors; who says nothing does."""
    return bool(getattr(backend, "exact", True))


def check_backend(wanted: object) -> None:
    """Raise for what does not say how to search.

    Parameters
    ----------
    wanted
        ``"auto"``, a name of :data:`BACKENDS`, an :class:`InvertedLists`, a
        :class:`ForeignNeighbors`, or an object like scikit-learn's ``KNeighborsTransformer``.
    """
    if isinstance(wanted, str):
        if wanted in ("auto", *BACKENDS):
            return
    elif isinstance(wanted, InvertedLists | ForeignNeighbors) or is_foreign_search(wanted):
        return
    raise ValueError(
        f"`neighbors` must be 'auto', one of {list(BACKENDS)}, an InvertedLists, a "
        "ForeignNeighbors, or an object like scikit-learn's KNeighborsTransformer (`fit`, and "
        f"`kneighbors` or `transform` with a parameter `n_neighbors`); got {wanted!r}."
    )


def make_backend(wanted: object, points: NDArray, metric: int, k: int) -> Backend:
    """Build the search that is asked for.

    Parameters
    ----------
    wanted
        As :func:`check_backend` allows.
    points
        Reference rows as :func:`boreod.neighbors.metrics.embed` returns them.
    metric
        Code of the metric.
    k
        Length of the lists.
    """
    check_backend(wanted)
    if wanted == "auto":
        return choose_backend(points, metric, k)
    # Training rows are searched to k + 2 (themselves, and one that tells ties), new rows to k + 1.
    # An approximate search goes to the same depth for both, or their lists could differ.
    depth = min(k + 2, len(points))
    if isinstance(wanted, str):
        kind: Any = BACKENDS[wanted]
        approximate = issubclass(kind, ApproximateSearch)
        return kind(points, metric, depth=depth) if approximate else kind(points, metric)
    if isinstance(wanted, InvertedLists):
        return FaissIVF(points, metric, wanted, depth)
    foreign = wanted if isinstance(wanted, ForeignNeighbors) else ForeignNeighbors(wanted)
    return ForeignSearch(points, metric, foreign, depth)


def choose_backend(points: NDArray, metric: int, k: int) -> Backend:
    """Return brute force or the tree, whichever was faster on rows spread over the table."""
    n, d = points.shape
    brute: Backend = BruteForce(points, metric)
    if n < ALWAYS_BRUTE_BELOW or d > ALWAYS_BRUTE_ABOVE:
        return brute
    tree: Backend = KDTree(points, metric)
    size = PILOT_ROWS if n < LARGE_TABLE else PILOT_ROWS_LARGE
    pilot = np.ascontiguousarray(points[:: max(1, n // size)][:size])
    return min((brute, tree), key=lambda backend: _seconds(backend, pilot, k))


def _seconds(backend: Backend, rows: NDArray, k: int) -> float:
    """Time one search after a first one that compiles or loads the kernel."""
    backend.nearest(rows[:1], k)
    started = time.perf_counter()
    backend.nearest(rows, k)
    return time.perf_counter() - started
