"""Rows of a table under the Gaussian kernel: their Gram matrix, and functions spanned by them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernels import (
    Dense,
    Gram,
    Landmarks,
    gaussian,
    squared_distances,
)
from boreod.validation import OUTLIER

BLOCK = 4_000_000  # kernel values at a time


@dataclass(frozen=True)
class KernelRows:
    """Some rows, ready for a solver.

    Attributes
    ----------
    gram
        Their Gram matrix.
    anchors
        Positions in the table of the rows that span functions: all of them, or landmarks.
    spread
        From weights of the rows, one column a function, to coefficients of the anchors.
    """

    gram: Gram
    anchors: NDArray
    spread: Callable[[NDArray], NDArray]


@dataclass(frozen=True)
class Expansion:
    """The function f(x) = sum of coefficient times k(anchor, x).

    Attributes
    ----------
    anchors
        Rows, scaled.
    coefficients
        One per anchor, or a column for each of several functions.
    sigma
        Width of the kernel.
    """

    anchors: NDArray
    coefficients: NDArray
    sigma: float

    def __call__(self, points: NDArray) -> NDArray:
        """Return the values at some rows."""
        size = max(1, BLOCK // max(1, len(self.anchors)))
        blocks = [
            gaussian(squared_distances(points[start : start + size], self.anchors), self.sigma)
            @ self.coefficients
            for start in range(0, len(points), size)
        ]
        return np.concatenate(blocks)


class Table:
    """Scaled rows and the squared distances between them, which serve all widths and folds.

    Parameters
    ----------
    points
        The rows.
    codes
        1 outlier, 0 inlier, -1 unlabelled.
    n_landmarks
        For Nystroem's approximation; None for the exact kernel.
    seed
        Of the choice of landmarks.
    """

    def __init__(self, points: NDArray, codes: NDArray, n_landmarks: int | None, seed: int) -> None:
        self.points, self.codes = points, codes
        self._n_landmarks, self._seed = n_landmarks, seed
        self._squared = squared_distances(points, points) if n_landmarks is None else None

    def squared_distances(self, rows: NDArray) -> NDArray:
        """Return squared distances of all pairs of some of the rows."""
        if self._squared is not None:
            return self._squared[np.ix_(rows, rows)]
        return squared_distances(self.points[rows], self.points[rows])

    def under_kernel(self, rows: NDArray, sigma: float) -> KernelRows:
        """Return some of the rows under a kernel."""
        if self._squared is not None:
            everything = len(rows) == len(self.points)
            squared = self._squared if everything else self.squared_distances(rows)
            return KernelRows(Dense(gaussian(squared, sigma)), rows, lambda weights: weights)
        anchors = self._choose_landmarks(rows)
        near = squared_distances(self.points[rows], self.points[anchors])
        landmarks = Landmarks(squared_distances(self.points[anchors], self.points[anchors]), sigma)
        gram = landmarks.gram(near)
        return KernelRows(
            gram, anchors, lambda weights: landmarks.transform @ (gram.table.T @ weights)
        )

    def _choose_landmarks(self, rows: NDArray) -> NDArray:
        """Draw landmarks; up to half of them are labelled outliers, which a draw would miss."""
        random = np.random.default_rng(self._seed)
        count = min(self._n_landmarks or 0, len(rows))
        order = random.permutation(rows)
        rare = order[self.codes[order] == OUTLIER][: count // 2]
        rest = order[~np.isin(order, rare)]
        return np.sort(np.concatenate([rare, rest[: count - len(rare)]]))
