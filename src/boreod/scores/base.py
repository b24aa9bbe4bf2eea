"""Base of all scores: describe each row, then compare it with the descriptions of its neighbors.

A score names one or more *descriptions*. A description is a method that turns a block of rows into
an array with one column per k. The descriptions of the reference rows are computed once and stored
(``frozen``). The same methods describe a new row, which is then compared with the stored
descriptions of its neighbors. If a score makes no comparison, such as a plain distance, the score
is the last description itself.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.text import shorten
from boreod.validation import is_number

# Parameters lie between SMALLEST_PARAMETER and LARGEST_PARAMETER, so that products are finite.
SMALLEST_PARAMETER = 1e-100
LARGEST_PARAMETER = 1e100
# Values count as equal if their relative difference is at most EQUAL, which rounding may cause.
EQUAL = 1e-12


@dataclass(frozen=True)
class Described:
    """One description of the rows of a block, and of all reference rows."""

    own: NDArray
    reference: NDArray


@dataclass(frozen=True)
class Score:
    """Base of all neighbor-based scores; a high score means that a row is outlying.

    The parameters of a score are the fields of its dataclass. All of them are positive numbers.
    """

    # The short name, which begins the names of the score's columns.
    name: ClassVar[str]
    # The name as the authors of the score write it.
    title: ClassVar[str]
    # Where the score was published.
    citation: ClassVar[str]
    # The score in one line.
    formula: ClassVar[str]
    # The input of the score. ``"distances"``: only the distances to neighbors. ``"reverse"``: also
    # the reverse neighbors. ``"geometry"``: also the distances or angles between neighbors.
    reads: ClassVar[str] = "distances"
    # Whether the score looks up k-distances of reference rows. A model file must hold these
    # k-distances. Scores that read reverse neighbors need no such mark.
    reads_radii: ClassVar[bool] = False
    # The smallest k that gives an informative score.
    min_k: ClassVar[int] = 1
    # Names of the methods that describe a block, in order. Each method gets the descriptions that
    # the methods before it computed.
    descriptions: ClassVar[tuple[str, ...]] = ("describe",)

    def __post_init__(self) -> None:
        for name, value in self.parameters().items():
            if not (is_number(value) and SMALLEST_PARAMETER <= float(value) <= LARGEST_PARAMETER):
                allowed = f"a number from {SMALLEST_PARAMETER:.0e} to {LARGEST_PARAMETER:.0e}"
                raise ValueError(f"`{name}` must be {allowed}; got {shorten(value)}.")
            # Kernels are compiled for floats.
            object.__setattr__(self, name, float(value))

    @classmethod
    def compares(cls) -> bool:
        """Whether the score compares a row with its neighbors and so needs frozen descriptions."""
        return cls.compare is not Score.compare

    def compare(self, block: Block, ks: Ks, described: list[Described]) -> NDArray:
        """Return the unfinished scores of a block, one column per k; see :meth:`finish`."""
        return described[-1].own

    def summarize(self, scores: NDArray) -> NDArray:
        """Return the summary of the reference rows' scores that :meth:`finish` needs: (values, ks).

        The default summary is the lowest and the highest finite score for each k.
        """
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
    """A score and the values of k for which a view computes it."""

    label: str
    # The value is a Score. The annotation `Score` would hide the parameters of subclasses.
    definition: Any
    ks: Ks = ()

    def column_names(self, view: str) -> list[str]:
        """Return the names of the score's columns in a view."""
        return [f"{self.label}_{k}{'@' + view if view else ''}" for k in self.ks]


@dataclass(eq=False)
class FittedScore(PlannedScore):
    """A score with the descriptions and the summary of the reference rows."""

    frozen: list[NDArray] = field(default_factory=list)
    summary: NDArray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the methods that score a block: the descriptions, then the comparison."""
        return (*self.definition.descriptions, "compare")

    def take_step(self, step: int, block: Block, own: list[NDArray]) -> NDArray:
        """Run one of ``steps`` on a block; ``own`` holds the results of the steps before it."""
        method = getattr(self.definition, self.steps[step])
        before = zip(own, self.frozen[: len(own)], strict=True)
        return method(block, self.ks, [Described(*pair) for pair in before])

    def score(self, block: Block) -> NDArray:
        """Return the scores of a block of new rows."""
        own: list[NDArray] = []
        for step in range(len(self.steps)):
            own.append(self.take_step(step, block, own))
        return self.definition.finish(own[-1], self.summary)

    def keep(self, ks: Ks) -> "FittedScore":
        """Return this score for the given subset of its ks."""
        columns = [self.ks.index(k) for k in ks]
        frozen = [np.ascontiguousarray(array[:, columns]) for array in self.frozen]
        return replace(self, ks=ks, frozen=frozen, summary=self.summary[:, columns])


def without_infinities(scores: NDArray, summary: NDArray) -> NDArray:
    """Replace -inf by the first row of a summary, and inf by the second row."""
    if np.isfinite(scores).all():
        return scores
    bounded = np.where(scores == np.inf, summary[1], scores)
    return np.where(bounded == -np.inf, summary[0], bounded)


@compiled
def mean_over_neighbors(values: NDArray, indices: NDArray, ks: NDArray) -> NDArray:
    """Return the mean of a reference description over the k nearest neighbors, for every k."""
    result = unset((indices.shape[0], ks.shape[0]))
    for row in range(indices.shape[0]):
        for column in range(ks.shape[0]):
            result[row, column] = mean_over(values, column, indices, row, ks[column])
    return result


@inner
def mean_over(values: NDArray, column: int, indices: NDArray, row: int, k: int) -> float:
    """Return the mean of one column of a reference description over the k nearest neighbors."""
    total = 0.0
    for place in range(k):
        total += values[indices[row, place], column]
    return total / k


@inner
def sum_in_lanes(values: NDArray) -> float:
    """Return the sum of values; four partial sums let the processor add in parallel."""
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
