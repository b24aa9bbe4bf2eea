"""Dates and times, and the numbers that they become.

Hours, weekdays and days of the month are read as they are written, whatever their zone. An age is
the number of days from a date to the newest training row. Newer rows have the age 0. A model is
used after its training, so the ages of most new rows would otherwise be below the training range.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables import cells, date_forms
from boreod.tables.arrow import TableError, kind_of, pa, pc
from boreod.tables.preparing.steps import Step
from boreod.text import shorten

PARTS = ("hour", "weekday", "day of month", "age in days")
# Seconds since 1970, a little before the year 1.
OLDEST = -6.3e10
# Seconds since 1970, a little after the year 9999.
LATEST = 2.6e11
# Seconds since 1970. Later dates, such as 9999-12-31, stand for an open end.
OPEN_END = 7.2e9
NUMBERS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
DIGITS = "yyyymmdd"
# Spreadsheets count days in this way.
SERIAL = "days since 1900"


@dataclass(frozen=True)
class DateStep(Step):
    """Turn a date or time into its hour, weekday, day of the month and age if they vary."""

    # The form of dates in text, or the unit of dates in numbers. Columns of a date type need none.
    form: str = "year-month-day"
    # The time zone in which columns of a time type are read.
    zone: str | None = None
    # The newest training row, in seconds since 1970.
    newest: float = 0.0
    # The items of PARTS that varied in training.
    parts: list[str] = field(default_factory=list)
    # The medians of these parts, which missing dates get.
    middles: list[float] = field(default_factory=list)
    # Whether training times had a zone; None if only some of them had one, or if it is unknown.
    zoned: bool | None = None

    @property
    def reading(self) -> Any:
        """How to read the column from text."""
        return date_forms.DateForm(self.form) if self.kind == "text" else self.kind

    @property
    def values(self) -> list[tuple[str, str]]:
        """One number for each part."""
        return [("value", part) for part in self.parts]

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step."""
        forms = {"text": (*date_forms.FORMS, date_forms.TIME), "number": (*NUMBERS, DIGITS, SERIAL)}
        return (
            self.form in forms.get(self.kind, ())
            and self.parts == [part for part in PARTS if part in self.parts]
            and OLDEST <= self.newest <= LATEST
            and (self.zone is None or 0 < len(self.zone) < 60)
            and len(self.middles) == len(self.parts)
        )

    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""
        found = read_moments(column, self.name, self.form, self.zone, first_row)
        missing = np.isnan(found.clock)
        if self.zoned is not None and kind_of(column.type) != "number":
            self._check_zones(column.filter(pa.array(~missing)) if missing.any() else column)
        for place, (part, middle) in enumerate(zip(self.parts, self.middles, strict=True)):
            result[:, place] = np.where(missing, middle, part_of(found, part, self.newest))
        return missing

    def _check_zones(self, filled: Any) -> None:
        """Warn if times have zones and the training table had none, or the other way round."""
        if date_forms.count_zones(filled) == (len(filled) if self.zoned else 0):
            return
        differ = "a zone, but times of the training table had none"
        remedy = "Write them by the clock of the training table"
        if self.zoned:
            zone = "" if self.zone is None else f" ({shorten(self.zone)})"
            differ = f"no zone, but times of the training table had one{zone}"
            remedy = "Write the zone"
        warnings.warn(
            f"Column {shorten(self.name)} holds times with {differ}. Hours and days are read as "
            f"they are written, and times without a zone count as UTC. {remedy}, or fit again to "
            "tables like this one.",
            stacklevel=3,
        )


def read_moments(
    column: Any, name: str, form: str, zone: str | None = None, first_row: int = 1
) -> date_forms.Moments:
    """Return the moments of a column; other cells count as missing, and a warning shows them."""
    if kind_of(column.type) == "date or time":
        return _read_typed(column, name, zone)
    what = "date"
    if form in (*date_forms.FORMS, date_forms.TIME):
        words = cells.as_text(column, name)
        clock, instant = date_forms.read_written(words, form)
        present = date_forms.is_filled(words)
        what = date_forms.DateForm(form).what
    else:
        # Float64 cannot represent every nanosecond. That does not matter here.
        values = cells.as_numbers(column, name, "number", first_row)
        clock = instant = _from_numbers(values, form)
        present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        wrong = present & ~((clock >= OLDEST) & (clock <= LATEST))
    date_forms.check_order(column, wrong, form)
    cells.note_bad(column, wrong, name, first_row, what)
    return date_forms.Moments(np.where(wrong, np.nan, clock), np.where(wrong, np.nan, instant))


def part_of(moments: date_forms.Moments, part: str, newest: float) -> NDArray:
    """Return one of PARTS for every moment: hours from 0, Monday is 1, ages are at least 0."""
    clock = moments.clock
    if part == "hour":
        return np.round(clock % date_forms.DAY / 3600.0, 6)
    if part == "weekday":
        return (np.floor(clock / date_forms.DAY) + 3.0) % 7.0 + 1.0
    if part == "age in days":
        return np.maximum(newest - moments.instant, 0.0) / date_forms.DAY
    days = np.floor(np.nan_to_num(clock) / date_forms.DAY).astype("datetime64[D]")
    return (days - days.astype("datetime64[M]")).astype(float) + 1.0


def find_newest(moments: date_forms.Moments) -> float:
    """Return the newest moment in seconds since 1970."""
    instants = moments.instant[~np.isnan(moments.instant)]
    ended = instants[instants < OPEN_END]
    return float(ended.max() if len(ended) else instants.max())


def _read_typed(column: Any, name: str, zone: str | None) -> date_forms.Moments:
    held = column.type
    if pa.types.is_duration(held):
        raise TableError(f"Column {shorten(name)} must hold dates or times; it holds durations.")
    if pa.types.is_time(held):
        clock = date_forms.to_seconds(pc.cast(column, pa.time64("ns")), "ns")
        return date_forms.Moments(clock, clock)
    if pa.types.is_date(held):
        column = pc.cast(column, pa.timestamp("s"))
    unit = column.type.unit
    instant = date_forms.to_seconds(column, unit)
    if column.type.tz is None:
        return date_forms.Moments(instant, instant)
    zone = zone or column.type.tz
    try:
        there = pc.cast(column, pa.timestamp(unit, zone))
        return date_forms.Moments(date_forms.to_seconds(pc.local_timestamp(there), unit), instant)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {shorten(name)} has times of the zone {shorten(zone)}, which is not "
            f"known here: {str(error).splitlines()[0][:80]}. Convert it to another zone."
        ) from None


def _from_numbers(values: NDArray, form: str) -> NDArray:
    if form == DIGITS:
        return from_digits(values)
    # Spreadsheets store January 1, 1970 as this number.
    return (values - 25_569.0) * date_forms.DAY if form == SERIAL else values / NUMBERS[form]


def from_digits(values: NDArray) -> NDArray:
    """Return seconds since 1970 for numbers such as 20240131; NaN for numbers that are no dates."""
    whole = np.where((values >= 1e7) & (values < 1e8) & (values % 1 == 0), values, 0.0)
    number = whole.astype(np.int64)
    return date_forms.day_seconds(number // 10_000, number // 100 % 100, number % 100)
