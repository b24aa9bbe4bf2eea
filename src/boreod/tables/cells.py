"""What cells mean: text as numbers and booleans, columns as float64 or text, and labels.

A column of text has one type in all batches. It is decided by the first block of rows: what a later
block holds never changes it, and a cell that does not fit is a bad cell with its place. Numbers are
float64; where they are not written as programs do, they stay text with a rule. Whole numbers that
begin with zero or have more than 15 digits are codes, and stay text: as numbers they would come out
otherwise than they went in.
"""

import shlex
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, column_of, kind_of, pa, pc
from boreod.tables.bad_cells import BadCells
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
from boreod.text import listed, shorten
from boreod.validation import INLIER, LARGEST, OUTLIER, UNLABELLED, label_code

TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
WHOLE = 2.0**53  # beyond this, float64 does not know every whole number
WORDS = {
    **dict.fromkeys(("yes", "y", "t", "ja", "j", "oui", "si", "sí", "sim", "tak", "да"), 1.0),
    **dict.fromkeys(("no", "n", "f", "nein", "nee", "non", "não", "nie", "нет"), 0.0),
}  # of outliers and inliers
OPEN = ("?", "??", "-", "n.a.", "unknown", "unlabelled", "unlabeled", "pending", "open", "tbd")


class Kind(NamedTuple):
    """What a column of text holds, and how its numbers are written if not as programs do.

    Numbers with a rule become numbers; text with a rule stays text, and cells must follow the rule.
    """

    type: str  # one of TYPES
    rule: NumberFormat | DateForm | None = None


def find_kind(column: Any, decimal: str | None = None) -> Kind:
    """Return what a column of text looks like; without any value, a number."""
    cells = _present(column)
    if cells.null_count == len(cells):
        return Kind("number")
    try:
        pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        words = set(pc.unique(pc.utf8_lower(cells)).to_pylist()[:6]) - {None}
        if words <= {"true", "false", "1", "0"}:
            return Kind("boolean")
        return _find_written(column, decimal)
    if first_code(cells):
        return Kind("text")
    # with a decimal comma 1.234 is a thousand
    dots = decimal == "," and pc.any(pc.match_substring(cells, ".")).as_py()
    return _find_written(column, decimal) if dots else Kind("number")


def _find_written(column: Any, decimal: str | None) -> Kind:
    form, doubtful = find_form(column)
    if form:
        return Kind("text", None if doubtful else DateForm(form))
    rule = find_format(column, decimal)
    if not isinstance(rule, NumberFormat):
        return Kind("text")
    return Kind("number") if rule.is_plain else Kind("text", rule)


def declared_kind(
    declared: str | NumberFormat | DateForm,
    column: Any = None,
    decimal: str | None = None,
    name: str = "",
) -> Kind:
    """Return how to read a column whose type is known; numbers as cells of the file write them."""
    if isinstance(declared, NumberFormat | DateForm):
        return Kind("text", declared)
    if declared != "number" or column is None:
        return Kind(declared)
    if decimal != "," and _to_numbers(column, _present(column), None)[1] is None:
        return Kind("number")
    found = find_format(column, decimal)
    if isinstance(found, Ambiguous) and not found.units:  # a thousand, or a little more than one
        raise found.question(name, needed=True)
    if isinstance(found, NumberFormat) and found.unit not in PERCENT:  # else 100 times as much
        return Kind("number", None if found.is_plain else found)
    return Kind("number", NumberFormat(",") if decimal == "," else None)


def to_kind(column: Any, kind: Kind) -> tuple[Any, NDArray | None]:
    """Return a column of text as its kind says, and which cells do not fit (None if all do)."""
    if kind.type == "text":
        bad = None if kind.rule is None else kind.rule.find_bad(column)
        empty = pc.fill_null(pc.equal(pc.ascii_trim_whitespace(column), ""), False)
        if bad is not None and bad.any():
            empty = pc.or_(empty, pa.array(bad))
        return _emptied(column, empty), bad
    cells = _present(column)
    if kind.type == "number":
        assert not isinstance(kind.rule, DateForm)
        return _to_numbers(column, cells, kind.rule)
    words = pc.utf8_lower(cells)
    fits = pc.match_substring_regex(words, r"^(true|false|[01](\.0*)?)$")
    bad = pc.invert(pc.fill_null(fits, True)).to_numpy(zero_copy_only=False)
    return _emptied(pc.match_substring_regex(words, r"^(true|1(\.0*)?)$"), pa.array(bad)), bad


def _to_numbers(column: Any, cells: Any, rule: NumberFormat | None) -> tuple[Any, NDArray | None]:
    try:
        numbers = None if rule is not None else pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None and not pc.any(pc.is_inf(numbers)).as_py():
        return numbers, None
    values, bad = parse(column, rule or NumberFormat())
    return pa.array(values, from_pandas=True), bad


def as_numbers(
    column: Any, name: str, kind: str, first_row: int = 1, rule: NumberFormat | None = None
) -> NDArray:
    """Return a column as float64 with NaN where a value is missing; text is read as numbers.

    The kind is ``number``, or ``boolean`` for 0 and 1 only; rows are counted for notes and errors.
    Text is written as the rule says, None for plain numbers; cells that are no numbers are missing,
    and a warning tells of them.
    """
    held = kind_of(column.type)
    if held == "date or time":
        raise TableError(f"Column {shorten(name)} must hold {kind}s; it holds dates or times.")
    if held == "text" and kind == "number":
        values, bad = parse(column, rule or NumberFormat())
        note_bad(column, bad, name, first_row, (rule or NumberFormat()).what, values)
        return values
    if held == "text":
        text, (column, wrong) = column, to_kind(column, Kind(kind))
        if wrong is not None and wrong.any():
            raise _no_boolean(text, int(np.argmax(wrong)), name, first_row)
    numbers = pc.cast(column, pa.float64(), safe=False)
    values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    infinite = np.isinf(values)
    note_bad(column, infinite, name, first_row, values=values)
    values[infinite] = np.nan
    if kind == "boolean":
        wrong = ~np.isnan(values) & (values != 0.0) & (values != 1.0)
        if wrong.any():
            raise _no_boolean(column, int(np.argmax(wrong)), name, first_row)
    return values


def note_bad(
    column: Any,
    bad: NDArray,
    name: str,
    first_row: int,
    what: str = "number",
    values: NDArray | None = None,
) -> None:
    """Tell of cells that count as missing, if there are any; refuse a column of them.

    Of ``values`` those that are too large to compute with become NaN, and are told, too.
    """
    large = None if values is None else np.isfinite(values) & (np.abs(values) > LARGEST)
    if bad.any() or (large is not None and large.any()):
        found = BadCells()
        found.add(column, bad, name, lambda row: f"row {first_row + row}", what, large)
        warnings.warn(found.note() or "", stacklevel=3)
    if values is not None and large is not None:
        values[large] = np.nan


def as_text(column: Any, name: str) -> Any:
    """Return a column as text with nulls where a value is missing; whole numbers have no point."""
    if kind_of(column.type) == "date or time":
        raise TableError(f"Column {shorten(name)} must hold words; it holds dates or times.")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return to_kind(pc.cast(column, pa.string()), Kind("text"))[0]


def whole_words(words: Any) -> Any:
    """Return text in which whole numbers, such as 118.0, have no point."""
    return pc.replace_substring_regex(words, r"^(\s*[+-]?\d+)\.0+(\s*)$", r"\1\2")


def read_label_column(
    values: Any, outlier_label: Any = None, *, name: str = "label", assume: bool = False
) -> NDArray:
    """Return 1 for outliers, 0 for inliers and -1 for unlabelled rows.

    Parameters
    ----------
    values
        A column: a pyarrow array, or anything that makes one.
    outlier_label
        The value of outliers; other values are inliers then. None if the values are 0 and 1, true
        and false, yes and no or Y and N, also as text and in any case. A missing value is always
        unlabelled, and so are -1 and words such as ``?`` and ``unknown`` unless they are the
        outlier.
    name
        Name of the column, for errors.
    assume
        Whether inliers may be assumed, so that 1 and -1 without 0 are outliers and unlabelled rows.

    Examples
    --------
    >>> read_label_column(["Yes", "no", None])
    array([ 1,  0, -1])
    >>> read_label_column(["ok", "fraud", ""], "fraud")
    array([ 0,  1, -1])
    """
    column = column_of(pa.table({name: _to_array(values, name)}), name)
    cells = pc.utf8_trim_whitespace(as_text(column, name))
    encoded = pc.dictionary_encode(cells)
    found = encoded.dictionary.to_pylist()
    outlier: float | str
    if outlier_label is None:
        meanings, outlier = _read_words(found, cells, name, assume), OUTLIER
    else:
        wanted = as_text(_to_array([outlier_label], name), name)[0].as_py()
        if wanted is None:
            raise TableError("`outlier_label` (--outlier-label) must not be empty; leave it out.")
        outlier = canonical(wanted.strip())
        meanings = [_meaning(value, outlier) for value in found]
    codes = [label_code(meaning, outlier) for meaning in meanings]
    if outlier_label is not None and OUTLIER not in codes:
        raise TableError(
            f"No row of column {shorten(name)} has the value {outlier_label!r} that "
            f"`outlier_label` (--outlier-label) names; it holds {listed(found, 5) or 'nothing'}."
        )
    indices = pc.fill_null(encoded.indices, len(codes)).to_numpy(zero_copy_only=False)
    return np.array([*codes, UNLABELLED], dtype=np.int64)[indices]


def _read_words(found: list[str], cells: Any, name: str, assume: bool) -> list[Any]:
    """Return 1, 0, -1 or None for the distinct values of a column that tells what they mean."""
    meanings = [WORDS.get(value.lower(), _meaning(value)) for value in found]
    known = set(meanings) - {None}
    told = assume or known != {OUTLIER, UNLABELLED}
    if known <= {OUTLIER, INLIER, UNLABELLED} and told:
        return meanings
    others = sorted(meant for meant in known if isinstance(meant, str))
    if {OUTLIER, INLIER} <= known and others and known <= {OUTLIER, INLIER, UNLABELLED, *others}:
        yes, no = (shlex.quote(found[meanings.index(code)]) for code in (OUTLIER, INLIER))
        raise TableError(
            f"Column {shorten(name)} holds {listed(others, 5)} beside labels of outliers and "
            "inliers. Correct these cells or leave them empty; or name the labels, then others are "
            f"none: `outlier_label`, `inlier_label` (--outlier-label={yes} --inlier-label={no})."
        )
    counts = [(pair["counts"], pair["values"]) for pair in pc.value_counts(cells).to_pylist()]
    counts = [pair for pair in counts if pair[1] is not None and not _is_open(pair[1])]
    rarest = max(value for count, value in counts if count == min(counts)[0])
    raise TableError(
        f"Column {shorten(name)} must hold 0 and 1, true and false or yes and no as labels (empty "
        f"or -1 for unlabelled rows{'' if assume else ', never 1 and -1 but no 0'}); it holds "
        f"{listed(found, 5)}. Say "
        f"which value marks an outlier: `outlier_label` (--outlier-label={shlex.quote(rarest)}, if "
        "the rarest), and if others are no labels, which one marks an inlier (--inlier-label)."
    )


def _meaning(value: str, outlier: Any = None) -> Any:
    """Return what ``label_code`` reads: None for a missing value, unless it marks outliers."""
    meant = canonical(value)
    return None if (value in MISSING or _is_open(value)) and meant != outlier else meant


def _is_open(value: str) -> bool:
    """Tell words for "nobody knows yet"."""
    return value.lower() in OPEN


def canonical(value: str) -> float | str:
    """Return numbers as such, however they are written; true and false are 1 and 0."""
    try:
        return float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        return value


def _to_array(values: Any, name: str) -> Any:
    """Return an Arrow array; values of several types become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    try:
        words = [None if value is None else str(value) for value in values]
        return pa.array(words, pa.string())
    except TypeError:
        raise TableError(
            f"Column {shorten(name)} must be one column of labels; got {type(values).__name__}."
        ) from None


def _present(column: Any) -> Any:
    """Return cells without spaces around them, missing ones as nulls."""
    cells = pc.ascii_trim_whitespace(column)
    return _emptied(cells, pc.is_in(cells, value_set=pa.array(MISSING)))


def _emptied(cells: Any, mask: Any) -> Any:
    """Return cells with nulls where a mask says so."""
    # not `if_else`, which mixes up the rows of slices in pyarrow 15
    return pc.replace_with_mask(cells, pc.fill_null(mask, False), pa.scalar(None, cells.type))


def _no_boolean(column: Any, row: int, name: str, first_row: int) -> TableError:
    return TableError(
        f"Column {shorten(name)} must hold true or false (1 or 0); row {first_row + row} holds "
        f"{shorten(column[row].as_py())}. Correct it, or leave it empty."
    )
