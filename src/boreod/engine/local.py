"""The local engine: threads of this process.

The kernels release the interpreter lock, so threads share the tables and nothing is copied. Blocks
do not depend on each other; the number of threads changes the time and not one bit of the result.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from boreod.engine.progress import Progress

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """What the library needs of an engine."""

    def map(
        self, function: Callable[[Item], Result], items: Sequence[Item], label: str
    ) -> list[Result]:
        """Return the results in the order of the items."""


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
        self, function: Callable[[Item], Result], items: Sequence[Item], label: str
    ) -> list[Result]:
        """Return the results in the order of the items."""
        with Progress(label, len(items), self.verbose) as progress, plain_interrupts():
            return _Run(function, items, progress).finish(min(self.n_threads, len(items)))


class _Run(Generic[Item, Result]):
    """One function over many items: every thread takes the next item until none is left.

    The calling thread works too. After a failure or an interrupt nobody takes another item.
    """

    def __init__(
        self, function: Callable[[Item], Result], items: Sequence[Item], progress: Progress
    ) -> None:
        self._function, self._items, self._progress = function, items, progress
        self._next = itertools.count()
        self._results: dict[int, Result] = {}
        self._failures: dict[int, BaseException] = {}

    def finish(self, n_threads: int) -> list[Result]:
        """Return the results in order, or raise the first failure."""
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
        return [self._results[place] for place in range(len(self._items))]

    def _work(self) -> None:
        for place in self._next:
            if place >= len(self._items) or self._failures:
                return
            try:
                self._results[place] = self._function(self._items[place])
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
    return _blas().limit(limits=1)


@cache
def _blas() -> "ThreadpoolController":
    import scipy.linalg  # noqa: F401  (compiled kernels use its BLAS, which must be loaded by now)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
