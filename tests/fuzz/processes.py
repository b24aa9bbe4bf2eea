"""Processes that run cases and may die of them; this side never imports the library.

``python -m fuzz.processes MODEL [TABLE OUTPUT]`` loads a model in a fresh process, and perhaps
scores a table; it prints its peak memory.
"""

import json
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
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
            # The log will show where it was.
            process.send_signal(signal.SIGABRT)
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
                chunk = os.read(number, 65536)
                if not chunk:
                    break
                line += chunk
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
        found = f"a hang in {where}" if verdict == "hang" else f"{ending} in {where}"
        return {"verdict": verdict, "detail": f"{found}\n{log}", "signature": found, "memory": 0}


def _innermost(log: str) -> str:
    """Return the function of the library in which a process was, by its log."""
    frames = re.findall(r'File "([^"]+)", line \d+ in (\S+)', log)
    own = [frame for frame in frames if f"{os.sep}boreod{os.sep}" in frame[0]]
    for path, function in own or frames:
        return f"{Path(path).name} {function}"
    return "an unknown place"


ALLOWANCE = 200 * 2**20
NAMES = ("good.csv", "packed.parquet", "good.jsonl", "good.parquet", "long_cells.csv",
         "ids.parquet", "one_line.csv", "categories.parquet", "late_word.csv",
         "quote.csv")  # fmt: skip
MODELS = ("raw", "knn", "samples")


@dataclass
class MemoryCheck:
    """Looks at one table after the other.

    Attributes
    ----------
    good
        Folder of good model files.
    folder
        For the tables, which are written when they are needed, and for results.
    megabytes
        Size of the tables.
    limit
        Seconds after which a command hangs.
    peak
        Largest memory above a loaded model so far, in bytes, and the table of it.
    """

    good: Path
    folder: Path
    megabytes: int = 30
    limit: float = 600.0
    peak: int = 0
    peak_of: str = ""
    looks: int = 0
    _loaded: dict[str, int] = field(default_factory=dict)

    def look(self) -> dict | None:
        """Score the next table in a fresh process; return what is wrong, or None."""
        self.folder.mkdir(exist_ok=True)
        name = NAMES[self.looks % len(NAMES)]
        model = MODELS[self.looks % len(MODELS)]
        self.looks += 1
        path, table = self.good / f"table-{model}.boreod", self.folder / name
        output = self.folder / "scored.csv"
        if not table.exists():
            self._run("fuzz.corpus", name, self.folder, self.megabytes)
        if model not in self._loaded:
            self._loaded[model] = int(self._run("fuzz.processes", path).stdout.split()[0])
        try:
            done = self._run("fuzz.processes", path, table, output)
        except subprocess.TimeoutExpired:
            return _failure("hang", f"score of {name} takes more than {self.limit:.0f} s", name)
        left = [item.name for item in self.folder.iterdir() if item.name not in NAMES]
        output.unlink(missing_ok=True)
        if done.returncode != 0 or not done.stdout.strip():
            return _failure("crash", f"score of {name} ends with {done.returncode}", done.stderr)
        peak, code = map(int, done.stdout.split())
        above, size = peak - self._loaded[model], table.stat().st_size
        if above > self.peak:
            self.peak, self.peak_of = above, f"{name}, {size / 2**20:.0f} MB, model {model}"
        if left != (["scored.csv"] if code == 0 else []):
            return _failure("wrong", f"score of {name} leaves files", f"{left}, exit code {code}")
        if code not in (0, 1, 2) or "Traceback" in done.stderr or "unforeseen" in done.stderr:
            return _failure("traceback", f"score of {name} fails", done.stderr)
        if above > 2 * size + ALLOWANCE:
            amount = f"{above / 2**20:.0f} MB above a loaded model for {size / 2**20:.0f} MB"
            return _failure("memory", f"score of {name} takes too much memory", amount)
        return None

    def _run(self, module: str, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=self.limit,
            check=False,
        )


def _failure(verdict: str, signature: str, detail: str) -> dict:
    return {"verdict": verdict, "signature": signature, "detail": f"{signature}\n{detail}"}


STATUS = Path("/proc/self/status")


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(model: str, *rest: str) -> None:
    """Do what is asked for and print the peak and the exit code."""
    code = 0
    if rest:
        from boreod.tool.cli import app

        try:
            app(["score", model, rest[0], "-o", rest[1], "--quiet", "--jobs", "1"])
        except SystemExit as end:
            code = int(end.code or 0)
    else:
        from boreod import load

        load(model)
    sys.stdout.write(f"{peak()} {code}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
