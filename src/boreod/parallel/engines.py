"""Engines: their interface, threads of this process, and the engine in effect.

Kernels release the interpreter lock, so threads share the tables and nothing is copied. Blocks do
not depend on each other, so the number of threads changes the time, but no bit of the result.
"""

import itertools
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from numbers import Integral
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(ABC):
    """Runs functions over items; made from ``n_jobs`` and ``verbose``, as ``Threads`` is.

    Functions and shared objects must survive pickling, because an engine may send them to other
    processes. Shared objects must never change.
    """

    @abstractmethod
    def map_unordered(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        callback: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``callback(item, function(*shared, item))`` for all items, in any order.

        ``callback`` is called in this process, perhaps by several threads at once.
        """

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        label: str,
        shared: Sequence[Any] = (),
    ) -> list[Result]:
        """Return ``function(*shared, item)`` for all items, in the order of the items."""
        results: dict[int, Result] = {}

        def keep(numbered: tuple[int, Item], result: Result) -> None:
            results[numbered[0]] = result

        numbered = list(enumerate(items))
        self.map_unordered(partial(_call_numbered, function), numbered, keep, label, shared)
        return [results[number] for number in range(len(numbered))]


def _call_numbered(function: Callable[..., Result], *arguments: Any) -> Result:
    *shared, (_, item) = arguments
    return function(*shared, item)


class Threads(Engine):
    """Threads of this process, with a progress bar on request.

    ``n_jobs=None`` means 1 thread, -1 means as many threads as there are cores, -2 means one
    thread fewer, and so on.

    Examples
    --------
    >>> Threads(2).map(abs, [-3, 4], "absolute values")
    [3, 4]
    """

    def __init__(self, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_threads = count_threads(n_jobs)
        self.verbose = verbose

    def map_unordered(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        callback: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``callback(item, function(*shared, item))`` for all items, in any order.

        Every thread, including the calling thread, takes the next item until no item is left. After
        a failure or an interrupt, no thread takes another item.
        """
        places = itertools.count()
        failures: dict[int, BaseException] = {}

        def work() -> None:
            for place in places:
                if place >= len(items) or failures:
                    return
                try:
                    callback(items[place], function(*shared, items[place]))
                    progress.advance()
                # The calling thread raises the failure again.
                except BaseException as failure:
                    failures[place] = failure

        with Progress(label, len(items), self.verbose) as progress, plain_interrupts():
            n_others = min(self.n_threads, len(items)) - 1
            others = [threading.Thread(target=work) for _ in range(n_others)]
            for thread in others:
                thread.start()
            try:
                work()
                for thread in others:
                    thread.join()
            except BaseException as interrupt:
                # An entry makes the other threads stop.
                failures[-1] = interrupt
                raise
            if failures:
                raise failures[min(failures)]


MakeEngine = Callable[[int | None, bool], Engine]
_IN_EFFECT: ContextVar[MakeEngine] = ContextVar("boreod_engine", default=Threads)


def current_engine(n_jobs: int | None, verbose: bool) -> Engine:
    """Return the engine of the enclosing ``with`` block, or threads of this process."""
    # A wrong ``n_jobs`` is an error, even if the engine does not read ``n_jobs``.
    count_threads(n_jobs)
    return _IN_EFFECT.get()(n_jobs, verbose)


@contextmanager
def use_engine(make: MakeEngine) -> Iterator[None]:
    """Use another engine for all estimators inside a ``with`` block.

    ``make`` returns an engine, given ``n_jobs`` and ``verbose``; it may be the class of an engine.
    """
    before = _IN_EFFECT.set(make)
    try:
        yield
    finally:
        _IN_EFFECT.reset(before)


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for."""
    if n_jobs is None:
        return 1
    # Fast path for a single row: the fast check of the type comes before the slower ``isinstance``.
    is_integer = type(n_jobs) is int or isinstance(n_jobs, Integral)
    if not is_integer or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"`n_jobs` must be None or an integer other than 0; got {n_jobs!r}. "
            "Use -1 for all cores."
        )
    if n_jobs > 0:
        return int(n_jobs)
    # Only Linux can say which cores this process may use.
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


class computed_once:  # noqa: N801  (it is used like a property)
    """A cached property that one thread computes, while other threads that need it wait."""

    _lock = threading.RLock()

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the value."""
        if instance is None:
            return self
        name = self._compute.__name__
        known = vars(instance)
        with computed_once._lock:
            if name not in known:
                known[name] = self._compute(instance)
            return known[name]


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for a SystemError that Ctrl-C at the start of a kernel has caused."""
    try:
        yield
    except SystemError as error:
        origin: BaseException | None = error
        while isinstance(origin, SystemError):
            origin = origin.__cause__ or origin.__context__
        if isinstance(origin, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


class _OneBlasThread:
    """Limits linear algebra to one thread.

    Threads of BLAS would compete with the threads of an engine, and would change the last bits of
    results. The limit holds for the whole process: the first thread to enter sets the limit, and
    the last thread to leave lifts it. OpenMP keeps its number of threads, because a limit of OpenMP
    belongs to the calling thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        # Libraries with their numbers of threads before the limit.
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [(library, library.num_threads) for library in _find_blas()]
                for library, _ in self._before:
                    _set_threads(library, 1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._lift()

    def _lift(self) -> None:
        for library, number in self._before:
            # If the number is not 1, other code has changed it in the meantime.
            if library.num_threads == 1:
                _set_threads(library, number)
        self._before = []

    def begin_anew(self) -> None:
        """Lift the limit, even if threads are inside."""
        self._lift()
        self._lock = threading.Lock()
        self._inside = 0


def _set_threads(library: Any, number: int) -> None:
    """Set a library's number of threads, even if another thread has set the number before."""
    # Only threadpoolctl from version 3.8 on has controlling threads.
    free = getattr(library, "clear_controlling_thread", None)
    if free is not None:
        free(force=True)
    library.set_num_threads(number)
    if free is not None:
        free(force=True)


@cache
def _find_blas() -> list[Any]:
    """Return the controllers of all BLAS libraries; the search for libraries takes a while."""
    import scipy.linalg  # noqa: F401  (compiled kernels use its BLAS, which must be loaded)
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_LIMIT = _OneBlasThread()


def _renew_locks() -> None:
    """Replace locks after a fork: the threads that hold them do not exist in the child."""
    computed_once._lock = threading.RLock()
    _LIMIT.begin_anew()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def one_blas_thread() -> _OneBlasThread:
    """Return a context that limits linear algebra to one thread."""
    return _LIMIT


class Progress:
    """A bar with the remaining time on standard error, for work of more than two seconds.

    The bar needs a terminal. ``total`` is the number of steps, or None if it is unknown.
    """

    def __init__(self, label: str, total: int | None, wanted: bool) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._lock = threading.Lock()

    def __enter__(self) -> "Progress":
        """Start counting."""
        return self

    def advance(self) -> None:
        """Count one step."""
        if not self._wanted:
            return
        with self._lock:
            self._done += 1
            if self._bar is None and time.monotonic() - self._started > 2.0:
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def __exit__(self, *error: object) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._label, total=self._total)
        self._bar.start()
