"""Dates and times: how they are written, and the numbers that they become.

Hours, weekdays and days of the month are those of the clock that wrote them, whatever its zone; an
age counts the days from then to the newest training row, and no row is younger than that one: a
model is used after its training, when all rows would be out of range otherwise.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, kind_of, pa, pc
from boreod.tables.cells import as_numbers, as_text, note_bad
from boreod.tables.steps import SECONDS, Step
from boreod.text import shorten

PARTS = ("hour", "weekday", "day of month", "age in days")
DAY = 86_400.0  # seconds
OLDEST, LATEST = -6.3e10, 2.6e11  # seconds of the years 1 to 9999, and a bit more
OPEN_END = 7.2e9  # seconds; later years such as 9999 stand for no end and are nobody's newest row
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MINUTES = r":(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?"
HOURS, HALF = r"(?P<H>\d{1,2})", r"(?: ?(?P<half>[aApP]\.?[mM]\.?))?"
CLOCK = f"{HOURS}(?:{MINUTES})?{HALF}" + r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
YEAR = r"(?P<y>\d{4}|\d{2})"
FORMS = {
    "year-month-day": r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
    "day.month.year": r"(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.]" + YEAR,
    "month/day/year": r"(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.]" + YEAR,
    "day month year": r"(?:[A-Za-z]{3},? )?(?P<d>\d{1,2})[-/ .]{1,2}"
    r"(?P<m>[A-Za-z]{3,9})\.?[-/ ,]{1,2}" + YEAR,
    "month day, year": r"(?P<m>[A-Za-z]{3,9})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})",
}
TIME = "hour:minute"
NUMBERS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
DIGITS = "yyyymmdd"


class Moments(NamedTuple):
    """Seconds since 1970 by the clock that wrote them, and by that of Greenwich; NaN if missing."""

    clock: NDArray
    instant: NDArray


@dataclass(frozen=True)
class DateStep(Step):
    """A date or time becomes hour, weekday, day of the month and age, those that vary."""

    form: str = "year-month-day"  # of text, or the unit of numbers; typed columns need none
    zone: str | None = None  # whose clock is read, of typed columns
    newest: float = 0.0  # seconds since 1970 of the newest training row
    parts: list[str] = field(default_factory=list)  # of PARTS
    middles: list[float] = field(default_factory=list)  # medians of these, for missing dates
    marked: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [f"{self.name} {part}" for part in self.parts]
        return names + ([f"{self.name} is missing"] if self.marked else [])

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        forms = (*FORMS, TIME) if self.kind == "text" else (*NUMBERS, DIGITS)
        in_order = [part for part in PARTS if part in self.parts]
        fits = self.kind in ("text", "number") and self.form in forms and self.parts == in_order
        known = OLDEST <= self.newest <= LATEST and (self.zone is None or 0 < len(self.zone) < 60)
        return fits and known and len(self.middles) == len(self.parts) and bool(self.names)

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        found = read_moments(column, self.name, self.form, self.zone, first_row)
        missing = np.isnan(found.clock)
        for place, (part, middle) in enumerate(zip(self.parts, self.middles, strict=True)):
            result[:, place] = np.where(missing, middle, part_of(found, part, self.newest))
        if self.marked:
            result[:, -1] = missing


def read_moments(
    column: Any, name: str, form: str, zone: str | None = None, first_row: int = 1
) -> Moments:
    """Return the moments of a column of a plain type; what is none is missing and told."""
    if kind_of(column.type) == "date or time":
        return _read_typed(column, name, zone)
    if form in NUMBERS or form == DIGITS:
        if pa.types.is_integer(column.type):  # of nanoseconds float64 does not know each
            values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        else:
            values = as_numbers(column, name, "number", first_row)
        seconds = from_digits(values) if form == DIGITS else values / NUMBERS[form]
        found, present = Moments(seconds, seconds), ~np.isnan(values)
    else:
        words = as_text(column, name)
        found, present = read_written(words, form), words.is_valid().to_numpy(zero_copy_only=False)
    clock, instant = found
    with np.errstate(invalid="ignore"):
        wrong = present & ~((clock >= OLDEST) & (clock <= LATEST))
    note_bad(column, wrong, name, first_row, "time" if form == TIME else "date")
    return Moments(np.where(wrong, np.nan, clock), np.where(wrong, np.nan, instant))


def part_of(moments: Moments, part: str, newest: float) -> NDArray:
    """Return one of PARTS for every moment: hours from 0, Monday is 1, ages not below 0."""
    clock = moments.clock
    if part == "hour":
        return np.round(clock % DAY / 3600.0, 6)
    if part == "weekday":
        return (np.floor(clock / DAY) + 3.0) % 7.0 + 1.0
    if part == "age in days":
        return np.maximum(newest - moments.instant, 0.0) / DAY
    days = np.floor(np.nan_to_num(clock) / DAY).astype("datetime64[D]")
    return (days - days.astype("datetime64[M]")).astype(float) + 1.0


def find_newest(moments: Moments) -> float:
    """Return the newest moment in seconds since 1970."""
    instants = moments.instant[~np.isnan(moments.instant)]
    ended = instants[instants < OPEN_END]
    return float((ended if len(ended) else instants).max())


def _read_typed(column: Any, name: str, zone: str | None) -> Moments:
    held = column.type
    if pa.types.is_duration(held):
        raise TableError(f"Column {shorten(name)} must hold dates or times; it holds durations.")
    if pa.types.is_time(held):
        clock = _to_seconds(pc.cast(column, pa.time64("ns")), "ns")
        return Moments(clock, clock)
    if pa.types.is_date(held):
        column = pc.cast(column, pa.timestamp("s"))
    unit, tz = column.type.unit, column.type.tz
    instant = _to_seconds(column, unit)
    if tz is None:
        return Moments(instant, instant)
    try:
        there = pc.cast(column, pa.timestamp(unit, zone or tz))
        return Moments(_to_seconds(pc.local_timestamp(there), unit), instant)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {shorten(name)} has times of the zone {shorten(zone or tz)}, which is not "
            f"known here: {str(error).splitlines()[0][:80]}. Convert it to another zone."
        ) from None


def _to_seconds(column: Any, unit: str) -> NDArray:
    whole = pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return whole / SECONDS[unit]


def from_digits(values: NDArray) -> NDArray:
    """Return seconds of numbers such as 20240131, NaN for what is no day."""
    whole = np.where((values >= 1e7) & (values < 1e8) & (values % 1 == 0), values, 0.0)
    number = whole.astype(np.int64)
    return _day_seconds(number // 10_000, number // 100 % 100, number % 100)


def _day_seconds(years: NDArray, months: NDArray, days: NDArray) -> NDArray:
    """Return seconds since 1970 at the beginning of days, NaN where there is no such day."""
    right = (years >= 1) & (years <= 9999) & (months >= 1) & (months <= 12) & (days >= 1)
    month = np.where(right, (years - 1970) * 12 + months - 1, 0).astype("datetime64[M]")
    start = month.astype("datetime64[D]")
    length = ((month + 1).astype("datetime64[D]") - start).astype(np.int64)
    seconds = (start.astype(np.int64) + days - 1) * DAY
    return np.where(right & (days <= length), seconds, np.nan)


def read_written(words: Any, form: str) -> Moments:
    """Return the moments of text of some form, NaN where a cell has another one."""
    words = pc.utf8_trim_whitespace(words)
    if form == "year-month-day":  # as nearly everybody writes them, which Arrow reads quickly
        try:
            seconds = _to_seconds(pc.cast(words, pa.timestamp("us")), "us")
            return Moments(seconds, seconds)
        except pa.ArrowException:
            pass  # there is a zone, or something else
    day = "" if form == TIME else FORMS[form]
    rest = f"{HOURS}{MINUTES}{HALF}" if form == TIME else f"(?:(?:,? |T){CLOCK})?"
    groups = pc.extract_regex(words, f"^{day}{rest}$")
    part = {field.name: groups.field(field.name) for field in groups.type}
    matched = groups.is_valid().to_numpy(zero_copy_only=False)
    start = np.where(matched, 0.0, np.nan)
    if day:
        years, days = _whole(part["y"]), _whole(part["d"])
        short = pc.fill_null(pc.equal(pc.utf8_length(part["y"]), 2), False)
        century = np.where(years < 69, 2000, 1900)
        years = years + np.where(short.to_numpy(zero_copy_only=False), century, 0)
        named = form in ("day month year", "month day, year")
        months = _month_numbers(part["m"]) if named else _whole(part["m"])
        start = np.where(matched, _day_seconds(years, months, days), np.nan)
    hours, minutes, seconds = (_whole(part[name]) for name in "HMS")
    half = pc.fill_null(pc.utf8_lower(pc.utf8_slice_codeunits(part["half"], 0, 1)), "")
    is_half = pc.not_equal(half, "").to_numpy(zero_copy_only=False)
    wrong = (hours > np.where(is_half, 12, 23)) | (minutes > 59) | (seconds > 60)
    later = pc.equal(half, "p").to_numpy(zero_copy_only=False)
    hours = np.where(is_half, hours % 12 + 12 * later, hours)
    clock = np.where(wrong, np.nan, start + 3600.0 * hours + 60.0 * minutes + seconds)
    ahead = _offsets(part["zone"]) if "zone" in part else 0.0
    return Moments(clock, clock - ahead)


def _whole(cells: Any) -> NDArray:
    """Return digits as whole numbers, 0 for what is missing or empty."""
    filled = pc.fill_null(cells, "")
    filled = pc.replace_with_mask(filled, pc.equal(filled, ""), pa.scalar("0"))
    return pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False)


def _month_numbers(cells: Any) -> NDArray:
    """Return the number of months by the first letters of their English names, 0 for others."""
    short = pc.utf8_slice_codeunits(pc.utf8_lower(cells), 0, 3)
    place = pc.index_in(short, value_set=pa.array(MONTHS))
    return pc.fill_null(place, -1).to_numpy(zero_copy_only=False).astype(np.int64) + 1


def _offsets(cells: Any) -> NDArray:
    """Return how many seconds the clocks of zones such as +02:00 are ahead; few are distinct."""
    encoded = pc.dictionary_encode(pc.fill_null(cells, ""))
    seconds = []
    for text in encoded.dictionary.to_pylist():
        digits = text[1:].replace(":", "") if text[:1] in ("+", "-") else ""
        ahead = 3600 * int(digits[:2] or 0) + 60 * int(digits[2:] or 0)
        seconds.append(-ahead if text.startswith("-") else ahead)
    return np.array([*seconds, 0.0])[encoded.indices.to_numpy()]
