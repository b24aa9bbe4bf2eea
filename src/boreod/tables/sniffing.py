"""How separated text is written: its separator, and the names in its first line."""

import csv
import io
import re
from dataclasses import dataclass

from boreod.tables.errors import TableError, check_names
from boreod.text import listed

SEPARATORS = (",", ";", "\t", "|")
LINES = 50  # that are looked at
NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class Layout:
    """Separator, column names, and how many lines and bytes come before the first row."""

    separator: str
    names: list[str]
    lines: int
    size: int
    notes: list[str]


def find_layout(head: bytes, shown: str, separator: str | None, header: bool | None) -> Layout:
    """Look at the beginning of a file.

    Parameters
    ----------
    head
        The beginning of the file in UTF-8.
    shown
        How to call the file in a sentence.
    separator
        One character; None to find out.
    header
        Whether the first line has the names; None for yes, unless it holds nothing but numbers.
    """
    text = head.decode("utf-8", errors="ignore")  # the last letter may be cut
    if not text.strip():
        raise TableError(f"{shown} is empty. A table needs column names and rows.")
    separator = read_separator(separator) if separator else find_separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        first = next(record for record in reader if record)
    except csv.Error as error:
        raise TableError(f"The first line of {shown} cannot be read: {error}.") from None
    if header is False:
        return Layout(separator, [f"c{i}" for i in range(len(first))], 0, 0, [])
    if header is None and all(NUMBER.fullmatch(cell) for cell in first):
        raise TableError(
            f"The first line of {shown} must have the column names, but it holds only numbers "
            f"({listed(first, 3)}). Pass header=False (--no-header) if it is a row already, or "
            "header=True (--header) if these are names."
        )
    names = [cell.strip() or f"c{i}" for i, cell in enumerate(first)]
    check_names(names, shown)
    notes = [
        f"Column {i + 1} has no name and is called {names[i]}."
        for i, cell in enumerate(first)
        if not cell.strip()
    ]
    lines = io.StringIO(text, newline="")
    size = sum(len(next(lines).encode()) for _ in range(reader.line_num))
    return Layout(separator, names, reader.line_num, size, notes)


def find_separator(text: str) -> str:
    r"""Return the separator that splits the first lines into the most columns, all alike.

    Examples
    --------
    >>> find_separator("a;b\n1,5;2\n3,5;4\n")
    ';'
    """
    best, most = ",", (False, 1)
    for separator in SEPARATORS:
        widths = _widths(text, separator)
        if widths and widths[0] > 1:
            alike = len(set(widths)) == 1
            if (alike, widths[0]) > most:
                best, most = separator, (alike, widths[0])
    return best


def _widths(text: str, separator: str) -> list[int]:
    """Return the numbers of cells of the first records; the last may be cut and does not count."""
    widths: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for record in reader:
            if record:
                widths.append(len(record))
            if len(widths) > LINES:
                break
    except csv.Error:
        return []
    return widths[:-1] if len(widths) > 1 and not text.endswith("\n") else widths


def read_separator(separator: str) -> str:
    r"""Return a separator that was given as a character or as a word.

    Examples
    --------
    >>> read_separator("tab"), read_separator(";")
    ('\t', ';')
    """
    known = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
    found = known.get(separator, separator)
    if len(found) != 1 or found in '"\r\n' or not found.isascii():
        raise TableError(
            "`separator` (--separator) must be one character such as , ; | or tab; got "
            f"{separator!r}."
        )
    return found
