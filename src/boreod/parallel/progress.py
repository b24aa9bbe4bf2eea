"""A progress bar on standard error that appears only when the work turns out to be long."""

import sys
import threading
import time
from types import TracebackType
from typing import Any

QUIET_SECONDS = 2.0


class Progress:
    """Count finished blocks; draw a bar with the remaining time after two seconds.

    Parameters
    ----------
    label
        What is being done, in a few words.
    total
        Number of steps, None if nobody knows.
    wanted
        Whether a bar may be drawn at all; it also needs a terminal.
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
            if self._bar is None and time.monotonic() - self._started > QUIET_SECONDS:
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._label, total=self._total)
        self._bar.start()
