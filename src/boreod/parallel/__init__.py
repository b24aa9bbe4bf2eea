"""Engines run one function over many blocks of rows: threads of this process, or a Dask cluster."""

from boreod.parallel.dask_engine import dask
from boreod.parallel.dask_tables import (
    count_rows,
    gather_rows,
    is_collection,
    map_rows,
)
from boreod.parallel.engines import (
    Engine,
    Progress,
    Threads,
    count_threads,
    current_engine,
    one_blas_thread,
    plain_interrupts,
    use_engine,
)

__all__ = [
    "Engine",
    "Progress",
    "Threads",
    "count_rows",
    "count_threads",
    "current_engine",
    "dask",
    "gather_rows",
    "is_collection",
    "map_rows",
    "one_blas_thread",
    "plain_interrupts",
    "use_engine",
]
