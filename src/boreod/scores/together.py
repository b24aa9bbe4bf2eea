"""One kernel that computes all scores of new rows that need only distances.

For a single row, calling a kernel takes longer than the computation inside it. So one call computes
all scores that need only distances. These scores are also the ones that fit small budgets. The
kernel calls functions from the modules of the scores, and repeats only plain quotients such as
``k / sum``. The results are bit-identical to scores that are computed one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.neighbors import Block, Ks
from boreod.scores.base import FittedScore, Score, mean_over, without_infinities
from boreod.scores.densities import IN_A_CLUMP, LDF, LoOP, excess, log_density, log_ratio
from boreod.scores.knn import KNN, KNNWeight, fill_sums
from boreod.scores.lof import LOF, SimplifiedLOF, reach_density, relative_density

# The classes of scores, in the order of the kernel's columns.
KINDS: tuple[type[Score], ...] = (KNN, KNNWeight, LOF, SimplifiedLOF, LDF, LoOP)
NOTHING = np.empty((0, 0))
NO_UNITS = np.empty(0)


@dataclass(frozen=True, eq=False)
class Together:
    """At most one score of every class in KINDS, and the arguments of the kernel."""

    # Scores in the order of KINDS.
    scores: list[FittedScore]
    # Arguments of the kernel except the rows and the result.
    arguments: tuple[Any, ...]
    # Summaries of all columns except those of LoOP, which are the last columns.
    summary: NDArray
    # LDF, and the slice of its columns.
    ldf: tuple[LDF, slice] | None

    @classmethod
    def of(
        cls, scores: Sequence[FittedScore], radii: Callable[[Ks], NDArray], dimension: int
    ) -> "Together":
        """Take the first score of every class in KINDS.

        ``radii`` returns k-distances of all reference rows. ``dimension`` is the number of columns
        of the view.
        """
        found = [next((s for s in scores if type(s.definition) is kind), None) for kind in KINDS]
        taken = [s for s in found if s is not None]
        cuts = np.cumsum([0, *(0 if s is None else len(s.ks) for s in found)])
        _, _, lof, slof, ldf, loop = found
        arguments = (
            np.array([k for s in taken for k in s.ks], np.int64),
            cuts,
            NOTHING if lof is None else radii(lof.ks),
            *(NOTHING if s is None else s.frozen[-1] for s in (lof, slof)),
            NOTHING if ldf is None else radii(ldf.ks),
            *([NOTHING, NOTHING] if ldf is None else ldf.frozen),
            np.array([float(dimension), 1.0 if ldf is None else ldf.definition.bandwidth]),
            NOTHING if loop is None else loop.frozen[-1],
            NO_UNITS if loop is None else loop.definition.unit(loop.summary),
        )
        summaries = [np.empty((2, 0)), *(s.summary for s in taken if s is not loop)]
        of_ldf = None if ldf is None else (ldf.definition, slice(*cuts[4:6].tolist()))
        return cls(taken, arguments, np.hstack(summaries), of_ldf)

    def score(self, block: Block) -> NDArray:
        """Return the scores of a block of new rows, in the order of ``scores``."""
        found = unset((len(block.points), len(self.arguments[0])))
        is_finite = _score(*(block.distances, block.indices, *self.arguments, found))
        n_bounded = self.summary.shape[1]
        if self.ldf is not None:
            definition, places = self.ldf
            definition.bound(found[:, places])
        # Scores can be infinite or NaN if neighbors have copies.
        if not is_finite:
            bounded = found[:, :n_bounded]
            if self.ldf is not None:
                np.copyto(found[:, places], IN_A_CLUMP, where=np.isnan(found[:, places]))
            bounded[:] = without_infinities(bounded, self.summary)
        if n_bounded < found.shape[1]:
            from scipy.special import erf

            probabilities = found[:, n_bounded:]
            erf(probabilities, out=probabilities)
        return found


@compiled
def _score(
    distances: NDArray, indices: NDArray, ks: NDArray, cuts: NDArray, radii: NDArray,
    density: NDArray, plain_density: NDArray, kernel_radii: NDArray, log_radii: NDArray,
    kernel_density: NDArray, settings: NDArray, deviation: NDArray, unit: NDArray, out: NDArray,
) -> bool:  # fmt: skip
    """Fill in unfinished scores; return whether all scores except those of LoOP are finite.

    The scores are computed one class after the other, so that descriptions stay in the cache.
    """
    n_rows = out.shape[0]
    for row in range(n_rows):
        for column in range(cuts[0], cuts[1]):
            out[row, column] = distances[row, ks[column] - 1]
        fill_sums(distances, row, ks, cuts[1], cuts[2], False, out)
    # LOF.
    for row in range(n_rows):
        for column in range(cuts[2], cuts[3]):
            k, place = ks[column], column - cuts[2]
            own = reach_density(distances, indices, row, radii, place, k)
            out[row, column] = relative_density(own, mean_over(density, place, indices, row, k))
    # SimplifiedLOF.
    for row in range(n_rows):
        fill_sums(distances, row, ks, cuts[3], cuts[4], False, out)
        for column in range(cuts[3], cuts[4]):
            k = ks[column]
            around = mean_over(plain_density, column - cuts[3], indices, row, k)
            out[row, column] = relative_density(k / out[row, column], around)
    _fill_ldf(
        distances, indices, ks, cuts[4], cuts[5], kernel_radii, log_radii, kernel_density, settings,
        out,
    )  # fmt: skip
    # LoOP.
    for row in range(n_rows):
        fill_sums(distances, row, ks, cuts[5], cuts[6], True, out)
        for column in range(cuts[5], cuts[6]):
            k, place = ks[column], column - cuts[5]
            around = mean_over(deviation, place, indices, row, k)
            out[row, column] = excess(np.sqrt(out[row, column] / k), around) / unit[place]
    return _is_finite(out, cuts[5])


@inner
def _fill_ldf(
    distances: NDArray, indices: NDArray, ks: NDArray, start: int, stop: int, radii: NDArray,
    log_radii: NDArray, density: NDArray, settings: NDArray, out: NDArray,
) -> None:  # fmt: skip
    terms, dimension, bandwidth = unset(distances.shape[1]), settings[0], settings[1]
    for row in range(out.shape[0]):
        for column in range(start, stop):
            k, place = ks[column], column - start
            own = log_density(
                distances, indices, row, radii, log_radii, place, k, dimension, bandwidth, terms
            )
            out[row, column] = log_ratio(own, density, place, indices, row, k, terms)


@inner
def _is_finite(table: NDArray, n_columns: int) -> bool:
    for row in range(table.shape[0]):
        for column in range(n_columns):
            if not np.isfinite(table[row, column]):
                return False
    return True
