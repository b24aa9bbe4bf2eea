"""The one module that imports Numba: every compiled function of the package is made here.

Numba is imported when a kernel is first called, so that what calls none need not wait for it.

Kernels are serial, release the interpreter lock and keep the rules of IEEE arithmetic (no
``fastmath``), because scores meet infinities beside duplicates. Parallelism lives in
:mod:`boreod.parallel`, over blocks of rows.

With ``NUMBA_BOUNDSCHECK=1`` every index is checked, and buffers that kernels must fill hold
values that show when they are read unset: NaN, and an index outside every table. Numba's cache
does not know about that flag, so it needs a ``NUMBA_CACHE_DIR`` of its own (``make test-checked``).
"""

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])

CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
POISON = 2**30  # -1 would be the last row; this one is in no table


def compiled(function: Function) -> Function:
    """Compile a function at its first call and keep the machine code on disk."""
    return cast(Function, Kernel(function))


class Kernel:
    """A function that is handed over to Numba when it is called, or compiled into another one."""

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        """Run machine code."""
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function."""
        numba = _load_numba()
        options = {"nogil": True, "error_model": "numpy"}
        try:
            return numba.njit(cache=True, **options)(self._function)
        except RuntimeError:  # Numba found no directory that it may write to
            _warn_that_nothing_is_cached()
            return numba.njit(**options)(self._function)

    def __reduce__(self) -> str:
        """Travel by name, as functions do."""
        return self._function.__qualname__


@functools.cache
def _load_numba() -> Any:
    """Import Numba and teach it what is its own here."""
    import numba

    numba.extending.typeof_impl.register(
        Kernel, lambda kernel, _: numba.types.Dispatcher(kernel.dispatcher)
    )
    numba.extending.overload(poisoned)(_poison_in_kernels)
    return numba


@functools.cache
def _warn_that_nothing_is_cached() -> None:
    warnings.warn(
        "No writable directory for compiled code was found, so every new process compiles again "
        "(about half a minute). Set the environment variable NUMBA_CACHE_DIR to a writable one.",
        RuntimeWarning,
        stacklevel=4,
    )


def poisoned(shape: Any, dtype: Any = np.float64) -> NDArray:
    """Return an array like ``np.empty``, full of values that must never be read."""
    result = np.empty(shape, dtype)
    result.fill(np.nan if result.dtype.kind == "f" else POISON)
    return result


def _poison_in_kernels(shape: Any, dtype: Any = np.float64) -> Any:  # noqa: ARG001
    """Do the same inside of kernels, where the type is known when they are compiled."""
    import numba

    told = isinstance(dtype, numba.types.abstract.DTypeSpec)
    is_float = not told or isinstance(dtype.dtype, numba.types.Float)
    poison = np.nan if is_float else POISON

    def implementation(shape: Any, dtype: Any = np.float64) -> Any:
        result = np.empty(shape, dtype)
        for place in range(result.size):
            result.flat[place] = poison
        return result

    return implementation


# Buffers whose values are set later, in kernels and around them.
unset: Callable[..., NDArray] = poisoned if CHECKED else np.empty
