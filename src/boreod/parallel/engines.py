"""Engines, the one of threads of this process, and which one is in effect.

The kernels release the interpreter lock, so threads share the tables and nothing is copied. Blocks
do not depend on each other; the number of threads changes the time and not one bit of the result.
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
SECONDS_WITHOUT_BAR = 2.0


class Engine(ABC):
    """Runs functions over items; made as ``Threads(n_jobs, verbose)`` is.

    Functions and shared objects must survive pickling, so that an engine may send them elsewhere;
    shared objects must not change as long as they live.
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
        """Return ``function(*shared, item)`` of all items, in their order."""
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

    None means 1 thread, negative numbers count from the number of cores (-1 all, -2 all but one).

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

        Every thread, the calling one too, takes the next item until none is left. After a failure
        or an interrupt nobody takes another one.
        """
        places, failures = itertools.count(), dict[int, BaseException]()

        def work() -> None:
            for place in places:
                if place >= len(items) or failures:
                    return
                try:
                    callback(items[place], function(*shared, items[place]))
                    progress.advance()
                except BaseException as failure:  # raised again by the calling thread
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
                failures[-1] = interrupt  # tells the other threads to stop
                raise
            if failures:
                raise failures[min(failures)]


MakeEngine = Callable[[int | None, bool], Engine]
_IN_EFFECT: ContextVar[MakeEngine] = ContextVar("boreod_engine", default=Threads)


def current_engine(n_jobs: int | None, verbose: bool) -> Engine:
    """Return the engine of the enclosing ``with``, or threads of this process."""
    make = _IN_EFFECT.get()
    if make is not Threads:
        count_threads(n_jobs)  # is refused if it is wrong, also by engines that do not need it
    return make(n_jobs, verbose)


@contextmanager
def use_engine(make: MakeEngine) -> Iterator[None]:
    """Let another engine work for all estimators inside a ``with``.

    It is made with ``n_jobs`` and ``verbose`` of the estimator, for example by its class.
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
    is_int = type(n_jobs) is int  # a row that comes alone must not wait for the other question
    if not (is_int or isinstance(n_jobs, Integral)) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"`n_jobs` must be None or an integer other than 0; got {n_jobs!r}. "
            "Use -1 for all cores."
        )
    if n_jobs > 0:
        return int(n_jobs)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


class computed_once:  # noqa: N801  (it is used like a property)
    """A cached property for which all threads wait that ask while one computes it."""

    _lock = threading.RLock()

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the value."""
        if instance is None:
            return self
        name, known = self._compute.__name__, vars(instance)
        with computed_once._lock:
            if name not in known:
                known[name] = self._compute(instance)
            return known[name]

    @classmethod
    def renew_lock(cls) -> None:
        """Forget who computes: after a fork these threads are not there to end it."""
        cls._lock = threading.RLock()


def _after_fork(renew: Callable[[], None]) -> None:
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=renew)


_after_fork(computed_once.renew_lock)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for what Ctrl-C becomes when it hits the start of a kernel."""
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
    """Keeps linear algebra to one thread: ours do the work, others would only get in their way.

    They would also change the last bits of results. The limit holds for the whole process: the
    first to enter sets it, the last lifts it, and these may be two threads. OpenMP is left alone:
    its limit is one of the calling thread.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []  # libraries and their numbers of threads
        _after_fork(self._begin_anew)

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                found = (of for of in _find_libraries() if of.user_api == "blas")
                self._before = [(library, library.num_threads) for library in found]
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
            if library.num_threads == 1:  # otherwise somebody else has set it since
                _set_threads(library, number)

    def _begin_anew(self) -> None:
        """After a fork the threads that are inside are not there to leave."""
        if self._inside > 0:
            self._lift()
        self._lock, self._inside = threading.Lock(), 0


def _set_threads(library: Any, number: int) -> None:
    """Set a library's number of threads, whichever thread has set it before."""
    free = getattr(library, "clear_controlling_thread", None)  # threadpoolctl from 3.8 on
    if free is not None:
        free(force=True)
    library.set_num_threads(number)
    if free is not None:
        free(force=True)


@cache
def _find_libraries() -> list[Any]:
    """Return what controls libraries with threads; looking for them takes a while."""
    import scipy.linalg  # noqa: F401  (compiled kernels use its BLAS, which must be loaded)
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().lib_controllers)


_LIMIT = _OneBlasThread()


def one_blas_thread() -> _OneBlasThread:
    """Return what keeps linear algebra to one thread, to be entered."""
    return _LIMIT


class Progress:
    """A bar with the remaining time on standard error, drawn if the work takes over two seconds.

    It needs a terminal. The total number of steps is None if nobody knows it.
    """

    def __init__(self, label: str, total: int | None, wanted: bool) -> None:
        self._label, self._total, self._done = label, total, 0
        self._started = time.monotonic()
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._lock = threading.Lock()

    def __enter__(self) -> "Progress":
        """Begin to count."""
        return self

    def advance(self) -> None:
        """Count one step."""
        if not self._wanted:
            return
        with self._lock:  # threads advance together
            self._done += 1
            if self._bar is None and time.monotonic() - self._started > SECONDS_WITHOUT_BAR:
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def __exit__(self, *error: object) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._label, total=self._total)
        self._bar.start()
