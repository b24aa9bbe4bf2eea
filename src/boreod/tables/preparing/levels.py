"""Ids with many levels, such as merchants and devices: how frequent they are, how often outliers.

A level with c of N training rows has the frequency log10(c / N), where a training row does not
count itself; a new level is as frequent as one that was there once. If o of its c known rows are
outliers, and p is their share in all known rows, it has the odds
log((o + m p) / (c - o + m (1 - p))) - log(p / (1 - p)): what the level adds to the log-odds of
being an outlier, shrunk towards nothing by m rows that are like all others.

A training row gets the odds of its level among the rows before it, in a random order (Prokhorenkova
and others: CatBoost, NeurIPS 2018). So they do not depend on its own label. Folds do not do: of two
folds of a level, the one with more outliers has the lower odds, and trees learn to read that.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pc
from boreod.tables.preparing.steps import Step, Targets, find_levels
from boreod.validation import OUTLIER, UNLABELLED

PRIOR_ROWS = 10.0  # m: rows like all others that every level has in addition
STREAM = 6027  # any number: random numbers of our own
ENOUGH_OUTLIERS = 10  # fewer say nothing about levels
STORED_BYTES = 1_000_000  # of the words and counts of all levels in a model file
MOST_ROWS = 2**53  # float64 counts no further
OVERHEAD = 16  # bytes of a stored level beside its letters


@dataclass(frozen=True)
class LevelStep(Step):
    """An id becomes its frequency, and the odds of its level if there are labels enough."""

    rows: int = 0  # of training that had a value
    levels: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)  # rows of each level
    outliers: list[int] = field(default_factory=list)  # of these; empty if odds are not told
    known: list[int] = field(default_factory=list)  # rows with a label, true or assumed; as above
    total_known: int = 0
    total_outliers: int = 0
    middle: float | None = None  # median frequency, for missing words; None: frequency is not told
    marked: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [] if self.middle is None else [f"{self.name} frequency"]
        names += [f"{self.name} outlier odds"] if self.total_known else []
        return names + ([f"{self.name} is missing"] if self.marked else [])

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """What the output columns are."""
        told = [("frequency", "")] * (self.middle is not None) + [("odds", "")] * bool(
            self.total_known
        )
        return told + [("missing", "")] * self.marked

    @property
    def is_possible(self) -> bool:
        """Whether a training column can have led to it."""
        size, told = len(self.levels), self.total_known > 0
        lists = [self.counts, self.known, self.outliers][: 3 if told else 1]
        return (
            self.kind in ("text", "number")
            and bool(self.names)
            and len(set(self.levels)) == size
            and all(len(values) == size for values in lists)
            and all(count >= 1 for count in self.counts)
            and sum(self.counts) <= self.rows
            and 1 <= self.rows < MOST_ROWS
            and (told or not (self.known or self.outliers or self.total_outliers))
            and (not told or self._has_possible_outliers)
        )

    @property
    def _has_possible_outliers(self) -> bool:
        rows = zip(self.outliers, self.known, self.counts, strict=True)
        if not all(0 <= outliers <= known <= count for outliers, known, count in rows):
            return False
        within = sum(self.outliers) <= self.total_outliers and sum(self.known) <= self.total_known
        return within and 0 < self.total_outliers < self.total_known < MOST_ROWS

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        words = self.words_of(column)
        places = find_levels(words, self.levels)  # -1 is the last of the arrays below
        columns = []
        if self.middle is not None:
            columns.append(_frequency(np.array([*self.counts, 0]), self.rows)[places])
        if self.total_known:
            o, k = np.array([*self.outliers, 0]), np.array([*self.known, 0])
            columns.append(_odds(o, k, self.total_outliers, self.total_known)[places])
        self._put(result, columns, words)

    def fill_training(self, result: NDArray, column: Any, targets: Targets | None) -> None:
        """Write those of the training rows, which know of other rows only.

        The frequency does not count the row itself, as that of a new row does not, and odds are
        those of the rows before it, in a random order.
        """
        words = self.words_of(column)
        encoded = pc.dictionary_encode(words)
        places = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()
        columns = []
        if self.middle is not None:
            columns.append(_frequency(np.bincount(places) - 1, self.rows)[places])
        if self.total_known:
            assert targets is not None
            columns.append(_odds_so_far(places, targets))
        self._put(result, columns, words)

    def within(self, most_bytes: int) -> "LevelStep":
        """Return the same with the levels that tell most, so that they take so many bytes."""
        odds = np.array(self.outliers or np.zeros(len(self.levels)))
        counts = np.array(self.counts)
        order = np.lexsort([-counts, -odds])
        order = order[(counts[order] > 1) | (odds[order] > 0)]  # once is as good as never
        sizes = np.cumsum([len(self.levels[i].encode()) + OVERHEAD for i in order])
        kept = np.sort(order[sizes <= most_bytes]).tolist()

        def choose(values: list[Any]) -> list[Any]:
            return [values[place] for place in kept] if values else []

        return replace(
            self,
            levels=choose(self.levels),
            counts=choose(self.counts),
            outliers=choose(self.outliers),
            known=choose(self.known),
        )

    def _put(self, result: NDArray, columns: list[NDArray], words: Any) -> None:
        """Write columns; a missing word has the usual frequency, and odds that add nothing."""
        missing = words.is_null().to_numpy(zero_copy_only=False)
        usual = [] if self.middle is None else [self.middle]
        for place, values in enumerate(columns):
            result[:, place] = np.where(missing, [*usual, 0.0][place], values)
        if self.marked:
            result[:, -1] = missing


def make_targets(codes: NDArray, assume: bool, seed: int) -> Targets | None:
    """Return the labels of rows, None if too few.

    With ``assume`` unlabelled rows count as inliers.
    """
    outliers = codes == OUTLIER
    known = (codes != UNLABELLED) | assume
    if outliers.sum() < ENOUGH_OUTLIERS or not (known & ~outliers).any():
        return None
    # not the order in which somebody drew labels by the same seed
    random = np.random.default_rng([STREAM, seed])
    return Targets(outliers, known, random.permutation(len(codes)))


def learn_levels(words: Any, name: str, targets: Targets | None, marked: bool) -> LevelStep:
    """Return the step of a column of words, some of them null."""
    encoded = pc.dictionary_encode(words)
    size = len(encoded.dictionary)
    places = pc.fill_null(encoded.indices, size).to_numpy()
    counts = np.bincount(places, minlength=size)[:size]
    facts: dict[str, Any] = {"rows": int(counts.sum()), "counts": counts.tolist()}
    if targets is not None:
        outliers, known = (
            np.bincount(places, weights=rows, minlength=size)[:size].astype(int)
            for rows in (targets.outliers, targets.known)
        )
        facts |= {"outliers": outliers.tolist(), "known": known.tolist()}
        facts["total_outliers"] = int(targets.outliers.sum())
        facts["total_known"] = int(targets.known.sum())
    if counts.min() < counts.max():
        own = _frequency(counts[places[places < size]] - 1, facts["rows"])
        facts["middle"] = float(np.quantile(own, 0.5, method="lower"))
    levels = encoded.dictionary.to_pylist()
    return LevelStep(name, "text", levels=levels, marked=marked, **facts)


def _frequency(counts: NDArray, rows: int) -> NDArray:
    return np.log10(np.maximum(counts, 1) / rows)


def _odds(outliers: NDArray, known: NDArray, of_all: NDArray | int, all_known: Any) -> NDArray:
    share = of_all / all_known
    shrunk = (outliers + PRIOR_ROWS * share) / (known - outliers + PRIOR_ROWS * (1.0 - share))
    return np.log(shrunk) - np.log(share / (1.0 - share))


def _odds_so_far(places: NDArray, targets: Targets) -> NDArray:
    """Return for every row the odds of its level among the rows before it."""
    order = targets.order[np.argsort(places[targets.order], kind="stable")]
    first = np.flatnonzero(np.diff(places[order], prepend=-1))  # row of every level
    sizes = np.diff(first, append=len(order))

    def count(rows: NDArray) -> NDArray:
        counts = np.cumsum(rows[order]) - rows[order]
        return counts - np.repeat(counts[first], sizes)

    totals = int(targets.outliers.sum()), int(targets.known.sum())
    odds = np.empty(len(order))
    odds[order] = _odds(count(targets.outliers), count(targets.known), *totals)
    return odds
