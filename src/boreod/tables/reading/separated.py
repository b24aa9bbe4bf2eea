"""Read separated text (CSV, TSV): find its layout, and let pyarrow parse its rows in blocks.

Exports may begin with titles, end with remarks, and repeat the column names where several files
were joined. Such lines are left out with a note, also in sheets. If it is not clear which line has
the column names, an error asks the user.
"""

import csv
import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, arrow_csv, as_mask, pa, pc
from boreod.tables.cells import Where, declared_kind, find_kind
from boreod.tables.reading.blocks import Block, Options, Typed, typed
from boreod.tables.reading.locations import STANDARD, TextSource, unpacked
from boreod.text import count_of, listed, shorten

NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
# The column names must be in the first lines. This is the number of lines that are searched.
HEAD_LINES = 50
# Below a table, fewer lines than this may be remarks.
MAX_REMARKS = 20
# A note shows the places of at most this many lines.
MAX_SHOWN_LINES = 3
REPEATED = "repeating the column names"
EMPTY = "without any value"
# A row, and a block of rows, may have at most this many bytes.
MAX_ROW = 2 << 20
# A line of dashes or similar signs, drawn between other lines.
RULE = re.compile(r"[-=_+| ]{3,}")
NUMBER_OR_DATE = re.compile(
    r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*|\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*"
)


@dataclass(frozen=True)
class Layout:
    """Separator, column names, and how many lines and bytes come before the first row."""

    separator: str
    names: list[str]
    lines: int
    size: int
    # The places of columns without a name.
    unnamed: frozenset[int] = frozenset()
    # The records above the names.
    titles: Sequence[list[str]] = ()


# The cells of a record, and the first and the last of its lines.
Record = tuple[list[str], int, int]


def open_separated(source: TextSource, options: Options) -> Typed:
    """Open separated text (CSV, TSV)."""
    layout = _find_layout(source.head(), source.shown, options.separator, options.header)
    source.skip(layout.size)
    for note in other_lines(layout.titles, "above the column names"):
        warnings.warn(note, stacklevel=2)
    spaced = r"\S+(?: {2,}|\t+)\S+.*|\S+ \S+ \S+.*"
    if len(layout.names) == 1 and re.fullmatch(spaced, layout.names[0]):
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
    blocks = _blocks(source, layout, places)
    nothing = pa.RecordBatch.from_pydict(dict.fromkeys(names, pa.array([], pa.string())))
    first, where = next(blocks, (nothing, str))
    kinds = {}
    for name, column in zip(names, first.columns, strict=True):
        if name in options.types:
            kinds[name] = declared_kind(options.types[name], column, options.decimal, name)
        else:
            kinds[name] = find_kind(column, options.decimal)
    return typed(chain([(first, where)], blocks), kinds, options)


def find_separator(text: str) -> str:
    """Return the separator that best splits the first lines into the same number of cells."""
    return max(",;\t|", key=lambda separator: _how_well(text, separator))


def _how_well(text: str, separator: str) -> tuple[bool, int, int]:
    """Return how well a separator fits, as a tuple that can be compared.

    The tuple says whether all lines below the titles have the same number of cells. Then follow the
    negative number of titles, and the number of cells.
    """
    records = _records(io.StringIO(text, newline=""), separator)
    try:
        widths = [len(record) for record, _, _ in islice(records, HEAD_LINES + 1)]
    except csv.Error:
        return False, 0, 1
    if len(widths) > 1 and not text.endswith("\n"):
        # The last line may be cut off.
        widths.pop()
    usual = max(widths, key=widths.count, default=1)
    if usual == 1:
        return False, 0, 1
    titles = widths.index(usual)
    alike = set(widths[titles:]) == {usual}
    return (True, -titles, usual) if alike else (False, 0, max(usual, widths[0]))


def _find_layout(head: bytes, shown: str, given: str | None, header: int | None) -> Layout:
    """Find the layout of a file from its beginning."""
    # The last character may be cut off.
    text = head.decode("utf-8", errors="ignore")
    if not text.strip():
        raise TableError(f"{shown} is empty. A table needs column names and rows.")
    # Excel may write a first line that names the separator.
    named = re.match(r'"?sep=([,;|\t])"?\r?\n', text, re.IGNORECASE)
    before = named[0] if named else ""
    text = text.removeprefix(before)
    if named:
        given = given or named[1]
    separator = NAMED_SEPARATORS.get(given, given) if given else find_separator(text)
    if len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
        raise TableError(
            f"`separator` (--separator) must be one character such as , ; | or tab; got {given!r}."
        )
    found: list[Record] = []
    try:
        # If a later line is broken, the records before it stay.
        found.extend(islice(_records(io.StringIO(text, newline=""), separator), HEAD_LINES))
    except csv.Error as error:
        if not found:
            raise TableError(f"The first line of {shown} cannot be read: {error}.") from None
    if not found:
        raise TableError(
            f"{shown} holds nothing but drawn lines. A table needs column names and rows."
        )
    records = [record for record, _, _ in found]
    place = find_header(records, [first + bool(before) for _, first, _ in found], header, shown)
    if place < 0:
        names = [f"c{i}" for i in range(len(records[0]))]
        return Layout(separator, names, bool(before), len(before))
    names = [cell.strip() or f"c{i}" for i, cell in enumerate(records[place])]
    unnamed = frozenset(i for i, cell in enumerate(records[place]) if not cell.strip())
    lines = found[place][2] + bool(before)
    above = "".join(islice(io.StringIO(before + text, newline=""), lines))
    return Layout(separator, names, lines, len(above.encode()), unnamed, records[:place])


def _records(text: TextIO, separator: str) -> Iterator[Record]:
    """Yield the records of text; skip empty lines and drawn lines such as ``-----``."""
    reader = csv.reader(text, delimiter=separator)
    before = 0
    for record in reader:
        if record and not (len(record) == 1 and RULE.fullmatch(record[0])):
            yield record, before + 1, reader.line_num
        before = reader.line_num


def _blocks(source: TextSource, layout: Layout, places: list[int]) -> Iterator[Block]:
    """Parse the rows; cells stay text, and rows are counted from 0."""
    where = partial(_place, source, layout)
    # Lines with too few or too many cells; their rows are counted from 0.
    ragged: list[Any] = []
    rows = 0
    last = None
    names = [layout.names[place] for place in places]
    empty = NoRows(["" if i in layout.unnamed else n for i, n in enumerate(layout.names)])
    try:
        for batch in _open(source, layout, ragged):
            if batch.num_rows:
                numbers = np.arange(rows, rows + batch.num_rows)
                rows += batch.num_rows
                last = batch
                kept = empty.find(batch, _numbered(where, numbers))
                chosen = batch.select(list(map(str, places))).rename_columns(names)
                if kept is not None:
                    chosen = chosen.take(pa.array(kept))
                    numbers = numbers[kept]
                yield chosen, _numbered(where, numbers)
    except pa.ArrowInvalid as error:
        raise _explain(str(error), source, ragged, where) from None
    if last is None:
        return
    value = last.column(len(layout.names) - 1)[-1].as_py()
    # A quotation mark that is never closed makes one cell of all lines after it.
    if source.quotes % 2 and value is not None and "\n" in value:
        raise TableError(
            f"{where(rows - 1)} of {source.shown} opens a quotation mark that is never closed. "
            "Close or remove it."
        )
    if ragged and ragged[0].number < rows:
        raise _explain("", source, ragged, where)
    remarks = [[line.text.strip(' "')] for line in ragged]
    for note in (*empty.notes(), *other_lines(remarks, "below the table")):
        warnings.warn(note, stacklevel=2)


def _numbered(where: Where, numbers: NDArray) -> Where:
    """Return a function that says where a row of a batch is, given the numbers of the rows."""
    return lambda row: where(int(numbers[row]))


def _open(source: TextSource, layout: Layout, ragged: list[Any]) -> Any:
    drawn = 0
    # Columns are numbered, as two of them may have the same name.
    names = list(map(str, range(len(layout.names))))
    # pyarrow refuses a file without rows.
    if not source.head().strip():
        return []

    def keep(row: Any) -> str:
        """Remember a row of another length; skip a row of one sentence, which may be a remark."""
        nonlocal drawn
        if RULE.fullmatch(row.text.strip()):
            drawn += 1
            return "skip"
        ragged.append(row._replace(number=row.number - 1 - drawn))
        alone = row.actual_columns == 1 < len(names) - 1 and " " in ragged[0].text.strip()
        return "skip" if alone and len(ragged) < MAX_REMARKS else "error"

    return arrow_csv.open_csv(
        source,
        # With only one thread, pyarrow numbers the rows, and reading ahead does not take memory.
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


def _explain(error: str, source: TextSource, ragged: list[Any], where: Where) -> TableError:
    if ragged:
        line = ragged[0]
        return TableError(
            f"{where(line.number)} of {source.shown} has {count_of(line.actual_columns, 'cell')} "
            f"for {count_of(line.expected_columns, 'column')}. Correct it (a separator within a "
            'cell needs quotation marks: "..."), or pass the right `separator` (--separator).'
        )
    if "straddl" in error:
        return TableError(
            f"A row of {source.shown} is longer than {MAX_ROW >> 20} MB. Perhaps a quotation mark "
            "is opened and never closed, or this is not a table."
        )
    return TableError(f"{source.shown} cannot be read as separated text: {error}.")


def _place(source: TextSource, layout: Layout, row: int) -> str:
    """Return the place of a row: its line if the file can be read again, else its number."""
    # A pipe cannot be read again.
    if source.path == STANDARD or not os.path.isfile(source.path):
        return f"Row {row + 1}"
    with open(source.path, "rb") as raw:
        lines = io.TextIOWrapper(
            unpacked(raw, source.path), encoding=source.encoding, errors="replace", newline=""
        )
        for _ in range(layout.lines):
            next(lines)
        try:
            _, first, _ = next(islice(_records(lines, layout.separator), row, None))
        except (csv.Error, StopIteration):
            # The csv module limits the length of a cell, but pyarrow does not.
            return f"Row {row + 1}"
    return f"Line {layout.lines + first}"


def find_header(
    records: Sequence[list[str]], lines: Sequence[int], header: int | None, shown: str
) -> int:
    """Return the index of the record with the column names, -1 if ``header`` is False.

    The names are in the first record unless this record is a title. A title fills at most half as
    many cells as the longest record, and does not fill the last cell. Below a title, the names are
    in the first longer record, which must hold only distinct words. ``lines`` are the lines on
    which the records begin.
    """
    if header is False:
        return -1
    if header is not None and header is not True:
        if header not in lines:
            raise TableError(
                f"`header` (--header-line) must be one of the first {HEAD_LINES} lines of {shown} "
                f"that are not empty; got {header}."
            )
        return list(lines).index(header)
    filled = [[cell.strip() for cell in record if cell.strip()] for record in records]
    first = next((place for place, cells in enumerate(filled) if cells), None)
    if first is None:
        raise TableError(f"{shown} is empty. A table needs column names and rows.")
    is_full = len(filled[first]) == len(records[first])
    if header is None and is_full and not any(map(_is_word, filled[first])):
        raise TableError(
            f"The first line of {shown} must have the column names, but it holds only numbers or "
            f"dates ({listed(filled[first], 3)}). Pass header=False (--no-header) if this line is "
            f"a row, or header=True (--header-line {lines[first]}) if it has the names."
        )
    most = max(map(len, filled))
    to_the_end = records[first][-1].strip() and len(records[first]) >= max(map(len, records))
    if header or 2 * len(filled[first]) > most or to_the_end:
        return first
    longer = [place for place, cells in enumerate(filled) if 2 * len(cells) > most]
    worded = [place for place in longer if all(map(_is_word, filled[place]))]
    names = filled[longer[0]]
    if worded[:1] == longer[:1] and len(set(names)) == len(names):
        return longer[0]
    seems = (worded or longer)[0]
    raise TableError(
        f"Line {lines[first]} of {shown} looks like a title ({listed(filled[first], 3)}). Say "
        f"which line has the column names: header={lines[seems]} (--header-line {lines[seems]}) if "
        f"they are {listed(filled[seems], 3)}, or header={lines[first]} (--header-line "
        f"{lines[first]})."
    )


def _is_word(cell: str) -> bool:
    return bool(cell) and not NUMBER_OR_DATE.fullmatch(cell)


class NoRows:
    """Find rows that repeat the column names or hold nothing, and remember where they are.

    ``names`` are the cells of the line with the column names, which may be empty.
    """

    def __init__(self, names: list[str]) -> None:
        self._named = {place: name for place, name in enumerate(names) if name}
        self._can_repeat = len(self._named) > 1 and any(map(_is_word, names))
        self._counts = {REPEATED: 0, EMPTY: 0}
        self._places: dict[str, list[str]] = {REPEATED: [], EMPTY: []}

    def find(self, table: Any, where: Where) -> NDArray | None:
        """Return the indices of the real rows of a table, or None if all rows are real.

        The table must have all columns of the file.
        """
        found = {REPEATED: self._find_repeated(table), EMPTY: _find_empty(table)}
        for reason, mask in found.items():
            rows = np.flatnonzero(mask).tolist()
            self._counts[reason] += len(rows)
            room = MAX_SHOWN_LINES - len(self._places[reason])
            self._places[reason] += [where(row).lower() for row in rows[:room]]
        either = found[REPEATED] | found[EMPTY]
        return np.flatnonzero(~either) if either.any() else None

    @property
    def repeated(self) -> bool:
        """Whether a row repeated the column names."""
        return self._counts[REPEATED] > 0

    def notes(self) -> list[str]:
        """Return notes about the lines that are left out."""
        return [
            f"{_left_out(count, reason)} ({_first_of(self._places[reason], count)})."
            for reason, count in self._counts.items()
            if count
        ]

    def _find_repeated(self, table: Any) -> NDArray:
        """Return which rows repeat the names of all columns; a single name is not enough."""
        mask = np.full(table.num_rows, self._can_repeat)
        for place, name in self._named.items():
            column = table.column(place)
            if not mask.any() or not pa.types.is_string(column.type):
                return np.zeros(table.num_rows, bool)
            mask &= as_mask(pc.equal(pc.utf8_trim_whitespace(column), name))
        return mask


def _find_empty(table: Any) -> NDArray:
    if not all(column.null_count for column in table.columns):
        return np.zeros(table.num_rows, bool)
    return np.logical_and.reduce([as_mask(column.is_null()) for column in table.columns])


def other_lines(records: Sequence[list[str]], where: str) -> list[str]:
    """Return a list with a note about lines above or below a table, or an empty list."""
    cells = [next((cell.strip() for cell in record if cell.strip()), "") for record in records]
    shown = [shorten(cell) for cell in cells if cell]
    return [f"{_left_out(len(shown), where)}: {_first_of(shown, len(shown))}."] if shown else []


def _left_out(count: int, which: str) -> str:
    return f"{count_of(count, 'line')} {which} {'is' if count == 1 else 'are'} left out"


def _first_of(shown: list[str], count: int) -> str:
    return ", ".join(shown[:MAX_SHOWN_LINES]) + (", ..." if count > MAX_SHOWN_LINES else "")
