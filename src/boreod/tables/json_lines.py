"""JSON lines: one object a line, its keys are the columns."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from boreod.tables.arrow import pa
from boreod.tables.errors import TableError
from boreod.tables.sources import TextSource
from boreod.tables.typed_text import Block, Opened, Options, check_columns, find_kinds, typed
from boreod.text import shorten

ROWS = 10_000  # of a block


class Number(str):
    """A number as it is written, which a word of the same letters is not."""

    __slots__ = ()


def open_json_lines(source: TextSource, options: Options) -> Opened:
    """Open JSON lines.

    Keys that a line does not have are missing values. Keys that come up only after the first block
    are refused, unless the columns to read are given.

    Parameters
    ----------
    source
        The text.
    options
        Types and columns.
    """
    records = _records(source)
    first = _take(records)
    if not first:
        raise TableError(f"{source.shown} is empty. A table needs rows: one JSON object a line.")
    known = list(dict.fromkeys(key for _, record in first for key in record))
    names = check_columns(options.columns, known, source.shown)
    if not names:
        raise TableError(f"The objects of {source.shown} have no keys. A table needs columns.")
    strict = None if options.columns is not None else set(names)
    block = _block(first, names, None)
    kinds = {name: options.types.get(name) or _kind(first, name, block, options) for name in names}

    def rest() -> Iterator[Block]:
        while some := _take(records):
            yield _block(some, names, strict)

    return typed(block, rest(), kinds, options, [])


def _kind(records: list[tuple[int, dict]], name: str, block: Block, options: Options) -> str:
    """Return the type of a column: words are text even if they look like numbers."""
    found = {type(record[name]) for _, record in records if record.get(name) is not None}
    if found <= {Number}:
        column = block.table.select([name])
        return find_kinds(column, options, commas=False)[name]  # long numbers are codes
    return "boolean" if found == {bool} else "text"


def _records(source: TextSource) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give numbers of lines and what they hold."""
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
        if "\\u" in line and not _is_text(record):
            raise TableError(
                f"{place} has half of a letter: an escape from \\ud800 to \\udfff that is no pair. "
                "Write the letter itself in UTF-8, or both halves."
            )
        yield number, record


def _is_text(record: dict[str, Any]) -> bool:
    """Tell whether all keys and words can be written as UTF-8."""
    try:
        for key, value in record.items():
            f"{key}{value}".encode()
    except UnicodeEncodeError:
        return False
    return True


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


def _take(records: Iterator[tuple[int, dict]]) -> list[tuple[int, dict]]:
    return list(islice(records, ROWS))


def _block(records: list[tuple[int, dict]], names: list[str], known: set[str] | None) -> Block:
    if known is not None:
        for number, record in records:
            if not record.keys() <= known:
                new = min(record.keys() - known)
                raise TableError(
                    f"Line {number} has the key {shorten(new)}, which the first {ROWS} rows do "
                    "not have. Add it there with null, or read only the columns you need."
                )
    columns = [
        pa.array([_text(record.get(name)) for _, record in records], pa.string()) for name in names
    ]
    table = pa.RecordBatch.from_arrays(columns, names=names)
    return Block(table, lambda row: f"Line {records[row][0]}")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
