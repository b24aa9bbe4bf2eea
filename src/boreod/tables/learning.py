"""Decide what to do with one column of a training table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pc
from boreod.tables.cells import NUMBER, first_match
from boreod.tables.errors import TableError, option
from boreod.tables.plain_types import kind_of
from boreod.tables.steps import CategoryStep, NumberStep, PresenceStep, Step
from boreod.tables.values import as_numbers, as_text
from boreod.text import shorten

ENOUGH_ROWS = 10  # for a column of its own a level needs so many rows,
ENOUGH_SHARE = 0.01  # or this share of the rows if that is less, but always two
MANY = 20  # fewer distinct values are nobody's ids
DATE = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?$"
TIME = r"^\d{1,2}:\d{2}(:\d{2}.*)?$"


@dataclass(frozen=True)
class Decision:
    """A step, or None for a column that is left out, and why."""

    step: Step | None
    done: str
    note: str | None = None


def decide(column: Any, name: str, max_levels: int) -> Decision:
    """Look at a training column and decide.

    Parameters
    ----------
    column
        An array of a plain type.
    name
        Name of the column.
    max_levels
        The most levels of a category that get columns of their own.

    Raises
    ------
    TableError
        For columns that no step suits.
    """
    kind = kind_of(column.type)
    if kind == "date or time":
        raise _refuse_dates(name)
    if kind == "text":
        return _decide_category(as_text(column, name), name, max_levels)
    return _decide_number(as_numbers(column, name, kind), name, kind)


def _decide_number(values: NDArray, name: str, kind: str) -> Decision:
    present = values[~np.isnan(values)]
    missing = len(values) - len(present)
    if not len(present):
        return _leave_out(name, "all values are missing")
    if present.min() == present.max():
        return _constant(name, kind, f"{present[0]:g}", missing)
    middle = float(np.quantile(present, 0.5, method="lower"))  # a value that was there
    done = "0 and 1" if kind == "boolean" else "as it is"
    if missing:
        done += f"; {missing} missing filled with {middle:g} and marked"
    note = None
    if kind == "number" and not missing and len(present) > MANY and _counts_up(present):
        note = (
            f"Column {shorten(name)} looks like an id: its whole numbers are all different. If "
            f"it is one, say so ({option('id', name)})."
        )
    return Decision(NumberStep(name, kind, middle, missing > 0), done, note)


def _counts_up(values: NDArray) -> bool:
    whole = bool((values == np.floor(values)).all())
    return whole and len(np.unique(values)) == len(values)


def _decide_category(words: Any, name: str, max_levels: int) -> Decision:
    present = words.drop_null()
    missing = len(words) - len(present)
    if not len(present):
        return _leave_out(name, "all values are missing")
    if _all_match(present, DATE) or _all_match(present, TIME):
        raise _refuse_dates(name)
    counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(present).to_pylist()}
    if len(counts) == 1:
        return _constant(name, "text", shorten(present[0].as_py()), missing)
    enough = max(2, min(ENOUGH_ROWS, int(np.ceil(ENOUGH_SHARE * len(words)))))
    frequent = sorted(counts, key=lambda level: (-counts[level], level))[:max_levels]
    levels = tuple(sorted(level for level in frequent if counts[level] >= enough))
    if not levels or len(counts) > max(MANY, len(present) / 2):
        raise _refuse_words(present, len(counts), name)
    pooled = len(counts) - len(levels)
    done = f"{len(levels)} levels"
    if pooled:
        done += f"; {pooled} rare ones pooled"
    if missing:
        done += f"; {missing} missing marked"
    return Decision(CategoryStep(name, levels, pooled > 0, missing > 0), done)


def _constant(name: str, kind: str, value: str, missing: int) -> Decision:
    if not missing:
        return _leave_out(name, f"all values are {value}")
    done = f"only whether it is missing ({missing} are); all others are {value}"
    return Decision(PresenceStep(name, kind), done)


def _leave_out(name: str, why: str) -> Decision:
    return Decision(None, f"left out: {why}", f"Column {shorten(name)} is left out: {why}.")


def _all_match(words: Any, pattern: str) -> bool:
    return first_match(words, pattern, matching=False) is None


def _refuse_dates(name: str) -> TableError:
    return TableError(
        f"Column {shorten(name)} holds dates or times. Turn it into numbers with a meaning (an "
        f"hour, a weekday, an age in days), or leave it out ({option('drop', name)})."
    )


def _refuse_words(present: Any, distinct: int, name: str) -> TableError:
    numbers = pc.sum(pc.match_substring_regex(present, NUMBER)).as_py()
    word = first_match(present, NUMBER, matching=False)
    if word is not None and numbers > len(present) / 2:
        return TableError(
            f"Column {shorten(name)} holds numbers but also {shorten(word.value)}. Correct "
            f"that or leave it empty, or leave the column out ({option('drop', name)})."
        )
    return TableError(
        f"Column {shorten(name)} holds {distinct} different words in {len(present)} rows, too "
        f"many for a category. If it is an id, say so ({option('id', name)}), else leave it out "
        f"({option('drop', name)})."
    )
