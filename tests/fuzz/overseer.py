"""The side that never imports the library: it starts workers, waits, and sees how they end."""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
PREPARATION_LIMIT = 1800.0  # seconds; kernels may have to be compiled


def environment() -> dict[str, str]:
    """Return variables for processes that import the tests' modules and use one core."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Worker:
    """A process that runs cases; a new one takes the place of a dead one.

    Parameters
    ----------
    folder
        For its log.
    limit
        Seconds after which a case hangs.
    """

    def __init__(self, folder: Path, limit: float) -> None:
        self._log, self._limit = folder / "worker.log", limit
        self._process: subprocess.Popen | None = None

    def ask(self, job: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
        """Return the answer to a job, or that there was none: a crash or a hang."""
        process = self._process or self._start()
        self._log.write_bytes(b"")
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._bury("crash")
        line = self._read_line(self._limit if limit is None else limit)
        if line is None:
            process.send_signal(signal.SIGABRT)  # the log will tell where it was
            return self._bury("hang")
        return json.loads(line) if line.endswith(b"\n") else self._bury("crash")

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for the overseer
            )
        return self._process

    def _read_line(self, limit: float) -> bytes | None:
        """Return a line, what there is of it if the process ends, or None if it takes too long."""
        assert self._process is not None
        assert self._process.stdout is not None
        end, line, number = time.monotonic() + limit, b"", self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(number, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    return None
                piece = os.read(number, 65536)
                if not piece:
                    break
                line += piece
        return line

    def _bury(self, verdict: str) -> dict[str, Any]:
        """Return what is known of a dead or hanging process."""
        assert self._process is not None
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.stop()
        log = self._log.read_text(errors="replace")[-20_000:]
        ending = f"signal {-code}" if code < 0 else f"exit code {code}"
        where = _innermost(log)
        told = f"a hang in {where}" if verdict == "hang" else f"{ending} in {where}"
        return {"verdict": verdict, "detail": f"{told}\n{log}", "signature": told, "memory": 0}


def _innermost(log: str) -> str:
    """Return the function of the library in which a process was, by its log."""
    frames = re.findall(r'File "([^"]+)", line \d+ in (\S+)', log)
    own = [frame for frame in frames if f"{os.sep}boreod{os.sep}" in frame[0]]
    for path, function in own or frames:
        return f"{Path(path).name} {function}"
    return "an unknown place"
