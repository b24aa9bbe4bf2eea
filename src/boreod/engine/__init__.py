"""Engines run one function over many blocks of rows."""

from boreod.engine.current import current_engine, use_engine
from boreod.engine.dask_cluster import dask
from boreod.engine.dask_tables import (
    count_rows,
    gather_column,
    gather_rows,
    is_collection,
    map_rows,
)
from boreod.engine.local import (
    Engine,
    Threads,
    count_threads,
    one_blas_thread,
    plain_interrupts,
)
from boreod.engine.progress import Progress

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
