"""Separated text (CSV, TSV), parsed by pyarrow block by block."""

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from boreod.tables.arrow import arrow_csv, pa
from boreod.tables.errors import TableError
from boreod.tables.formats import STANDARD
from boreod.tables.sniffing import Layout, find_layout
from boreod.tables.sources import GZIP, TextSource
from boreod.tables.typed_text import Block, Opened, Options, check_columns, find_kinds, typed

BLOCK = 2 << 20  # bytes; also the longest row


def open_separated(path: str, source: TextSource, options: Options) -> Opened:
    """Open separated text.

    Parameters
    ----------
    path
        The file name, for finding the line of an error again.
    source
        The text.
    options
        Separator, header, decimal point, types and columns.
    """
    layout = find_layout(source.head(), source.shown, options.separator, options.header)
    source.skip(layout.size)
    names = check_columns(options.columns, layout.names, source.shown)
    where = partial(_place, path, layout, source.encoding)
    blocks = _blocks(source, layout, names, where)
    first = next(blocks)
    commas = layout.separator != ","
    kinds = find_kinds(first.table, options, commas=commas)
    return typed(first, blocks, kinds, options, layout.notes)


def _blocks(
    source: TextSource, layout: Layout, names: list[str], where: Callable[[int], str]
) -> Iterator[Block]:
    """Parse the rows; cells stay text, and rows are counted from 0."""
    ragged: list[Any] = []
    rows, last = 0, None
    try:
        for batch in _open(source, layout, names, ragged):
            if batch.num_rows:
                start, rows, last = rows, rows + batch.num_rows, batch
                yield Block(batch.select(names), lambda row, start=start: where(start + row))  # type: ignore[misc]
    except pa.ArrowInvalid as error:
        raise _explain(str(error), source, ragged, where) from None
    if last is None:
        raise TableError(f"{source.shown} has column names but no rows. A table needs rows.")
    if source.quotes % 2 and _swallowed(last, layout.names[-1]):
        raise TableError(
            f"{where(rows - 1)} of {source.shown} opens a quotation mark that is never closed. "
            "Close or remove it."
        )


def _open(source: TextSource, layout: Layout, names: list[str], ragged: list[Any]) -> Any:
    if not source.head().strip():  # pyarrow has no words for this
        raise TableError(f"{source.shown} has column names but no rows. A table needs rows.")

    def keep(row: Any) -> str:
        ragged.append(row)
        return "error"

    return arrow_csv.open_csv(
        source,
        # one thread: only then rows have numbers, and memory does not grow by reading ahead
        arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=layout.names),
        arrow_csv.ParseOptions(
            delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=keep
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(layout.names, pa.string()),
            # the last one shows whether a quotation mark was never closed
            include_columns=list(dict.fromkeys([*names, layout.names[-1]])),
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
        cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
        return TableError(
            f"{where(row.number - 1)} of {source.shown} has {cells} where the first line has "
            f"{row.expected_columns}. Correct it (a separator within a cell needs quotation marks: "
            '"..."), or pass the right `separator` (--separator).'
        )
    if "straddl" in error:
        return TableError(
            f"A row of {source.shown} is longer than {BLOCK >> 20} MB. Perhaps a quotation mark "
            "is opened and never closed, or this is not a table."
        )
    return TableError(f"{source.shown} cannot be read as separated text: {error}.")


def _swallowed(batch: Any, last_name: str) -> bool:
    """Tell whether the last cell of a table has taken in all lines after it."""
    value = batch.column(last_name)[batch.num_rows - 1].as_py()
    return value is not None and "\n" in value


def _place(path: str, layout: Layout, encoding: str, row: int) -> str:
    """Say where a row is: its line, if the file can be read again to find it."""
    if path == STANDARD or not os.path.isfile(path):  # a pipe is gone
        return f"Row {row + 1}"
    with open(path, "rb") as raw:
        packed = raw.peek(2).startswith(GZIP)
        file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        lines = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
        for _ in range(layout.lines):
            next(lines)
        records = csv.reader(lines, delimiter=layout.separator)
        start = 0
        try:
            for _ in range(row + 1):
                start, record = records.line_num, next(records, None)
                while record == []:  # empty lines are no rows
                    start, record = records.line_num, next(records, None)
        except csv.Error:  # it has a limit for cells, unlike the reader of the table
            return f"Row {row + 1}"
    return f"Line {layout.lines + start + 1}"
