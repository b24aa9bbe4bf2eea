"""Engines run one function over many blocks of rows: threads of this process, or a Dask cluster.

All code that uses Dask is in ``dask_engine.py``, which is imported by name when it is needed.
"""

import sys
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import numpy as np

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

__all__ = ["Engine", "Progress", "Threads", "computed_once", "count_threads", "current_engine"]
__all__ += ["dask", "for_collections", "is_collection", "one_blas_thread", "plain_interrupts"]
__all__ += ["use_engine"]


def dask(client: Any = None, n_workers: int | None = None) -> AbstractContextManager[Engine]:
    """Let a Dask cluster work for all estimators inside a ``with`` block; needs ``boreod[dask]``.

    Parameters
    ----------
    client
        A ``distributed.Client``, a cluster such as ``LocalCluster``, or the address of a scheduler.
        None takes Dask's default client. If there is no default client, a new cluster of processes
        starts on this machine and is closed at the end of the block.
    n_workers
        Number of processes of a new cluster, which then starts even if there is a default client.
        If it is None, a new cluster has one process per core.
    """
    cluster: AbstractContextManager[Engine] = for_collections().connect(client, n_workers)
    return cluster


def for_collections() -> Any:
    """Return the module with functions for Dask collections, such as ``count_rows``."""
    return import_module("boreod.parallel.dask_engine")


def is_collection(table: Any) -> bool:
    """Return whether a table is a Dask frame, series or array; False if Dask is not imported."""
    # Fast path for a single row.
    if type(table) is np.ndarray:
        return False
    frames = sys.modules.get("dask.dataframe")
    if frames is not None and isinstance(table, frames.DataFrame | frames.Series):
        return True
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(table, arrays.Array)
