"""Read JSON: one object per line, or an array of objects. Their keys are the columns."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TextIO

from boreod.tables.arrow import TableError, leave_out
from boreod.tables.reading.blocks import BLOCK_ROWS, Options, Typed, Values, from_values
from boreod.tables.reading.locations import TextSource
from boreod.text import shorten

BLOCK_CHARACTERS = 1 << 18
# One object may have about this many characters.
MAX_OBJECT = 4 << 20
# The place of an object in the file, and its content.
Record = tuple[str, dict[str, Any]]


class Number(str):
    """A number as it is written. The class distinguishes it from text with the same digits."""

    __slots__ = ()


def open_json_lines(source: TextSource, options: Options) -> Typed:
    """Open JSON lines, or an array of objects.

    If an object lacks a key, its value is missing. A key that first occurs after the first block is
    refused, unless the columns to read are given.
    """
    dropped = frozenset(name.strip() for names in options.drop for name in names.split(","))
    distinct = partial(_distinct, dropped=dropped | frozenset(options.drop))
    decoder = json.JSONDecoder(
        object_pairs_hook=distinct, parse_int=Number, parse_float=Number, parse_constant=Number
    )
    read = _elements if source.head().lstrip().startswith(b"[") else _records
    lines = io.TextIOWrapper(io.BufferedReader(source, 1 << 18), "utf-8", newline="\n")
    records = read(lines, source.shown, decoder)
    first = list(islice(records, BLOCK_ROWS))
    if not first:
        raise TableError(f"{source.shown} is empty. A table needs rows: one JSON object a line.")
    known = list(dict.fromkeys(key for _, record in first for key in record))
    if not known:
        raise TableError(f"The objects of {source.shown} have no keys. A table needs columns.")
    names = [known[place] for place in options.chosen(known, source.shown)]
    expected = dropped.union(names)

    def blocks(some: list[Record]) -> Iterator[Values]:
        while some:
            yield _values(some, names)
            some = list(islice(records, BLOCK_ROWS))
            for place, record in some if options.columns is None else ():
                if not record.keys() <= expected:
                    raise TableError(
                        f"{place} has the key {shorten(min(record.keys() - expected))}, "
                        f"which the first {BLOCK_ROWS} rows do not have. Add it there with null, "
                        "or read only the columns you need."
                    )

    return from_values(blocks(first), options)


def _records(lines: TextIO, shown: str, decoder: json.JSONDecoder) -> Iterator[Record]:
    """Yield the object of each line."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            with _reading(f"Line {number}", shown, line):
                record = decoder.decode(line)
                _check(record, line)
            yield f"Line {number}", record


def _elements(lines: TextIO, shown: str, decoder: json.JSONDecoder) -> Iterator[Record]:
    """Yield the objects of an array."""
    text = lines.read(BLOCK_CHARACTERS).lstrip()[1:]
    number = 0
    while True:
        text = text.lstrip()
        if text.startswith("]") and not (text[1:].strip() or lines.read(1).strip()):
            return
        try:
            if number and text[:1] not in ("", ","):
                raise ValueError("no comma between objects")
            start = len(text) - len(text[number > 0 :].lstrip())
            record, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            more = "" if len(text) > MAX_OBJECT else lines.read(BLOCK_CHARACTERS)
            if more and not isinstance(error, TableError | RecursionError):
                text += more
                continue
            with _reading(f"Object {number + 1}", shown, text):
                raise
        number += 1
        with _reading(f"Object {number}", shown, text):
            _check(record, text[start:end])
        text = text[end:]
        yield f"Object {number}", record


@contextmanager
def _reading(place: str, shown: str, text: str) -> Iterator[None]:
    """Turn errors of parsing into one sentence about the object."""
    try:
        yield
    except UnicodeEncodeError:
        raise TableError(
            f"{place} of {shown} has half of a letter, such as \\ud800. Write the letter in UTF-8, "
            "or write both halves."
        ) from None
    except TableError as error:
        raise TableError(f"{place} of {shown} {error}") from None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise TableError(
            f"{place} of {shown} is not JSON ({reason}): {shorten(text.strip()[:60])}."
        ) from None


def _check(record: Any, text: str) -> None:
    """Refuse values that are not objects, and text with unpaired surrogates."""
    if not isinstance(record, dict):
        raise TableError(
            f'must be an object such as {{"amount": 3.5}}; got {shorten(text.strip()[:60])}. '
            "Write one object a line, or an array of objects."
        )
    if "\\u" in text:
        "".join(map(str, [*record, *record.values()])).encode()


def _distinct(pairs: list[tuple[str, Any]], dropped: frozenset[str]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen and key not in dropped:
                raise TableError(f"has a key twice: {shorten(key)}.")
            seen.add(key)
    return record


def _values(records: list[Record], names: list[str]) -> Values:
    values = {name: [record.get(name) for _, record in records] for name in names}
    for name, cells in values.items():
        if {dict, list} & set(map(type, cells)):
            place = next(i for i, cell in enumerate(cells) if isinstance(cell, dict | list))
            if len(records) == 1 and isinstance(cells[0], list):
                raise TableError(
                    f"This is one object, whose {shorten(name)} may be the table. Write that array "
                    f"alone into a file: jq .{name} OLD.json > NEW.json"
                )
            raise TableError(
                f"{records[place][0]} holds nested values for {shorten(name)}. Cells must "
                "hold one number or word each: spread it over keys of its own, or leave it out "
                f"({leave_out(name)})."
            )
    return values, lambda row: records[row][0]
