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
from typing import Any, NamedTuple

from numpy.typing import NDArray

from boreod.tables.arrow import TableError, arrow_csv, pa
from boreod.tables.cells import Kind, declared_kind, find_kind
from boreod.tables.reading.blocks import Block, Options, Typed, typed
from boreod.tables.reading.header import LINES, NoRows, find_header, tell_others
from boreod.tables.reading.locations import STANDARD
from boreod.tables.reading.sources import TextSource, unpacked
from boreod.text import count_of, shorten

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
TOLD = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
REMARKS = 20  # lines below a table, at most
RULE = re.compile(r"[-=_+| ]{3,}")  # a line that is drawn between others
SPACED = re.compile(r"\S+(?: {2,}|\t+)\S+.*|\S+ \S+ \S+.*")
NEEDS = "A table needs column names and rows."
MAX_ROW = 2 << 20  # bytes; also those of a block


@dataclass(frozen=True)
class Layout:
    """Separator, column names, and how many lines and bytes come before the first row."""

    separator: str
    names: list[str]
    lines: int
    size: int
    unnamed: frozenset[int] = frozenset()  # places of columns without a name
    titles: tuple[list[str], ...] = ()  # what is above the names


class Ragged(NamedTuple):
    """A line with too few or too many cells: its row, counted from 0, and what it holds."""

    row: int
    cells: int
    text: str


def open_separated(source: TextSource, options: Options) -> Typed:
    """Open separated text (CSV, TSV)."""
    layout = _find_layout(source.head(), source.shown, options.separator, options.header)
    source.skip(layout.size)
    for note in tell_others(layout.titles, "above the column names"):
        warnings.warn(note, stacklevel=2)
    if len(layout.names) == 1 and SPACED.fullmatch(layout.names[0]):
        warnings.warn(
            f"{source.shown} has one column, {shorten(layout.names[0])}. If spaces are between "
            "columns, write another separator: tr -s ' ' ',' < OLD > NEW.csv",
            stacklevel=2,
        )
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
    best, most = ",", (False, 0, 1)
    for separator in SEPARATORS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            widths = [len(record) for record in islice(filter(_is_record, reader), LINES + 1)]
        except csv.Error:
            continue
        if len(widths) > 1 and not text.endswith("\n"):
            widths.pop()  # the last may be cut
        if not widths:
            continue
        usual = max(widths, key=widths.count)
        titles = widths.index(usual)
        alike = set(widths[titles:]) == {usual}
        found = (alike, -titles, usual) if alike else (False, 0, max(usual, widths[0]))
        if usual > 1 and found > most:
            best, most = separator, found
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


def _find_layout(head: bytes, shown: str, separator: str | None, header: int | None) -> Layout:
    """Look at the beginning of a file."""
    text = head.decode("utf-8", errors="ignore")  # the last letter may be cut
    if not text.strip():
        raise TableError(f"{shown} is empty. {NEEDS}")
    told = TOLD.match(text)  # as Excel writes it for itself
    before = told[0] if told else ""
    text = text[len(before) :]
    separator = separator or (told[1] if told else None)
    separator = read_separator(separator) if separator else find_separator(text)
    records, lines, ends = _first_records(text, separator, shown)
    if not records:
        raise TableError(f"{shown} holds nothing but drawn lines. {NEEDS}")
    if header is False:
        names = [f"c{i}" for i in range(len(records[0]))]
        return Layout(separator, names, bool(before), len(before))
    place = find_header(records, [line + bool(before) for line in lines], header, shown)
    names = [cell.strip() or f"c{i}" for i, cell in enumerate(records[place])]
    unnamed = frozenset(i for i, cell in enumerate(records[place]) if not cell.strip())
    above = islice(io.StringIO(text, newline=""), ends[place])
    size = sum(len(line.encode()) for line in above) + len(before)
    titles = tuple(records[:place])
    return Layout(separator, names, ends[place] + bool(before), size, unnamed, titles)


def _is_record(record: list[str]) -> bool:
    """Tell what an empty line, and one that is only drawn, are not."""
    return bool(record) and not (len(record) == 1 and RULE.fullmatch(record[0]))


def _first_records(
    text: str, separator: str, shown: str
) -> tuple[list[list[str]], list[int], list[int]]:
    """Return the first records, and the lines in which each of them begins and ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    records, lines, ends = [], [], []
    try:
        before = 0
        for record in reader:
            if _is_record(record):
                records.append(record)
                lines.append(before + 1)
                ends.append(reader.line_num)
            before = reader.line_num
            if len(records) == LINES:
                break
    except csv.Error as error:
        if not records:
            raise TableError(f"The first line of {shown} cannot be read: {error}.") from None
    return records, lines, ends


def _find_kind(name: str, column: Any, options: Options) -> Kind:
    if name in options.types:
        return declared_kind(options.types[name], column, options.decimal, name)
    return find_kind(column, options.decimal)


def _blocks(
    source: TextSource, layout: Layout, places: list[int], where: Callable[[int], str]
) -> Iterator[Block]:
    """Parse the rows; cells stay text, and rows are counted from 0."""
    ragged: list[Ragged] = []
    rows, last = 0, None
    names = [layout.names[place] for place in places]
    empty = NoRows(["" if i in layout.unnamed else n for i, n in enumerate(layout.names)])
    try:
        for batch in _open(source, layout, ragged):
            if batch.num_rows:
                place = partial(_add, where, rows)
                rows, last = rows + batch.num_rows, batch
                chosen = batch.select(list(map(str, places))).rename_columns(names)
                yield _take(Block(chosen, place), empty.find(batch, place))
    except pa.ArrowInvalid as error:
        raise _explain(str(error), source, ragged, where, len(layout.names)) from None
    if last is None:
        return
    value = last.column(len(layout.names) - 1)[-1].as_py()
    if source.quotes % 2 and value is not None and "\n" in value:  # all lines after it
        raise TableError(
            f"{where(rows - 1)} of {source.shown} opens a quotation mark that is never closed. "
            "Close or remove it."
        )
    if ragged and ragged[0].row < rows:
        raise _explain("", source, ragged, where, len(layout.names))
    remarks = [[line.text.strip(' "')] for line in ragged]
    for note in (*empty.notes(), *tell_others(remarks, "below the table")):
        warnings.warn(note, stacklevel=2)


def _add(where: Callable[[int], str], start: int, row: int) -> str:
    return where(start + row)


def _take(block: Block, rows: NDArray | None) -> Block:
    """Return some rows of a block, None for all."""
    if rows is None:
        return block
    return Block(block.table.take(pa.array(rows)), lambda row: block.where(int(rows[row])))


def _open(source: TextSource, layout: Layout, ragged: list[Ragged]) -> Any:
    drawn = 0
    names = list(map(str, range(len(layout.names))))  # two columns may have the same name
    if not source.head().strip():  # pyarrow refuses what has no rows
        return []

    def keep(row: Any) -> str:
        """Remember a row of another length; a sentence alone may be a remark below the table."""
        nonlocal drawn
        if RULE.fullmatch(row.text.strip()):
            drawn += 1
            return "skip"
        ragged.append(Ragged(row.number - 1 - drawn, row.actual_columns, row.text))
        alone = row.actual_columns == 1 < len(names) - 1 and " " in ragged[0].text.strip()
        return "skip" if alone and len(ragged) < REMARKS else "error"

    return arrow_csv.open_csv(
        source,
        # one thread: only then rows have numbers, and memory does not grow by reading ahead
        arrow_csv.ReadOptions(use_threads=False, block_size=MAX_ROW, column_names=names),
        arrow_csv.ParseOptions(
            delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=keep
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _explain(
    error: str, source: TextSource, ragged: list[Ragged], where: Callable[[int], str], width: int
) -> TableError:
    if ragged:
        line = ragged[0]
        return TableError(
            f"{where(line.row)} of {source.shown} has {count_of(line.cells, 'cell')} "
            f"for {count_of(width, 'column')}. Correct it (a separator within a "
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
                found += _is_record(record)
                if found == row:
                    break
                start = records.line_num
        except csv.Error:  # it has a limit for cells, unlike the reader of the table
            return f"Row {row + 1}"
    return f"Line {layout.lines + start + 1}"
