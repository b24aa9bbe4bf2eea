"""Tables whose cells, headers, types and encodings are as bad as people can make them."""

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

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
