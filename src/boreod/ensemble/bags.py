"""Balanced bags: as many inliers as outliers, different ones in every bag.

Each bag holds a share of the labelled outliers and as many labelled inliers, drawn without
replacement. Rows that are not in a bag judge it honestly: that is the out-of-bag bookkeeping.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bags:
    """Rows of all bags.

    Attributes
    ----------
    rows
        Positions of the rows of each bag, (bags, rows); the first half are outliers.
    n_rows
        Number of rows of the table.
    kept_outliers, kept_inliers
        Share of the labelled outliers and inliers that one bag holds.
    """

    rows: NDArray
    n_rows: int
    kept_outliers: float
    kept_inliers: float

    @property
    def targets(self) -> NDArray:
        """1.0 for outliers and 0.0 for inliers, the same for every bag."""
        half = self.rows.shape[1] // 2
        return np.repeat([1.0, 0.0], half)

    @property
    def holds(self) -> NDArray:
        """Whether each bag holds each row: (rows, bags)."""
        result = np.zeros((self.n_rows, self.rows.shape[0]), dtype=bool)
        result[self.rows, np.arange(self.rows.shape[0])[:, np.newaxis]] = True
        return result


def draw_bags(
    outliers: NDArray, inliers: NDArray, n_rows: int, n_bags: int, share: float, seed: int
) -> Bags:
    """Draw balanced bags.

    The smaller class decides how many rows of each class a bag holds: ``share`` of it, at least
    one. Every outlier is in some bag whenever the bags have room for all of them.

    Examples
    --------
    >>> bags = draw_bags(np.array([3, 5, 8]), np.arange(10, 20), 20, n_bags=4, share=0.7, seed=0)
    >>> bags.rows.shape, sorted(set(bags.rows[:, :2].ravel().tolist()))
    ((4, 4), [3, 5, 8])
    """
    random = np.random.default_rng(seed)
    half = max(1, round(share * min(len(outliers), len(inliers))))
    drawn = np.array([random.permutation(len(outliers))[:half] for _ in range(n_bags)])
    _place_everyone(drawn, len(outliers), random)
    others = np.array([random.permutation(len(inliers))[:half] for _ in range(n_bags)])
    return Bags(
        np.hstack([outliers[drawn], inliers[others]]),
        n_rows,
        half / len(outliers),
        half / len(inliers),
    )


def _place_everyone(drawn: NDArray, n_outliers: int, random: np.random.Generator) -> None:
    """Give outliers that no bag drew the places of some that several bags drew."""
    counts = np.bincount(drawn.ravel(), minlength=n_outliers)
    for missing in np.flatnonzero(counts == 0):
        places = random.permutation(drawn.size)
        repeated = places[counts[drawn.flat[places]] > 1]
        if len(repeated) == 0:
            return
        counts[drawn.flat[repeated[0]]] -= 1
        counts[missing] += 1
        drawn.flat[repeated[0]] = missing
