"""Faults that are planted on purpose, to see that the fuzzer notices them."""

import ctypes
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import model_cases, table_cases
from .verdicts import SCORED


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
    from boreod import BORE

    honest = BORE.assess

    def spoilt(self: Any, *arguments: Any) -> Any:
        found = honest(self, *arguments)
        return found._replace(log_odds=np.append(found.log_odds[:-1], np.nan))

    BORE.assess = spoilt
    try:
        return table_cases.run(folder, settings)
    finally:
        BORE.assess = honest


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
