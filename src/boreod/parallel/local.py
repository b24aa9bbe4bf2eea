"""The local engine: threads of this process.

The kernels release the interpreter lock, so threads share the tables and nothing is copied. Blocks
do not depend on each other; the number of threads changes the time and not one bit of the result.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from numbers import Integral
from typing import Any, Protocol, TypeVar

from boreod.parallel.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """What the library needs of an engine, which is made as ``Threads(n_jobs, verbose)`` is.

    Functions and shared objects must survive pickling, so that an engine may send them elsewhere;
    shared objects must not change as long as they live.
    """

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        label: str,
        shared: Sequence[Any] = (),
    ) -> list[Result]:
        """Return ``function(*shared, item)`` of all items, in their order."""

    def feed(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        take: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``take(item, function(*shared, item))`` for all items, in any order.

        ``take`` is called in this process, perhaps by several threads at once.
        """


class Threads:
    """Threads of this process.

    Parameters
    ----------
    n_jobs
        Number of threads; None means 1 and negative numbers count from the number of cores
        (-1 all, -2 all but one), as everywhere in scikit-learn.
    verbose
        Show a progress bar with the remaining time when the work is long.

    Examples
    --------
    >>> Threads(2).map(abs, [-3, 4], "absolute values")
    [3, 4]
    """

    def __init__(self, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_threads = count_threads(n_jobs)
        self.verbose = verbose

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        label: str,
        shared: Sequence[Any] = (),
    ) -> list[Result]:
        """Return ``function(*shared, item)`` of all items, in their order."""
        results: dict[int, Result] = {}

        def step(place: int) -> None:
            results[place] = function(*shared, items[place])

        self._run(step, len(items), label)
        return [results[place] for place in range(len(items))]

    def feed(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        take: Callable[[Item, Result], None],
        label: str,
        shared: Sequence[Any] = (),
    ) -> None:
        """Call ``take(item, function(*shared, item))`` for all items, in any order."""

        def step(place: int) -> None:
            take(items[place], function(*shared, items[place]))

        self._run(step, len(items), label)

    def _run(self, step: Callable[[int], None], n_steps: int, label: str) -> None:
        with Progress(label, n_steps, self.verbose) as progress, plain_interrupts():
            _Run(step, n_steps, progress).finish(min(self.n_threads, n_steps))


class _Run:
    """One step after the other: every thread takes the next until none is left.

    The calling thread works too. After a failure or an interrupt nobody takes another step.
    """

    def __init__(self, step: Callable[[int], None], n_steps: int, progress: Progress) -> None:
        self._step, self._n_steps, self._progress = step, n_steps, progress
        self._next = itertools.count()
        self._failures: dict[int, BaseException] = {}

    def finish(self, n_threads: int) -> None:
        """Make all steps, or raise the first failure."""
        helpers = [threading.Thread(target=self._work) for _ in range(n_threads - 1)]
        for helper in helpers:
            helper.start()
        try:
            self._work()
            for helper in helpers:
                helper.join()
        except BaseException as interrupt:
            self._failures[-1] = interrupt  # tells the helpers to stop
            raise
        if self._failures:
            raise self._failures[min(self._failures)]

    def _work(self) -> None:
        for place in self._next:
            if place >= self._n_steps or self._failures:
                return
            try:
                self._step(place)
                self._progress.advance()
            except BaseException as failure:  # raised again by the calling thread
                self._failures[place] = failure


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


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep linear algebra to one thread: ours do the work, others would only get in their way.

    They would also change the last bits of results.
    """
    return _one_blas_thread()


class _OneBlasThread:
    """The limit holds for the whole process: the first to enter sets it, the last lifts it."""

    def __init__(self) -> None:
        import scipy.linalg  # noqa: F401  (compiled kernels use its BLAS, which must be loaded)
        from threadpoolctl import ThreadpoolController

        self._controller = ThreadpoolController()
        self._lock, self._inside, self._limit = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit.enter_context(self._controller.limit(limits=1))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.close()


@cache
def _one_blas_thread() -> _OneBlasThread:
    return _OneBlasThread()


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"`n_jobs` must be None or an integer other than 0; got {n_jobs!r}. "
            "Use -1 for all cores."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, _usable_cores() + 1 + int(n_jobs))


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
