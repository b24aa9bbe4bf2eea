"""Where the work of a command is done: threads of this process, or a Dask cluster."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import typer

ENGINES = ("threads", "dask")
# Ctrl-C reaches all processes of a terminal; this one tells its workers when to stop
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextmanager
def chosen_engine(
    name: str, workers: int | None, scheduler: str | None, jobs: int | None
) -> Iterator[None]:
    """Let an engine work inside a ``with``; refuse options that do not fit it.

    Parameters
    ----------
    name
        ``threads`` or ``dask``.
    workers
        Processes of an own cluster, None for all cores.
    scheduler
        Address of a cluster that is running, in its place.
    jobs
        Number of threads, which a cluster does not have.
    """
    if name not in ENGINES:
        raise typer.BadParameter(f"--engine is {' or '.join(ENGINES)}; got {name!r}.")
    if name == "threads":
        if workers is not None or scheduler is not None:
            raise typer.BadParameter("--workers and --scheduler are of --engine dask.")
        yield
        return
    if workers is not None and scheduler is not None:
        raise typer.BadParameter("--workers and --scheduler exclude each other.")
    if jobs is not None:
        raise typer.BadParameter("--jobs is of --engine threads; dask has --workers.")
    from boreod.parallel import dask

    with ExitStack() as stack:
        cluster = scheduler if scheduler is not None else stack.enter_context(_own(workers))
        stack.enter_context(dask(cluster))
        yield


def _own(workers: int | None) -> Any:
    """Return a cluster of processes on this machine, to be closed in the end."""
    from boreod.parallel import count_threads
    from boreod.parallel.dask_door import load

    return load("distributed").LocalCluster(
        n_workers=workers or count_threads(-1),
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",  # any port: others may have theirs
        preload=[DEAF],
        silence_logs=logging.ERROR,
    )
