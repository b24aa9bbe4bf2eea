"""The process that runs the cases and may die of them: one job a line in, one answer a line out.

Some faults are planted on purpose, to see that the fuzzer notices them.
"""

import ctypes
import faulthandler
import json
import os
import resource
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq

from . import daily_cases, file_cases, model_cases, row_cases, table_cases
from .corpus import make_good_files
from .verdicts import SCORED, Wrong, signature


def make(random: np.random.Generator, good: Path, folder: Path) -> dict[str, Any]:
    """Write nothing."""
    return {"way": "planted"}


def make_good_model(random: np.random.Generator, good: Path, folder: Path) -> dict[str, Any]:
    """Write a model file and a table, both good."""
    (folder / "model.boreod").write_bytes((good / "table-knn.boreod").read_bytes())
    (folder / "table.csv").write_bytes((good / "score.csv").read_bytes())
    return {"way": "planted", "reasons": 0, "command": "score", "options": [],
            "table": "table.csv", "output": "scored.csv"}  # fmt: skip


def crash(folder: Path, settings: dict[str, Any]) -> str:
    """Read what is at address 0."""
    ctypes.string_at(0)
    return SCORED


def hang(folder: Path, settings: dict[str, Any]) -> str:
    """Wait for longer than anyone does."""
    time.sleep(600)
    return SCORED


def not_finite(folder: Path, settings: dict[str, Any]) -> str:
    """Score a good table with a detector that gives NaN for its last row."""
    from boreod.ensemble.fitted import Fitted

    honest = Fitted.assess

    def spoilt(self: Any, *arguments: Any, **options: Any) -> Any:
        found = honest(self, *arguments, **options)
        return found._replace(log_odds=np.append(found.log_odds[:-1], np.nan))

    Fitted.assess = spoilt
    try:
        return table_cases.run(folder, settings)
    finally:
        Fitted.assess = honest


def unfinished(folder: Path, settings: dict[str, Any]) -> str:
    """Leave a file where the results are."""
    from . import verdicts

    honest = verdicts.run_command

    def spoilt(*arguments: object) -> bool:
        (folder / "output" / "scored.csv.part").touch()
        return honest(*arguments)

    table_cases.run_command = spoilt
    try:
        return table_cases.run(folder, settings)
    finally:
        table_cases.run_command = honest


def nothing(folder: Path, settings: dict[str, Any]) -> str:
    """Score a good table with a good model."""
    return model_cases.run(folder, settings)


def other_scores(folder: Path, settings: dict[str, Any]) -> str:
    """Score with damaged machine code, and change a digit of the scores."""
    honest = file_cases.score

    def spoilt(folder: Path, code: Path, output: Path) -> str:
        told = honest(folder, code, output)
        output.write_bytes(output.read_bytes().replace(b"3", b"4", 1))
        return told

    with patch.object(file_cases, "score", spoilt):
        return file_cases.run_caches(folder, settings)


def make_closed_file(random: np.random.Generator, good: Path, folder: Path) -> dict[str, Any]:
    """Write a good model, whose scores go to a file that others may not read."""
    settings = file_cases.make_modes(random, good, folder)
    mine = dict.fromkeys(("user", "owner"), os.geteuid())
    plain = {"there": "file", "output": "scored.csv", "mode": 0o640, "folder_mode": 0o755}
    return {**settings, **plain, **mine}


def wider(folder: Path, settings: dict[str, Any]) -> str:
    """Let everybody read the output."""
    honest = file_cases.call

    def spoilt(*arguments: Any) -> Any:
        done = honest(*arguments)
        arguments[-1].chmod(0o644)
        return done

    with patch.object(file_cases, "call", spoilt):
        return file_cases.run_modes(folder, settings)


def make_tags(random: np.random.Generator, good: Path, folder: Path) -> dict[str, Any]:
    """Write a table whose names look like tags."""
    with patch.object(daily_cases, "PIECES", (f"<{daily_cases.MARK}>",)):
        return daily_cases.make_names(random, good, folder)


def unescaped(folder: Path, settings: dict[str, Any]) -> str:
    """Write names into a report as they are."""
    from boreod.tool import documents

    with patch.object(documents, "escape", str):
        return daily_cases.run_names(folder, settings)


def make_thousandfold(random: np.random.Generator, good: Path, folder: Path) -> dict[str, Any]:
    """Write a table with a thousand times the amounts."""
    settings = daily_cases.make_units(random, good, folder)
    columns = pq.read_table(good / "units.parquet").to_pydict()
    columns["amount"] = [1000.0 * amount for amount in columns["amount"]]
    daily_cases.write_table(columns, folder / "bad.csv")
    plain = {"rows": 400, "scale": {}, "rename": {}, "unknown": ["amount"], "clear": True}
    return {**settings, **plain, "suffix": "csv", "gone": False}


def silent(folder: Path, settings: dict[str, Any]) -> str:
    """Find nothing in any table, and call no row novel."""
    from boreod.tool.scoring import judging, scoring

    with patch.object(scoring, "find_all", return_value=[]), patch.object(judging, "NOVEL", np.inf):
        return daily_cases.run_units(folder, settings)


KINDS = {
    "models": (model_cases.make, model_cases.run),
    "tables": (table_cases.make, table_cases.run),
    "rows": (row_cases.make, row_cases.run),
    "caches": (file_cases.make_caches, file_cases.run_caches),
    "modes": (file_cases.make_modes, file_cases.run_modes),
    "names": (daily_cases.make_names, daily_cases.run_names),
    "units": (daily_cases.make_units, daily_cases.run_units),
    "planted good": (make_good_model, nothing),
    "planted crash": (make, crash),
    "planted hang": (make, hang),
    "planted NaN": (make_good_model, not_finite),
    "planted file": (make_good_model, unfinished),
    "planted code": (file_cases.make_caches, other_scores),
    "planted mode": (make_closed_file, wider),
    "planted tags": (make_tags, unescaped),
    "planted silence": (make_thousandfold, silent),
}
ADDRESSES = 12 * 2**30  # bytes; more is an error instead of a machine without memory
ALLOWANCE = 200 * 2**20
STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main() -> None:
    """Answer jobs until there are no more."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nobody else may write between the answers
    for line in sys.stdin:
        answer = _answer(json.loads(line))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    if "prepare" in job:
        make_good_files(Path(job["prepare"]))
        if job.get("warm"):
            row_cases.warm_up()
        return {"verdict": "ready"}
    folder = Path(job["folder"])
    if "kind" not in job:  # a case that was made before
        file_cases.open_up(folder / "output")
        shutil.rmtree(folder / "output", ignore_errors=True)
        return _judge(folder, json.loads((folder / "case.json").read_text()))
    file_cases.open_up(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    case = {"kind": job["kind"], "seed": job["seed"]}
    (folder / "case.json").write_text(json.dumps(case))
    make = KINDS[job["kind"]][0]
    case |= make(np.random.default_rng(job["seed"]), Path(job["good"]), folder)
    (folder / "case.json").write_text(json.dumps(case, indent=1))
    return _judge(folder, case)


def _judge(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Run a case, and return its verdict and the memory it took."""
    run = KINDS[case["kind"]][1]
    allowed = ALLOWANCE + 2 * sum(file.stat().st_size for file in folder.iterdir())
    before = _start_peak()
    detail = kind = ""
    try:
        verdict = run(folder, case)
    except Wrong as found:
        verdict, detail, kind = "wrong", str(found), signature(str(found))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        verdict, detail = "traceback", traceback.format_exc()
        where = f"{Path(place.filename).name} {place.name}"
        kind = f"{type(error).__name__} in {where}: {signature(str(error))}"
    taken = _peak() - before
    measured = case["kind"] in ("models", "tables") and case.get("command") != "fit"
    if measured and taken > allowed and verdict in ("scored", "refused"):
        verdict, kind = "memory", "more memory than twice the input and 200 MB"
        detail = f"{taken / 2**20:.0f} MB were taken, and {allowed / 2**20:.0f} MB are allowed"
    return {"verdict": verdict, "detail": detail, "signature": kind, "memory": max(0, taken)}


def _start_peak() -> int:
    """Begin to measure, where the system can: return the memory in use."""
    if not REFERENCES.exists():
        return 0
    REFERENCES.write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM") if REFERENCES.exists() else 0


def _status(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
