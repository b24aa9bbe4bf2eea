"""Run many independent tasks on all cores, and keep finished results on disk."""

import ast
import hashlib
import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from boreod.parallel import Progress, count_threads

Task = tuple[Any, ...]
Work = Callable[..., dict[str, Any]]
PACKAGE = Path(__file__).resolve().parents[2]
HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef)
# Code that only presents results, below the package's folder.
PRESENTATION = ("tool/", "paper/commands", "paper/reproduce/__init__", "paper/reproduce/claims",
                "paper/reproduce/tables")  # fmt: skip


class Journal(dict[str, dict[str, Any]]):
    """Results of finished runs by their keys, kept in a file of JSON lines.

    A run that was stopped or killed in the middle of a line loses only that line. Lines that
    a different version of the code wrote are ignored.

    Parameters
    ----------
    path
        The file, or None to keep results in memory only.

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.add("cardio/bore/1", {"auc": 0.95})
    >>> "cardio/bore/1" in journal, journal["cardio/bore/1"]["auc"]
    (True, 0.95)
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        if path is not None and path.exists():
            self._read(path)

    def add(self, key: str, result: dict[str, Any]) -> None:
        """Keep the result of a run. A failure is not written, so the next call tries again."""
        self[key] = result
        if self._path is None or "error" in result:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"code": code_digest(), "run": key, "result": result})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _read(self, path: Path) -> None:
        """Read all complete lines, and cut off an incomplete last line."""
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            with path.open("r+b") as file:
                file.truncate(len(complete))
        for number, text in enumerate(complete.decode("utf-8", "replace").splitlines(), 1):
            try:
                line = json.loads(text)
                if line["code"] == code_digest():
                    self[line["run"]] = line["result"]
            except (ValueError, TypeError, KeyError):
                raise ValueError(
                    f"Line {number} of {path} is not a finished run. Delete this line, or delete "
                    "the file to start anew."
                ) from None


@cache
def code_digest() -> str:
    """Return a hash of all code that computes runs, without comments and docstrings."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).as_posix().startswith(PRESENTATION):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, HAVE_DOCSTRINGS) and ast.get_docstring(node) is not None:
                node.body[0] = ast.Pass()
        found.update(ast.unparse(tree).encode())
    return found.hexdigest()[:12]


def run_tasks(
    work: Work,
    tasks: dict[str, Task],
    journal: Journal,
    n_jobs: int | None = -1,
    label: str = "runs",
    verbose: bool = True,
) -> list[dict[str, Any]]:
    """Return the results of all tasks in order; reuse results in the journal.

    Tasks run in other processes, in random order, so that short and long tasks mix and the
    remaining time can be estimated. If a task fails, its result has the key ``"error"``, and the
    other tasks go on.

    Parameters
    ----------
    work
        A function that takes the arguments of a task. JSON must be able to hold its result.
    tasks
        The arguments of each task, by the key of the task.
    journal
        Finished runs, to which new results are added.
    n_jobs
        Number of processes; -1 for all cores, 1 for this process.
    label
        Title of the progress bar.
    verbose
        Whether to show a progress bar when the work is long.
    """
    waiting = [(key, task) for key, task in tasks.items() if key not in journal]
    waiting = [waiting[place] for place in np.random.default_rng(0).permutation(len(waiting))]
    processes = min(count_threads(n_jobs), len(waiting))
    with Progress(label, len(waiting), verbose) as progress:
        for key, result in _results(work, waiting, processes):
            journal.add(key, result)
            progress.advance()
    return [journal[key] for key in tasks]


def _results(
    work: Work, waiting: list[tuple[str, Task]], processes: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield keys and results as they come."""
    from joblib import Parallel, delayed

    # A single process is this process, in which Ctrl-C must stop the run.
    start = delayed(_run_in_worker if processes > 1 else _run)
    pool = Parallel(n_jobs=max(1, processes), return_as="generator_unordered")
    try:
        yield from pool(start(work, key, task) for key, task in waiting)
    except Exception as error:
        if type(error).__name__ != "TerminatedWorkerError":
            raise
        raise RuntimeError(
            "A worker process was killed, often because memory ran out. Finished runs are kept: "
            "start the same command again with fewer processes (--jobs 1)."
        ) from None


def _run_in_worker(work: Work, key: str, task: Task) -> tuple[str, dict[str, Any]]:
    """Run one task in a worker, which ignores Ctrl-C: the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _run(work, key, task)


def _run(work: Work, key: str, task: Task) -> tuple[str, dict[str, Any]]:
    """Run one task and return its result with its time, its warnings or its error."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work(*task)
        except Exception as error:
            return key, {"error": f"{type(error).__name__}: {error}"}
    result["seconds"] = time.perf_counter() - started
    own = {str(warning.message) for warning in caught if warning.category is UserWarning}
    if own:
        result["warnings"] = sorted(own)
    return key, result
