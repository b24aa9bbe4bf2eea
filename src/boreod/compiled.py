"""The one door to Numba: every compiled function of the package is made here.

Kernels are serial, release the interpreter lock and keep the rules of IEEE arithmetic (no
``fastmath``), because scores meet infinities beside duplicates. Parallelism lives one floor up, in
:mod:`boreod.engine`, over blocks of rows.
"""

import functools
import warnings
from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function at its first call and keep the machine code on disk."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no directory that it may write to
        _warn_that_nothing_is_cached()
        return numba.njit(**options)(function)


@functools.cache
def _warn_that_nothing_is_cached() -> None:
    warnings.warn(
        "No writable directory for compiled code was found, so every new process compiles again "
        "(about half a minute). Set the environment variable NUMBA_CACHE_DIR to a writable one.",
        RuntimeWarning,
        stacklevel=4,
    )
