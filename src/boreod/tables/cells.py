"""Read cells of text as numbers, booleans or dates, convert columns, and report bad cells.

A column of text has one type in all batches. The first block of rows decides the type, and later
blocks never change it. A cell that does not fit is reported as a bad cell, with its row. Numbers
are float64. If they are formatted for people, as in $1,234.50, the column stays text and a rule
records the format. Whole numbers that begin with zero or have more than 15 digits are codes. They
stay text, because float64 would not keep all digits.

A column of numbers may have a few bad cells such as ``ERR`` or ``N.A.``. The user chooses what
happens: bad cells count as missing, the first bad cell raises an error, or rows with bad cells are
left out. A note gives the number of bad cells and the places of the first ones. Numbers that are
too large to compute with are bad cells, too.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_mask, kind_of, option, pa, pc
from boreod.tables.date_forms import DateForm, find_form
from boreod.tables.number_formats import (
    MISSING,
    PERCENT,
    Ambiguous,
    NumberFormat,
    find_format,
    first_code,
    parse,
)
from boreod.text import count_of, shorten
from boreod.validation import LARGEST

TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
# A note shows the places of at most this many bad cells.
MAX_PLACES = 3
# A column with at least this many bad cells is refused if most of its filled cells are bad.
MANY_BAD = 20
TOO_LARGE = f"Numbers beyond {LARGEST:.0e} are too large to compute with."

Rule = NumberFormat | DateForm
# A function that names a row, such as "Row 7", given the index of the row in its batch.
Where = Callable[[int], str]


class Kind(NamedTuple):
    """The type of a column of text, and the rule by which its numbers or dates are written.

    Columns of plain numbers and of words have no rule. If the type is ``number``, the rule says how
    to parse the cells. If the type is ``text``, the cells stay text but must follow the rule.
    """

    # One of TYPES.
    type: str
    rule: Rule | None = None

    @property
    def what(self) -> str:
        """What a cell should hold, in words."""
        if self.rule is not None:
            return self.rule.what
        return "truth value" if self.type == "boolean" else "number"


def find_written(column: Any, decimal: str | None = None) -> Rule | Ambiguous | None:
    """Return how the dates or numbers of a column of text are written; None for other text."""
    return find_form(column) or find_format(column, decimal)


def find_rule(column: Any, decimal: str | None = None) -> Rule | None:
    """Return the rule for the cells of a column of text, or None if there is no certain rule."""
    found = find_written(column, decimal)
    if isinstance(found, Ambiguous) or (isinstance(found, DateForm) and found.in_doubt):
        return None
    return found


def find_kind(column: Any, decimal: str | None = None) -> Kind:
    """Return the kind of a column of text; a column without values holds numbers."""
    cells = _present(column)
    if cells.null_count == len(cells):
        return Kind("number")
    try:
        pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        words = set(pc.unique(pc.utf8_lower(cells)).to_pylist()[:6]) - {None}
        if words <= {"true", "false", "1", "0"}:
            return Kind("boolean")
    else:
        if first_code(cells):
            return Kind("text")
        # If the decimal separator is a comma, 1.234 means 1234.
        if decimal != "," or not pc.any(pc.match_substring(cells, ".")).as_py():
            return Kind("number")
    rule = find_rule(column, decimal)
    return Kind("number") if rule == NumberFormat() else Kind("text", rule)


def declared_kind(
    declared: str | Rule, column: Any = None, decimal: str | None = None, name: str = ""
) -> Kind:
    """Return the kind of a column whose type is declared.

    If the type is ``number``, the cells of ``column`` show how its numbers are written.
    """
    if isinstance(declared, Rule):
        return Kind("text", declared)
    if declared != "number" or column is None:
        return Kind(declared)
    if decimal != "," and _plain_numbers(column) is not None:
        return Kind("number")
    found = find_format(column, decimal)
    if isinstance(found, Ambiguous) and not found.units:
        raise found.question(name, needed=True)
    # 1.2% would be read as 0.012. The model was trained on plain numbers, so percentages are not
    # accepted here.
    if isinstance(found, NumberFormat) and found.unit not in PERCENT:
        return Kind("number", None if found == NumberFormat() else found)
    return Kind("number", NumberFormat(",") if decimal == "," else None)


def to_kind(column: Any, kind: Kind) -> tuple[Any, NDArray]:
    """Return a column of text converted to its kind, and a mask of the cells that do not fit."""
    bad = np.zeros(len(column), bool)
    if kind.type == "text":
        if kind.rule is not None:
            bad = kind.rule.find_bad(column)
        empty = as_mask(pc.equal(pc.ascii_trim_whitespace(column), ""))
        return with_nulls(column, empty | bad), bad
    if kind.type == "number":
        assert not isinstance(kind.rule, DateForm)
        numbers = _plain_numbers(column) if kind.rule is None else None
        if numbers is not None:
            return numbers, bad
        values, bad = parse(column, kind.rule or NumberFormat())
        return pa.array(values, from_pandas=True), bad
    words = pc.utf8_lower(_present(column))
    bad = as_mask(pc.invert(pc.match_substring_regex(words, r"^(true|false|[01](\.0*)?)$")))
    return with_nulls(pc.match_substring_regex(words, r"^(true|1(\.0*)?)$"), bad), bad


def _plain_numbers(column: Any) -> Any:
    """Return the numbers of a column of text, or None if a cell is not a plain finite number."""
    with suppress(pa.ArrowInvalid):
        numbers = pc.cast(_present(column), pa.float64())
        if not pc.any(pc.is_inf(numbers)).as_py():
            return numbers
    return None


def as_numbers(
    column: Any, name: str, kind: str, first_row: int = 1, rule: NumberFormat | None = None
) -> NDArray:
    """Return a column as float64 with NaN for missing values; text is parsed as numbers.

    ``kind`` is ``number``, or ``boolean`` if only 0 and 1 are allowed. ``rule`` says how numbers
    are written in text; if it is None, they are plain numbers. Cells that do not follow the rule
    count as missing, and a warning shows them. Notes and errors count rows from ``first_row``.
    """
    held = kind_of(column.type)
    if held == "date or time":
        raise TableError(f"Column {shorten(name)} must hold {kind}s; it holds dates or times.")
    if held == "text" and kind == "number":
        rule = rule or NumberFormat()
        values, bad = parse(column, rule)
        note_bad(column, bad, name, first_row, rule.what, values)
        return values
    found, wrong = to_kind(column, Kind(kind)) if held == "text" else (column, np.False_)
    values = np.array(pc.cast(found, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    infinite = np.isinf(values)
    note_bad(column, infinite, name, first_row, values=values)
    values[infinite] = np.nan
    if kind == "boolean":
        neither = ~np.isnan(values) & (values != 0.0) & (values != 1.0)
        for row in np.flatnonzero(wrong | neither)[:1].tolist():
            raise TableError(
                f"Column {shorten(name)} must hold true or false (1 or 0); row {first_row + row} "
                f"holds {shorten(column[row].as_py())}. Correct it, or leave it empty."
            )
    return values


def note_bad(
    column: Any,
    bad: NDArray,
    name: str,
    first_row: int,
    what: str = "number",
    values: NDArray | None = None,
) -> None:
    """Warn if there are bad cells, which count as missing.

    Raise an error if there are at least MANY_BAD bad cells and most of the filled cells are bad.
    Numbers in ``values`` that are too large to compute with become NaN, and are bad cells, too.
    """
    large = np.zeros(len(bad), bool)
    if values is not None:
        large = np.isfinite(values) & (np.abs(values) > LARGEST)
        values[large] = np.nan
    if bad.any() or large.any():
        found = BadCells()
        found.add(column, bad, name, lambda row: f"row {first_row + row}", what, large)
        warnings.warn(found.note() or "", stacklevel=3)


def as_text(column: Any, name: str) -> Any:
    """Return a column as text with nulls for missing values; 118.0 becomes 118."""
    if kind_of(column.type) == "date or time":
        raise TableError(f"Column {shorten(name)} must hold words; it holds dates or times.")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return to_kind(pc.cast(column, pa.string()), Kind("text"))[0]


def whole_words(words: Any) -> Any:
    """Return text in which whole numbers lose their decimals: 118.0 becomes 118."""
    return pc.replace_substring_regex(words, r"^(\s*[+-]?\d+)\.0+(\s*)$", r"\1\2")


def with_nulls(cells: Any, mask: NDArray) -> Any:
    """Return cells with nulls where a mask is true."""
    if not mask.any():
        return cells
    # In pyarrow 15, `if_else` mixes up the rows of sliced arrays.
    return pc.replace_with_mask(cells, pa.array(mask), pa.scalar(None, cells.type))


def _present(column: Any) -> Any:
    """Return cells without surrounding spaces, and nulls for missing values."""
    cells = pc.ascii_trim_whitespace(column)
    return with_nulls(cells, as_mask(pc.is_in(cells, value_set=pa.array(MISSING))))


class BadCells:
    """Count bad cells, and treat them as the user chooses.

    Parameters
    ----------
    policy
        ``missing``: bad cells count as missing. ``error``: the first bad cell raises an error.
        ``drop``: rows with bad cells are left out.
    """

    def __init__(self, policy: str = "missing") -> None:
        if policy not in ("missing", "error", "drop"):
            raise TableError(
                f"`bad_cells` (--bad-cells) must be one of missing, error, drop; got {policy!r}."
            )
        self.policy = policy
        # The number of rows that were left out, and the number of rows that were read, over all
        # files.
        self.rows = 0
        self.seen = 0
        # The row numbers of kept rows that the reader has not yet put into a batch.
        self.kept = np.array([], np.int64)
        # The name of the file that is being read, if there are several files.
        self.file: str | None = None
        # The column and text of a bad cell in the last row, which may be a line of totals.
        self.total: tuple[str, str] | None = None
        self._counts: dict[str, int] = {}
        # The number of filled cells of each column, bad or not.
        self._filled: dict[str, int] = {}
        self._places: list[str] = []
        # How the cells of each column should be written.
        self._rules: dict[str, str] = {}
        # Whether some numbers were too large.
        self._large = False

    def add(
        self, column: Any, bad: NDArray, name: str, where: Where, what: str, large: NDArray
    ) -> None:
        """Count the bad cells in a part of a column, and remember the places of the first ones.

        ``large`` marks the cells whose numbers are too large to compute with.
        """
        self._large |= bool(large.any())
        self._filled[name] = self._filled.get(name, 0) + len(column) - column.null_count
        places = np.flatnonzero(bad | large).tolist()
        if not places:
            return
        if places[-1] == len(bad) - 1 and self.policy != "drop":
            self.total = (name, str(column[-1].as_py()))
        self._counts[name] = self._counts.get(name, 0) + len(places)
        noun, _, rule = what.partition(" written ")
        self._rules[name] = f"{noun}s written {rule}" if rule else ""
        first = shorten(column[places[0]].as_py())
        # With so many bad cells, the column itself is wrong, and not a few of its rows.
        if self._counts[name] >= MANY_BAD and 2 * self._counts[name] > self._filled[name]:
            raise self._no_numbers(first, where(places[0]), name, what)
        if self.policy == "error":
            fault = f"no {what}, unlike other cells."
            if large[places[0]]:
                fault = f"too large. {TOO_LARGE}"
            raise TableError(
                f"{where(places[0])}, column {shorten(name)}: {first} is {fault} Correct it, or "
                "let such cells count as missing (bad_cells='missing', --bad-cells missing), or "
                "leave their rows out (bad_cells='drop', --bad-cells drop)."
            )
        file = "" if self.file is None else f" of {self.file}"
        for place in places[: MAX_PLACES - len(self._places)]:
            at = where(place)
            self._places.append(f"{at[:1].lower()}{at[1:]}{file}: {shorten(column[place].as_py())}")

    def leave_out(self, wrong: NDArray) -> None:
        """Remember the row numbers of kept rows; ``wrong`` marks the rows that are left out."""
        self.kept = np.append(self.kept, self.seen + 1 + np.flatnonzero(~wrong))
        self.rows += int(wrong.sum())
        self.seen += len(wrong)

    def _no_numbers(self, first: str, place: str, name: str, what: str) -> TableError:
        """Return the error for a column with too many bad cells."""
        allowed = {"number": "finite numbers", "truth value": "true or false"}.get(what, f"{what}s")
        remedy = "Correct them or leave them empty"
        if self._rules[name]:
            allowed = self._rules[name]
            remedy = "Write them as in the training table, or fit again to tables like this one"
        return TableError(
            f"Column {shorten(name)} must hold {allowed}; {self._counts[name]} of "
            f"{self._filled[name]} filled cells hold something else, such as {first} ({place}). "
            f"{remedy}, or fit again without the column (boreod fit {option('drop', name)})."
        )

    def note(self, advice: str = "") -> str | None:
        """Return a sentence for the user; None if no cell was bad."""
        if not self._counts:
            return None
        total = sum(self._counts.values())
        columns = ", ".join(f"{shorten(name)} {count}" for name, count in self._counts.items())
        first = "; ".join(self._places) + ("; ..." if total > len(self._places) else "")
        found = f"{count_of(total, 'bad cell')} ({columns}; {first})"
        rules = [f" Column {shorten(name)} holds {r}." for name, r in self._rules.items() if r]
        rules += [f" {TOO_LARGE}"] * self._large
        if self.policy == "drop":
            return f"{count_of(self.rows, 'row')} left out because of {found}.{''.join(rules)}"
        verb = "counts" if total == 1 else "count"
        return f"{found} {verb} as missing.{''.join(rules)}{advice}"
