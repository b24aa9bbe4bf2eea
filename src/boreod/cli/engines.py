"""Where the work of a command is done: threads of this process, or a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

ENGINES = ("threads", "dask")


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

    with dask(scheduler, workers):
        yield
