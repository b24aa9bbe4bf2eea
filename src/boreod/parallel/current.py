"""The engine in effect: threads of this process, unless a ``with`` says otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from boreod.parallel.local import Engine, Threads

MakeEngine = Callable[[int | None, bool], Engine]

_IN_EFFECT: ContextVar[MakeEngine] = ContextVar("boreod_engine", default=Threads)


def current_engine(n_jobs: int | None, verbose: bool) -> Engine:
    """Return the engine of the enclosing ``with``, or threads of this process.

    Parameters
    ----------
    n_jobs
        Number of threads; a cluster has its own number.
    verbose
        Show a progress bar when the work is long.

    Examples
    --------
    >>> current_engine(2, False).map(abs, [-3, 4], "absolute values")
    [3, 4]
    """
    return _IN_EFFECT.get()(n_jobs, verbose)


@contextmanager
def use_engine(make: MakeEngine) -> Iterator[None]:
    """Let another engine work for all estimators inside a ``with``.

    Parameters
    ----------
    make
        Called with ``n_jobs`` and ``verbose`` of an estimator, returns an engine; for example the
        class of one.
    """
    before = _IN_EFFECT.set(make)
    try:
        yield
    finally:
        _IN_EFFECT.reset(before)
