"""Search back ends, and the choice between the two exact ones.

A back end has two methods. ``nearest(rows, k)`` returns distances and indices of the k nearest
reference rows by (distance, index); ``nearest_and_reverse(rows, k, radii)`` also returns offsets,
indices and distances of the reference rows that have a row within their radius.

The exact ones agree to the last bit, so the choice changes nothing but the time. The number of
columns alone does not tell which is faster; timing both on some rows does.
"""

import time

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.brute import BruteForce
from boreod.neighbors.foreign import ForeignNeighbors, ForeignSearch, is_foreign_search
from boreod.neighbors.tree import KDTree
from boreod.parallel import one_blas_thread
from boreod.text import shorten

TIMED_ROWS = 16
LARGE_TABLE = 20000  # rows; there, and where it uses products, brute force needs whole blocks
TIMED_ROWS_LARGE = 128
ALWAYS_BRUTE_BELOW = 2000  # rows; a tree cannot win back the time of the comparison there
ALWAYS_BRUTE_ABOVE = 15  # columns; boxes of a tree hardly ever exclude each other there


Backend = BruteForce | KDTree | ForeignSearch
BACKENDS: dict[str, type[BruteForce] | type[KDTree]] = {"brute": BruteForce, "tree": KDTree}


def read_neighbors(wanted: object) -> str | ForeignNeighbors:
    """Check how to search: "auto", a name of BACKENDS, or a search of another library."""
    if isinstance(wanted, str):
        if wanted in ("auto", *BACKENDS):
            return wanted
    else:
        foreign = wanted if isinstance(wanted, ForeignNeighbors) else ForeignNeighbors(wanted)
        if is_foreign_search(foreign.search):
            return foreign
    raise ValueError(
        f"`neighbors` must be 'auto', one of {list(BACKENDS)}, or an object like scikit-learn's "
        "KNeighborsTransformer (`fit`, `transform` and a parameter `n_neighbors`), alone or in a "
        f"ForeignNeighbors; got {shorten(wanted)}."
    )


def make_backend(wanted: object, points: NDArray, metric: int, k: int) -> Backend:
    """Build the search that is asked for, over embedded rows, for lists of length ``k``."""
    how = read_neighbors(wanted)
    if isinstance(how, ForeignNeighbors):
        return ForeignSearch(points, metric, how, k)
    return choose_backend(points, metric, k) if how == "auto" else BACKENDS[how](points, metric)


def choose_backend(points: NDArray, metric: int, k: int) -> Backend:
    """Return brute force or the tree, whichever was faster on rows spread over the table."""
    n, d = points.shape
    brute = BruteForce(points, metric)
    if n < ALWAYS_BRUTE_BELOW or d > ALWAYS_BRUTE_ABOVE:
        return brute
    tree, size = KDTree(points, metric), TIMED_ROWS
    if n >= LARGE_TABLE or brute.uses_products(TIMED_ROWS_LARGE):
        size = TIMED_ROWS_LARGE
    if brute.uses_products(size):
        with one_blas_thread():  # finds the library, which is not to be timed
            pass
    rows = np.ascontiguousarray(points[:: max(1, n // size)][:size])
    return brute if _seconds(brute, rows, k) <= _seconds(tree, rows, k) else tree


def _seconds(backend: Backend, rows: NDArray, k: int) -> float:
    """Time one search after a first one that compiles or loads the kernel."""
    backend.nearest(rows[:1], k)
    started = time.perf_counter()
    backend.nearest(rows, k)
    return time.perf_counter() - started
