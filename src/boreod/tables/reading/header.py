"""Which line has the column names, and which lines are no rows.

Exports begin with titles, end with remarks, and hold the column names again where several were put
together. Such lines are left out and told; where it is not plain which line has the names, the user
is asked.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, pa, pc
from boreod.text import count_of, listed, shorten

LINES = 50  # that are looked at to find the names
REPEATED = "repeating the column names"
FIRST = 3  # places in a note
NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*")
DATE = re.compile(r"\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*")


def find_header(
    records: Sequence[list[str]], lines: Sequence[int], header: int | None, shown: str
) -> int:
    """Return which of the first records has the column names; ``lines`` tells where they begin.

    That is the first one, unless it fills at most half as many cells as others do, and not the
    last: then it is a title, and the names are in the first longer one, if that holds nothing but
    different words.
    """
    if header is not None and header is not True:
        if header not in lines:
            raise TableError(
                f"`header` (--header-line) must be one of the first {LINES} lines of {shown} that "
                f"are not empty; got {header}."
            )
        return list(lines).index(header)
    filled = [[cell.strip() for cell in record if cell.strip()] for record in records]
    most, first = max(map(len, filled)), next((n for n, cells in enumerate(filled) if cells), -1)
    if first < 0:
        raise TableError(f"{shown} is empty. A table needs column names and rows.")
    if (
        header is None
        and len(filled[first]) == len(records[first])
        and not any(map(_is_word, filled[first]))
    ):
        raise TableError(
            f"The first line of {shown} must have the column names, but it holds only numbers or "
            f"dates ({listed(filled[first], 3)}). Pass header=False (--no-header) if it is a row "
            "already, or header=True if these are names."
        )
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
    return bool(cell) and not NUMBER.fullmatch(cell) and not DATE.fullmatch(cell)


class NoRows:
    """Find rows that repeat the column names or hold nothing, and remember where they are.

    Parameters
    ----------
    names
        What the line of column names holds; empty for columns without a name.
    """

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._named = [place for place, name in enumerate(names) if name]
        self._counts = {REPEATED: 0, "without any value": 0}
        self._places: dict[str, list[str]] = {what: [] for what in self._counts}

    def find(self, table: Any, where: Callable[[int], str]) -> NDArray | None:
        """Return the rows of a table of all columns that are some; None if all are."""
        masks = dict(
            zip(self._counts, (self._find_repeated(table), _find_empty(table)), strict=True)
        )
        for what, mask in masks.items():
            places = np.flatnonzero(mask)
            self._counts[what] += len(places)
            told = self._places[what]
            told += [where(int(place)).lower() for place in places[: FIRST - len(told)]]
        both = np.logical_or(*masks.values())
        return np.flatnonzero(~both) if both.any() else None

    @property
    def repeated(self) -> bool:
        """Whether a row repeated the column names."""
        return self._counts[REPEATED] > 0

    def notes(self) -> list[str]:
        """Return what to tell the user."""
        return [
            f"{count_of(count, 'line')} {what} {'is' if count == 1 else 'are'} left out "
            f"({', '.join(self._places[what])}{', ...' if count > FIRST else ''})."
            for what, count in self._counts.items()
            if count
        ]

    def _find_repeated(self, table: Any) -> NDArray:
        """Tell which rows hold the name of each column, of at least two."""
        told = len(self._named) > 1 and any(map(_is_word, self._names))
        mask = np.full(table.num_rows, told)
        for place in self._named:
            if not mask.any():
                break
            column = table.column(place)
            if not pa.types.is_string(column.type):
                return np.zeros(table.num_rows, bool)
            same = pc.equal(pc.utf8_trim_whitespace(column), self._names[place])
            mask &= _as_mask(same)
        return mask


def _find_empty(table: Any) -> NDArray:
    mask = np.ones(table.num_rows, bool)
    for column in table.columns:
        if not mask.any():
            break
        mask &= _as_mask(column.is_null()) if column.null_count else False
    return mask


def tell_others(records: Sequence[list[str]], where: str) -> list[str]:
    """Return a note about lines above or below a table, if there are any."""
    cells = [next((cell.strip() for cell in record if cell.strip()), "") for record in records]
    cells = [shorten(cell) for cell in cells if cell]
    if not cells:
        return []
    shown = ", ".join(cells[:FIRST]) + (", ..." if len(cells) > FIRST else "")
    verb = "is" if len(cells) == 1 else "are"
    return [f"{count_of(len(cells), 'line')} {where} {verb} left out: {shown}."]


def _as_mask(booleans: Any) -> NDArray:
    found: NDArray = pc.fill_null(booleans, False).to_numpy(zero_copy_only=False)
    return found
