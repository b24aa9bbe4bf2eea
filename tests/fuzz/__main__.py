"""``python -m fuzz``: mutate model files, tables, rows and more for some minutes."""

import argparse
import json
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .processes import PREPARATION_LIMIT, MemoryCheck, Worker

# How often a kind is drawn: cases of some kinds take seconds.
KINDS = {"models": 20, "tables": 20, "rows": 20, "modes": 10, "units": 5, "caches": 1, "names": 1}
# How much longer than others a case may take: kernels are compiled, or commands follow each other.
SLOW = {"caches": 3.0, "names": 3.0}
FAILURES = ("crash", "hang", "traceback", "wrong", "memory")
KEPT = 3  # cases of the same failure


@dataclass
class Campaign:
    """A run of the fuzzer.

    Attributes
    ----------
    seed
        Of everything that is drawn.
    failures
        Folder for failing cases, which is made when there is one; None for a temporary one.
    limit
        Seconds after which a case hangs; slow kinds have more.
    look_at_memory
        After how many cases of tables a fresh process scores a large one; 0 for never.
    show
        Is called with every failure that was not seen before.
    """

    seed: int
    failures: Path | None = None
    limit: float = 60.0
    look_at_memory: int = 50
    show: Any = print
    counts: dict[str, Counter] = field(default_factory=dict)
    found: Counter = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    _looking: float = 0.0

    def run(
        self,
        minutes: float = 0.0,
        cases: int | None = None,
        kinds: Any = tuple(KINDS),
        good: Path | None = None,
    ) -> None:
        """Run cases for some minutes, or so many of them; the good files may be there already."""
        draw = random.Random(self.seed)
        with tempfile.TemporaryDirectory(prefix="boreod-fuzz-work-") as name:
            work = Path(name)
            work.chmod(0o711)  # some cases are run by another user
            worker = Worker(work, self.limit)
            self.good = good or work / "good"
            self.check = MemoryCheck(self.good, work / "big")
            try:
                if good is None:
                    self._prepare(worker, warm="rows" in kinds)
                started = time.monotonic()
                number = 0
                while True:
                    self.seconds = time.monotonic() - started
                    if number == cases or (cases is None and self.seconds >= 60.0 * minutes):
                        break
                    (kind,) = draw.choices(kinds, [KINDS[kind] for kind in kinds])
                    self._step(worker, work, kind, draw.getrandbits(60))
                    number += 1
                self.seconds = time.monotonic() - started
            finally:
                worker.stop()

    def _prepare(self, worker: Worker, warm: bool) -> None:
        answer = worker.ask({"prepare": str(self.good), "warm": warm}, PREPARATION_LIMIT)
        if answer["verdict"] != "ready":
            raise RuntimeError(f"The good files could not be made: {answer['detail']}")

    def _step(self, worker: Worker, work: Path, kind: str, seed: int) -> None:
        case = {
            "kind": kind,
            "seed": seed,
            "good": str(self.good),
            "folder": str(work / "case"),
        }
        started = time.monotonic()
        answer = worker.ask(case, self.limit * SLOW.get(kind, 1.0))
        took = time.monotonic() - started
        self.slowest[kind] = max(took, self.slowest.get(kind, 0.0))
        self.memory[kind] = max(answer["memory"], self.memory.get(kind, 0))
        self._note(kind, answer, work / "case")
        every, done = self.look_at_memory, self.counts[kind].total()
        if kind == "tables" and every and done % every == 0 and self._may_look():
            started = time.monotonic()
            wrong = self.check.look()
            self._looking += time.monotonic() - started
            self._note("memory", wrong or {"verdict": "scored"}, None)

    def _may_look(self) -> bool:
        """Large tables may take a quarter of the time."""
        return self._looking <= 0.25 * self.seconds

    def _note(self, kind: str, answer: dict[str, Any], folder: Path | None) -> None:
        """Count a verdict, and keep the case if it is a failure of which few are kept."""
        verdict = answer["verdict"]
        self.counts.setdefault(kind, Counter())[verdict] += 1
        if verdict not in FAILURES:
            return
        name = f"{kind}: {verdict}: {answer['signature']}"
        self.found[name] += 1
        if self.found[name] > KEPT:
            return
        if self.failures is None:
            self.failures = Path(tempfile.mkdtemp(prefix="boreod-fuzz-"))
        kept = self.failures / f"{kind.replace(' ', '-')}-{verdict}-{self.found.total():05d}"
        if folder is None:
            kept.mkdir(parents=True)
        else:
            shutil.copytree(folder, kept, symlinks=True)
        (kept / "failure.txt").write_text(f"{name}\n\n{answer['detail']}\n")
        if self.found[name] == 1:
            self.show(f"{name}\n    {kept}")

    @property
    def failed(self) -> int:
        """Number of failures."""
        return self.found.total()

    def table(self) -> str:
        """Return the figures as lines."""
        head = ("kind", "cases", "scored", "refused", *FAILURES, "slowest", "most memory")
        lines = [head]
        for kind, counts in self.counts.items():
            cells = [counts.total(), counts["scored"], counts["refused"]]
            cells += [counts[name] for name in FAILURES]
            memory = self.check.peak if kind == "memory" else self.memory.get(kind, 0)
            slowest = f"{self.slowest[kind]:.1f} s" if kind in self.slowest else ""
            lines.append((kind, *map(str, cells), slowest, f"{memory / 2**20:.0f} MB"))
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        rows = [
            "  ".join(c.rjust(w) if p else c.ljust(w) for p, (c, w) in enumerate(pairs))
            for pairs in (list(zip(line, widths, strict=True)) for line in lines)
        ]
        total = sum(counts.total() for counts in self.counts.values())
        speed = total / self.seconds if self.seconds else 0.0
        rows.append(
            f"{total} cases in {self.seconds:.0f} s, {speed:.1f} a second, seed {self.seed}"
        )
        if self.check.peak_of:
            rows.append(f"most memory above a loaded model: {self.check.peak_of}")
        rows += [f"{count} x {name}" for name, count in self.found.most_common()]
        if self.failures is not None and self.failed:
            rows.append(f"failing cases: {self.failures}")
        return "\n".join(rows)


def run_again(folder: Path, limit: float) -> dict[str, Any]:
    """Run a saved case again in a process of its own, on a copy."""
    with tempfile.TemporaryDirectory(prefix="boreod-fuzz-work-") as name:
        work = Path(name)
        work.chmod(0o711)
        shutil.copytree(folder, work / "case", symlinks=True)
        json.loads((work / "case" / "case.json").read_text())  # says so if it is none
        worker = Worker(work, limit)
        try:
            return worker.ask({"folder": str(work / "case")}, limit * max(SLOW.values()))
        finally:
            worker.stop()


def main(arguments: list[str] | None = None) -> int:
    """Run cases or one saved case; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 10 if not given")
    parser.add_argument("--seed", help="of everything random; a new one if not given")
    parser.add_argument("--kinds", default=",".join(KINDS), help=", ".join(KINDS))
    parser.add_argument("--failures", type=Path, help="folder for failing cases")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds until a case hangs")
    parser.add_argument("--again", type=Path, help="a saved case, to be run again")
    given = parser.parse_args(arguments)
    if given.again is not None:
        answer = run_again(given.again, given.limit)
        _say(f"{answer['verdict']}\n{answer.get('detail', '')}".strip())
        return int(answer["verdict"] in FAILURES)
    seed = int(given.seed) if given.seed else secrets.randbits(32)
    _say(f"seed {seed}")
    campaign = Campaign(seed, given.failures, given.limit, show=_say)
    try:
        campaign.run(given.minutes, kinds=given.kinds.split(","))
    except KeyboardInterrupt:
        _say("Stopped.")
    if campaign.counts:
        _say(campaign.table())
    return int(campaign.failed > 0)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
