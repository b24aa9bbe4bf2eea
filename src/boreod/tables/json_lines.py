"""JSON lines: one object a line, its keys are the columns."""

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from boreod.tables.arrow import TableError, pa
from boreod.tables.cells import find_kind
from boreod.tables.sources import Block, Options, TextSource, Typed, check_columns, typed
from boreod.text import shorten

BLOCK_ROWS = 10_000
Record = tuple[int, dict[str, Any]]  # number of the line, and what it holds


class Number(str):
    """A number as it is written, which a word of the same letters is not."""

    __slots__ = ()


def open_json_lines(source: TextSource, options: Options) -> Typed:
    """Open JSON lines.

    Keys that a line does not have are missing values. Keys that come up only after the first block
    are refused, unless the columns to read are given.
    """
    records = _records(source)
    first = list(islice(records, BLOCK_ROWS))
    if not first:
        raise TableError(f"{source.shown} is empty. A table needs rows: one JSON object a line.")
    known = list(dict.fromkeys(key for _, record in first for key in record))
    names = check_columns(options.columns, known, source.shown)
    if not names:
        raise TableError(f"The objects of {source.shown} have no keys. A table needs columns.")
    block = _block(first, names)
    kinds = {
        name: options.types.get(name) or _find_kind(first, name, block.table.column(name))
        for name in names
    }

    def rest() -> Iterator[Block]:
        while some := list(islice(records, BLOCK_ROWS)):
            for number, record in some if options.columns is None else ():
                if not record.keys() <= kinds.keys():
                    raise TableError(
                        f"Line {number} has the key {shorten(min(record.keys() - kinds.keys()))}, "
                        f"which the first {BLOCK_ROWS} rows do not have. Add it there with null, "
                        "or read only the columns you need."
                    )
            yield _block(some, names)

    return typed(block, rest(), kinds, options)


def _find_kind(records: list[Record], name: str, column: Any) -> str:
    """Return the type of a column: words are text even if they look like numbers."""
    found = {type(record[name]) for _, record in records if record.get(name) is not None}
    if found <= {Number}:
        return find_kind(column)  # long numbers are codes
    return "boolean" if found == {bool} else "text"


def _records(source: TextSource) -> Iterator[Record]:
    lines = io.TextIOWrapper(io.BufferedReader(source, 1 << 18), "utf-8", newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"Line {number} of {source.shown}"
        try:
            record = json.loads(
                line,
                parse_int=Number,
                parse_float=Number,
                parse_constant=Number,
                object_pairs_hook=_distinct,
            )
            if "\\u" in line and isinstance(record, dict):
                "".join(map(str, [*record, *record.values()])).encode()
        except UnicodeEncodeError:
            raise TableError(
                f"{place} has half of a letter, such as \\ud800. Write it in UTF-8, or both halves."
            ) from None
        except TableError as error:
            raise TableError(f"{place} {error}") from None
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise TableError(
                f"{place} is not JSON ({reason}): {shorten(line.strip()[:60])}."
            ) from None
        if not isinstance(record, dict):
            raise TableError(
                f'{place} must be an object such as {{"amount": 3.5}}; got '
                f"{shorten(line.strip()[:60])}. Write one object a line, without a list around."
            )
        yield number, record


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise TableError(f"has a key twice: {shorten(key)}.")
        record[key] = value
        if isinstance(value, dict | list):
            raise TableError(
                f"holds nested values for {shorten(key)}. Cells must hold one number or word "
                "each: spread it over keys of its own."
            )
    return record


def _block(records: list[Record], names: list[str]) -> Block:
    def cells(name: str) -> Any:
        values = (record.get(name) for _, record in records)
        return pa.array([str(v).lower() if isinstance(v, bool) else v for v in values], pa.string())

    table = pa.RecordBatch.from_arrays([cells(name) for name in names], names=names)
    return Block(table, lambda row: f"Line {records[row][0]}")
