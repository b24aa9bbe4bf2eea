"""Base of all scores: describe a row's neighborhood, then compare it with those of its neighbors.

A score names one or more *descriptions*, methods that turn a block of rows into an array with one
column per k. Descriptions of the reference rows are computed once and frozen. A new row is
described by the same method and compared with the frozen descriptions. A score that compares
nothing, such as a plain distance, is its last description.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.text import shorten
from boreod.validation import is_number

# Limits of parameters; within them, products of distances stay finite.
SMALLEST_PARAMETER = 1e-100
LARGEST_PARAMETER = 1e100
# Values count as equal up to this relative deviation, because it may come from rounding.
EQUAL = 1e-12


@dataclass(frozen=True)
class Described:
    """One description: of the rows of a block (``own``) and of all reference rows."""

    own: NDArray
    reference: NDArray


@dataclass(frozen=True)
class Score:
    """Base of all neighbor-based scores; a high score means outlying.

    The parameters of a score are the fields of its dataclass. All of them are positive numbers.
    """

    name: ClassVar[str]  # short name, also the first part of column names
    title: ClassVar[str]  # the name as its authors write it
    citation: ClassVar[str]  # where it was published
    formula: ClassVar[str]  # the score in one line
    # what the score needs: only ``"distances"`` to neighbors, also ``"reverse"`` neighbors, or also
    # the ``"geometry"``, which means the distances or angles between neighbors
    reads: ClassVar[str] = "distances"
    # whether the score looks up k-distances of reference rows; a model file must then hold them
    reads_radii: ClassVar[bool] = True
    min_k: ClassVar[int] = 1  # smallest k that gives an informative score
    # names of the methods that describe a block, in order; each gets the descriptions before it
    descriptions: ClassVar[tuple[str, ...]] = ("describe",)

    def __post_init__(self) -> None:
        for name, value in self.parameters().items():
            if not (is_number(value) and SMALLEST_PARAMETER <= float(value) <= LARGEST_PARAMETER):
                allowed = f"a number from {SMALLEST_PARAMETER:.0e} to {LARGEST_PARAMETER:.0e}"
                raise ValueError(f"`{name}` must be {allowed}; got {shorten(value)}.")
            object.__setattr__(self, name, float(value))  # kernels are compiled for floats

    @classmethod
    def compares(cls) -> bool:
        """Whether the score makes a comparison; if not, it needs no frozen descriptions."""
        return cls.compare is not Score.compare

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the scores of a block, one column per k."""
        return described[-1].own

    def summarize(self, scores: NDArray) -> NDArray:
        """Return what :meth:`finish` needs from the scores of the reference rows: (values, ks)."""
        finite = np.isfinite(scores)
        high = np.where(finite, scores, -np.inf).max(axis=0)
        low = np.where(finite, scores, np.inf).min(axis=0)
        none = ~finite.any(axis=0)
        return np.array([np.where(none, 0.0, low), np.where(none, 0.0, high)])

    def finish(self, scores: NDArray, summary: NDArray) -> NDArray:
        """Replace infinities by the lowest or highest finite score of the reference rows."""
        return without_infinities(scores, summary)

    def parameters(self) -> dict[str, float]:
        """Return the parameters by name."""
        return dict(vars(self))


@dataclass(eq=False)
class PlannedScore:
    """A score with all its ks, in one view."""

    label: str
    definition: Any  # a Score
    ks: Ks

    def column_names(self, view: str) -> list[str]:
        """Return the names of the score's columns in a view."""
        return [f"{self.label}_{k}{'@' + view if view else ''}" for k in self.ks]


@dataclass(eq=False)
class FittedScore(PlannedScore):
    """A score and what it remembers of the reference rows."""

    frozen: list[NDArray] = field(default_factory=list)
    summary: NDArray = field(default_factory=lambda: np.empty((0, 0)))

    def describe(self, step: int, block: Block, own: list[NDArray]) -> NDArray:
        """Return one description of a block, given the descriptions before it."""
        method = getattr(self.definition, self.definition.descriptions[step])
        return method(block, self.ks, self._described(own))

    def compare(self, block: Block, own: list[NDArray]) -> NDArray:
        """Return the scores of a block before :meth:`Score.finish`."""
        return self.definition.compare(block, self.ks, self._described(own))

    def score(self, block: Block) -> NDArray:
        """Return the scores of a block of new rows."""
        own: list[NDArray] = []
        for step in range(len(self.definition.descriptions)):
            own.append(self.describe(step, block, own))
        return self.definition.finish(self.compare(block, own), self.summary)

    def as_it_is(self) -> "FittedScore":
        """Return a copy that does not change when this score gets further descriptions."""
        return replace(self, frozen=list(self.frozen))

    def keep(self, ks: Ks) -> "FittedScore":
        """Return this score for only some of its ks."""
        columns = [self.ks.index(k) for k in ks]
        frozen = [np.ascontiguousarray(array[:, columns]) for array in self.frozen]
        return replace(self, ks=ks, frozen=frozen, summary=self.summary[:, columns])

    def _described(self, own: list[NDArray]) -> list[Described]:
        return [Described(o, r) for o, r in zip(own, self.frozen[: len(own)], strict=True)]


def without_infinities(scores: NDArray, summary: NDArray) -> NDArray:
    """Replace infinities by the lowest and the highest values of a summary."""
    if np.isfinite(scores).all():
        return scores
    bounded = np.where(scores == np.inf, summary[1], scores)
    return np.where(bounded == -np.inf, summary[0], bounded)


@compiled
def mean_over_neighbors(values: NDArray, indices: NDArray, ks: NDArray) -> NDArray:
    """Return the mean of a reference description over the first k neighbors, for every k."""
    result = unset((indices.shape[0], ks.shape[0]))
    for row in range(indices.shape[0]):
        for column in range(ks.shape[0]):
            result[row, column] = mean_over(values, column, indices, row, ks[column])
    return result


@inner
def mean_over(values: NDArray, column: int, indices: NDArray, row: int, k: int) -> float:
    """Return the mean of one column of a reference description over the first k neighbors."""
    total = 0.0
    for place in range(k):
        total += values[indices[row, place], column]
    return total / k


@inner
def sum_in_lanes(values: NDArray) -> float:
    """Add up values as four separate sums, so that additions need not wait for each other."""
    a = b = c = d = 0.0
    whole = values.shape[0] - values.shape[0] % 4
    for place in range(0, whole, 4):
        a += values[place]
        b += values[place + 1]
        c += values[place + 2]
        d += values[place + 3]
    for place in range(whole, values.shape[0]):
        a += values[place]
    return (a + b) + (c + d)
