"""Decide which step each column of the training table gets, and write notes for users."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables import cells, date_forms, number_formats
from boreod.tables.arrow import TableError, kind_of, option, pa, pc
from boreod.tables.preparing import dates, steps
from boreod.text import count_of, shorten

STEPS: dict[str, type[steps.Step]] = {
    "number": steps.NumberStep,
    "category": steps.CategoryStep,
    "date": dates.DateStep,
    "levels": steps.LevelStep,
    "text": steps.TextStep,
}
# A column with fewer distinct values does not hold ids.
MANY = 20
# The beginnings of the years 2000 and 2040, in seconds since 1970.
EPOCH = (946_684_800.0, 2_208_988_800.0)
CODES = {"id", "uuid", "guid", "code", "key", "hash", "zip", "zipcode", "postcode", "plz", "mcc"}
ENTITIES = {
    "account", "card", "client", "customer", "device", "employee", "ip", "merchant", "patient",
    "payee", "payer", "sender", "receiver", "seller", "shop", "store", "supplier", "terminal",
    "user", "vendor",
}  # fmt: skip
TIMES = {
    "at", "birth", "birthday", "created", "date", "datetime", "day", "epoch", "modified", "opened",
    "datum", "seen", "time", "timestamp", "ts", "unix", "updated", "utc", "when",
}  # fmt: skip
CALENDAR = TIMES - {"at", "epoch", "seen", "time", "timestamp", "ts", "unix", "utc"}
SENTINELS = (-1e9, -99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0, 999999.0, 9999999.0)
# The distance of an absurd value to the other values is more than this many times their range.
ABSURD = 1e4
# Float64 rounds whole numbers from 2**53 on. Numbers above this limit are amounts and no ids.
LONGEST_ID = 1e25


@dataclass(frozen=True)
class Decision:
    """The step of a column (None if it is left out), what was done, and a note for users."""

    step: steps.Step | None
    done: str
    note: str | None = None


@dataclass(frozen=True)
class Question:
    """What is known about a training column when its step is decided."""

    name: str
    max_levels: int = 20
    targets: steps.Targets | None = None
    # The decimal point of numbers in text, if the cells of the column do not decide it.
    decimal: str | None = None
    # Whether the user asked to learn from this column.
    wanted: bool = False


def decide(column: Any, asked: Question) -> Decision:
    """Decide which step suits a training column of a plain type, or refuse the column."""
    kind = kind_of(column.type)
    if kind == "text":
        return _decide_text(cells.as_text(column, asked.name), asked)
    if kind == "date or time" and not pa.types.is_duration(column.type):
        form = date_forms.TIME if pa.types.is_time(column.type) else dates.DateStep.form
        step = dates.DateStep(asked.name, "text", form, getattr(column.type, "tz", None))
        return _decide_date(column, step, "")
    if pa.types.is_integer(column.type):
        # Float64 cannot represent all whole numbers beyond 2**53.
        ends = [end for end in pc.min_max(column).as_py().values() if end is not None]
        if any(abs(end) >= 2.0**53 for end in ends):
            if EPOCH[0] <= ends[0] / 1e9 <= ends[1] / 1e9 <= EPOCH[1]:
                step = dates.DateStep(asked.name, "number", form="nanoseconds")
                return _decide_date(column, step, "nanoseconds since 1970")
            return _decide_codes(cells.as_text(column, asked.name), asked, "text")
    if kind == "boolean":
        return _decide_number(steps.numbers_of(column, asked.name, kind), kind, asked)
    # Durations are numbers, too.
    values = steps.numbers_of(column, asked.name, "number")
    return _decide_numbered(column, values, asked) or _decide_number(values, "number", asked)


def _decide_number(values: NDArray, kind: str, asked: Question) -> Decision:
    present = values[~np.isnan(values)]
    missing = len(values) - len(present)
    if not len(present):
        return _leave_out(asked.name, "all values are missing")
    if present.min() == present.max():
        return _constant(
            steps.NumberStep(asked.name, kind, marked=True), f"{present[0]:g}", missing
        )
    # The lower median is always a value of the column.
    middle = float(np.quantile(present, 0.5, method="lower"))
    done = "0 and 1" if kind == "boolean" else "as it is"
    if missing:
        done += f"; {missing} missing filled with {middle:g} and marked"
    step = steps.NumberStep(asked.name, kind, middle, marked=missing > 0)
    if kind == "boolean":
        return Decision(step, done)
    is_id = not missing and _is_row_id(present)
    if is_id and not asked.wanted and (_sounds_like(asked.name, CODES) or _counts_rows(present)):
        return _leave_out(asked.name, "its whole numbers are all different", is_id=True)
    rounded = _rounded_note(present, asked.name)
    if rounded is not None or not is_id:
        return Decision(step, done, rounded or sentinel_note(present, asked.name))
    return Decision(
        step,
        done,
        f"Column {shorten(asked.name)} looks like an id: its whole numbers are all different. If "
        f"it is an id, say so ({option('id', asked.name)}).",
    )


def _rounded_note(present: NDArray, name: str) -> str | None:
    """Return a note if a column holds whole numbers that float64 rounds, else None."""
    if not 2.0**53 <= np.abs(present).max() < LONGEST_ID or (present % 1 != 0).any():
        return None
    return (
        f"Column {shorten(name)} holds whole numbers of 16 or more digits, which are rounded to "
        "15 digits or so. Such numbers are mostly ids: if it is one, say so "
        f"({option('id', name)})."
    )


def _decide_numbered(column: Any, values: NDArray, asked: Question) -> Decision | None:
    """Decide for numbers that are really times or codes; return None for plain numbers."""
    present = values[~np.isnan(values)]
    if not len(present) or present.min() == present.max() or asked.wanted:
        return None
    form, meaning = _find_numbered_dates(present, asked.name)
    if form:
        return _decide_date(column, dates.DateStep(asked.name, "number", form=form), meaning)
    is_whole = bool((present % 1 == 0).all()) and not _is_row_id(present)
    if not is_whole or not _sounds_like(asked.name, CODES, alone=ENTITIES):
        return None
    words = cells.as_text(column, asked.name)
    if pc.count_distinct(words).as_py() <= 2:
        return None
    # If all codes can be written as numbers, 118 and 118.0 are the same code.
    alike = words.equals(cells.as_text(pc.cast(column, pa.float64()), asked.name))
    return _decide_codes(words, asked, "number" if alike else "text")


def _find_numbered_dates(present: NDArray, name: str) -> tuple[str, str]:
    """Return form and meaning of numbers that are dates, and two empty texts for other numbers."""
    low = present.min()
    high = present.max()
    named = _sounds_like(name, TIMES)
    is_sorted = len(present) > MANY and bool((np.diff(present) >= 0).all())
    for unit, scale in dates.NUMBERS.items():
        if EPOCH[0] * scale <= low <= high <= EPOCH[1] * scale and (named or is_sorted):
            return unit, f"{unit} since 1970"
    several = named or len(np.unique(present)) >= MANY / 2
    if 1.9e7 <= low <= high <= 2.1e7 and several and not np.isnan(dates.from_digits(present)).any():
        return dates.DIGITS, "days such as 20240131"
    # The years from 2000 to 2040, in days since 1900.
    if 36_526.0 <= low <= high <= 51_502.0 and _sounds_like(name, CALENDAR):
        return dates.SERIAL, "days since 1900, as spreadsheets count"
    return "", ""


def _decide_codes(words: Any, asked: Question, kind: str) -> Decision:
    found = _decide_words(words, words.drop_null(), asked)
    if found.step is None:
        return found
    return Decision(
        replace(found.step, kind=kind),
        f"codes: {found.done}",
        f"Column {shorten(asked.name)} holds whole numbers that are taken for codes, because of "
        "its name or size. Codes have no order. For amounts, rename the column, or use floats.",
    )


def _decide_text(words: Any, asked: Question) -> Decision:
    present = words.drop_null()
    if not len(present):
        return _leave_out(asked.name, "all values are missing")
    written = cells.find_written(words, asked.decimal)
    if isinstance(written, date_forms.DateForm) and written.form:
        others = date_forms.count_others(words, written.form)
        how = f"written {written.form}" + (f", {others} otherwise" if others else "")
        found = _decide_date(words, dates.DateStep(asked.name, "text", written.form), how)
        if not written.in_doubt:
            return found
        return replace(
            found,
            note=f"Column {shorten(asked.name)} may have days or months first, as in "
            f"{shorten(present[0].as_py())}; days are taken to be first. If months are first, "
            "write dates as 2024-01-31.",
        )
    if isinstance(written, date_forms.DateForm):
        day, month = date_forms.find_contradiction(words)
        raise TableError(
            f"Column {shorten(asked.name)} holds dates with days first, such as {shorten(day)}, "
            f"and with months first, such as {shorten(month)}. Write them as 2024-01-31, or leave "
            f"the column out ({option('drop', asked.name)})."
        )
    if isinstance(written, number_formats.Ambiguous):
        raise written.question(asked.name)
    if written is None:
        return _decide_words(words, present, asked)
    found = _decide_number(
        steps.numbers_of(words, asked.name, "number", rule=written), "text", asked
    )
    if not isinstance(found.step, steps.NumberStep):
        return found
    done = f"number written like {written.like}; {found.done}".replace("; as it is", "")
    return Decision(replace(found.step, format=written), done, found.note)


def _decide_words(words: Any, present: Any, asked: Question) -> Decision:
    """Decide whether words are a few levels, many levels, free text, or the id of the row."""
    missing = len(words) - len(present)
    counted = pc.value_counts(present)
    counts = counted.field("counts").to_numpy()
    if len(counts) == 1:
        only = steps.CategoryStep(asked.name, "text", marked=True)
        return _constant(only, shorten(present[0].as_py()), missing)
    # A level gets a column of its own if it has ten rows, or 1 % of the rows if that is less.
    frequent = counts >= max(2, min(10, int(np.ceil(0.01 * len(words)))))
    few = len(counts) <= MANY and not frequent.any()
    # Words that differ in most rows are names of rows.
    if few or len(counts) > max(MANY, 0.7 * len(present)):
        return _decide_unique(words, present, len(counts), asked)
    marked = f"; {missing} missing marked" if missing else ""
    is_covered = len(counts) <= asked.max_levels or counts[frequent].sum() / len(present) >= 0.9
    if frequent.sum() <= asked.max_levels and is_covered:
        levels = sorted(counted.field("values").filter(pa.array(frequent)).to_pylist())
        pooled = len(counts) - len(levels)
        rare = f"; {pooled} rare one{'s' * (pooled > 1)} pooled" if pooled else ""
        return Decision(
            steps.CategoryStep(asked.name, "text", levels, pooled > 0, marked=missing > 0),
            f"{count_of(len(levels), 'level')}{rare}{marked}",
        )
    step = steps.learn_levels(words, asked.name, asked.targets, missing > 0)
    if not step.names:
        return _leave_out(asked.name, f"its {len(counts)} words are equally frequent")
    parts = step.names[: len(step.values)]
    done = " and ".join(part.removeprefix(f"{asked.name} ") for part in parts)
    if asked.targets is not None:
        done += " (without a row's own label)"
    return Decision(step, f"{done or 'whether it is missing'} of {len(counts)} levels{marked}")


def _decide_unique(words: Any, present: Any, distinct: int, asked: Question) -> Decision:
    """Decide for words that differ in nearly all rows: free text, or the id of the row."""
    parts = [part for part in steps.TEXT_PARTS if np.ptp(steps.count_in_text(present, part))]
    # Words that differ only in their digits are numbered names, not free text.
    shapes = pc.count_distinct(pc.replace_substring_regex(present, r"\d+", "0")).as_py()
    is_text = shapes > 5 and steps.count_in_text(present, "words").mean() >= 2.0
    if not parts or not (is_text or asked.wanted):
        why = f"{distinct} different words in {len(present)} rows tell rows apart"
        return _leave_out(asked.name, why, is_id=True)
    missing = len(words) - len(present)
    return Decision(
        steps.TextStep(asked.name, "text", parts, marked=missing > 0),
        f"text: {', '.join(parts)}" + (f"; {missing} missing marked" if missing else ""),
        f"Column {shorten(asked.name)} holds free text, and the model learns only from its "
        f"{' and '.join(parts)}. If the text names rows, say so ({option('id', asked.name)}).",
    )


def _decide_date(column: Any, step: dates.DateStep, meaning: str) -> Decision:
    """Decide which parts of dates vary; the step says how to read them."""
    name = step.name
    found = dates.read_moments(column, name, step.form, step.zone)
    there = ~np.isnan(found.clock)
    missing = len(there) - int(there.sum())
    if not there.any():
        return _leave_out(name, "all values are missing")
    step = replace(step, marked=missing > 0)
    found = date_forms.Moments(found.clock[there], found.instant[there])
    newest = dates.find_newest(found)
    middles: dict[str, float] = {}
    for part in dates.PARTS[:1] if step.form == date_forms.TIME else dates.PARTS:
        values = dates.part_of(found, part, newest)
        if values.min() < values.max():
            middles[part] = float(np.quantile(values, 0.5, method="lower"))
    if not middles:
        return _constant(step, column.drop_null()[0].as_py(), missing)
    note = None
    zoned = None
    if step.form != date_forms.TIME and kind_of(column.type) != "number":
        with_zone = date_forms.count_zones(column)
        without = len(found.clock) - with_zone
        if with_zone == 0 or without <= 0:
            zoned = with_zone > 0
        else:
            note = (
                f"Column {shorten(name)} holds times with a zone and {without} "
                "without. Times without a zone count as UTC: write a zone with all times or none."
            )
    learned = replace(
        step, newest=newest, parts=list(middles), middles=list(middles.values()), zoned=zoned
    )
    day = str(np.datetime64(int(newest), "s").astype("datetime64[D]"))
    done = ", ".join(f"{part} before {day}" if part == dates.PARTS[3] else part for part in middles)
    done += f" ({meaning})" if meaning else ""
    done += f"; {missing} missing marked" if missing else ""
    return Decision(learned, done, note)


def sentinel_note(values: NDArray, name: str) -> str | None:
    """Return a note if a value such as -999 may stand for missing values, or if one is absurd.

    Both are far from all other values. Beside an absurd value, other extreme rows look normal.

    Examples
    --------
    >>> sentinel_note(np.array([3.0, -999.0, 5.0, -999.0, 4.0]), "age")[:60]
    "Column 'age' holds -999 2 times, far from its other values. "
    """
    for extreme in (values.min(), values.max()) if len(values) > 2 else ():
        others = values[values != extreme]
        low = float(others.min())
        high = float(others.max())
        gap = max(low - extreme, extreme - high)
        usual = extreme in SENTINELS and (gap > high - low or extreme < 0.0 <= low)
        if usual or gap > ABSURD * (high - low) > 0.0:
            count = len(values) - len(others)
            return (
                f"Column {shorten(name)} holds {extreme:g} {count} time{'s' * (count > 1)}, far "
                "from its other values. If that stands for missing values"
                f"{'' if usual else ' or is an error'}, leave these cells empty."
            )
    return None


def _is_row_id(present: NDArray) -> bool:
    """Return whether values are many whole numbers that are all different."""
    is_whole = len(present) > MANY and bool((present % 1 == 0).all())
    return is_whole and len(np.unique(present)) == len(present)


def _counts_rows(values: NDArray) -> bool:
    """Return whether values rise from row to row, mostly by the same amount."""
    rises, counts = np.unique(np.diff(values), return_counts=True)
    return bool(rises[0] > 0) and 2 * counts.max() >= len(values)


def _sounds_like(name: str, last: set[str], alone: frozenset[str] | set[str] = frozenset()) -> bool:
    """Return whether the last word of a name is in ``last``, or its only word is in ``alone``.

    Examples
    --------
    >>> [_sounds_like(name, {"id"}) for name in ("merchant_id", "merchantId", "ID", "paid")]
    [True, True, True, False]
    """
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = re.split(r"[^a-z0-9]+", apart.lower().strip(" _-."))
    joined = words[-1].endswith("id") and words[-1].removesuffix("id") in ENTITIES and "id" in last
    return words[-1] in last or joined or (len(words) == 1 and words[0] in alone)


def _constant(step: steps.Step, value: object, missing: int) -> Decision:
    if not missing:
        return _leave_out(step.name, f"all values are {value}")
    return Decision(step, f"only whether it is missing ({missing} are); all others are {value}")


def _leave_out(name: str, why: str, is_id: bool = False) -> Decision:
    note = f"Column {shorten(name)} is left out: {why}."
    if is_id:
        note = (
            f"Column {shorten(name)} is left out, because it looks like an id: {why}. If you name "
            f"it ({option('id', name)}), results will contain it."
        )
    return Decision(None, f"left out: {why}", note)
