"""Timing for benchmarks: both sides in turn in one run, the best of each, so that noise cancels."""

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that one call takes; others may be at work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def best_of_both(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 5
) -> tuple[float, float]:
    """Time two functions alternately; return the best seconds of each."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def report(promise: str, value: float, bar: str, kept: bool) -> None:
    """Print one line a promise."""
    print(f"{'kept  ' if kept else 'BROKEN'}  {value:10.3f}  (bar: {bar})  {promise}")
