"""Damaged and hostile tables: they are refused in a sentence, or fitted and scored."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from tables.broken import BROKEN

from .byte_damage import damage_often, splice
from .good_files import REPRESENTATIONS, SUFFIXES
from .hostile_tables import hostile_numbers, hostile_text, hostile_types, other_encoding
from .verdicts import (
    REFUSED,
    SCORED,
    check_finite,
    check_folder,
    check_scores,
    check_sentence,
    run_command,  # fmt: skip
)

NAMES = ("csv", "csv.gz", "csv.bz2", "gz", "parquet", "jsonl", "arrow", "feather", "txt", "xlsx")
OUTPUTS = ("scored.csv", "scored.parquet", "scored.jsonl", "scored.arrow")
SMALL_BROKEN = [case for case in BROKEN if len(case[1]) < 100_000]
Random = np.random.Generator


def make(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write a table that somebody spoilt, and a model to score it with."""
    fitting = random.random() < 0.3
    way = WAYS[random.integers(len(WAYS))]
    suffix = str(random.choice(SUFFIXES))
    kind = "fit" if fitting else "score"
    content, suffix = way(good, kind, suffix, random)
    if random.random() < 0.08:
        suffix = str(random.choice(NAMES))
    (folder / f"table.{suffix}").write_bytes(content)
    command = "fit" if fitting else str(random.choice(["score", "score", "score", "explain"]))
    settings = {"way": way.__name__, "table": f"table.{suffix}", "command": command}
    if fitting:
        settings["whole"] = bool(random.random() < 0.05)  # with all columns it takes seconds
        return settings
    models = sorted(REPRESENTATIONS)
    model = good / f"table-{models[random.integers(len(models))]}.boreod"
    shutil.copy(model, folder / "model.boreod")
    options = [
        ["--reasons", "2"],
        ["--top", "7"],
        ["--no-ids"],
        ["--all-columns"],
        ["--id", "hour"],
    ]
    options += [["--decimal", ","], ["--separator", ";"], ["--no-header"], ["--encoding", "cp1252"]]
    chosen = options[random.integers(len(options))] if random.random() < 0.5 else []
    if command == "explain" and chosen[:1] not in (["--decimal"], ["--separator"]):
        chosen = []
    return {**settings, "options": chosen, "output": str(random.choice(OUTPUTS))}


def run(folder: Path, settings: dict[str, Any]) -> str:
    """Fit or score the table."""
    table, output = folder / settings["table"], folder / "output"
    output.mkdir()
    if settings["command"] == "fit":
        return _fit(table, output, settings["whole"])
    arguments = [settings["command"], folder / "model.boreod", table, *settings["options"]]
    if settings["command"] == "explain":
        done = run_command(*arguments)
        check_folder(output, [])
        return SCORED if done else REFUSED
    done = run_command(*arguments, "--jobs", 1, "-o", output / settings["output"])
    check_folder(output, [settings["output"]] if done else [])
    if done:
        check_scores(output / settings["output"], whole="--top" not in settings["options"])
    return SCORED if done else REFUSED


def _fit(table: Path, output: Path, whole: bool) -> str:
    """Fit all columns by the command, or a few by the function behind it."""
    path = output / "model.boreod"
    if whole:
        names = ["--label", "fraud", "--id", "id"]
        done = run_command("fit", table, *names, "-o", path, "--jobs", 1)
        check_folder(output, ["model.boreod"] if done else [])
        return SCORED if done else REFUSED
    import warnings

    from payments import FEW

    from boreod.representation.memory import NotEnoughMemoryError
    from boreod.table_model import TableModel, fit_table

    few = {"representation": FEW, "n_estimators": 20, "costs": "complexity:shared", "n_jobs": 1}
    reading = {"types": {"fraud": "text"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            roles = {"label": "fraud", "ids": ["id"], "reading": reading, "random_state": 0}
            model = fit_table(str(table), **roles, **few)
    except (ValueError, OSError, NotEnoughMemoryError) as error:
        check_sentence(str(error))
        check_folder(output, [])
        return REFUSED
    judged = model.detector.oob_proba_
    check_finite(judged[~np.isnan(judged)], "out-of-bag probabilities")
    model.save(path)
    check_folder(output, ["model.boreod"])
    TableModel.load(path)
    return SCORED


def _damaged(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    name = "other" if random.random() < 0.1 else kind
    return damage_often((good / f"{name}.{suffix}").read_bytes(), random), suffix


def _spliced(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    other = f"other.{suffix}" if random.random() < 0.5 else f"score.{random.choice(SUFFIXES)}"
    one, two = (good / f"{kind}.{suffix}").read_bytes(), (good / other).read_bytes()
    return splice(one, two, random), suffix


def _known(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    name, content, _, _ = SMALL_BROKEN[random.integers(len(SMALL_BROKEN))]
    content = content if random.random() < 0.3 else damage_often(content, random)
    return content, name.partition(".")[2]


def _text(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    suffix = str(random.choice(["csv", "tsv", "jsonl"]))
    text = (good / f"{kind}.{suffix}").read_text(encoding="utf-8")
    return hostile_text(text, suffix, random), suffix


def _numbers(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    suffix = str(random.choice(["csv", "parquet", "arrow", "jsonl"]))
    return hostile_numbers(good / f"{kind}.parquet", suffix, random), suffix


def _types(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    suffix = str(random.choice(["parquet", "arrow"]))
    return hostile_types(good / f"{kind}.parquet", suffix, random), suffix


def _encoded(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    suffix = str(random.choice(["csv", "tsv", "jsonl"]))
    return other_encoding((good / f"{kind}.{suffix}").read_text("utf-8"), random), suffix


def _nothing_much(good: Path, kind: str, suffix: str, random: Random) -> tuple[bytes, str]:
    content = (good / f"{kind}.{suffix}").read_bytes()
    lines = content.splitlines(keepends=True)
    odd = (b"", b"\n", b" \n\t\n", b"\xef\xbb\xbf", b"\0", lines[0], b"".join(lines[:2]), content)
    return odd[random.integers(len(odd))], suffix


WAYS = (
    *(_damaged, _damaged, _damaged, _spliced, _known, _text, _text, _types, _types),
    *(_numbers, _numbers, _numbers, _numbers, _encoded, _nothing_much),
)
