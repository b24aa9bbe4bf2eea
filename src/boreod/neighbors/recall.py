"""How many of the true neighbors a search finds: of random rows, and of the most isolated ones.

The mean over all rows hides the outliers, which are few and harder to find neighbors for. So both
are measured, and the lower one counts.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.brute import BruteForce
from boreod.neighbors.lists import leave_out

MOST_ROWS = 1000  # of either kind
ISOLATED = 0.01  # share of the reference rows
FEWEST_ISOLATED = 10
BLOCK = 128  # rows that are searched together


class RecallError(ValueError):
    """A search misses more neighbors than is allowed."""


class Searching(Protocol):
    """The part of a back end that is measured."""

    def nearest(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the ``k`` nearest."""


@dataclass(frozen=True)
class Recall:
    """Shares of the true neighbors that were found.

    Attributes
    ----------
    random, isolated
        Share for random rows and for the most isolated ones, 0 to 1.
    n_random, n_isolated
        How many rows were searched.
    k
        Length of the lists.
    """

    random: float
    isolated: float
    n_random: int
    n_isolated: int
    k: int

    def __str__(self) -> str:
        """Say it in a sentence, rounded down."""
        random, isolated = (np.floor(1e4 * x) / 1e4 for x in (self.random, self.isolated))
        return (
            f"found {random:.4f} of the {self.k} nearest neighbors of random rows and "
            f"{isolated:.4f} of those of the most isolated rows"
        )


def measure_recall(
    backend: Searching, points: NDArray, metric: int, k: int, radii: NDArray, seed: int
) -> Recall:
    """Compare a search with brute force, on reference rows that leave themselves out.

    A neighbor counts if it is not farther than the true k-th one, so it does not matter which of
    several rows at the same distance a search takes.

    Parameters
    ----------
    backend
        The search.
    points
        Its reference rows, embedded.
    metric
        Code of the metric.
    k
        Length of the lists.
    radii
        k-distances of the reference rows as the search found them; they tell who is isolated.
    seed
        Chooses the random rows.

    Examples
    --------
    >>> points = np.arange(20.0)[:, np.newaxis]
    >>> measure_recall(BruteForce(points, 0), points, 0, 2, np.ones(20), seed=0)
    Recall(random=1.0, isolated=1.0, n_random=20, n_isolated=10, k=2)
    """
    n = len(points)
    brute = getattr(backend, "brute", None) or BruteForce(points, metric)
    random = np.sort(np.random.default_rng(seed).choice(n, min(MOST_ROWS, n), replace=False))
    isolated = most_isolated(radii)
    shares = [
        share_found(
            distances_found(backend, points, own, k), distances_found(brute, points, own, k)
        )
        for own in (random, isolated)
    ]
    return Recall(shares[0], shares[1], len(random), len(isolated), k)


def check_recall(recall: Recall, least: float, name: str) -> None:
    """Raise if a search misses too much.

    Parameters
    ----------
    recall
        What was measured.
    least
        Lowest share that is allowed.
    name
        Name of the search.
    """
    if min(recall.random, recall.isolated) >= least:
        return
    raise RecallError(
        f"The search {name!r} {recall}; both must be at least {least:g}. Let it search more "
        "(InvertedLists(n_probe=...), or the settings of your own search), accept less "
        "(`min_recall` of InvertedLists or ForeignNeighbors), or search exactly with "
        "neighbors='auto'."
    )


def check_min_recall(value: float) -> None:
    """Raise for what is not a share."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= 1):
        raise ValueError(f"`min_recall` must be a number from 0 to 1; got {value!r}.")


def most_isolated(radii: NDArray) -> NDArray:
    """Return rows that are evenly spread over the 1 % with the largest k-distances."""
    size = min(len(radii), max(FEWEST_ISOLATED, int(np.ceil(ISOLATED * len(radii)))))
    farthest = np.argsort(-radii, kind="stable")[:size]
    places = np.linspace(0, size - 1, min(MOST_ROWS, size)).round().astype(np.intp)
    return farthest[places]


def distances_found(search: Searching, points: NDArray, own: NDArray, k: int) -> NDArray:
    """Return the distances of ``k`` neighbors of some reference rows, themselves left out."""
    found = np.empty((len(own), k))
    for start in range(0, len(own), BLOCK):
        block = own[start : start + BLOCK]
        lists = search.nearest(points[block], k + 1)
        found[start : start + BLOCK] = leave_out(*lists, block, k)[0]
    return found


def share_found(distances: NDArray, true_distances: NDArray) -> float:
    """Return the share of neighbors that are not farther than the true last one."""
    return float((distances <= true_distances[:, -1:]).mean())
