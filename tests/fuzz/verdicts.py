"""What is right: a command or a call gives finite results, or one sentence and no file."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

SCORED, REFUSED = "scored", "refused"
LONGEST_SENTENCE = 2000
FORBIDDEN = {
    "Traceback": "a traceback",
    "unforeseen": "an error that nobody foresaw",
    "There is not enough memory for this": "more memory than there is",
    "encountered in": "a warning of NumPy",
}


class Wrong(Exception):  # noqa: N818 - it is a verdict, the error is elsewhere
    """What was found to be wrong."""


def call(*arguments: object) -> Any:
    """Run a command in this process, and return what it printed and how it ended."""
    from typer.testing import CliRunner

    from boreod.tool.cli import app

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    for words, meaning in FORBIDDEN.items():
        if words in result.stderr:
            place = result.stderr.index(words)
            around = result.stderr[max(0, place - 300) : place + 300]
            raise Wrong(f"{arguments[0]} shows {meaning}: {around.strip()}")
    return result


def run_command(*arguments: object) -> bool:
    """Run a command in this process; return False if it was refused in a sentence."""
    command, result = str(arguments[0]), call(*arguments)
    if result.exit_code == 0:
        return True
    if result.exit_code not in (1, 2):
        raise Wrong(f"{command} ends with exit code {result.exit_code}")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]
    if len(lines) != 1 or not lines[0].startswith("Error: "):
        raise Wrong(f"{command} does not say what is wrong in one line: {result.stderr[:500]!r}")
    check_sentence(lines[0])
    return False


def check_sentence(message: str) -> None:
    """Raise for an error that is empty, very long, or no sentence."""
    if not 10 < len(message) < LONGEST_SENTENCE or "\n" in message or message[-1] not in ".?)":
        raise Wrong(f"an error is no sentence ({len(message)} letters): {message[:500]!r}")


def check_finite(values: object, what: str) -> None:
    """Raise for NaN and infinity."""
    array = np.asarray(values)
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0].tolist()
        raise Wrong(f"{what} are not finite, first {array[tuple(bad)]} at {bad}")


def check_folder(folder: Path, expected: list[str]) -> None:
    """Raise if there are other files than expected, such as half-written ones."""
    found = sorted(item.name for item in folder.iterdir())
    if found != sorted(expected):
        raise Wrong(f"files {expected} should be there, and there are {found}")


def check_scores(path: Path, whole: bool) -> None:
    """Raise for probabilities that are none, and for ranks in another order.

    With ``whole`` all ranks must be there. Novel rows come first, and are all alerts.
    """
    probabilities, ranks, alerts = _read_scores(path)
    check_finite(probabilities, "probabilities")
    if not len(ranks):  # of a table that has columns only
        return
    if probabilities.min() < 0.0 or probabilities.max() > 1.0:
        raise Wrong("there are probabilities beyond 0 and 1")
    by_rank = np.argsort(ranks, kind="stable")
    n_novel = int(np.flatnonzero(np.append(True, np.diff(probabilities[by_rank]) > 0.0))[-1])
    if not alerts[by_rank][:n_novel].all():
        raise Wrong("ranks do not follow the probabilities")
    ordered, places = ranks[by_rank], np.arange(1, len(ranks) + 1)
    shared = np.append(False, ordered[1:] == ordered[:-1])  # rows of one score have one rank
    if whole and not ((ordered == places) | shared).all():
        raise Wrong("ranks are not 1, 2, 3 and so on")


def signature(text: str) -> str:
    """Return a message without its numbers and names, so that equal defects look equal."""
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", text.strip().split("\n")[-1])
    return re.sub(r"-?\d[\d.e+-]*|\b(nan|-?inf)\b", "#", line)[:160]


def _read_scores(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read three columns with other means than those that wrote them."""
    if path.suffix in (".parquet", ".arrow"):
        import pyarrow.feather
        import pyarrow.parquet

        parquet = path.suffix == ".parquet"
        read = pyarrow.parquet.read_table if parquet else pyarrow.feather.read_table
        table = read(path)
        return tuple(table[name].to_numpy() for name in ("probability", "rank", "outlier"))
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in file]
        else:
            usual = csv.field_size_limit(2**31 - 1)
            lines = list(csv.DictReader(file))
            csv.field_size_limit(usual)  # it counts for the library too
    return (
        np.array([float(line["probability"]) for line in lines]),
        np.array([int(line["rank"]) for line in lines]),
        np.array([str(line["outlier"]).lower() == "true" for line in lines]),
    )
