"""Numbers as people and spreadsheets write them: ``$1,234.50``, ``1.2%``, ``51.080,0``, ``(12)``.

A column has one rule, which says its decimal point and its unit. Every rule accepts groups of
thousands and spaces of any width. A negative number has a minus sign before or after it, or is in
parentheses. 1.2% is read as 0.012. A column is ambiguous if ``1,234`` may mean 1234 or 1.234, and
no other cell shows which of these it means.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_mask, option, pa, pc
from boreod.text import shorten

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "Nan", "NaT", "\\N"),
    *("null", "NULL", "Null", "(null)", "None", "none", "NONE"),
)
# These words stand for missing numbers. They do not decide whether a column holds numbers.
PLACEHOLDERS = (
    *(word.lower() for word in MISSING),
    *("-", "--", "---", ".", "..", "...", "?", "??", "???", "*", "n.a.", "n.a", "n. a.", "na"),
    *("k.a.", "k. a.", "#n/a", "#null!", "#ref!", "#div/0!", "#value!", "#name?", "#num!", "nil"),
    *("missing", "unknown", "unk", "undefined", "not available", "not applicable", "no data"),
    *("tbd", "tba", "err", "err.", "error", "#error", "#err", "fehler", "blank", "(blank)"),
    *("inf", "+inf", "-inf", "infinity", "-infinity", "pending", "void", "invalid", "empty"),
)
# Currencies of countries that write a decimal point and use the comma to separate thousands.
POINT_MONEY = (
    " $ US$ £ ¥ ₹ ₩ ₪ ฿ ₱ USD GBP JPY CNY INR KRW ILS THB PHP AUD NZD SGD HKD MXN TWD MYR CHF "
)
OTHER_MONEY = (
    " EUR CAD SEK NOK DKK PLN CZK HUF RON BGN RUB UAH TRY BRL ARS CLP COP PEN UYU ZAR EGP NGN KES "
    "MAD TND DZD AED SAR QAR KWD BHD OMR JOD IDR VND PKR LKR BDT ISK HRK RSD KZT GEL BTC ETH "
    "R$ C$ A$ NZ$ S$ HK$ NT$ MX$ CA$ AU$ KR KČ ZŁ FR RS FT LEI LEV ЛВ РУБ TL RM RP "
)
PERCENT = {"%": 100.0, "‰": 1000.0}
# In a column of numbers, at most this share of the filled cells may hold anything else.
FEW = 0.1
# Patterns of characters that look alike, and the plain character for each pattern.
LETTERS = {
    r"[\x{a0}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]": " ",
    r"[\x{2010}-\x{2015}\x{2212}\x{fe63}\x{ff0d}]": "-",
    r"[\x{2018}\x{2019}\x{02bc}\x{00b4}]": "'",
    r"[\x{200b}\x{200e}\x{200f}\x{2060}\x{feff}]": "",
}
CODE = r"^\s*[+-]?(0\d+|\d{16,})\s*$"


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal
        ``.`` or ``,``.
    unit
        A sign, currency or word beside the numbers; empty if there is none.
    thousands
        The sign between groups of digits in messages. When cells are read, any sign is accepted.
    before
        Whether the unit stands before the number, as in $12.
    """

    decimal: str = "."
    unit: str = ""
    thousands: str = ""
    before: bool = False

    @property
    def what(self) -> str:
        """What a cell should hold, in words."""
        return "number" if self == NumberFormat() else f"number written like {self.like}"

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have this format."""
        return (
            self.decimal in (".", ",")
            and self.thousands in ("", ",", ".", " ", "'")
            and self.thousands != self.decimal
            and (not self.unit or _is_unit(self.unit, self.before))
        )

    def find_bad(self, column: Any) -> NDArray:
        """Return which cells are filled and hold no number in this format."""
        return parse(column, self).bad

    @property
    def like(self) -> str:
        """An example of a number in this format.

        Examples
        --------
        >>> NumberFormat(",", "EUR", ".").like, NumberFormat(".", "$", ",", before=True).like
        ('1.234,50 EUR', '$1,234.50')
        """
        number = f"1{self.thousands}234{self.decimal}50"
        if self.unit in PERCENT:
            number = f"1{self.decimal}2"
        space = " " if self.unit[:1].isalpha() else ""
        parts = (self.unit, number) if self.before else (number, self.unit)
        return space.join(parts) if self.unit else number

    @cached_property
    def pattern(self) -> str:
        """The regular expression that a cell without surrounding spaces must match."""
        point = re.escape(self.decimal)
        comma = r"\." if self.decimal == "," else ","
        groups = "|".join(rf"\d{{1,3}}(?:{sign}\d{{3}})+" for sign in (comma, " ", "'"))
        whole = rf"(?:{groups}|\d{{1,2}}(?:{comma}\d{{2}})+{comma}\d{{3}}|\d+)"
        number = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d{{1,3}})?"
        unit = self._unit_pattern
        before = rf"(?:{unit} *)?" if unit else ""
        behind = f"(?: *{unit})" if unit else ""
        behind += "?" if unit and self.unit not in PERCENT else ""
        sides = rf"(?:[+-]? *{before}|{before}[+-]? *)"
        signed = rf"{sides}{number}(?: *-)?{behind}(?: *-)?"
        inside = rf"{before}\( *{sides}{number}{f'(?: *{unit})?' if unit else ''} *\){behind}"
        if self.unit in PERCENT:
            inside = rf"\( *{signed} *\)|\( *{number} *\){behind}|[+-]?0+(?:{point}0*)?"
        return f"(?i)^(?:{signed}|{inside})$"

    @property
    def _unit_pattern(self) -> str:
        if not self.unit:
            return ""
        ending = r"\.?" if self.unit[-1].isalpha() else ""
        plural = "s?" if ending and not _is_money(self.unit) else ""
        return f"(?:{re.escape(self.unit)}{plural}{ending})"


class Ambiguous(NamedTuple):
    """A column of numbers that can be read in two ways.

    ``example`` is one of its cells. If the numbers have different units, ``units`` holds these
    units, and is otherwise empty.
    """

    example: str
    units: tuple[str, ...] = ()

    def question(self, name: str, needed: bool = False) -> TableError:
        """Return an error that asks the user how to read the column.

        If the column is ``needed``, the error does not offer to leave it out.
        """
        leave = "or write 1234.5" if needed else f"or leave the column out ({option('drop', name)})"
        if self.units:
            return TableError(
                f"Column {shorten(name)} holds numbers of several units: "
                f"{', '.join(self.units)}. Convert the numbers to one unit, {leave}."
            )
        sign, other = ".," if "." in self.example else ",."
        whole = re.sub(r"\D", "", self.example)
        return TableError(
            f"Column {shorten(name)} holds numbers such as {shorten(self.example)}: does this mean "
            f"{whole}, or is {sign} the decimal point? Pass decimal='{other}' (--decimal {other}) "
            f"for {whole}, decimal='{sign}' (--decimal {sign}) for the decimal point, {leave}."
        )


class Parsed(NamedTuple):
    """The numbers of a column, NaN for other cells, and a mask of filled cells without numbers."""

    values: NDArray
    bad: NDArray


def find_format(column: Any, decimal: str | None = None) -> NumberFormat | Ambiguous | None:
    """Return how the numbers of a column of text are written; None if it does not hold numbers.

    A few cells may hold something else. Codes stay text. A text column with plain whole numbers
    only holds codes, because amounts would not have been stored as text. Whole numbers that begin
    with zero are codes, too. ``decimal`` is the decimal point if the cells do not decide it.

    Examples
    --------
    >>> find_format(pa.array(["$1,234.50", "($12)", "n.a."])).like
    '$1,234.50'
    >>> find_format(pa.array(["1,234", "12"]))
    Ambiguous(example='1,234', units=())
    >>> find_format(pa.array(["1,234", "12"]), decimal=",").like
    '1234,50'
    """
    cells = _plain_letters(column).drop_null()
    cells = cells.filter(pc.invert(is_placeholder(cells)))
    # The first cells are enough to see that a column holds words.
    start = cells[:1000]
    with_digits = pc.sum(pc.match_substring_regex(start, r"\d")).as_py() or 0
    if 2 * with_digits < max(1, len(start)):
        return None
    is_whole = pc.all(pc.match_substring_regex(cells, r"^\d+$")).as_py()
    if is_whole and len(cells) + column.null_count >= len(column):
        return None
    units = _find_units(cells)
    if isinstance(units, Ambiguous) or units is None:
        return units
    unit, before = units
    found = {sign: _fits(cells, NumberFormat(sign, unit, "", before)) for sign in (".", ",")}
    counts = {sign: int(fits.sum()) for sign, fits in found.items()}
    best = max(counts, key=lambda sign: (counts[sign], sign == (decimal or "."), sign == "."))
    if not _is_number(cells, found[best]) or first_code(cells, unit):
        bare = _fits(cells, NumberFormat(best))
        mixed = unit in PERCENT and _is_number(cells, found[best] | bare)
        return Ambiguous("", (unit, "none")) if mixed else None
    good = cells.filter(pa.array(found[best]))
    if counts["."] == counts[","] and decimal is None:
        unclear = good.filter(pc.match_substring_regex(good, r"^[^\d]*[1-9]\d{0,2}[.,]\d{3}\D*$"))
        plain = unclear.filter(pc.match_substring_regex(unclear, r"^[+-]?\d+\.\d+$"))
        certain = (
            f" {unit.upper()} " in POINT_MONEY
            and not pc.any(pc.match_substring(unclear, ".")).as_py()
        )
        if len(unclear) and len(plain) < len(unclear) and not certain:
            return Ambiguous(unclear[0].as_py())
    return NumberFormat(best, unit, _seen_thousands(good, best), before)


def parse(column: Any, rule: NumberFormat) -> Parsed:
    """Return the numbers of a column of text.

    Examples
    --------
    >>> parse(pa.array(["1.234,5-", "-", None]), NumberFormat(",", "EUR"))
    Parsed(values=array([-1234.5,     nan,     nan]), bad=array([False,  True, False]))
    """
    cells = _plain_letters(column)
    fits = _fits(cells, rule)
    values = np.full(len(column), np.nan)
    values[fits] = _to_float(cells.filter(pa.array(fits)), rule)
    # As float64, 1e999 is infinite.
    too_large = np.isinf(values)
    values[too_large] = np.nan
    missing = as_mask(pc.is_in(cells, value_set=pa.array([*MISSING, None])))
    return Parsed(values, ~fits & ~missing | too_large)


def first_code(cells: Any, unit: str = "") -> bool:
    """Return whether any cell looks like a code, which would lose digits as a number."""
    beside = "" if _is_money(unit) else re.escape(unit)
    return bool(pc.any(pc.match_substring_regex(cells, CODE.replace("$", f"{beside}$"))).as_py())


def _to_float(cells: Any, rule: NumberFormat) -> NDArray:
    """Return numbers of cells that fit their rule."""
    if rule.unit:
        cells = pc.replace_substring_regex(cells, f"(?i){rule._unit_pattern}", "")
    minus = as_mask(pc.match_substring_regex(cells, r"\(|(^|[^eE.,])-"))
    point = re.escape(rule.decimal)
    comma = r"\." if rule.decimal == "," else ","
    noise = rf"^[^\d{point}]+|[^\d{point}]+$|[ '{comma}]"
    cells = pc.replace_substring_regex(cells, noise, "")
    if rule.decimal == ",":
        cells = pc.replace_substring(cells, ",", ".")
    values: NDArray = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(minus, -values, values) / PERCENT.get(rule.unit, 1.0)


def _plain_letters(column: Any) -> Any:
    """Strip surrounding spaces, and replace look-alike characters by plain characters."""
    cells = pc.cast(column, pa.string())
    if not pc.all(pc.string_is_ascii(cells), min_count=0).as_py():
        for pattern, letter in LETTERS.items():
            cells = pc.replace_substring_regex(cells, pattern, letter)
    return pc.ascii_trim_whitespace(cells)


def is_placeholder(cells: Any) -> Any:
    """Return which trimmed cells of text stand for a missing value."""
    return pc.is_in(pc.utf8_lower(cells), value_set=pa.array(PLACEHOLDERS))


def _find_units(cells: Any) -> tuple[str, bool] | Ambiguous | None:
    """Return the unit of numbers, or an empty text, and whether the unit stands before a number."""
    cells = cells.filter(pc.match_substring_regex(cells, r"\d"))
    rests = pc.replace_substring_regex(cells, r"[\d.,'()+\- ]+|(?:\d)[eE][+-]?\d+", "")
    counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(rests).to_pylist()}
    counts = {unit: count for unit, count in counts.items() if unit not in ("", "e", "E")}
    enough = max(1, FEW * len(cells))
    common = [unit for unit, count in counts.items() if count > enough or count == len(cells)]
    if len(counts) == 1 or (not common and counts and len(cells) <= 1 / FEW):
        common = common or [max(counts, key=lambda unit: counts[unit])]
    if not common:
        return "", False
    first = min(common, key=len)
    if not all(unit.lower() in (first.lower(), f"{first.lower()}s") for unit in common):
        several = all(_is_unit(unit, before=True) for unit in common)
        if not several and all(_is_unit(unit, before=False) for unit in common):
            # Without fractions these are codes such as 12A and 13B.
            several = pc.any(pc.match_substring_regex(cells, r"^[+-]?\d+[.,]\d")).as_py()
        return Ambiguous(cells[0].as_py(), tuple(sorted(common)[:5])) if several else None
    own = cells.filter(pc.is_in(rests, value_set=pa.array(common)))
    starts = pc.match_substring_regex(own, rf"(?i)^[ (+\-]*{re.escape(first)}")
    before = 2 * pc.sum(starts).as_py() > len(own)
    return (first, before) if _is_unit(first, before) else None


def _is_unit(unit: str, before: bool) -> bool:
    """Return whether a word is a currency, a percent sign, or a short word behind numbers.

    A word before a number, as in A17, makes it a code.
    """
    if unit in PERCENT or _is_money(unit):
        return True
    return not before and len(unit) <= 8 and all(c.isalpha() or c in "°µ²³/" for c in unit)


def _is_money(unit: str) -> bool:
    signs = len(unit) <= 3 and all(unicodedata.category(letter) == "Sc" for letter in unit)
    return signs or f" {unit.upper()} " in POINT_MONEY + OTHER_MONEY


def _fits(cells: Any, rule: NumberFormat) -> NDArray:
    return as_mask(pc.match_substring_regex(cells, rule.pattern))


def _is_number(cells: Any, fits: NDArray) -> bool:
    """Return whether the cells that are not numbers are few enough to be errors."""
    bad = len(fits) - int(fits.sum())
    if not bad:
        return True
    numbers = len(pc.unique(cells.filter(pa.array(fits))))
    words = len(pc.unique(cells.filter(pa.array(~fits))))
    return bad <= max(1, FEW * len(fits)) and numbers >= max(5, 2 * words)


def _seen_thousands(cells: Any, decimal: str) -> str:
    for sign in ("." if decimal == "," else ",", " ", "'"):
        if pc.any(pc.match_substring_regex(cells, rf"\d{re.escape(sign)}\d{{3}}")).as_py():
            return sign
    return ""
