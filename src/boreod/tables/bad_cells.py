"""Cells that should hold a number and do not, and rows and values that are no observations.

A column of numbers may have a few cells such as ``ERR`` or ``N.A.``. They count as missing, stop
the reading, or take their rows with them, as the user likes; one note tells how many there were and
where the first ones are. The same holds for numbers that are too large to compute with. A line of
totals and numbers such as -999 are noted only.
"""

import re
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, option, pa, pc
from boreod.tables.date_forms import DateForm
from boreod.tables.number_formats import NumberFormat, parse
from boreod.text import count_of, shorten
from boreod.validation import LARGEST

POLICIES = ("missing", "error", "drop")
FIRST = 3  # places in a note
MANY_BAD = 20  # cells of a column and most of them: this is no fault of single rows
ROW = "\0row"  # a column of row numbers, where rows are left out
ROWS = b"boreod.rows"  # the same as metadata of a batch
TOTAL = re.compile(
    r"\s*(grand |sub)?-?(totals?|sum|summe|gesamt(summe)?|somme|totale|suma|итого)\b.{0,20}", re.I
)
ABSURD = 1e4  # times the range of all other values
LONG = r"[eE]\+?\d{3}|(\d[ ,.']?){100}"  # what numbers that are too large look like
TOO_LARGE = f"Numbers beyond {LARGEST:.0e} are too large to compute with."
SENTINELS = (-1e9, -99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0, 999999.0, 9999999.0)


class BadCells:
    """Count cells that are no numbers, and do with them what the user likes.

    Parameters
    ----------
    policy
        ``missing``: they count as missing; ``error``: the first one stops; ``drop``: their rows
        are left out.
    """

    def __init__(self, policy: str = "missing") -> None:
        if policy not in POLICIES:
            raise TableError(
                f"`bad_cells` (--bad-cells) must be one of {', '.join(POLICIES)}; got {policy!r}."
            )
        self.policy = policy
        self.counts: dict[str, int] = {}
        self.filled: dict[str, int] = {}  # cells of columns, bad or not
        self.rows = 0  # that hold some
        self.seen = 0  # rows of all files
        self.file: str | None = None  # that is being read, if there are several
        self._places: list[str] = []
        self._rules: dict[str, str] = {}  # how cells of columns should be written
        self._large = False  # whether some are too large
        self.total: tuple[str, str] | None = None  # a bad cell of the last row, and its column

    def add(
        self,
        column: Any,
        bad: NDArray,
        name: str,
        where: Callable[[int], str],
        what: str = "number",
        large: NDArray | None = None,
    ) -> None:
        """Take note of some cells of a column, as they are written, and of the bad ones there.

        Those that are ``large`` hold numbers that are too large to compute with.
        """
        if large is not None and large.any():
            bad, self._large = bad | large, True
        self.filled[name] = self.filled.get(name, 0) + len(column) - column.null_count
        places = np.flatnonzero(bad)
        if not len(places):
            return
        if places[-1] == len(bad) - 1 and self.policy != "drop":
            self.total = (name, str(column[-1].as_py()))
        self.counts[name] = self.counts.get(name, 0) + len(places)
        noun, written, rule = what.partition(" written ")
        self._rules[name] = f"{noun}s{written}{rule}" if rule else ""
        self._check_share(column, int(places[0]), name, where, what)
        if self.policy == "error":
            cell = shorten(column[int(places[0])].as_py())
            why = f"is no {what} as the other values are."
            if large is not None and large[places[0]]:
                why = f"is too large. {TOO_LARGE}"
            raise TableError(
                f"{where(int(places[0]))}, column {shorten(name)}: {cell} {why} Correct it, or "
                "let such cells count as missing (bad_cells='missing', --bad-cells missing), or "
                "leave their rows out (bad_cells='drop', --bad-cells drop)."
            )
        for place in places[: FIRST - len(self._places)]:
            cell = shorten(column[int(place)].as_py())
            at = where(int(place)) + ("" if self.file is None else f" of {self.file}")
            self._places.append(f"{at[:1].lower()}{at[1:]}: {cell}")

    def _check_share(
        self, column: Any, first: int, name: str, where: Callable[[int], str], what: str
    ) -> None:
        """Refuse a column of words where numbers should be: too many cells for faults."""
        filled, wrong = self.filled[name], self.counts[name]
        if wrong >= MANY_BAD and 2 * wrong > filled:
            allowed = {"number": "finite numbers", "truth value": "true or false"}
            rule, plain = self._rules[name], allowed.get(what, f"{what}s")
            remedy = "Correct them or leave them empty"
            if rule:
                remedy = "Write them as in the training table, or fit again to tables like this one"
            raise TableError(
                f"Column {shorten(name)} must hold {rule or plain}; {wrong} of {filled} filled "
                f"cells hold something else, such as {shorten(column[first].as_py())} "
                f"({where(first)}). {remedy}, or fit again without the column "
                f"(boreod fit {option('drop', name)})."
            )

    def note(self, advice: str = "") -> str | None:
        """Return what to tell the user; None if all cells were as they should be."""
        if not self.counts:
            return None
        total = sum(self.counts.values())
        columns = ", ".join(f"{shorten(name)} {count}" for name, count in self.counts.items())
        first = "; ".join(self._places) + ("; ..." if total > len(self._places) else "")
        found = f"{count_of(total, 'bad cell')} ({columns}; {first})"
        told = {name: rule for name, rule in self._rules.items() if rule}
        rules = [f" Column {shorten(name)} holds {rule}." for name, rule in told.items()]
        rules += [f" {TOO_LARGE}"] if self._large else []
        advice = "".join([*rules, advice])
        if self.policy == "drop":
            return f"{count_of(self.rows, 'row')} left out because of {found}.{''.join(rules)}"
        verb = "counts" if total == 1 else "count"
        return f"{found} {verb} as missing.{advice}"


def clean(
    batch: Any,
    rules: Mapping[str, NumberFormat | DateForm],
    where: Callable[[int], str],
    found: BadCells,
    computed: Container[str] | None = (),
) -> tuple[Any, NDArray]:
    """Return a batch with nulls for bad cells, and the rows that hold one.

    Bad are text that does not follow the rule of its column, infinite numbers, and too large ones
    of columns that are computed with, None for all.
    """
    rows = np.zeros(batch.num_rows, bool)
    for place, field in enumerate(batch.schema):
        column, bad, what = batch.column(place), None, "number"
        large = None
        if field.name in rules and pa.types.is_string(field.type):
            bad, what = rules[field.name].find_bad(column), rules[field.name].what
        elif pa.types.is_floating(field.type):
            bad = pc.fill_null(pc.is_inf(column), False).to_numpy(zero_copy_only=False)
        if bad is None:
            continue
        if computed is None or field.name in computed:
            large = find_large(column, rules.get(field.name))
        found.add(column, bad, field.name, where, what, large)
        bad = bad if large is None else bad | large
        if not bad.any():
            continue
        empty = pc.replace_with_mask(column, pa.array(bad), pa.scalar(None, field.type))
        batch = batch.set_column(place, field, empty)
        rows |= bad
    return batch, rows


def find_large(column: Any, rule: NumberFormat | DateForm | None = None) -> NDArray:
    """Tell which numbers of a column are finite, and too large to compute with.

    Those of text are written as a rule says.
    """
    if pa.types.is_string(column.type):
        long = pc.match_substring_regex(column, LONG)
        if not isinstance(rule, NumberFormat) or not pc.any(long).as_py():
            return np.zeros(len(column), bool)
        values = parse(column, rule).values
    else:
        values = column.to_numpy(zero_copy_only=False)
    return (np.abs(values) > LARGEST) & np.isfinite(values)


def row_numbers(batch: Any, first_row: int) -> NDArray:
    """Return the numbers of a batch's rows in its table; some may have been left out."""
    told = (batch.schema.metadata or {}).get(ROWS)
    if told is None:
        return np.arange(first_row, first_row + batch.num_rows)
    return np.frombuffer(told, np.int64)


def total_note(batch: Any, bad: tuple[str, str] | None = None) -> str | None:
    """Return a note if the last row of a table, or its bad cell, looks like a line of totals."""
    texts = [
        (field.name, column[-1].as_py())
        for field, column in zip(batch.schema, batch.columns, strict=True)
        if pa.types.is_string(field.type) and len(column)
    ]
    for name, word in [*texts, *([bad] if bad else [])]:
        if word is not None and TOTAL.fullmatch(word):
            return (
                f"The last row looks like a line of totals (column {shorten(name)}: "
                f"{shorten(word)}). It is read as a row like others; remove it if it is none."
            )
    return None


def sentinel_note(values: NDArray, name: str) -> str | None:
    """Return a note if a number such as -999 stands for missing values, or if one is absurd.

    Both are far from all others; beside an absurd one, other rows far out look usual.

    Examples
    --------
    >>> sentinel_note(np.array([3.0, -999.0, 5.0, -999.0, 4.0]), "age")[:60]
    "Column 'age' holds -999 2 times, far from its other values. "
    """
    present = values[~np.isnan(values)]
    for extreme in (present.min(), present.max()) if len(present) > 2 else ():
        others = present[present != extreme]
        low, high = (float(others.min()), float(others.max())) if len(others) else (0.0, np.inf)
        gap = max(low - extreme, extreme - high)
        usual = extreme in SENTINELS and (gap > high - low or extreme < 0.0 <= low)
        if usual or gap > ABSURD * (high - low) > 0.0:
            count = len(present) - len(others)
            return (
                f"Column {shorten(name)} holds {extreme:g} {count} time{'s' * (count > 1)}, far "
                "from its other values. If that stands for missing values"
                f"{'' if usual else ' or is an error'}, leave these cells empty."
            )
    return None
