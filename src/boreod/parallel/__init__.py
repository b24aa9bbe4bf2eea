"""Engines run one function over many blocks of rows."""

from boreod.parallel.current import current_engine, use_engine
from boreod.parallel.dask_cluster import dask
from boreod.parallel.dask_tables import (
    count_rows,
    gather_column,
    gather_rows,
    is_collection,
    map_rows,
)
from boreod.parallel.local import (
    Engine,
    Threads,
    count_threads,
    one_blas_thread,
    plain_interrupts,
)
from boreod.parallel.progress import Progress

__all__ = [
    "Engine",
    "Progress",
    "Threads",
    "count_rows",
    "count_threads",
    "current_engine",
    "dask",
    "gather_column",
    "gather_rows",
    "is_collection",
    "map_rows",
    "one_blas_thread",
    "plain_interrupts",
    "use_engine",
]
