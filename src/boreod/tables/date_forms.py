"""Find the form in which dates and times are written as text, and parse them."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_mask, encode, pa, pc
from boreod.tables.number_formats import MISSING, is_placeholder
from boreod.text import shorten

# Seconds in a day.
DAY = 86_400.0
# How many of each unit make one second.
SECONDS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# The number of cells at the beginning of a column that decide whether it may hold dates.
SAMPLE = 500
# In a column of dates, at least this share of the cells has the same form.
NEARLY_ALL = 0.9
# The beginnings of month names in several languages. No word may mean two months. So Polish, Czech
# and Croatian are left out: listopad is November in Polish and Czech, and October in Croatian.
MONTHS = (
    "jan|jän|ene|gen|ian|oca|tam|янв",
    "feb|fev|fév|hel|şub|sub|фев",
    # The Finnish marraskuu is November.
    "mar(?!ras)|mär|mrz|mrt|maa|мар",
    "apr|abr|avr|huh|nis|апр",
    "may|mai|mei|mag|maj|tou|май|мая",
    "jun|juin|giu|iun|kes|haz|июн",
    "jul|juil|lug|iul|hei|tem|июл",
    "aug|ago|aoû|aou|agu|ağu|elo|авг",
    "sep|set|syy|eyl|сен",
    "oct|okt|ott|out|lok|eki|окт",
    "nov|noi|marras|kas|ноя",
    "dec|dez|déc|dic|des|jou|ara|дек",
)
# Hours by which time zones are ahead of UTC. CST and IST are left out: each means several zones.
ZONES = {
    "WET": 0, "BST": 1, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "EEST": 3,
    "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "EST": -5, "EDT": -4,
    "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
MINUTES = r":(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<F>\d+))?)?"
HOURS = r"(?P<H>\d{1,2})"
HALF = r"(?: ?(?P<half>[aApP]\.?[mM]\.?))?"
CLOCK = (
    f"{HOURS}(?:{MINUTES})?{HALF}"
    + r"(?: ?(?P<zone>Z|UTC|GMT|{}|[+-]\d{{2}}(?::?\d{{2}})?))?".format("|".join(ZONES))
)
YEAR = r"(?P<y>\d{4}|\d{2})"
# A time of the day with its zone.
ZONED = rf"\d(?:,? |T){CLOCK.removesuffix('?')}$"
FORMS = {
    "year-month-day": r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
    "day.month.year": r"(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.]" + YEAR,
    "month/day/year": r"(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.]" + YEAR,
    "day month year": r"(?:[A-Za-z]{3},? )?(?P<d>\d{1,2})[-/ .]{1,2}(?:de )?"
    r"(?P<m>\p{L}{3,12})\.?[-/ ,]{1,2}(?:de )?" + YEAR,
    "month day, year": r"(?P<m>\p{L}{3,12})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})",
}
TIME = "hour:minute"
ORDERS = ("day.month.year", "month/day/year")
# Dates of these forms cannot be confused with dates of another form.
CERTAIN = ("year-month-day", "day month year", "month day, year")


class Moments(NamedTuple):
    """Seconds since 1970, by the local clock and in UTC; NaN if missing."""

    clock: NDArray
    instant: NDArray


@dataclass(frozen=True)
class DateForm:
    """The form of the cells of a column of dates: one of FORMS, or TIME.

    ``in_doubt`` is True if all cells can be read with the day or the month first. ``form`` is empty
    if some cells must have the day first and other cells must have the month first.
    """

    form: str
    in_doubt: bool = False

    @property
    def what(self) -> str:
        """What a cell should hold, in words."""
        if self.form == CERTAIN[0]:
            return "date"
        return "time" if self.form == TIME else f"date written {self.form}"

    def find_bad(self, column: Any) -> NDArray:
        """Return which cells are filled and hold no date of this form."""
        bad = is_filled(column) & np.isnan(read_written(column, self.form).clock)
        check_order(column, bad, self.form)
        return bad


def check_order(column: Any, bad: NDArray, form: str) -> None:
    """Refuse a column if many dates cannot be read because days and months are swapped."""
    # A few bad cells are just errors. If at least three cells and 30 % of the column are bad, days
    # and months may be swapped.
    if form not in ORDERS or bad.sum() < max(3, 0.3 * (len(bad) - column.null_count)):
        return
    here, then = ("days", "months") if form == ORDERS[1] else ("months", "days")
    cells = column.filter(pa.array(bad))
    if np.isnan(read_written(cells, ORDERS[1 - ORDERS.index(form)]).clock).any():
        return
    raise TableError(
        f"Dates such as {shorten(cells[0].as_py())} have {here} first, but dates of the "
        f"training table had {then} first. Write dates as 2024-01-31, or as in training."
    )


def is_filled(column: Any) -> NDArray:
    """Return which cells of text are neither null nor a word for a missing value."""
    cells = pc.utf8_trim_whitespace(column)
    return ~as_mask(pc.is_in(cells, value_set=pa.array([*MISSING, None])))


def count_zones(column: Any) -> int:
    """Return how many cells have a time zone, in a column of text or of a time type."""
    if pa.types.is_string(column.type):
        zoned = pc.match_substring_regex(pc.utf8_trim_whitespace(column), ZONED)
        return pc.sum(zoned).as_py() or 0
    has_zone = getattr(column.type, "tz", None) is not None
    return len(column) - column.null_count if has_zone else 0


def find_form(column: Any) -> DateForm | None:
    """Return the form of the dates of a column of text; None if the column does not hold dates.

    A few cells of a column of dates may hold something else.
    """
    present = _informative(column.slice(0, SAMPLE))
    if not len(present):
        return None
    shares = {form: _share(_read_form(present, form).clock) for form in (*FORMS, TIME)}
    best = max(shares, key=lambda form: shares[form])
    first, second = ORDERS
    if best not in ORDERS and _share(read_written(present, best).clock) >= NEARLY_ALL:
        return DateForm(best)
    if not (shares[first] or shares[second]) or _share_of_either(present)[0] < NEARLY_ALL:
        return None
    whole = _informative(column)
    either, days, months = _share_of_either(whole)
    if max(days, months) < NEARLY_ALL:
        return DateForm("", in_doubt=True) if either >= NEARLY_ALL else None
    if days != months:
        return DateForm(first if days > months else second)
    # Dates with points never have months first.
    has_points = pc.any(pc.match_substring_regex(whole, r"^\s*\d{1,2}\.")).as_py()
    return DateForm(first, in_doubt=not has_points)


def _share_of_either(words: Any) -> tuple[float, float, float]:
    """Return the shares of cells that are dates in any order, day first, and month first."""
    days, months = (read_written(words, form).clock for form in ORDERS)
    return _share(np.fmax(days, months)), _share(days), _share(months)


def find_contradiction(column: Any) -> tuple[str, str]:
    """Return a date that must have its day first, and one that must have its month first."""
    cells = _informative(column)
    days, months = (np.isnan(read_written(cells, form).clock) for form in ORDERS)
    day_first = cells[int(np.argmax(months & ~days))]
    month_first = cells[int(np.argmax(days & ~months))]
    return day_first.as_py(), month_first.as_py()


def count_others(words: Any, form: str) -> int:
    """Return how many cells are dates of a form other than the given one."""
    strict = _read_form(pc.utf8_trim_whitespace(words), form).clock
    return int(np.sum(np.isnan(strict) & ~np.isnan(read_written(words, form).clock)))


def _informative(column: Any) -> Any:
    cells = column.drop_null()
    return cells.filter(pc.invert(is_placeholder(pc.utf8_trim_whitespace(cells))))


def _share(clock: NDArray) -> float:
    return float(np.mean(~np.isnan(clock)))


def read_written(words: Any, form: str) -> Moments:
    """Return the moments of text in a form; NaN for cells that hold no moment.

    Dates in the forms of CERTAIN are read, too, because they are unambiguous.
    """
    words = pc.utf8_trim_whitespace(words)
    found = _read_form(words, form)
    for other in CERTAIN if form != TIME else ():
        left = np.flatnonzero(np.isnan(found.clock) & is_filled(words))
        if other != form and len(left):
            more = _read_form(words.take(pa.array(left)), other)
            for values, new in zip(found, more, strict=True):
                values[left] = new
    return found


def _read_form(words: Any, form: str) -> Moments:
    """Return the moments of trimmed text in one form; NaN for cells in other forms."""
    # Arrow reads the most common form quickly, but not if there is a zone.
    if form == "year-month-day":
        with suppress(pa.ArrowException):
            seconds = to_seconds(pc.cast(words, pa.timestamp("us")), "us")
            return Moments(seconds, seconds.copy())
    pattern = f"{HOURS}{MINUTES}{HALF}" if form == TIME else f"{FORMS[form]}(?:(?:,? |T){CLOCK})?"
    groups = pc.extract_regex(words, f"^{pattern}$")
    part = {field.name: groups.field(field.name) for field in groups.type}
    matched = groups.is_valid().to_numpy(zero_copy_only=False)
    start = np.where(matched, 0.0, np.nan)
    if form != TIME:
        years = _whole(part["y"])
        short = as_mask(pc.equal(pc.utf8_length(part["y"]), 2))
        years = years + np.where(short, np.where(years < 69, 2000, 1900), 0)
        if form in ("day month year", "month day, year"):
            months = _number_of_each(pc.utf8_lower(part["m"]), _month_number)
        else:
            months = _whole(part["m"])
        start = np.where(matched, day_seconds(years, months, _whole(part["d"])), np.nan)
    hours, minutes, seconds = (_whole(part[name]) for name in "HMS")
    half = pc.fill_null(pc.utf8_lower(pc.utf8_slice_codeunits(part["half"], 0, 1)), "")
    is_half = pc.not_equal(half, "").to_numpy(zero_copy_only=False)
    wrong = (hours > np.where(is_half, 12, 23)) | (minutes > 59) | (seconds > 60)
    later = pc.equal(half, "p").to_numpy(zero_copy_only=False)
    hours = np.where(is_half, hours % 12 + 12 * later, hours)
    clock = np.where(wrong, np.nan, start + 3600.0 * hours + 60.0 * minutes + seconds)
    fraction = pc.utf8_rpad(pc.fill_null(part["F"], ""), 6, "0")
    # Arrow rounds fractions of seconds in the same way.
    clock = (1e6 * clock + _whole(pc.utf8_slice_codeunits(fraction, 0, 6))) / 1e6
    ahead = _number_of_each(part["zone"], _seconds_ahead) if "zone" in part else 0
    return Moments(clock, clock - ahead)


def _whole(cells: Any) -> NDArray:
    """Return digits as whole numbers, 0 for missing and empty cells."""
    digits = pc.binary_join_element_wise("0", pc.fill_null(cells, ""), "")
    return pc.cast(digits, pa.int64()).to_numpy(zero_copy_only=False)


def _number_of_each(cells: Any, number_of: Callable[[str], int]) -> NDArray:
    """Return the number of each word, 0 for a missing one; look up each distinct word once."""
    words, places = encode(cells)
    return np.array([*map(number_of, words.to_pylist()), 0])[places]


def _month_number(word: str) -> int:
    """Return the number of a month by the beginning of its name, 0 for other words."""
    return next((n for n, starts in enumerate(MONTHS, 1) if re.match(starts, word)), 0)


def _seconds_ahead(zone: str) -> int:
    """Return by how many seconds a zone such as +02:00 is ahead of UTC."""
    if zone[:1] not in ("+", "-"):
        return 3600 * ZONES.get(zone, 0)
    digits = zone[1:].replace(":", "")
    ahead = 3600 * int(digits[:2]) + 60 * int(digits[2:] or 0)
    return -ahead if zone[0] == "-" else ahead


def day_seconds(years: NDArray, months: NDArray, days: NDArray) -> NDArray:
    """Return when days begin, in seconds since 1970; NaN for dates that do not exist."""
    right = (years >= 1) & (years <= 9999) & (months >= 1) & (months <= 12) & (days >= 1)
    month = np.where(right, (years - 1970) * 12 + months - 1, 0).astype("datetime64[M]")
    start = month.astype("datetime64[D]")
    length = ((month + 1).astype("datetime64[D]") - start).astype(np.int64)
    seconds = (start.astype(np.int64) + days - 1) * DAY
    return np.where(right & (days <= length), seconds, np.nan)


def to_seconds(column: Any, unit: str) -> NDArray:
    """Return a column of times as seconds, NaN for nulls."""
    return pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False) / SECONDS[unit]
