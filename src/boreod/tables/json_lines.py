"""JSON lines: one object a line, its keys are the columns."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from boreod.tables.arrow import TableError, pa
from boreod.tables.cells import find_kind
from boreod.tables.sources import Block, Opened, Options, TextSource, check_columns, typed
from boreod.text import shorten

BLOCK_ROWS = 10_000
Record = tuple[int, dict[str, Any]]  # number of the line, and what it holds


class Number(str):
    """A number as it is written, which a word of the same letters is not."""

    __slots__ = ()


def open_json_lines(source: TextSource, options: Options) -> Opened:
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
    kinds = {name: options.types.get(name) or _kind(first, name, block, options) for name in names}

    def rest() -> Iterator[Block]:
        while some := list(islice(records, BLOCK_ROWS)):
            if options.columns is None:
                _refuse_new_keys(some, set(names))
            yield _block(some, names)

    return typed(block, rest(), kinds, options, [])


def _kind(records: list[Record], name: str, block: Block, options: Options) -> str:
    """Return the type of a column: words are text even if they look like numbers."""
    found = {type(record[name]) for _, record in records if record.get(name) is not None}
    if found <= {Number}:
        return find_kind(block.table.column(name), options.decimal)  # long numbers are codes
    return "boolean" if found == {bool} else "text"


def _records(source: TextSource) -> Iterator[Record]:
    for number, line in enumerate(_lines(source), start=1):
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
                f"{place} has half of a letter: an escape from \\ud800 to \\udfff that is no pair. "
                "Write the letter itself in UTF-8, or both halves."
            ) from None
        except TableError as error:
            raise TableError(f"{place} {error}") from None
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise TableError(f"{place} is not JSON ({reason}): {shorten(line[:60])}.") from None
        if not isinstance(record, dict):
            raise TableError(
                f'{place} must be an object such as {{"amount": 3.5}}; got '
                f"{shorten(line.strip()[:60])}. Write one object a line, without a list around."
            )
        yield number, record


def _lines(source: TextSource) -> Iterator[str]:
    tail = b""
    while data := source.read(1 << 18):
        *complete, tail = (tail + data).split(b"\n")
        for line in complete:
            yield line.decode()
    yield tail.decode()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise TableError(f"has a key twice: {shorten(twice)}.")
    for key, value in pairs:
        if isinstance(value, dict | list):
            raise TableError(
                f"holds nested values for {shorten(key)}. Cells must hold one number or word "
                "each: spread it over keys of its own."
            )
    return record


def _refuse_new_keys(records: list[Record], known: set[str]) -> None:
    for number, record in records:
        if not record.keys() <= known:
            raise TableError(
                f"Line {number} has the key {shorten(min(record.keys() - known))}, which the first "
                f"{BLOCK_ROWS} rows do not have. Add it there with null, or read only the columns "
                "you need."
            )


def _block(records: list[Record], names: list[str]) -> Block:
    columns = [
        pa.array([_text(record.get(name)) for _, record in records], pa.string()) for name in names
    ]
    table = pa.RecordBatch.from_arrays(columns, names=names)
    return Block(table, lambda row: f"Line {records[row][0]}")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
