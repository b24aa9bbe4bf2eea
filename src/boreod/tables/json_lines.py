"""JSON lines: one object a line, its keys are the columns."""

import io
import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from boreod.tables.arrow import TableError, option, pa
from boreod.tables.blocks import Block, Options, Typed, typed
from boreod.tables.cells import Kind, declared_kind, find_kind
from boreod.tables.number_formats import NumberFormat
from boreod.tables.sources import TextSource
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
    dropped = frozenset(name.strip() for names in options.drop for name in names.split(","))
    records = _records(source, dropped | frozenset(options.drop))
    first = list(islice(records, BLOCK_ROWS))
    if not first:
        raise TableError(f"{source.shown} is empty. A table needs rows: one JSON object a line.")
    known = list(dict.fromkeys(key for _, record in first for key in record))
    if not known:
        raise TableError(f"The objects of {source.shown} have no keys. A table needs columns.")
    names = [known[place] for place in options.chosen(known, source.shown)]
    block = _block(first, names)
    kinds = {name: _find_kind(first, name, block.table.column(name), options) for name in names}

    def rest() -> Iterator[Block]:
        while some := list(islice(records, BLOCK_ROWS)):
            for number, record in some if options.columns is None else ():
                if not record.keys() <= kinds.keys() | dropped:
                    new = min(record.keys() - kinds.keys() - dropped)
                    raise TableError(
                        f"Line {number} has the key {shorten(new)}, "
                        f"which the first {BLOCK_ROWS} rows do not have. Add it there with null, "
                        "or read only the columns you need."
                    )
            yield _block(some, names)

    return typed(block, rest(), kinds, options)


def _find_kind(records: list[Record], name: str, column: Any, options: Options) -> Kind:
    """Return the type of a column: words are text even if they look like numbers."""
    if name in options.types:
        return declared_kind(options.types[name])
    found = {type(record[name]) for _, record in records if record.get(name) is not None}
    if found == {bool}:
        return Kind("boolean")
    kind = find_kind(column, options.decimal if str in found else None)  # long numbers are codes
    if Number in found or not found:
        return kind
    return Kind("text", NumberFormat() if kind == ("number", None) else kind.rule)


def _records(source: TextSource, dropped: frozenset[str]) -> Iterator[Record]:
    decode = partial(
        json.loads,
        parse_int=Number,
        parse_float=Number,
        parse_constant=Number,
        object_pairs_hook=partial(_distinct, dropped=dropped),
    )
    lines = io.TextIOWrapper(io.BufferedReader(source, 1 << 18), "utf-8", newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"Line {number} of {source.shown}"
        try:
            record = decode(line)
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


def _distinct(pairs: list[tuple[str, Any]], dropped: frozenset[str]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen and key not in dropped:
                raise TableError(f"has a key twice: {shorten(key)}.")
            seen.add(key)
    return record


def _block(records: list[Record], names: list[str]) -> Block:
    def cells(name: str) -> Any:
        values = [record.get(name) for _, record in records]
        kinds = set(map(type, values))
        if dict in kinds or list in kinds:
            place = next(i for i, value in enumerate(values) if isinstance(value, dict | list))
            raise TableError(
                f"Line {records[place][0]} holds nested values for {shorten(name)}. Cells must "
                "hold one number or word each: spread it over keys of its own, or leave it out "
                f"({option('drop', name)})."
            )
        if bool in kinds:
            values = [str(value).lower() if isinstance(value, bool) else value for value in values]
        return pa.array(values, pa.string())

    table = pa.RecordBatch.from_arrays([cells(name) for name in names], names=names)
    return Block(table, lambda row: f"Line {records[row][0]}")
