"""Damaged and hostile tables: they are refused in a sentence, or fitted and scored."""

import datetime as dt
import io
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from tables.reading.broken import BROKEN

from .corpus import REPRESENTATIONS, SUFFIXES
from .model_cases import damage_often, splice
from .verdicts import (
    REFUSED,
    SCORED,
    check_finite,
    check_folder,
    check_scores,
    check_sentence,
    run_command,  # fmt: skip
)

CELLS = (
    "4915112345678", "1e300", "1e-320", "-0.0", "nan", "NaN", "inf", "-Infinity", "0x1F", "1e999",
    "1_000", "1,5", "١٢", "true", "yes", "NULL", "NA", "", " ", '"', '""', "'", "a\tb", "\x1b[31m",
    "9007199254740993", "18446744073709551616", "00012", "+5", "1e150", "-1e151", "2024-01-31",
    "5e-324", "é", "\U0001f600", "a,b;c", "[1]", "{}", "1.7976931348623157e308",
)  # fmt: skip
NUMBERS = (0.0, -0.0, 5e-324, 1e-300, -1.0, 1e7, 4915112345678.0, 1e18, 1e100, 1e150, -1e150)
Random = np.random.Generator


def hostile_text(text: str, suffix: str, random: Random) -> bytes:
    """Return lines with odd cells, or with something odd done to the whole."""
    way = random.integers(6)
    if suffix == "jsonl":
        return _hostile_json(text, int(way), random).encode("utf-8", "surrogatepass")
    separator = "\t" if suffix == "tsv" else ","
    lines = [line.split(separator) for line in text.splitlines()]
    if way == 0:  # a header with a name twice, an empty one, a long one
        place = random.integers(len(lines[0]))
        names = [lines[0][0], "", "x" * 10**6, "probability", "row", "amount", "\x00"]
        lines[0][place] = names[random.integers(len(names))]
    elif way == 1:  # a cell of a million letters
        _pick(lines, random)[random.integers(3)] = "9a" * int(random.integers(1000, 10**6))
    elif way == 2:  # the same in all rows of a column
        place, cell = random.integers(len(lines[0])), random.choice(CELLS)
        for line in lines[1:]:
            line[place] = cell
    elif way == 3:  # more columns than anyone wants
        lines = [line + [str(i) for i in range(random.integers(1, 3000))] for line in lines]
    elif way == 4:  # a number of a hundred thousand digits
        _pick(lines, random)[1] = "1" * 10**5
    for _ in range(random.integers(20)):
        line = _pick(lines, random)
        line[random.integers(len(line))] = str(random.choice(CELLS))
    end = str(random.choice(["\n", "\r\n", "\r", "\n\n"]))
    return (end.join(separator.join(line) for line in lines) + end).encode()


def _hostile_json(text: str, way: int, random: Random) -> str:
    lines = [json.loads(line) for line in text.splitlines()]
    values: list[Any] = [*CELLS, None, True, 4915112345678, 1e300, 5e-324, -0.0, 10**400, 2**63]
    values += [[], {}, [[1]], {"a": {"b": 1}}, float("nan"), float("inf"), "9" * 10**6]
    for _ in range(random.integers(1, 20)):
        line = lines[random.integers(len(lines))]
        line[list(line)[random.integers(len(line))]] = values[random.integers(len(values))]
    if way == 0:
        lines[random.integers(len(lines))].popitem()
    written = [json.dumps(line, ensure_ascii=bool(random.integers(2))) for line in lines]
    if way == 1:
        depth = int(random.choice([100, 10_000, 300_000]))
        deep = '{"amount": ' * depth + "1" + "}" * depth
        written[random.integers(len(written))] = deep
    elif way == 2:
        written = [f"[{','.join(written)}]"]
    elif way == 3:
        written[0] = written[0].replace("amount", "\\ud800")
    return "\n".join(written)


def _pick(lines: list[list[str]], random: Random) -> list[str]:
    return lines[random.integers(1, len(lines))]


def hostile_types(path: Path, suffix: str, random: Random) -> bytes:
    """Return a table of which one to three columns have odd types or values."""
    table = pq.read_table(path)
    for _ in range(random.integers(1, 4)):
        place = int(random.integers(table.num_columns))
        values = _odd_column(table.num_rows, int(random.integers(16)), random)
        name = table.column_names[place]
        if random.random() < 0.1:
            name = str(random.choice(["amount", "", "probability", "x" * 10**5]))
        table = table.set_column(place, name, values)
    sink = io.BytesIO()
    if suffix == "parquet":
        packing = str(random.choice(["none", "snappy", "zstd", "gzip"]))
        pq.write_table(table, sink, row_group_size=int(random.choice([1, 7, 10**6])),
                       compression=packing)  # fmt: skip
    else:
        pyarrow.feather.write_feather(table, sink, compression="uncompressed")
    return sink.getvalue()


def hostile_numbers(path: Path, suffix: str, random: Random) -> bytes:
    """Return a table with hostile numbers where numbers are, most of which are allowed."""
    table = pq.read_table(path)
    for name in ("amount", "hour", "voucher"):
        values = table[name].to_pandas().to_numpy().copy()
        odd = random.random(len(values)) < random.choice([0.0, 0.05, 1.0])
        values[odd] = random.choice(NUMBERS, int(odd.sum()))
        values = pa.array(values, mask=np.isnan(values))
        table = table.set_column(table.column_names.index(name), name, values)
    if suffix == "jsonl":
        return "\n".join(json.dumps(line) for line in table.to_pylist()).encode()
    sink = io.BytesIO()
    if suffix == "csv":
        pyarrow.csv.write_csv(table, sink)
    elif suffix == "parquet":
        pq.write_table(table, sink)
    else:
        pyarrow.feather.write_feather(table, sink, compression="uncompressed")
    return sink.getvalue()


def _odd_column(rows: int, kind: int, random: Random) -> pa.Array:
    numbers = [0.0, -0.0, 5e-324, 1e-300, 1.0, 1e7, 1e18, 1e150, -1e150, 1.1e150, 1e308]
    endless = [*numbers, np.nan, np.inf, -np.inf]
    cycle = [number % 3 for number in range(rows)]
    kinds = [
        lambda: pa.array(random.choice(endless, rows)),
        lambda: pa.array(random.choice(numbers, rows)),
        lambda: pa.array(np.where(random.random(rows) < 0.5, np.uint64(2**64 - 1), np.uint64(0))),
        lambda: pa.array([4915112345678 + number for number in range(rows)]),
        lambda: pa.array([Decimal(10) ** 37] * rows, pa.decimal128(38, 0)),
        lambda: pa.array([dt.datetime(1, 1, 1)] * rows),
        lambda: pa.nulls(rows),
        lambda: pa.array([_nested(int(random.integers(1, 60)))] * rows),
        lambda: pa.array([b"\xff\x00"] * rows),
        lambda: pa.array([["DE", "nowhere", None][place] for place in cycle]).dictionary_encode(),
        lambda: pa.array(np.full(rows, 1e4, np.float16)),
        lambda: pa.array([{"a": 1}] * rows),
        lambda: pa.array(["x" * 10**5] * rows),
        lambda: pa.array(random.choice(CELLS, rows).tolist()),
        lambda: pa.array([dt.timedelta(days=1)] * rows),
        lambda: pa.array([[True, None, False][place] for place in cycle]),
    ]
    return kinds[kind % len(kinds)]()


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else 1


def other_encoding(text: str, random: Random) -> bytes:
    """Return text in an encoding that nobody said it has."""
    name = str(random.choice(["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "utf-7", "cp1252"]))
    content = ("é" + text).encode(name, "replace")
    return content[: random.integers(len(content))] if random.random() < 0.3 else content


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

    from boreod import ColumnSelection, load
    from boreod.representation.memory import NotEnoughMemoryError
    from boreod.tool import fit_table

    few = {"representation": FEW, "n_estimators": 20, "n_jobs": 1,
           "method": "bore", "selection": ColumnSelection(costs="complexity:shared")}  # fmt: skip
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
    judged = model.oob_proba_
    check_finite(judged[~np.isnan(judged)], "out-of-bag probabilities")
    model.save(path)
    check_folder(output, ["model.boreod"])
    load(path)
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
