"""Separated text (CSV, TSV): how it is written, and its rows, parsed by pyarrow block by block."""

import csv
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from boreod.tables.arrow import TableError, arrow_csv, pa
from boreod.tables.blocks import Block, Options, Typed, typed
from boreod.tables.cells import Kind, declared_kind, find_kind
from boreod.tables.locations import STANDARD
from boreod.tables.sources import TextSource, unpacked
from boreod.text import count_of, listed

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
LINES = 50  # that are looked at to find the separator
NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*")
TOLD = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
MAX_ROW = 2 << 20  # bytes; also those of a block


@dataclass(frozen=True)
class Layout:
    """Separator, column names, and how many lines and bytes come before the first row."""

    separator: str
    names: list[str]
    lines: int
    size: int
    unnamed: frozenset[int] = frozenset()  # places of columns without a name


def open_separated(source: TextSource, options: Options) -> Typed:
    """Open separated text (CSV, TSV)."""
    layout = _find_layout(source.head(), source.shown, options.separator, options.header)
    source.skip(layout.size)
    places = options.chosen(layout.names, source.shown)
    names = [layout.names[place] for place in places]
    for place in places:
        if place in layout.unnamed:
            warnings.warn(f"Column {place + 1} has no name and is called c{place}.", stacklevel=2)
    where = partial(_place, source, layout)
    blocks = _blocks(source, layout, places, where)
    first = next(blocks, None)
    if first is None:
        none = [pa.array([], pa.string())] * len(names)
        first = Block(pa.RecordBatch.from_arrays(none, names), str)
    kinds = {name: _find_kind(name, first.table.column(name), options) for name in names}
    return typed(first, blocks, kinds, options)


def find_separator(text: str) -> str:
    """Return the separator that splits the first lines into the most columns, all alike."""
    best, most = ",", (False, 1)
    for separator in SEPARATORS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            widths = [len(record) for record in islice(filter(None, reader), LINES + 1)]
        except csv.Error:
            continue
        if len(widths) > 1 and not text.endswith("\n"):
            widths.pop()  # the last may be cut
        alike = len(set(widths)) == 1
        if widths and widths[0] > 1 and (alike, widths[0]) > most:
            best, most = separator, (alike, widths[0])
    return best


def read_separator(separator: str) -> str:
    """Return a separator that was given as a character or as a word."""
    found = NAMED_SEPARATORS.get(separator, separator)
    if len(found) != 1 or found in '"\r\n' or not found.isascii():
        raise TableError(
            "`separator` (--separator) must be one character such as , ; | or tab; got "
            f"{separator!r}."
        )
    return found


def _find_layout(head: bytes, shown: str, separator: str | None, header: bool | None) -> Layout:
    """Look at the beginning of a file."""
    text = head.decode("utf-8", errors="ignore")  # the last letter may be cut
    if not text.strip():
        raise TableError(f"{shown} is empty. A table needs column names and rows.")
    told = TOLD.match(text)  # as Excel writes it for itself
    before = told[0] if told else ""
    text = text[len(before) :]
    separator = separator or (told[1] if told else None)
    separator = read_separator(separator) if separator else find_separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        first = next(record for record in reader if record)
    except csv.Error as error:
        raise TableError(f"The first line of {shown} cannot be read: {error}.") from None
    if header is False:
        names = [f"c{i}" for i in range(len(first))]
        return Layout(separator, names, bool(before), len(before))
    if header is None and all(NUMBER.fullmatch(cell) for cell in first):
        raise TableError(
            f"The first line of {shown} must have the column names, but it holds only numbers "
            f"({listed(first, 3)}). Pass header=False (--no-header) if it is a row already, or "
            "header=True if these are names."
        )
    names = [cell.strip() or f"c{i}" for i, cell in enumerate(first)]
    unnamed = frozenset(place for place, cell in enumerate(first) if not cell.strip())
    lines = islice(io.StringIO(text, newline=""), reader.line_num)
    size = sum(len(line.encode()) for line in lines) + len(before)
    return Layout(separator, names, reader.line_num + bool(before), size, unnamed)


def _find_kind(name: str, column: Any, options: Options) -> Kind:
    if name in options.types:
        return declared_kind(options.types[name], column, options.decimal)
    return find_kind(column, options.decimal)


def _blocks(
    source: TextSource, layout: Layout, places: list[int], where: Callable[[int], str]
) -> Iterator[Block]:
    """Parse the rows; cells stay text, and rows are counted from 0."""
    ragged: list[Any] = []
    rows, last = 0, None
    names = [layout.names[place] for place in places]
    try:
        for batch in _open(source, layout, places, ragged):
            if batch.num_rows:
                start, rows, last = rows, rows + batch.num_rows, batch
                chosen = batch.select(list(map(str, places))).rename_columns(names)
                yield Block(chosen, lambda row, start=start: where(start + row))  # type: ignore[misc]
    except pa.ArrowInvalid as error:
        raise _explain(str(error), source, ragged, where) from None
    if last is None:
        return
    value = last.column(str(len(layout.names) - 1))[-1].as_py()
    if source.quotes % 2 and value is not None and "\n" in value:  # all lines after it
        raise TableError(
            f"{where(rows - 1)} of {source.shown} opens a quotation mark that is never closed. "
            "Close or remove it."
        )


def _open(source: TextSource, layout: Layout, places: list[int], ragged: list[Any]) -> Any:
    names = list(map(str, range(len(layout.names))))  # two columns may have the same name
    if not source.head().strip():  # pyarrow refuses what has no rows
        return []

    def keep(row: Any) -> str:
        ragged.append(row)
        return "error"

    return arrow_csv.open_csv(
        source,
        # one thread: only then rows have numbers, and memory does not grow by reading ahead
        arrow_csv.ReadOptions(use_threads=False, block_size=MAX_ROW, column_names=names),
        arrow_csv.ParseOptions(
            delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=keep
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            # the last one shows whether a quotation mark was never closed
            include_columns=list(dict.fromkeys([*map(str, places), names[-1]])),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _explain(
    error: str, source: TextSource, ragged: list[Any], where: Callable[[int], str]
) -> TableError:
    if ragged:
        row = ragged[0]
        return TableError(
            f"{where(row.number - 1)} of {source.shown} has {count_of(row.actual_columns, 'cell')} "
            f"where the first line has {row.expected_columns}. Correct it (a separator within a "
            'cell needs quotation marks: "..."), or pass the right `separator` (--separator).'
        )
    if "straddl" in error:
        return TableError(
            f"A row of {source.shown} is longer than {MAX_ROW >> 20} MB. Perhaps a quotation mark "
            "is opened and never closed, or this is not a table."
        )
    return TableError(f"{source.shown} cannot be read as separated text: {error}.")


def _place(source: TextSource, layout: Layout, row: int) -> str:
    """Say where a row is: its line, if the file can be read again to find it."""
    if source.path == STANDARD or not os.path.isfile(source.path):  # a pipe is gone
        return f"Row {row + 1}"
    with open(source.path, "rb") as raw:
        lines = io.TextIOWrapper(
            unpacked(raw, source.path), encoding=source.encoding, errors="replace", newline=""
        )
        for _ in range(layout.lines):
            next(lines)
        records = csv.reader(lines, delimiter=layout.separator)
        start, found = 0, -1
        try:
            for record in records:
                found += bool(record)  # empty lines are no rows
                if found == row:
                    break
                start = records.line_num
        except csv.Error:  # it has a limit for cells, unlike the reader of the table
            return f"Row {row + 1}"
    return f"Line {layout.lines + start + 1}"
