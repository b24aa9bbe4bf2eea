"""Which step a column gets, decided from the training table, and what users are told about it."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, kind_of, option, pa, pc
from boreod.tables.bad_cells import sentinel_note
from boreod.tables.cells import WHOLE, as_text
from boreod.tables.date_forms import (
    TIME,
    Moments,
    count_others,
    count_zones,
    find_contradiction,
    find_form,
)
from boreod.tables.number_formats import Ambiguous, find_format
from boreod.tables.preparing.dates import (
    DIGITS,
    NUMBERS,
    PARTS,
    SERIAL,
    DateStep,
    find_newest,
    from_digits,
    part_of,
    read_moments,
)
from boreod.tables.preparing.levels import LevelStep, learn_levels
from boreod.tables.preparing.steps import (
    TEXT_PARTS,
    CategoryStep,
    NumberStep,
    Step,
    Targets,
    TextStep,
    count_in_text,
    numbers_of,
)
from boreod.text import count_of, shorten

STEPS: dict[str, type[Step]] = {
    "number": NumberStep,
    "category": CategoryStep,
    "date": DateStep,
    "levels": LevelStep,
    "text": TextStep,
}
ENOUGH_ROWS = 10  # for a column of its own a level needs so many rows,
ENOUGH_SHARE = 0.01  # or this share of the rows if that is less, but always two
COVERED = 0.9  # share of rows that levels with columns of their own must have
REPEATED = 0.7  # more distinct words a row tell rows apart
MANY = 20  # fewer distinct values are nobody's ids
FEW_SHAPES = 5  # what differs in digits only is numbered, not written
EPOCH = (946_684_800.0, 2_208_988_800.0)  # seconds since 1970 of the years 2000 and 2040
DAYS = (1.9e7, 2.1e7)  # yyyymmdd
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
SERIALS = (36_526.0, 51_502.0)  # days since 1900 of the years 2000 and 2040


@dataclass(frozen=True)
class Decision:
    """A step, or None for a column that is left out, and why."""

    step: Step | None
    done: str
    note: str | None = None


@dataclass(frozen=True)
class Question:
    """What is known of a training column when its step is decided."""

    name: str
    max_levels: int = 20
    targets: Targets | None = None
    decimal: str | None = None  # point of numbers in text, where their column does not tell
    wanted: bool = False  # whether a user named the column as one to learn from


def decide(column: Any, asked: Question) -> Decision:
    """Look at a training column of a plain type and decide, or refuse one that no step suits."""
    kind, name = kind_of(column.type), asked.name
    if kind == "text":
        return _decide_text(as_text(column, name), asked)
    if kind == "date or time" and not pa.types.is_duration(column.type):
        zone = getattr(column.type, "tz", None)
        form = TIME if pa.types.is_time(column.type) else DateStep.form
        return _decide_date(column, DateStep(name, "text", form, zone), "")
    if pa.types.is_integer(column.type) and _has_large(column):
        return _decide_large(column, asked)
    kind = "boolean" if kind == "boolean" else "number"  # durations are numbers
    values = numbers_of(column, name, kind)
    if kind == "number":
        found = _decide_numbered(column, values, asked)
        if found is not None:
            return found
    return _decide_number(values, kind, asked)


def _decide_number(values: NDArray, kind: str, asked: Question) -> Decision:
    present, name = values[~np.isnan(values)], asked.name
    missing = len(values) - len(present)
    if not len(present):
        return _leave_out(name, "all values are missing")
    if present.min() == present.max():
        return _constant(NumberStep(name, kind, marked=True), f"{present[0]:g}", missing)
    middle = float(np.quantile(present, 0.5, method="lower"))  # a value that was there
    done = "0 and 1" if kind == "boolean" else "as it is"
    if missing:
        done += f"; {missing} missing filled with {middle:g} and marked"
    note = None if kind == "boolean" else sentinel_note(present, name)
    if kind != "boolean" and not missing and _is_row_id(present):
        note = (
            f"Column {shorten(name)} looks like an id: its whole numbers are all different. If "
            f"it is one, say so ({option('id', name)})."
        )
        if not asked.wanted and (_sounds_like(name, CODES) or _counts_rows(present)):
            return _leave_out_id(name, "its whole numbers are all different")
    return Decision(NumberStep(name, kind, middle, missing > 0), done, note)


def _decide_numbered(column: Any, values: NDArray, asked: Question) -> Decision | None:
    """Decide for numbers that are times or codes; None if they are numbers."""
    present, name = values[~np.isnan(values)], asked.name
    if not len(present) or present.min() == present.max() or asked.wanted:
        return None
    form, told = _find_numbered_dates(present, name)
    if form:
        return _decide_date(column, DateStep(name, "number", form=form), told)
    is_whole = bool((present % 1 == 0).all()) and not _is_row_id(present)
    if not is_whole or not _sounds_like(name, CODES, alone=ENTITIES):
        return None
    words = as_text(column, name)
    if pc.count_distinct(words).as_py() <= 2:
        return None
    # read as numbers 118 and 118.0 are one code, if as numbers they are written alike
    alike = words.equals(as_text(pc.cast(column, pa.float64()), name))
    return _decide_codes(words, asked, "number" if alike else "text")


def _find_numbered_dates(present: NDArray, name: str) -> tuple[str, str]:
    """Return the form of numbers that are dates, and what to say of it; empty for others."""
    low, high, named = present.min(), present.max(), _sounds_like(name, TIMES)
    for unit, scale in NUMBERS.items():
        within = EPOCH[0] * scale <= low <= high <= EPOCH[1] * scale
        if within and (named or _is_sorted(present)):
            return unit, f"{unit} since 1970"
    several = named or len(np.unique(present)) >= MANY / 2
    if DAYS[0] <= low <= high <= DAYS[1] and several and not np.isnan(from_digits(present)).any():
        return DIGITS, "days such as 20240131"
    if SERIALS[0] <= low <= high <= SERIALS[1] and _sounds_like(name, CALENDAR):
        return SERIAL, "days since 1900, as spreadsheets count"
    return "", ""


def _decide_large(column: Any, asked: Question) -> Decision:
    """Decide for whole numbers that float64 does not know: times or codes."""
    name = asked.name
    ends = [end / 1e9 for end in pc.min_max(column).as_py().values()]
    if EPOCH[0] <= ends[0] <= ends[1] <= EPOCH[1]:
        step = DateStep(name, "number", form="nanoseconds")
        return _decide_date(column, step, "nanoseconds since 1970")
    return _decide_codes(as_text(column, name), asked, "text")


def _decide_codes(words: Any, asked: Question, kind: str) -> Decision:
    found = _decide_words(words, words.drop_null(), asked)
    if found.step is None:
        return found
    note = (
        f"Column {shorten(asked.name)} holds whole numbers that are taken for codes, because of "
        "its name or their size: they have levels and no order. If they are amounts, rename it."
    )
    step = replace(found.step, kind=kind)
    return Decision(step, f"codes: {found.done}", note)


def _decide_text(words: Any, asked: Question) -> Decision:
    present, name = words.drop_null(), asked.name
    if not len(present):
        return _leave_out(name, "all values are missing")
    form, doubtful = find_form(words)
    if form:
        doubt = None
        if doubtful:
            doubt = (
                f"Column {shorten(name)} may have days or months first, as in "
                f"{shorten(present[0].as_py())}; days are taken. If months are first, write dates "
                "as 2024-01-31."
            )
        others = count_others(words, form)
        told = f"written {form}" + (f", {others} otherwise" if others else "")
        found = _decide_date(words, DateStep(name, "text", form=form), told)
        return Decision(found.step, found.done, doubt or found.note)
    if doubtful:
        day, month = find_contradiction(words)
        raise TableError(
            f"Column {shorten(name)} holds dates with days first, such as {shorten(day)}, and with "
            f"months first, such as {shorten(month)}. Write them as 2024-01-31, or leave the "
            f"column out ({option('drop', name)})."
        )
    rule = find_format(words, asked.decimal)
    if isinstance(rule, Ambiguous):
        raise rule.question(name)
    if rule is not None:
        found = _decide_number(numbers_of(words, name, "number", rule=rule), "text", asked)
        if isinstance(found.step, NumberStep):
            told = f"number written like {rule.like}; {found.done}"
            told = told.replace("; as it is", "")
            return Decision(replace(found.step, format=rule), told, found.note)
        return found
    return _decide_words(words, present, asked)


def _decide_words(words: Any, present: Any, asked: Question) -> Decision:
    """Decide for words that are no dates: levels, many levels, free text, or a row's id."""
    name, missing = asked.name, len(words) - len(present)
    counted = pc.value_counts(present)
    counts = counted.field("counts").to_numpy()
    if len(counts) == 1:
        only = shorten(present[0].as_py())
        return _constant(CategoryStep(name, "text", marked=True), only, missing)
    enough = max(2, min(ENOUGH_ROWS, int(np.ceil(ENOUGH_SHARE * len(words)))))
    frequent = counts >= enough
    covered = counts[frequent].sum() / len(present)
    few = len(counts) <= MANY and not frequent.any()
    if few or len(counts) > max(MANY, REPEATED * len(present)):
        return _decide_unique(words, present, len(counts), asked)
    told = f"; {missing} missing marked" if missing else ""
    told_apart = covered >= COVERED or len(counts) <= asked.max_levels
    if frequent.sum() <= asked.max_levels and told_apart:
        levels = sorted(counted.field("values").filter(pa.array(frequent)).to_pylist())
        pooled = len(counts) - len(levels)
        rare = f"; {pooled} rare one{'s' * (pooled > 1)} pooled" if pooled else ""
        step: Step = CategoryStep(name, "text", levels, pooled > 0, missing > 0)
        return Decision(step, f"{count_of(len(levels), 'level')}{rare}{told}")
    step = learn_levels(words, name, asked.targets, missing > 0)
    if not step.names:
        return _leave_out(name, f"its {len(counts)} words are equally frequent")
    parts = [what.removeprefix(f"{name} ") for what in step.names]
    done = " and ".join(part for part in parts if part != "is missing")
    if asked.targets is not None:
        done += " (without a row's own label)"
    return Decision(step, f"{done or 'whether it is missing'} of {len(counts)} levels{told}")


def _decide_unique(words: Any, present: Any, distinct: int, asked: Question) -> Decision:
    """Decide for words that are different in nearly each row: free text, or the id of the row."""
    name = asked.name
    parts = [part for part in TEXT_PARTS if np.ptp(count_in_text(present, part))]
    shapes = pc.count_distinct(pc.replace_substring_regex(present, r"\d+", "0")).as_py()
    written = count_in_text(present, "words").mean() >= 2.0
    is_text = written and shapes > FEW_SHAPES
    if not parts or not (is_text or asked.wanted):
        why = f"{distinct} different words in {len(present)} rows tell rows apart"
        return _leave_out_id(name, why)
    missing = len(words) - len(present)
    done = f"text: {', '.join(parts)}" + (f"; {missing} missing marked" if missing else "")
    note = (
        f"Column {shorten(name)} holds free text, of which only {' and '.join(parts)} are learned "
        f"from. If it names rows, say so ({option('id', name)})."
    )
    return Decision(TextStep(name, "text", parts, missing > 0), done, note)


def _decide_date(column: Any, step: DateStep, told: str) -> Decision:
    """Decide which parts of dates vary; the step says how to read them."""
    name = step.name
    found = read_moments(column, name, step.form, step.zone)
    there = ~np.isnan(found.clock)
    missing = len(there) - int(there.sum())
    if not there.any():
        return _leave_out(name, "all values are missing")
    found = Moments(found.clock[there], found.instant[there])
    newest = find_newest(found)
    parts, middles = [], []
    for part in PARTS[:1] if step.form == TIME else PARTS:
        values = part_of(found, part, newest)
        if values.min() < values.max():
            parts.append(part)
            middles.append(float(np.quantile(values, 0.5, method="lower")))
    if not parts:
        only = str(column.drop_null()[0].as_py())
        return _constant(replace(step, marked=True), only, missing)
    note, zones = None, count_zones(column)
    if step.form != TIME and kind_of(column.type) != "number":
        zoned = None if 0 < zones < len(found.clock) else zones > 0
        step = replace(step, zoned=zoned)
        if zoned is None:
            note = (
                f"Column {shorten(name)} holds times with a zone and {len(found.clock) - zones} "
                "without. Those without count as UTC: write the zone of all of them, or of none."
            )
    learned = replace(step, newest=newest, parts=parts, middles=middles, marked=missing > 0)
    day = str(np.datetime64(int(newest), "s").astype("datetime64[D]"))
    shown = [f"{part} before {day}" if part == PARTS[3] else part for part in parts]
    done = ", ".join(shown) + (f" ({told})" if told else "")
    return Decision(learned, done + (f"; {missing} missing marked" if missing else ""), note)


def _is_row_id(present: NDArray) -> bool:
    """Tell whether values are many whole numbers that are all different."""
    is_whole = len(present) > MANY and bool((present % 1 == 0).all())
    return is_whole and len(np.unique(present)) == len(present)


def _is_sorted(values: NDArray) -> bool:
    return len(values) > MANY and bool((np.diff(values) >= 0).all())


def _counts_rows(values: NDArray) -> bool:
    """Tell whether values rise from row to row, mostly by the same amount."""
    steps, counts = np.unique(np.diff(values), return_counts=True)
    return bool(steps[0] > 0) and 2 * counts.max() >= len(values)


def _has_large(column: Any) -> bool:
    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) >= WHOLE for end in ends.values())


def _sounds_like(name: str, last: set[str], alone: frozenset[str] | set[str] = frozenset()) -> bool:
    """Tell whether a name ends in one of some words, or is one of others.

    Examples
    --------
    >>> [_sounds_like(name, {"id"}) for name in ("merchant_id", "merchantId", "ID", "paid")]
    [True, True, True, False]
    """
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = re.split(r"[^a-z0-9]+", apart.lower().strip(" _-."))
    joined = words[-1].endswith("id") and words[-1].removesuffix("id") in ENTITIES and "id" in last
    return words[-1] in last or joined or (len(words) == 1 and words[0] in alone)


def _constant(step: Step, value: str, missing: int) -> Decision:
    if not missing:
        return _leave_out(step.name, f"all values are {value}")
    done = f"only whether it is missing ({missing} are); all others are {value}"
    return Decision(step, done)


def _leave_out(name: str, why: str) -> Decision:
    return Decision(None, f"left out: {why}", f"Column {shorten(name)} is left out: {why}.")


def _leave_out_id(name: str, why: str) -> Decision:
    return Decision(
        None,
        f"left out: {why}",
        f"Column {shorten(name)} is left out, as an id is not learned from: {why}. Name it "
        f"({option('id', name)}) and results will have it.",
    )
