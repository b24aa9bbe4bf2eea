"""Engines run one function over many blocks of rows: threads of this process, or a Dask cluster."""

from boreod.parallel.dask_engine import dask
from boreod.parallel.engines import (
    Engine,
    Progress,
    Threads,
    computed_once,
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
    "computed_once",
    "count_threads",
    "current_engine",
    "dask",
    "one_blas_thread",
    "plain_interrupts",
    "use_engine",
]
