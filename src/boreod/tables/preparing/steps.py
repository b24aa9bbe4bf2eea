"""Steps, which turn one column into numbers: for numbers, categories, ids with many levels, text.

A step is plain data. It fills its columns of a matrix row by row, so a row gets the same numbers
alone and in a batch. ``dates.py`` has the step for dates, and ``decisions.py`` decides which step a
column gets.

Ids with many levels, such as merchants and devices, become numbers that describe their level. A
level with c of N training rows has the frequency log10(c / N). A training row does not count
itself, and a new level has c = 1. If o of the k labelled rows of a level have the code 1, and p is
the share of the code 1 in all labelled rows, the level has the odds
log((o + m p) / (k - o + m (1 - p))) - log(p / (1 - p)). This is what the level adds to the log-odds
of the code 1, shrunk towards 0 as if the level had m more average rows.

For a training row, the odds count only the rows before it in a random order (Prokhorenkova and
others: CatBoost, NeurIPS 2018), so the odds do not depend on the label of the row itself. Odds that
are computed out of fold do depend on this label: a fold with more rows of the code 1 gets lower
odds, and trees learn that.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables import cells, date_forms
from boreod.tables.arrow import encode, pa, pc
from boreod.tables.number_formats import NumberFormat
from boreod.validation import OUTLIER, UNLABELLED

TEXT_PARTS = ("length", "words", "digits")
# The number m of additional average rows that every level counts.
PRIOR_ROWS = 10.0
# With fewer labelled outliers, levels get no odds.
ENOUGH_OUTLIERS = 10
# In a model file, the words and counts of all levels take at most this many bytes.
STORED_BYTES = 1_000_000
# Float64 cannot count more rows.
MAX_COUNTED = 2**53


@dataclass(frozen=True)
class Targets:
    """The labels of training rows, for steps that learn from them."""

    # Whether rows have the code 1.
    outliers: NDArray
    # Whether rows have the code 1 or 0, given or assumed.
    known: NDArray
    # All rows in random order.
    order: NDArray


def make_targets(codes: NDArray, assume: bool, seed: int) -> Targets | None:
    """Return the labels of rows, or None if there are too few.

    If ``assume`` is True, unlabelled rows count as the code 0.
    """
    outliers = codes == OUTLIER
    known = (codes != UNLABELLED) | assume
    if outliers.sum() < ENOUGH_OUTLIERS or not (known & ~outliers).any():
        return None
    # The constant makes this order differ from other orders that are drawn with the same seed.
    order = np.random.default_rng([6027, seed]).permutation(len(codes))
    return Targets(outliers, known, order)


@dataclass(frozen=True)
class Step(ABC):
    """How a column becomes numbers; there is a subclass for each kind of column."""

    name: str
    # How to read the column: as number, boolean or text.
    kind: str
    # Whether an extra output column marks missing values.
    marked: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def values(self) -> list[tuple[str, str]]:
        """Kinds and levels of the output columns, except the column that marks missing values."""

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """The kind and the level of each output column, see ``boreod.tool.reasons``."""
        return [*self.values, ("missing", "")] if self.marked else self.values

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [_output_name(self.name, *output) for output in self.outputs]

    @property
    def reading(self) -> Any:
        """How to read the column from text: its kind, or the rule that its cells follow."""
        return self.kind

    @property
    @abstractmethod
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step; stored data may hold anything."""

    def words_of(self, column: Any) -> Any:
        """Return a column as text; codes that were numbers have no decimals."""
        words = cells.as_text(column, self.name)
        return cells.whole_words(words) if self.kind == "number" else words

    @abstractmethod
    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""

    def fill_training(self, result: NDArray, column: Any, targets: Targets | None) -> NDArray:
        """Fill in the training rows as if each of them were a new row; see ``fill``."""
        return self.fill(result, column, 1)


def _output_name(name: str, kind: str, level: str) -> str:
    if kind == "level":
        return f"{name}={level}"
    if kind in ("value", "flag"):
        return f"{name} {level}" if level else name
    suffixes = {"other": "is other", "missing": "is missing", "odds": "outlier odds"}
    return f"{name} {suffixes.get(kind, kind)}"


@dataclass(frozen=True)
class NumberStep(Step):
    """A number stays as it is. Missing numbers become the median of the training rows.

    If training had missing numbers, an extra column marks them. If all numbers of the training
    column were the same, only this column is kept.
    """

    # The median of the training rows, which missing numbers get; None if only the mark is used.
    middle: float | None = None
    # How numbers are written in text. If None, they are plain numbers.
    format: NumberFormat | None = None

    @property
    def reading(self) -> Any:
        """How to read the column from text."""
        return self.format or self.kind

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step."""
        if self.format is None:
            return self.kind in ("number", "boolean")
        return self.kind == "text" and self.format.is_possible

    @property
    def values(self) -> list[tuple[str, str]]:
        """One number, or one flag if the column holds true and false."""
        if self.middle is None:
            return []
        return [("flag" if self.kind == "boolean" else "value", "")]

    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""
        kind = "number" if self.format else self.kind
        values = numbers_of(column, self.name, kind, first_row, self.format)
        missing = np.isnan(values)
        if self.middle is not None:
            result[:, 0] = np.where(missing, self.middle, values)
        return missing


@dataclass(frozen=True)
class CategoryStep(Step):
    """Each level gets a column; rare levels may share one, and missing words may have one."""

    # The words that have a column of their own.
    levels: list[str] = field(default_factory=list)
    # Whether other levels share a column; otherwise they are 0 in all columns.
    pooled: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step."""
        fits = self.kind in ("text", "number") and (bool(self.levels) or not self.pooled)
        return fits and len(set(self.levels)) == len(self.levels)

    @property
    def values(self) -> list[tuple[str, str]]:
        """One flag for each level."""
        return [("level", level) for level in self.levels] + [("other", "")] * self.pooled

    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""
        words = self.words_of(column)
        missing: NDArray = words.is_null().to_numpy(zero_copy_only=False)
        codes = find_levels(words, self.levels)
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = 1.0
        if self.pooled:
            result[:, len(self.levels)] = ~missing & (codes < 0)
        return missing


@dataclass(frozen=True)
class TextStep(Step):
    """Free text becomes its numbers of characters, words and digits; missing text has 0 of each."""

    # The items of TEXT_PARTS that varied in training.
    parts: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[tuple[str, str]]:
        """One number for each part."""
        return [("value", part) for part in self.parts]

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step."""
        in_order = [part for part in TEXT_PARTS if part in self.parts]
        return self.kind == "text" and bool(self.parts) and self.parts == in_order

    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""
        words = cells.as_text(column, self.name)
        for place, part in enumerate(self.parts):
            result[:, place] = count_in_text(words, part)
        return words.is_null().to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class LevelStep(Step):
    """An id becomes the frequency of its level and, if there are enough labels, its odds."""

    # The number of training rows that had a value.
    rows: int = 0
    levels: list[str] = field(default_factory=list)
    # The number of rows of each level.
    counts: list[int] = field(default_factory=list)
    # For each level, the number of rows with the code 1; empty if odds are not used.
    outliers: list[int] = field(default_factory=list)
    # For each level, the number of rows with a given or assumed label; empty if odds are not used.
    known: list[int] = field(default_factory=list)
    total_known: int = 0
    total_outliers: int = 0
    # The median frequency, which missing words get; None if the frequency is not used.
    middle: float | None = None

    @property
    def values(self) -> list[tuple[str, str]]:
        """Frequency and odds, if they are used."""
        frequency = [("frequency", "")] * (self.middle is not None)
        return frequency + [("odds", "")] * (self.total_known > 0)

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned this step."""
        size = len(self.levels)
        lists = [self.counts]
        if self.total_known > 0:
            lists += [self.known, self.outliers]
        return (
            self.kind in ("text", "number")
            and len(set(self.levels)) == size
            and all(len(values) == size for values in lists)
            and all(count >= 1 for count in self.counts)
            and sum(self.counts) <= self.rows
            and 1 <= self.rows < MAX_COUNTED
            and self._has_possible_labels
        )

    @property
    def _has_possible_labels(self) -> bool:
        if self.total_known <= 0:
            return not (self.known or self.outliers or self.total_outliers)
        rows = zip(self.outliers, self.known, self.counts, strict=True)
        return (
            all(0 <= outliers <= known <= count for outliers, known, count in rows)
            and sum(self.outliers) <= self.total_outliers
            and sum(self.known) <= self.total_known
            and 0 < self.total_outliers < self.total_known < MAX_COUNTED
        )

    def fill(self, result: NDArray, column: Any, first_row: int) -> NDArray:
        """Write values to ``result``, which holds zeros, and return which rows have no value."""
        words = self.words_of(column)
        # Unknown words have the index -1, which selects the zero at the end of the counts.
        places = find_levels(words, self.levels)
        columns = []
        if self.middle is not None:
            columns.append(_frequency(np.array([*self.counts, 0]), self.rows)[places])
        if self.total_known:
            outliers = np.array([*self.outliers, 0])
            known = np.array([*self.known, 0])
            columns.append(_odds(outliers, known, self.total_outliers, self.total_known)[places])
        return self._put(result, columns, words)

    def fill_training(self, result: NDArray, column: Any, targets: Targets | None) -> NDArray:
        """Fill in the training rows; the numbers of a row do not depend on the row itself.

        The frequency of a row's level does not count the row. The odds of its level count only the
        rows before it in a random order.
        """
        words = self.words_of(column)
        _, places = encode(words)
        columns = []
        if self.middle is not None:
            columns.append(_frequency(np.bincount(places) - 1, self.rows)[places])
        if self.total_known and targets is not None:
            columns.append(_odds_so_far(places, targets))
        return self._put(result, columns, words)

    def within(self, most_bytes: int) -> "LevelStep":
        """Return this step with only its most informative levels, in at most ``most_bytes``."""
        odds = np.array(self.outliers or np.zeros(len(self.levels)))
        counts = np.array(self.counts)
        order = np.lexsort([-counts, -odds])
        # A level whose only row does not have the code 1 is treated like a new level.
        order = order[(counts[order] > 1) | (odds[order] > 0)]
        # A stored level takes 16 bytes in addition to its letters.
        sizes = np.cumsum([len(self.levels[i].encode()) + 16 for i in order])
        kept = np.sort(order[sizes <= most_bytes]).tolist()
        return replace(
            self,
            levels=[self.levels[i] for i in kept],
            counts=[self.counts[i] for i in kept],
            outliers=[self.outliers[i] for i in kept if self.outliers],
            known=[self.known[i] for i in kept if self.known],
        )

    def _put(self, result: NDArray, columns: list[NDArray], words: Any) -> NDArray:
        """Write columns; a missing word gets the median frequency and the odds 0."""
        missing: NDArray = words.is_null().to_numpy(zero_copy_only=False)
        usual = {"frequency": self.middle or 0.0, "odds": 0.0}
        for place, ((kind, _), values) in enumerate(zip(self.values, columns, strict=True)):
            result[:, place] = np.where(missing, usual[kind], values)
        return missing


def numbers_of(
    column: Any, name: str, kind: str, first_row: int = 1, rule: NumberFormat | None = None
) -> NDArray:
    """Return a column as float64 with NaN for missing values; durations become seconds."""
    if pa.types.is_duration(column.type):
        return date_forms.to_seconds(column, column.type.unit)
    return cells.as_numbers(column, name, kind, first_row, rule)


def count_in_text(words: Any, part: str) -> NDArray:
    """Return the number of characters, words or digits of every text, 0 for missing text.

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
    """Return the place of every word in a list of levels, -1 if it is not in the list."""
    positions = pc.index_in(words, value_set=pa.array(levels, pa.string()))
    return pc.fill_null(positions, -1).to_numpy(zero_copy_only=False)


def learn_levels(words: Any, name: str, targets: Targets | None, marked: bool) -> LevelStep:
    """Return the step for a column of words, some of which may be null."""
    levels, places = encode(words)
    size = len(levels)
    counts = np.bincount(places, minlength=size)[:size]
    facts: dict[str, Any] = {"rows": int(counts.sum()), "counts": counts.tolist()}
    for what in ("outliers", "known") if targets is not None else ():
        rows = getattr(targets, what)
        own = np.bincount(places, weights=rows, minlength=size)[:size].astype(int)
        facts |= {what: own.tolist(), f"total_{what}": int(rows.sum())}
    if counts.min() < counts.max():
        frequencies = _frequency(counts[places[places < size]] - 1, facts["rows"])
        facts["middle"] = float(np.quantile(frequencies, 0.5, method="lower"))
    return LevelStep(name, "text", levels=levels.to_pylist(), marked=marked, **facts)


def _frequency(counts: NDArray, rows: int) -> NDArray:
    return np.log10(np.maximum(counts, 1) / rows)


def _odds(outliers: NDArray, known: NDArray, total_outliers: int, total_known: int) -> NDArray:
    share = total_outliers / total_known
    shrunk = (outliers + PRIOR_ROWS * share) / (known - outliers + PRIOR_ROWS * (1.0 - share))
    return np.log(shrunk) - np.log(share / (1.0 - share))


def _odds_so_far(places: NDArray, targets: Targets) -> NDArray:
    """Return for every row the odds of its level among the rows before it."""
    order = targets.order[np.argsort(places[targets.order], kind="stable")]
    # Rows are sorted by level. These are the indices of the first row of each level.
    first = np.flatnonzero(np.diff(places[order], prepend=-1))
    sizes = np.diff(first, append=len(order))

    def count(rows: NDArray) -> NDArray:
        counts = np.cumsum(rows[order]) - rows[order]
        return counts - np.repeat(counts[first], sizes)

    odds = np.empty(len(order))
    odds[order] = _odds(
        count(targets.outliers),
        count(targets.known),
        int(targets.outliers.sum()),
        int(targets.known.sum()),
    )
    return odds
