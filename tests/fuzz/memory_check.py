"""Whether scoring takes more memory than twice its input and 200 MB above a loaded model."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .overseer import environment

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
            self._run("fuzz.big_tables", name, self.folder, self.megabytes)
        if model not in self._loaded:
            self._loaded[model] = int(self._run("fuzz.measured", path).stdout.split()[0])
        try:
            done = self._run("fuzz.measured", path, table, output)
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
            told = f"{above / 2**20:.0f} MB above a loaded model for {size / 2**20:.0f} MB"
            return _failure("memory", f"score of {name} takes too much memory", told)
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


def _failure(verdict: str, told: str, detail: str) -> dict:
    return {"verdict": verdict, "signature": told, "detail": f"{told}\n{detail}"}
