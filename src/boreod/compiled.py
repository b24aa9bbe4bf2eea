"""The one module that imports Numba: every compiled function of the package is made here.

Numba is imported when a kernel is first called, so that what calls none need not wait for it.

Kernels are serial, release the interpreter lock and keep the rules of IEEE arithmetic (no
``fastmath``), because scores meet infinities beside duplicates. Parallelism lives in
:mod:`boreod.parallel`, over blocks of rows.

With ``NUMBA_BOUNDSCHECK=1`` every index is checked, and buffers that kernels must fill hold
values that show when they are read unset: NaN, and an index outside every table. Numba's cache
does not know about that flag, so it needs a ``NUMBA_CACHE_DIR`` of its own (``make test-checked``).

Machine code on disk belongs to the contents of source files, of a kernel and of all that it calls.
Numba itself looks at the kernel's own file alone, and would run old code after a change of others.
"""

import contextlib
import functools
import gc
import hashlib
import operator
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
ZERO: int = np.int64(0)  # type: ignore[assignment]  # for a plain 0, callees are compiled again
_MAKING = threading.RLock()
_HELD: list[Any] = []  # locks of Numba that a fork holds
TRIED = ("0.60", "0.68")  # versions of Numba that make machine code of whole kernels
POISON = 2**30  # -1 would be the last row; this one is in no table


def compiled(function: Function) -> Function:
    """Compile a function at its first call and keep the machine code on disk."""
    kernel = Kernel(function)
    KERNELS.append(kernel)
    return cast(Function, kernel)


def inner(function: Function) -> Function:
    """Compile a function into the kernels that call it; called by Python it runs uncompiled."""
    return cast(Function, Inner(function))


class Kernel:
    """A function that is handed over to Numba when it is called, or compiled into another one."""

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    dispatcher: Any  # what Numba makes of the function
    __call__ = property(operator.attrgetter("dispatcher"))  # no function in between: it takes time

    def __getattr__(self, name: str) -> Any:
        """Make the dispatcher, once; threads that ask together get the same."""
        if name != "dispatcher":
            raise AttributeError(f"{self._function.__qualname__} has no attribute {name!r}")
        _prepare_forks()
        with _MAKING:  # not a cached property, whose lock a process that is forked could not free
            if "dispatcher" not in vars(self):
                vars(self)["dispatcher"] = self._make()
            return vars(self)["dispatcher"]

    def _make(self) -> Any:
        numba = _load_numba()
        if numba.config.DISABLE_JIT:
            return self._function
        folder = numba.config.CACHE_DIR
        result = numba.njit(**OPTIONS, **_as_a_whole())(self._function)
        module = sys.modules.get(self._function.__module__)
        if getattr(module, self._function.__qualname__, None) is not self:
            return result  # of code that no other process can import, as in an executed string
        try:
            if folder and os.path.isdir(folder) and not os.access(folder, os.W_OK):
                result._cache = _read_only_cache()(self._function)  # Numba would not look there
            else:
                result.enable_caching()
        except RuntimeError:  # Numba found no directory that it may write to
            try:
                result._cache = _read_only_cache()(self._function)
            except RuntimeError:
                _warn_that_nothing_is_cached()
                return result
        result._cache.save_overload = functools.partial(_save, result._cache.save_overload)
        with contextlib.suppress(OSError):  # no files, as in a zip archive: Numba's own will do
            result._cache._cache_file._source_stamp = self._stamp()
        return result

    def _stamp(self) -> str:
        """Return a hash of the files in which this kernel and all that it calls are written."""
        waiting, kernels = [self], set[Kernel]()
        while waiting:
            kernel = waiting.pop()
            kernels.add(kernel)
            known, names = kernel._function.__globals__, kernel._function.__code__.co_names
            called = (known.get(name) for name in names)
            waiting += [of for of in called if isinstance(of, Kernel) and of not in kernels]
        files = {__file__, *(kernel._function.__code__.co_filename for kernel in kernels)}
        digests = sorted(_digest(file) for file in files)
        return hashlib.sha256(b"".join(digests)).hexdigest()

    def __reduce__(self) -> str:
        """Travel by name, as functions do."""
        return self._function.__qualname__


class Inner(Kernel):
    """A part of kernels, with no entry for Python and no file of its own."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the function as it is written."""
        return self._function(*arguments)

    def _make(self) -> Any:
        # a call would count references of all its arrays
        options = {"no_cpython_wrapper": True, "forceinline": True}
        return _load_numba().njit(**options, **OPTIONS)(self._function)


KERNELS: list[Kernel] = []  # all that were imported


def count_kernels() -> tuple[int, int, list[str]]:
    """Return how many kernels this process compiled, how many it read, and where they are kept."""
    made_of = [vars(kernel)["dispatcher"] for kernel in KERNELS if "dispatcher" in vars(kernel)]
    stats = [of.stats for of in made_of if hasattr(of, "stats")]  # not with NUMBA_DISABLE_JIT
    made, read = (sum(sum(of[place].values()) for of in stats) for place in (2, 1))
    return made, read, sorted({of.cache_path for of in stats if of.cache_path})


@functools.cache
def _prepare_forks() -> None:
    """Let forks wait from now on.

    What is registered last is called first. Numba writes to a log while it compiles, so logging,
    which registers its own lock, has to be there already.
    """
    import logging  # noqa: F401

    if hasattr(os, "register_at_fork"):  # not on Windows
        locks = {"after_in_parent": _free_locks, "after_in_child": _free_locks}
        os.register_at_fork(before=_hold_locks, **locks)


def _hold_locks() -> None:
    """Wait before a fork until no other thread makes kernels: in the child nobody would end it."""
    while True:
        _MAKING.acquire()
        lock = _compiler_lock()
        if lock is None or lock.acquire(blocking=False):
            _HELD.append(lock)
            return
        _MAKING.release()  # who compiles may be waiting for it, and the reverse
        with lock:
            pass


def _free_locks() -> None:
    if _HELD:  # else they were registered while a fork was on its way
        lock = _HELD.pop()
        if lock is not None:
            lock.release()
        _MAKING.release()


def _compiler_lock() -> Any:
    """Return the lock under which Numba compiles; None as long as it is not loaded here."""
    if not _load_numba.cache_info().currsize:
        return None
    from numba.core.compiler_lock import global_compiler_lock

    return vars(global_compiler_lock)["_lock"]  # its own ``acquire`` cannot but wait


@functools.cache
def _digest(file: str) -> bytes:
    with open(file, "rb") as content:
        return hashlib.sha256(content.read()).digest()


@functools.cache
def _read_only_cache() -> type:
    """Return a cache for folders that cannot be written to, as in an image."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    def ensure_cache_path(locator: Any) -> None:
        if not os.path.isdir(locator.get_cache_path()):
            raise FileNotFoundError

    changed = {"ensure_cache_path": ensure_cache_path}
    locators = [type(of.__name__, (of,), changed) for of in CompileResultCacheImpl._locator_classes]
    files = type("Files", (CompileResultCacheImpl,), {"_locator_classes": locators})
    changed = {"_impl_class": files, "save_overload": lambda *_: None}
    return type("ReadOnlyCache", (FunctionCache,), changed)


@functools.cache
def _as_a_whole() -> dict[str, Any]:
    """Return options with which machine code is made of a whole kernel alone, not of its parts.

    Numba makes machine code of every function that a kernel calls, which nobody runs: the kernel
    holds its own copy. That takes a tenth of the time. Versions not tried yet do it their way.
    """
    import numba

    if numba.__version__.rpartition(".")[0] not in TRIED:
        return {}
    library = _library_of_parts()

    class Compiler(numba.core.compiler.Compiler):
        def compile_extra(self, function: Any) -> Any:
            made_by = self.state.targetctx.codegen()
            before, collects = made_by._library_class, gc.isenabled()
            made_by._library_class = library
            gc.disable()  # looking through what a compiler makes takes a seventh of its time
            try:
                return super().compile_extra(function)
            finally:
                made_by._library_class = before
                (gc.enable if collects else gc.disable)()

        def define_pipelines(self) -> Any:
            self.state.flags.no_cpython_wrapper = False
            return super().define_pipelines()

    # the same option as of parts: Numba compiles its own functions again for other options
    return {"pipeline_class": Compiler, "no_cpython_wrapper": True}


def _library_of_parts() -> type:
    """Return a class of functions, optimized and made machine code when one is asked for."""
    from numba.core.codegen import JITCodeLibrary

    class Library(JITCodeLibrary):
        is_whole = False

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            if self._disable_inspection:  # it is machine code, from the disk
                self.is_whole = True
                super()._finalize_final_module()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            if not self.is_whole:
                if all(function.name != name for function in self.get_defined_functions()):
                    return 0
                self.is_whole = True
                super()._optimize_final_module()
                super()._finalize_final_module()
                _set_environments(self._codegen, self._final_module)
            return int(super().get_pointer_to_function(name))

        @property
        def codegen(self) -> Any:
            return super().codegen if self.is_whole else self

        def set_env(self, name: str, environment: object) -> None:
            """Do nothing: there is no place for it before there is machine code."""

    return Library


def _set_environments(codegen: Any, module: Any) -> None:
    """Tell machine code where Python's objects are that its parts need, as to print."""
    from numba.core.environment import lookup_environment

    for place in module.global_variables:
        environment = lookup_environment(place.name)
        if environment is not None:
            codegen.set_env(place.name, environment)


@functools.cache
def _load_numba() -> Any:
    """Import Numba and teach it what is its own here."""
    import numba

    numba.extending.typeof_impl.register(
        Kernel, lambda kernel, _: numba.types.Dispatcher(kernel.dispatcher)
    )
    numba.extending.overload(poisoned)(_poison_in_kernels)
    for function, in_kernels in _linear_algebra(numba.types):
        of_any_types = functools.partial(_return_first, in_kernels)
        numba.extending.overload(function, jit_options=OPTIONS, strict=False)(of_any_types)
    return numba


def _return_first(result: Any, *_: Any, **__: Any) -> Any:
    return result


def _save(save: Callable[..., None], *compiled: Any) -> None:
    """Keep compiled code on disk, or go on without: a full disk is no reason to predict nothing."""
    try:
        save(*compiled)
    except OSError as error:
        _warn_that_nothing_is_cached(f"Compiled code could not be kept ({error.strerror})")


@functools.cache
def _warn_that_nothing_is_cached(why: str = "No directory for compiled code was found") -> None:
    warnings.warn(
        f"{why}, so every new process compiles again (up to half a minute). Set the environment "
        "variable NUMBA_CACHE_DIR to a directory that is writable and has room.",
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


def products(matrix: NDArray, vector: NDArray, out: NDArray, of_columns: bool) -> None:
    """Fill ``out`` with the inner products of a vector and all rows, or columns, of a matrix."""
    out[:] = (matrix.T if of_columns else matrix) @ vector


def all_products(matrix: NDArray, out: NDArray) -> None:
    """Fill ``out`` with the inner products of all pairs of columns of a matrix."""
    out[:] = matrix.T @ matrix


def lower_products(matrix: NDArray, start: int, stop: int, out: NDArray) -> None:
    """Fill some lines of ``out`` with the inner products of these rows and all up to the last."""
    out[start:stop, :stop] = matrix[start:stop] @ matrix[:stop].T


def float32_products(
    first: NDArray, second: NDArray, start: int, stop: int, factor: NDArray, out: NDArray
) -> None:
    """Fill the corner of ``out`` with the product of an array and some columns, times a factor."""
    out[: first.shape[0], : stop - start] = factor[0] * (first @ second[:, start:stop])


def factorize(matrix: NDArray) -> bool:
    """Put Cholesky's factor in the place of the lower half of a matrix; tell if there is one."""
    with contextlib.suppress(np.linalg.LinAlgError):
        matrix[:] = np.linalg.cholesky(matrix)
        return True
    return False


def _linear_algebra(types: Any) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return what these functions are in kernels: BLAS and LAPACK of SciPy.

    They are called by the names under which Numba links them for itself, because the checks around
    ``@`` and ``np.linalg`` take seconds to compile.
    """
    kind, plain, turned, one, zero = ord("d"), ord("n"), ord("t"), np.ones(1), np.zeros(1)
    char, size, doubles = types.char, types.intp, types.CPointer(types.float64)

    def external(name: str, *arguments: Any) -> Any:
        return types.ExternalFunction(name, types.intc(*arguments))

    gemv = external(
        "numba_xxgemv", char, char, size, size, doubles, doubles, size, doubles, doubles, doubles
    )
    gemm = external(
        "numba_xxgemm", char, char, char, size, size, size, doubles, doubles, size, doubles, size,
        doubles, doubles, size,
    )  # fmt: skip
    potrf = external("numba_xxpotrf", char, char, size, doubles, size)

    def products_(matrix: Any, vector: Any, out: Any, of_columns: Any) -> None:
        m, n = matrix.shape
        a, x, how = matrix.ctypes, vector.ctypes, plain if of_columns else turned
        gemv(kind, how, n, m, one.ctypes, a, n, x, zero.ctypes, out.ctypes)

    def all_products_(matrix: Any, out: Any) -> None:
        (m, n), x, to = matrix.shape, matrix.ctypes, out.ctypes
        gemm(kind, plain, turned, n, n, m, one.ctypes, x, n, x, n, zero.ctypes, to, n)

    def lower_products_(matrix: Any, start: Any, stop: Any, out: Any) -> None:
        n, x, some, to = matrix.shape[1], matrix.ctypes, matrix[start].ctypes, out[start].ctypes
        of = stop, stop - start, n, one.ctypes, x, n, some, n, zero.ctypes, to, out.shape[1]
        gemm(kind, turned, plain, *of)

    def factorize_(matrix: Any) -> Any:
        n = matrix.shape[0]
        return potrf(kind, ord("U"), n, matrix.ctypes, n) == 0

    return [
        (products, products_),
        (all_products, all_products_),
        (float32_products, _float32_products(types)),
        (lower_products, lower_products_),
        (factorize, factorize_),
    ]


def _float32_products(types: Any) -> Callable[..., Any]:
    """Return what :func:`float32_products` is in kernels."""
    char, size, floats = types.char, types.intp, types.CPointer(types.float32)
    kind, plain, zero = ord("s"), ord("n"), np.zeros(1, np.float32)
    arguments = (char, char, char, size, size, size, floats, floats, size, floats, size, floats)
    gemm = types.ExternalFunction("numba_xxgemm", types.intc(*arguments, floats, size))

    def products_(first: Any, second: Any, start: Any, stop: Any, factor: Any, out: Any) -> None:
        (m, terms), width = first.shape, second.shape[1]
        columns, rows, n = second[0, start:].ctypes, first.ctypes, stop - start
        by, into, to = factor.ctypes, out.ctypes, out.shape[1]
        gemm(
            kind, plain, plain, n, m, terms, by, columns, width, rows, terms, zero.ctypes, into, to
        )

    return products_
