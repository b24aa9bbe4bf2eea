"""What is done to one column, as plain data: numbers, categories and free text.

A step fills its part of a matrix row by row, so that a row alone gives the same numbers as within a
batch. Steps of dates are in ``dates.py``, those of ids with many levels in ``levels.py``; which one
a column gets is decided in ``decisions.py``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pa, pc
from boreod.tables.cells import as_numbers, as_text, whole_words
from boreod.tables.date_forms import SECONDS
from boreod.tables.number_formats import NumberFormat

TEXT_PARTS = ("length", "words", "digits")


@dataclass(frozen=True)
class Targets:
    """The labels of training rows, for steps that learn from them."""

    outliers: NDArray  # which rows are labelled outliers
    known: NDArray  # which rows are outliers, inliers or taken for such
    order: NDArray  # all rows in random order, in which they are dealt into folds


@dataclass(frozen=True)
class Step:
    """What is done to a column: a subclass for each thing that a column may become."""

    name: str
    kind: str  # number, boolean or text: how to read the column

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        raise NotImplementedError

    @property
    def reading(self) -> Any:
        """How to read the column from text: its kind, or the rule that its cells follow."""
        return self.kind

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it; what is stored may be anything."""
        raise NotImplementedError

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """What the output columns are: a kind and a level, see ``boreod.tool.reasons``."""
        missing = f"{self.name} is missing"
        return [("missing" if name == missing else "value", "") for name in self.names]

    def words_of(self, column: Any) -> Any:
        """Return a column as text; codes that were numbers have no point."""
        words = as_text(column, self.name)
        return whole_words(words) if self.kind == "number" else words

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        raise NotImplementedError

    def fill_training(self, result: NDArray, column: Any, targets: Targets | None) -> None:
        """Write those of the training rows, as if each of them were new."""
        self.fill(result, column, 1)


@dataclass(frozen=True)
class NumberStep(Step):
    """A number stays as it is; missing ones are filled, and marked if some were in training.

    A column that held one value or nothing in training has only the mark.
    """

    middle: float | None = None  # median of the training rows, for missing numbers; None: unused
    marked: bool = False  # whether missing values have a column
    format: NumberFormat | None = None  # how text is written; None for plain numbers

    @property
    def reading(self) -> Any:
        """How to read the column from text."""
        return self.format or self.kind

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [self.name] * (self.middle is not None) + _mark(self.name, self.marked)

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        if self.format is not None:
            return self.kind == "text" and self.format.is_possible and bool(self.names)
        return self.kind in ("number", "boolean") and bool(self.names)

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """What the output columns are; a truth value is a flag."""
        value = ("flag" if self.kind == "boolean" else "value", "")
        return [value] * (self.middle is not None) + [("missing", "")] * self.marked

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        kind = "number" if self.format else self.kind
        values = numbers_of(column, self.name, kind, first_row, self.format)
        missing = np.isnan(values)
        if self.middle is not None:
            result[:, 0] = np.where(missing, self.middle, values)
        if self.marked:
            result[:, -1] = missing


@dataclass(frozen=True)
class CategoryStep(Step):
    """Words have one column a level; rare levels may share one, and missing words may have one."""

    levels: list[str] = field(default_factory=list)  # with columns of their own
    pooled: bool = False  # whether other levels have a column; without it they are zeros everywhere
    marked: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name} is other"] if self.pooled else []
        return names + _mark(self.name, self.marked)

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        fits = self.kind in ("text", "number") and (bool(self.levels) or not self.pooled)
        return fits and len(set(self.levels)) == len(self.levels) and bool(self.names)

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """What the output columns are."""
        rest = [("other", "")] * self.pooled + [("missing", "")] * self.marked
        return [("level", level) for level in self.levels] + rest

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        words = self.words_of(column)
        missing: NDArray = words.is_null().to_numpy(zero_copy_only=False)
        codes = find_levels(words, self.levels)
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = 1.0
        if self.pooled:
            result[:, len(self.levels)] = ~missing & (codes < 0)
        if self.marked:
            result[:, -1] = missing


@dataclass(frozen=True)
class TextStep(Step):
    """Free text becomes its number of letters, words and digits; missing text has none of them."""

    parts: list[str] = field(default_factory=list)  # of TEXT_PARTS, those that varied in training
    marked: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [f"{self.name} {part}" for part in self.parts] + _mark(self.name, self.marked)

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        in_order = [part for part in TEXT_PARTS if part in self.parts]
        return self.kind == "text" and bool(self.parts) and self.parts == in_order

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        words = as_text(column, self.name)
        for place, part in enumerate(self.parts):
            result[:, place] = count_in_text(words, part)
        if self.marked:
            result[:, -1] = words.is_null().to_numpy(zero_copy_only=False)


def numbers_of(
    column: Any, name: str, kind: str, first_row: int = 1, rule: NumberFormat | None = None
) -> NDArray:
    """Return a column as float64, NaN where a value is missing; durations are seconds."""
    if pa.types.is_duration(column.type):
        whole = pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False)
        return whole.astype(np.float64) / SECONDS[column.type.unit]
    return as_numbers(column, name, kind, first_row, rule)


def count_in_text(words: Any, part: str) -> NDArray:
    """Return the number of letters, words or digits of every text, 0 for a missing one.

    Examples
    --------
    >>> [count_in_text(pa.array(["to room 12", None]), part).tolist() for part in TEXT_PARTS]
    [[10, 0], [3, 0], [2, 0]]
    """
    if part == "length":
        counts = pc.utf8_length(words)
    else:
        counts = pc.count_substring_regex(words, r"\S+" if part == "words" else r"\d")
    return pc.fill_null(counts, 0).to_numpy(zero_copy_only=False)


def find_levels(words: Any, levels: list[str]) -> NDArray:
    """Return the place of every word among some levels, -1 where it is none of them."""
    positions = pc.index_in(words, value_set=pa.array(levels, pa.string()))
    return pc.fill_null(positions, -1).to_numpy(zero_copy_only=False)


def _mark(name: str, marked: bool) -> list[str]:
    return [f"{name} is missing"] if marked else []
