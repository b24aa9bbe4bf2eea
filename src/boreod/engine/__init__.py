"""Engines run one function over many blocks of rows."""

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
    "count_threads",
    "one_blas_thread",
    "plain_interrupts",
]
