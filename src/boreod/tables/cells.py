"""From cells that are text to columns of numbers, booleans or text.

A column has one type in all batches. It is decided by the first block of rows: what a later block
holds never changes it, and a cell that does not fit is an error with its place. Numbers are
float64. Whole numbers that begin with zero or have more than 15 digits are codes, and stay text: as
numbers they would come out otherwise than they went in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boreod.tables.arrow import pa, pc
from boreod.tables.errors import TableError, option
from boreod.text import shorten

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "None")
KINDS = ("number", "boolean", "text")
TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)$"
CODE = r"^[+-]?(0\d+|\d{16,})$"
DECIMAL_COMMA = r"^[+-]?\d+(,\d+)?$"


@dataclass(frozen=True)
class Cell:
    """A cell that does not fit its column: where it is in the batch, and what it holds."""

    row: int
    value: str


def check_types(types: Mapping[str, str]) -> None:
    """Refuse declared types that are none."""
    for name, kind in types.items():
        if kind not in KINDS:
            raise TableError(
                f"The type of a column must be one of {', '.join(KINDS)}; got {kind!r} for "
                f"{shorten(name)}."
            )


def find_kind(column: Any, decimal: str = ".") -> str:
    """Return what a column of text looks like; without any value, a number.

    Parameters
    ----------
    column
        An Arrow array of text.
    decimal
        The decimal point, ``.`` or ``,``.

    Examples
    --------
    >>> [find_kind(pa.array(cells)) for cells in (["1", "NA"], ["True", ""], ["1", "x"], ["007"])]
    ['number', 'boolean', 'text', 'text']
    """
    cells = _present(column, decimal)
    if cells.null_count == len(cells):
        return "number"
    try:
        pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        words = set(pc.unique(pc.utf8_lower(cells)).to_pylist()[:4]) - {None}
        return "boolean" if words <= {"true", "false"} else "text"
    return "text" if first_match(cells, CODE) is not None else "number"


def has_decimal_commas(column: Any) -> bool:
    """Tell whether all values of a column of text are numbers, some with a decimal comma."""
    cells = _present(column, ".")
    fits = pc.all(pc.match_substring_regex(cells, DECIMAL_COMMA)).as_py()
    return bool(fits) and bool(pc.any(pc.match_substring(cells, ",")).as_py())


def to_kind(column: Any, kind: str, decimal: str = ".") -> Any:
    """Return a column of text as numbers, booleans or text, or the first cell that does not fit.

    Parameters
    ----------
    column
        An Arrow array of text.
    kind
        ``number``, ``boolean`` or ``text``.
    decimal
        The decimal point, ``.`` or ``,``.

    Examples
    --------
    >>> to_kind(pa.array(["1", "x"]), "number")
    Cell(row=1, value='x')
    """
    if kind == "text":
        return _emptied(column, pc.equal(pc.ascii_trim_whitespace(column), ""))
    cells = _present(column, decimal)
    return _to_numbers(cells) if kind == "number" else _to_booleans(cells)


def first_match(cells: Any, pattern: str, *, matching: bool = True) -> Cell | None:
    """Return the first cell that matches a pattern, or the first that does not."""
    found = pc.match_substring_regex(cells, pattern)
    row = pc.index(pc.fill_null(found, not matching), matching).as_py()
    return None if row < 0 else Cell(row, cells[row].as_py())


def convert(
    name: str,
    column: Any,
    kind: str,
    *,
    declared: bool,
    decimal: str,
    where: Callable[[int], str],
) -> Any:
    """Return a column of a batch in its type, or say where it does not fit and what to do.

    Parameters
    ----------
    name
        Name of the column.
    column
        An Arrow array of text.
    kind
        ``number``, ``boolean`` or ``text``.
    declared
        Whether the user gave the type; then numbers may look like codes.
    decimal
        The decimal point.
    where
        Says where a row of this batch is in the file.
    """
    if kind == "text":
        return to_kind(column, kind)
    cells = _present(column, decimal)
    converted = _to_numbers(cells) if kind == "number" else _to_booleans(cells)
    remedy = f"Correct it, or read the column as text ({option('text', name)})."
    if isinstance(converted, Cell):
        expected = "a number" if kind == "number" else "true or false"
        basis = "its type asks for" if declared else "the values before it are"
        raise TableError(
            f"{where(converted.row)}, column {shorten(name)}: {shorten(converted.value)} is "
            f"not {expected} as {basis}. {remedy}"
        )
    code = None if declared or kind == "boolean" else first_match(cells, CODE)
    if code is not None:
        raise TableError(
            f"{where(code.row)}, column {shorten(name)}: {shorten(code.value)} looks like a "
            f"code and would change as a number, which the values before it are. {remedy}"
        )
    return converted


def _present(column: Any, decimal: str) -> Any:
    """Return cells without spaces around them, missing ones as nulls."""
    cells = pc.ascii_trim_whitespace(column)
    cells = _emptied(cells, pc.is_in(cells, value_set=pa.array(MISSING)))
    return pc.replace_substring(cells, ",", ".") if decimal == "," else cells


def _emptied(cells: Any, mask: Any) -> Any:
    """Return cells with nulls where a mask says so."""
    # not `if_else`, which mixes up the rows of slices in pyarrow 15
    return pc.replace_with_mask(cells, pc.fill_null(mask, False), pa.scalar(None, pa.string()))


def _to_numbers(cells: Any) -> Any:
    try:
        return pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return first_match(cells, NUMBER, matching=False) or Cell(0, cells[0].as_py())


def _to_booleans(cells: Any) -> Any:
    words = pc.utf8_lower(cells)
    yes = pc.match_substring_regex(words, r"^(true|1(\.0*)?)$")
    no = pc.match_substring_regex(words, r"^(false|0(\.0*)?)$")
    wrong = first_match(words, r"^(true|false|[01](\.0*)?)$", matching=False)
    return pc.if_else(pc.or_(yes, no), yes, pa.scalar(None, pa.bool_())) if wrong is None else wrong
