"""What is done to one column, as data, and how it is decided from a training table.

A step fills its part of a matrix row by row, so that a row alone gives the same numbers as within a
batch.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, kind_of, option, pa, pc
from boreod.tables.cells import NUMBER, TYPES, as_numbers, as_text, first_match
from boreod.text import shorten

ENOUGH_ROWS = 10  # for a column of its own a level needs so many rows,
ENOUGH_SHARE = 0.01  # or this share of the rows if that is less, but always two
MANY = 20  # fewer distinct values are nobody's ids
DATE = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?"
TIME = r"\d{1,2}:\d{2}(:\d{2}.*)?"


@dataclass(frozen=True)
class Step:
    """What is done to a column: a number stays as it is, text has one column a level.

    A last column may say where values are missing; a column that held one value or nothing in
    training has only this.
    """

    name: str
    kind: str  # number, boolean or text: how to read the column
    middle: float | None = None  # median of the training rows, for missing numbers; None: unused
    levels: list[str] = field(default_factory=list)  # with columns of their own
    pooled: bool = False  # whether other levels have a column; without it they are zeros everywhere
    marked: bool = False  # whether missing values have a column

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [] if self.middle is None else [self.name]
        names += [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name} is other"] if self.pooled else []
        return names + ([f"{self.name} is missing"] if self.marked else [])

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        if self.kind == "text":
            fits = self.middle is None and (bool(self.levels) or not self.pooled)
        else:
            fits = not self.levels and not self.pooled
        distinct = len(set(self.levels)) == len(self.levels)
        return fits and distinct and self.kind in TYPES and bool(self.names)

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        if self.kind == "text":
            missing = self._fill_levels(result, as_text(column, self.name))
        else:
            values = as_numbers(column, self.name, self.kind, first_row)
            missing = np.isnan(values)
            if self.middle is not None:
                result[:, 0] = np.where(missing, self.middle, values)
        if self.marked:
            result[:, -1] = missing

    def _fill_levels(self, result: NDArray, words: Any) -> NDArray:
        missing: NDArray = words.is_null().to_numpy(zero_copy_only=False)
        positions = pc.index_in(words, value_set=pa.array(self.levels, pa.string()))
        codes = pc.fill_null(positions, -1).to_numpy(zero_copy_only=False)
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = 1.0
        if self.pooled:
            result[:, len(self.levels)] = ~missing & (codes < 0)
        return missing


@dataclass(frozen=True)
class Decision:
    """A step, or None for a column that is left out, and why."""

    step: Step | None
    done: str
    note: str | None = None


def decide(column: Any, name: str, max_levels: int) -> Decision:
    """Look at a training column of a plain type and decide, or refuse one that no step suits."""
    kind = kind_of(column.type)
    words = as_text(column, name).drop_null() if kind == "text" else None
    has_dates = words and first_match(words, f"^({DATE}|{TIME})$", matching=False) is None
    if has_dates or kind == "date or time":
        raise TableError(
            f"Column {shorten(name)} holds dates or times. Turn it into numbers with a meaning (an "
            f"hour, a weekday, an age in days), or leave it out ({option('drop', name)})."
        )
    if words is not None:
        return _decide_category(words, len(column) - len(words), name, max_levels)
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
    is_whole = kind == "number" and not missing and bool((present == np.floor(present)).all())
    if is_whole and len(present) > MANY and len(np.unique(present)) == len(present):
        note = (
            f"Column {shorten(name)} looks like an id: its whole numbers are all different. If "
            f"it is one, say so ({option('id', name)})."
        )
    return Decision(Step(name, kind, middle, marked=missing > 0), done, note)


def _decide_category(present: Any, missing: int, name: str, max_levels: int) -> Decision:
    if not len(present):
        return _leave_out(name, "all values are missing")
    counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(present).to_pylist()}
    if len(counts) == 1:
        return _constant(name, "text", shorten(present[0].as_py()), missing)
    enough = max(2, min(ENOUGH_ROWS, int(np.ceil(ENOUGH_SHARE * (len(present) + missing)))))
    frequent = sorted(counts, key=lambda level: (-counts[level], level))[:max_levels]
    levels = sorted(level for level in frequent if counts[level] >= enough)
    if not levels or len(counts) > max(MANY, len(present) / 2):
        raise _refuse_words(present, len(counts), name)
    pooled = len(counts) - len(levels)
    done = f"{len(levels)} levels"
    if pooled:
        done += f"; {pooled} rare ones pooled"
    if missing:
        done += f"; {missing} missing marked"
    step = Step(name, "text", levels=levels, pooled=pooled > 0, marked=missing > 0)
    return Decision(step, done)


def _constant(name: str, kind: str, value: str, missing: int) -> Decision:
    if not missing:
        return _leave_out(name, f"all values are {value}")
    done = f"only whether it is missing ({missing} are); all others are {value}"
    return Decision(Step(name, kind, marked=True), done)


def _leave_out(name: str, why: str) -> Decision:
    return Decision(None, f"left out: {why}", f"Column {shorten(name)} is left out: {why}.")


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
