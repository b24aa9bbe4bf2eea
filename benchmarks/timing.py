"""Time functions for benchmarks; two functions are timed in turn, and the best times count."""

import resource
import subprocess
import time
from collections.abc import Callable
from typing import Any


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds that one call takes, whatever else runs on the machine."""
    started = time.process_time()
    work()
    return time.process_time() - started


def cpu_seconds_of_process(command: list[str], **options: Any) -> float:
    """Return the CPU seconds of a process; ``options`` are those of ``subprocess.run``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best_of_both(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 5
) -> tuple[float, float]:
    """Time two functions alternately; return the best seconds of each."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def report(promise: str, value: float, bar: str, kept: bool) -> None:
    """Print a line that says whether a promise is kept."""
    print(f"{'kept  ' if kept else 'BROKEN'}  {value:10.3f}  (bar: {bar})  {promise}")
