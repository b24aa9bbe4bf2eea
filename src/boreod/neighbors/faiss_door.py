"""The one door to faiss, which is an optional package and is loaded when a search is built."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boreod.neighbors.metrics import MANHATTAN


def load_faiss() -> Any:
    """Return the package, or say how to get it."""
    try:
        return importlib.import_module("faiss")
    except ImportError:
        raise ImportError(
            "This neighbor search needs faiss, which is not installed: pip install boreod[ann]"
        ) from None


@contextmanager
def one_thread(faiss: Any) -> Iterator[None]:
    """Keep faiss and its BLAS to the calling thread: ours do the work, more would get in their way.

    OpenMP keeps this number for every calling thread, so nobody else sees the change.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def refuse_manhattan(metric: int, name: str) -> None:
    """Raise for the one metric that cannot be had from lengths of differences."""
    if metric == MANHATTAN:
        raise ValueError(
            f"{name!r} finds neighbors by the metrics euclidean and cosine; got manhattan. "
            "The searches 'auto', 'brute' and 'tree' know all three."
        )
