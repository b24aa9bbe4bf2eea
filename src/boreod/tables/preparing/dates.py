"""Dates and times, and the numbers that they become.

Hours, weekdays and days of the month are those of the clock that wrote them, whatever its zone; an
age counts the days from then to the newest training row, and no row is younger than that one: a
model is used after its training, when all rows would be out of range otherwise.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, kind_of, pa, pc
from boreod.tables.cells import as_numbers, as_text, note_bad
from boreod.tables.date_forms import (
    DAY,
    FORMS,
    TIME,
    DateForm,
    Moments,
    check_order,
    count_zones,
    day_seconds,
    is_filled,
    read_written,
    to_seconds,
)
from boreod.tables.preparing.steps import Step
from boreod.text import shorten

PARTS = ("hour", "weekday", "day of month", "age in days")
OLDEST, LATEST = -6.3e10, 2.6e11  # seconds of the years 1 to 9999, and a bit more
OPEN_END = 7.2e9  # seconds; later years such as 9999 stand for no end and are nobody's newest row
NUMBERS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
DIGITS = "yyyymmdd"
SERIAL = "days since 1900"  # as spreadsheets count them
SERIAL_1970 = 25_569.0


@dataclass(frozen=True)
class DateStep(Step):
    """A date or time becomes hour, weekday, day of the month and age, those that vary."""

    form: str = "year-month-day"  # of text, or the unit of numbers; typed columns need none
    zone: str | None = None  # whose clock is read, of typed columns
    newest: float = 0.0  # seconds since 1970 of the newest training row
    parts: list[str] = field(default_factory=list)  # of PARTS
    middles: list[float] = field(default_factory=list)  # medians of these, for missing dates
    marked: bool = False
    zoned: bool | None = None  # whether times told their zone; None if some did, or nobody knows

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [f"{self.name} {part}" for part in self.parts]
        return names + ([f"{self.name} is missing"] if self.marked else [])

    @property
    def reading(self) -> Any:
        """How to read the column from text."""
        return DateForm(self.form) if self.kind == "text" else self.kind

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """What the output columns are: parts of dates."""
        return [("value", part) for part in self.parts] + [("missing", "")] * self.marked

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        forms = (*FORMS, TIME) if self.kind == "text" else (*NUMBERS, DIGITS, SERIAL)
        in_order = [part for part in PARTS if part in self.parts]
        fits = self.kind in ("text", "number") and self.form in forms and self.parts == in_order
        known = OLDEST <= self.newest <= LATEST and (self.zone is None or 0 < len(self.zone) < 60)
        return fits and known and len(self.middles) == len(self.parts) and bool(self.names)

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        found = read_moments(column, self.name, self.form, self.zone, first_row)
        missing = np.isnan(found.clock)
        if self.zoned is not None:
            read = column if not missing.any() else column.filter(pa.array(~missing))
            _tell_of_zones(read, self, len(read))
        for place, (part, middle) in enumerate(zip(self.parts, self.middles, strict=True)):
            result[:, place] = np.where(missing, middle, part_of(found, part, self.newest))
        if self.marked:
            result[:, -1] = missing


def _tell_of_zones(column: Any, step: DateStep, filled: int) -> None:
    """Warn of times with a zone where the training table had none, and the reverse."""
    zoned = count_zones(column)
    if zoned == (filled if step.zoned else 0) or kind_of(column.type) == "number":
        return
    here, then, remedy = "a zone", "none", "Write them by the clock of the training table"
    if step.zoned:
        here, then = "no zone", "one" if step.zone is None else f"one ({shorten(step.zone)})"
        remedy = "Write their zone"
    warnings.warn(
        f"Column {shorten(step.name)} holds times with {here}, and in the training table they had "
        f"{then}. Hours and days are read as they are written, and times without a zone count as "
        f"UTC. {remedy}, or fit again to tables like this one.",
        stacklevel=3,
    )


def read_moments(
    column: Any, name: str, form: str, zone: str | None = None, first_row: int = 1
) -> Moments:
    """Return the moments of a column of a plain type; what is none is missing and told."""
    if kind_of(column.type) == "date or time":
        return _read_typed(column, name, zone)
    if form in (*NUMBERS, DIGITS, SERIAL):
        if pa.types.is_integer(column.type):  # of nanoseconds float64 does not know each
            values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        else:
            values = as_numbers(column, name, "number", first_row)
        seconds = _from_numbers(values, form)
        found, present = Moments(seconds, seconds), ~np.isnan(values)
    else:
        words = as_text(column, name)
        found, present = read_written(words, form), is_filled(words)
    clock, instant = found
    with np.errstate(invalid="ignore"):
        wrong = present & ~((clock >= OLDEST) & (clock <= LATEST))
    if form in FORMS:
        check_order(column, wrong, form)
    what = DateForm(form).what if form in (*FORMS, TIME) else "date"
    note_bad(column, wrong, name, first_row, what)
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
        clock = to_seconds(pc.cast(column, pa.time64("ns")), "ns")
        return Moments(clock, clock)
    if pa.types.is_date(held):
        column = pc.cast(column, pa.timestamp("s"))
    unit, tz = column.type.unit, column.type.tz
    instant = to_seconds(column, unit)
    if tz is None:
        return Moments(instant, instant)
    try:
        there = pc.cast(column, pa.timestamp(unit, zone or tz))
        return Moments(to_seconds(pc.local_timestamp(there), unit), instant)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {shorten(name)} has times of the zone {shorten(zone or tz)}, which is not "
            f"known here: {str(error).splitlines()[0][:80]}. Convert it to another zone."
        ) from None


def _from_numbers(values: NDArray, form: str) -> NDArray:
    if form == DIGITS:
        return from_digits(values)
    return (values - SERIAL_1970) * DAY if form == SERIAL else values / NUMBERS[form]


def from_digits(values: NDArray) -> NDArray:
    """Return seconds of numbers such as 20240131, NaN for what is no day."""
    whole = np.where((values >= 1e7) & (values < 1e8) & (values % 1 == 0), values, 0.0)
    number = whole.astype(np.int64)
    return day_seconds(number // 10_000, number // 100 % 100, number % 100)
