"""The one module that imports Numba: every compiled function of the package is made here.

Numba is imported when a kernel is first called. Kernels are serial, release the interpreter lock
and keep the rules of IEEE arithmetic (no ``fastmath``), because duplicate rows make some values
infinite. Parallelism lives in :mod:`boreod.parallel`, over blocks of rows.

With ``NUMBA_BOUNDSCHECK=1`` every index is checked. Buffers are then filled with NaN, or with an
index outside every table, so that a read of an unset value is noticed. Numba's cache ignores this
flag, so checked code needs a ``NUMBA_CACHE_DIR`` of its own (``make test-checked``).

Machine code on disk belongs to the contents of all source files that went into it. Numba itself
checks only the kernel's own file.
"""

import contextlib
import functools
import gc
import hashlib
import operator
import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from boreod.files import closed_to_others, refuse_open, warn

Function = TypeVar("Function", bound=Callable[..., object])
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# With a plain 0, which Numba types as a literal, callees would be compiled again.
ZERO: int = np.int64(0)  # type: ignore[assignment]
# In checked mode, unset integers have this value, which is an index outside every table.
POISON = 2**30
AGAIN = (
    ", so every new process compiles again (up to half a minute). Set the environment variable "
    "NUMBA_CACHE_DIR to a directory that is writable and has room."
)
_MAKING = threading.RLock()


def compiled(function: Function) -> Function:
    """Compile a function at its first call and keep the machine code on disk."""
    kernel = Kernel(function)
    KERNELS.append(kernel)
    return cast(Function, kernel)


def inner(function: Function) -> Function:
    """Compile a function into the kernels that call it; called by Python it runs uncompiled."""
    return cast(Function, Inner(function))


class Kernel:
    """A function that Numba compiles at its first call, or compiles into another kernel."""

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    # Numba makes the dispatcher of the function.
    dispatcher: Any
    # Calls go to the dispatcher without a function in between, which would take time.
    __call__ = property(operator.attrgetter("dispatcher"))

    def __getattr__(self, name: str) -> Any:
        """Make the dispatcher, once; threads that ask together get the same."""
        if name != "dispatcher":
            raise AttributeError(f"{self._function.__qualname__} has no attribute {name!r}")
        _prepare_forks()
        # A cached property would not do: a forked process could not free its lock.
        with _MAKING:
            if "dispatcher" not in vars(self):
                vars(self)["dispatcher"] = self._make()
            return vars(self)["dispatcher"]

    def _make(self) -> Any:
        numba = _load_numba()
        if numba.config.DISABLE_JIT:
            return self._function
        result = numba.njit(**OPTIONS)(self._function)
        module = sys.modules.get(self._function.__module__)
        # Processes cannot import code that is in no module, such as the code of an executed string.
        if getattr(module, self._function.__qualname__, None) is self:
            result._cache = self._make_cache(numba.config.CACHE_DIR) or result._cache
        return result

    def _make_cache(self, folder: str) -> Any:
        """Return the cache of machine code, or None if no directory can hold it."""
        is_closed = os.path.isdir(folder) and not os.access(folder, os.W_OK)
        for writable in [False] if is_closed else [True, False]:
            # Numba raises an error if it finds no such directory.
            with contextlib.suppress(RuntimeError, OSError):
                cache = _cache_class(self._stamp(), writable)(self._function)
                # Numba does not look at the folder for a zip archive.
                refuse_open(cache.cache_path)
                return cache
        warn(f"No directory for compiled code was found{AGAIN}")
        return None

    def _stamp(self) -> str | None:
        """Return a hash of the files in which this kernel and all that it calls are written.

        It is None if there are no files, as in a zip archive.
        """
        waiting = [self]
        kernels = set[Kernel]()
        while waiting:
            kernel = waiting.pop()
            kernels.add(kernel)
            known = kernel._function.__globals__
            called = (known.get(name) for name in kernel._function.__code__.co_names)
            waiting += [k for k in called if isinstance(k, Kernel) and k not in kernels]
        files = {__file__, *(kernel._function.__code__.co_filename for kernel in kernels)}
        try:
            digests = sorted(_digest(file) for file in files)
        except OSError:
            return None
        return hashlib.sha256(b"".join(digests)).hexdigest()

    def __reduce__(self) -> str:
        """Pickle a kernel by its name, as functions are."""
        return self._function.__qualname__


class Inner(Kernel):
    """A function inlined into kernels, without a compiled entry for Python or a cache file."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the function as it is written."""
        return self._function(*arguments)

    def _make(self) -> Any:
        # Functions are inlined, because a call would count references of all its arrays.
        njit = _load_numba().njit
        return njit(no_cpython_wrapper=True, forceinline=True, **OPTIONS)(self._function)


# Every kernel that was imported is listed here.
KERNELS: list[Kernel] = []


def count_kernels() -> tuple[int, int, list[str]]:
    """Return the numbers of kernels that were compiled and read, and the folders of caches."""
    dispatchers: list[Any] = [vars(kernel).get("dispatcher") for kernel in KERNELS]
    # Kernels that were not called have no dispatcher; with NUMBA_DISABLE_JIT it is the function.
    stats = [dispatcher.stats for dispatcher in dispatchers if hasattr(dispatcher, "stats")]
    made = sum(sum(stat.cache_misses.values()) for stat in stats)
    read = sum(sum(stat.cache_hits.values()) for stat in stats)
    return made, read, sorted({stat.cache_path for stat in stats if stat.cache_path})


@functools.cache
def _prepare_forks() -> None:
    """Let forks wait from now on until no thread compiles.

    The handler that is registered last is called first. Numba writes to a log while it compiles, so
    logging, which registers its own lock, must be imported before.
    """
    import logging  # noqa: F401

    # Windows has no fork.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_hold_locks, after_in_parent=_free_locks, after_in_child=_free_locks
        )


def _hold_locks() -> None:
    """Wait before a fork until no other thread compiles; the child could not finish the work."""
    # The thread that registered this function loads Numba, or has loaded it.
    _compiler_lock().acquire()
    # A thread that compiles may wait for `_MAKING`, but none waits the other way round.
    _MAKING.acquire()


def _free_locks() -> None:
    # Nothing is held if the handlers were registered in the middle of a fork.
    with contextlib.suppress(RuntimeError):
        _MAKING.release()
        _compiler_lock().release()


def _compiler_lock() -> Any:
    """Return the lock under which Numba compiles."""
    with _MAKING:
        return _load_numba().core.compiler_lock.global_compiler_lock


@functools.cache
def _digest(file: str) -> bytes:
    with open(file, "rb") as content:
        return hashlib.sha256(content.read()).digest()


def _cache_class(stamp: str | None, writable: bool) -> type:
    """Return a class of caches; if not ``writable``, folders may be read-only, as in an image."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache
    from numba.core.serialize import dumps

    def digest(code: bytes, codegen: Any) -> bytes:
        # After a kill, the index may name code of older sources or of another processor.
        return hashlib.sha256(repr((stamp, codegen.magic_tuple())).encode() + code).digest()

    class Files(CompileResultCacheImpl):
        _locator_classes = _places(CompileResultCacheImpl._locator_classes, stamp, writable)

        def reduce(self, result: Any) -> Any:
            code = dumps(super().reduce(result))
            return digest(code, result.codegen), code

        def rebuild(self, context: Any, kept: Any) -> Any:
            # Damaged machine code would crash.
            if digest(kept[1], context.codegen()) != kept[0]:
                raise ValueError("its digest differs")
            return super().rebuild(context, pickle.loads(kept[1]))

    class StampedCache(FunctionCache):
        _impl_class = Files

        def load_overload(self, *wanted: Any) -> Any:
            try:
                return super().load_overload(*wanted)
            # A damaged file can raise any error.
            except Exception as error:
                what = f"Machine code in {self.cache_path} is damaged ({error!r})"
                warn(f"{what}, so it is compiled again. `boreod compile --clean` deletes all.")

        def save_overload(self, *compiled: Any) -> None:
            if writable:
                _save(super().save_overload, self.flush, *compiled)

    return StampedCache


def _places(known: list[type], stamp: str | None, writable: bool) -> list[type]:
    """Return Numba's classes of places for code, which refuse folders that are open to others."""

    class Place:
        @closed_to_others(_MAKING)
        def ensure_cache_path(self) -> None:
            place: Any = super()
            if writable:
                place.ensure_cache_path()
            refuse_open(place.get_cache_path())

    changed: dict[str, Any] = {} if stamp is None else {"get_source_stamp": lambda _: stamp}
    return [type(kind.__name__, (Place, kind), changed) for kind in known]


@closed_to_others(_MAKING)
def _save(save: Callable[..., None], flush: Callable[[], None], *compiled: Any) -> None:
    """Save compiled code to disk; if that fails, warn and go on, as with a full disk."""
    try:
        try:
            save(*compiled)
        except Exception:
            # The index may be damaged, so it begins anew.
            flush()
            save(*compiled)
    except OSError as error:
        warn(f"Compiled code could not be kept ({error.strerror}){AGAIN}")


@functools.cache
def _load_numba() -> Any:
    """Import Numba and register kernels and the functions of this module with it."""
    try:
        import numba
    # If one of its libraries cannot be loaded, this is an OSError.
    except (ImportError, OSError) as error:
        words = "Install it again (pip install --force-reinstall numba), or allow more memory."
        raise ImportError(f"Numba could not be imported ({error}). {words}") from error

    numba.extending.typeof_impl.register(
        Kernel, lambda kernel, _: numba.types.Dispatcher(kernel.dispatcher)
    )
    numba.extending.overload(poisoned)(_poison_in_kernels)
    _pause_collection(numba.core.event)
    for function, in_kernels in _linear_algebra(numba.types):
        # The implementation is the same for all types.
        choose = functools.partial(_return_first, in_kernels)
        numba.extending.overload(function, jit_options=OPTIONS, strict=False)(choose)
    # The first dispatcher needs the lock of Numba's compiler. Later ones, which are made while
    # `_MAKING` is held, must not wait for it.
    numba.njit(_return_first)
    return numba


def _pause_collection(event: Any) -> None:
    """Switch Python's garbage collector off while Numba compiles: that saves 6 % of the time."""
    # Compilations may be nested, but run in one thread at a time.
    was_enabled: list[bool] = []

    class Pause(event.Listener):
        def on_start(self, _: Any) -> None:
            was_enabled.append(gc.isenabled())
            gc.disable()

        def on_end(self, _: Any) -> None:
            if was_enabled.pop():
                gc.enable()

    event.register("numba:compile", Pause())


def _return_first(result: Any, *_: Any, **__: Any) -> Any:
    return result


def poisoned(shape: Any, dtype: Any = np.float64) -> NDArray:
    """Return an array like ``np.empty``, full of values that must never be read."""
    result = np.empty(shape, dtype)
    result.fill(np.nan if result.dtype.kind == "f" else POISON)
    return result


def _poison_in_kernels(shape: Any, dtype: Any = np.float64) -> Any:  # noqa: ARG001
    """Return :func:`poisoned` for kernels, whose types are known when they are compiled."""
    import numba

    poison: float = np.nan
    is_given = isinstance(dtype, numba.types.abstract.DTypeSpec)
    if is_given and not isinstance(dtype.dtype, numba.types.Float):
        poison = POISON

    def implementation(shape: Any, dtype: Any = np.float64) -> Any:
        result = np.empty(shape, dtype)
        for place in range(result.size):
            result.flat[place] = poison
        return result

    return implementation


# Buffers whose values are set later, in kernels and around them.
unset: Callable[..., NDArray] = poisoned if CHECKED else np.empty


def products(matrix: NDArray, vector: NDArray, out: NDArray, of_columns: bool) -> None:
    """Fill ``out`` with the inner products of a vector and all rows, or columns, of a matrix."""
    if of_columns:
        matrix = matrix.T
    out[:] = matrix @ vector


def all_products(matrix: NDArray, out: NDArray) -> None:
    """Fill ``out`` with the inner products of all pairs of columns of a matrix."""
    out[:] = matrix.T @ matrix


def lower_products(matrix: NDArray, start: int, stop: int, out: NDArray) -> None:
    """Fill lines of ``out`` with inner products of rows from ``start`` and rows before ``stop``."""
    out[start:stop, :stop] = matrix[start:stop] @ matrix[:stop].T


def float32_products(
    first: NDArray, second: NDArray, start: int, stop: int, factor: NDArray, out: NDArray
) -> None:
    """Fill the corner of ``out`` with ``factor`` times ``first`` times columns of ``second``."""
    out[: first.shape[0], : stop - start] = factor[0] * (first @ second[:, start:stop])


def factorize(matrix: NDArray) -> bool:
    """Replace the lower half of a matrix by its Cholesky factor; return whether there is one."""
    with contextlib.suppress(np.linalg.LinAlgError):
        matrix[:] = np.linalg.cholesky(matrix)
        return True
    return False


def _linear_algebra(types: Any) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return these functions with their implementations in kernels: BLAS and LAPACK of SciPy.

    They are called by the names under which Numba links them for itself, because the checks around
    ``@`` and ``np.linalg`` take seconds to compile.
    """
    double, plain, turned = ord("d"), ord("n"), ord("t")
    one, zero = np.ones(1), np.zeros(1)
    zero_float32 = np.zeros(1, np.float32)
    arguments = "cccnnnaananaan"
    gemm = _linked(types, "numba_xxgemm", arguments, types.float64)
    gemm_float32 = _linked(types, "numba_xxgemm", arguments, types.float32)
    gemv = _linked(types, "numba_xxgemv", "ccnnaanaaa", types.float64)
    potrf = _linked(types, "numba_xxpotrf", "ccnan", types.float64)

    def products_(matrix: Any, vector: Any, out: Any, of_columns: Any) -> None:
        m, n = matrix.shape
        gemv(
            double, plain if of_columns else turned, n, m, one.ctypes, matrix.ctypes, n,
            vector.ctypes, zero.ctypes, out.ctypes,
        )  # fmt: skip

    def all_products_(matrix: Any, out: Any) -> None:
        m, n = matrix.shape
        gemm(
            double, plain, turned, n, n, m, one.ctypes, matrix.ctypes, n, matrix.ctypes, n,
            zero.ctypes, out.ctypes, n,
        )  # fmt: skip

    def lower_products_(matrix: Any, start: Any, stop: Any, out: Any) -> None:
        n = matrix.shape[1]
        gemm(
            double, turned, plain, stop, stop - start, n, one.ctypes, matrix.ctypes, n,
            matrix[start].ctypes, n, zero.ctypes, out[start].ctypes, out.shape[1],
        )  # fmt: skip

    def float32_products_(
        first: Any, second: Any, start: Any, stop: Any, factor: Any, out: Any
    ) -> None:
        m, terms = first.shape
        gemm_float32(
            ord("s"), plain, plain, stop - start, m, terms, factor.ctypes, second[0, start:].ctypes,
            second.shape[1], first.ctypes, terms, zero_float32.ctypes, out.ctypes, out.shape[1],
        )  # fmt: skip

    def factorize_(matrix: Any) -> Any:
        return potrf(double, ord("U"), matrix.shape[0], matrix.ctypes, matrix.shape[0]) == 0

    return [
        (products, products_),
        (all_products, all_products_),
        (float32_products, float32_products_),
        (lower_products, lower_products_),
        (factorize, factorize_),
    ]


def _linked(types: Any, name: str, arguments: str, number: Any) -> Any:
    """Return a linked function; its arguments are characters, numbers of rows, or arrays."""
    kinds = {"c": types.char, "n": types.intp, "a": types.CPointer(number)}
    return types.ExternalFunction(name, types.intc(*[kinds[letter] for letter in arguments]))
