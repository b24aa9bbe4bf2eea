"""Run many independent tasks on all cores; what is finished stays finished."""

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from boreod.evaluation.journal import Journal
from boreod.parallel import Progress, count_threads

Task = tuple[Any, ...]
Work = Callable[..., dict[str, Any]]


def run_tasks(
    work: Work,
    tasks: dict[str, Task],
    journal: Journal,
    n_jobs: int | None = -1,
    label: str = "runs",
    verbose: bool = True,
) -> list[dict[str, Any]]:
    """Return the results of all tasks in their order, from the journal where it has them.

    Tasks run in processes of their own, in an order that mixes short and long ones, so that the
    remaining time can be told from the time spent. A task that fails has the key ``"error"`` in
    its result; the others go on.

    Parameters
    ----------
    work
        A function that gets a task's arguments and returns what JSON can hold.
    tasks
        Arguments by key.
    journal
        Finished runs; results are added as they come.
    n_jobs
        Number of processes; -1 for all cores, 1 for this process.
    label
        What is being done, in a few words.
    verbose
        Whether long work may show a progress bar.
    """
    open_keys = [key for key in tasks if key not in journal]
    order = np.random.default_rng(0).permutation(len(open_keys))
    waiting = [(open_keys[place], tasks[open_keys[place]]) for place in order]
    processes = min(count_threads(n_jobs), len(waiting))
    with Progress(label, len(waiting), verbose) as progress:
        for key, result in _results(work, waiting, processes):
            journal.add(key, result)
            progress.advance()
    return [journal[key] for key in tasks]


def _results(
    work: Work, waiting: list[tuple[str, Task]], processes: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield results as they come."""
    if processes <= 1:
        for key, task in waiting:
            yield _run(work, key, task)
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=processes, return_as="generator_unordered")
    try:
        yield from pool(delayed(_run_apart)(work, key, task) for key, task in waiting)
    except Exception as error:
        if type(error).__name__ != "TerminatedWorkerError":
            raise
        raise RuntimeError(
            "A worker process was killed, often because memory ran out. Finished runs are kept: "
            "start the same command again with fewer processes (--jobs 1)."
        ) from None


def _run_apart(work: Work, key: str, task: Task) -> tuple[str, dict[str, Any]]:
    """Run one task in a process of its own, deaf to Ctrl-C: that is for the one that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _run(work, key, task)


def _run(work: Work, key: str, task: Task) -> tuple[str, dict[str, Any]]:
    """Run one task, and keep what it says."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work(*task)
        except Exception as error:  # told in the result; the other tasks go on
            return key, {"error": f"{type(error).__name__}: {error}"}
    result["seconds"] = time.perf_counter() - started
    own = {str(warning.message) for warning in caught if warning.category is UserWarning}
    if own:
        result["warnings"] = sorted(own)
    return key, result
