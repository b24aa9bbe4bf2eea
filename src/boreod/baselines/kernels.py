"""The Gaussian kernel, whole or through landmarks, in the form that a solver needs.

    k(x, z) = exp(-|x - z|^2 / (2 sigma^2))

A Gram matrix is held either as it is (:class:`Dense`) or as ``Z Z'`` plus a diagonal with a narrow
table Z (:class:`Narrow`), which is what Nystroem's approximation gives: for landmarks with Gram
matrix ``K_mm = V diag(l) V'``, the row ``x`` becomes ``z(x) = k(x, landmarks) V diag(l)^(-1/2)``.
The diagonal is what that leaves of k(x, x) = 1. Without it rows far from all landmarks would have
no length, and a machine that puts all weight on such rows would be optimal and say nothing.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

Solve = Callable[[NDArray], NDArray]
SMALLEST_EIGENVALUE = 1e-13  # relative to the largest; below is rounding
FIRST_RIDGE, LAST_RIDGE = 1e-14, 1e-6
REFINEMENTS = 3


class Gram(Protocol):
    """What a solver needs of a Gram matrix."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def scale(self) -> float:
        """Return the largest value on the diagonal."""

    def keep(self, rows: NDArray) -> "Gram":
        """Return the Gram matrix of some of the rows."""

    def times(self, weights: NDArray) -> NDArray:
        """Multiply by a vector."""

    def solver(self, diagonal: NDArray) -> Solve:
        """Return a function that solves (Gram + diagonal) x = b for the columns of b."""


class Dense:
    """A Gram matrix with all its entries.

    Parameters
    ----------
    matrix
        Symmetric and positive semidefinite.
    """

    def __init__(self, matrix: NDArray) -> None:
        self.matrix = matrix

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.matrix)

    def scale(self) -> float:
        """Return the largest value on the diagonal."""
        return float(self.matrix.diagonal().max())

    def keep(self, rows: NDArray) -> "Dense":
        """Return the Gram matrix of some of the rows."""
        return Dense(self.matrix[np.ix_(rows, rows)])

    def times(self, weights: NDArray) -> NDArray:
        """Multiply by a vector."""
        return self.matrix @ weights

    def solver(self, diagonal: NDArray) -> Solve:
        """Return a function that solves (Gram + diagonal) x = b for the columns of b."""
        ridge = FIRST_RIDGE * self.scale()
        while True:
            shifted = self.matrix.copy().T  # Fortran order, so that LAPACK works in place
            shifted[np.diag_indices(len(self))] += diagonal + ridge
            try:
                factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                if ridge > LAST_RIDGE * self.scale():
                    raise
                ridge *= 100.0
            else:
                return lambda right: cho_solve(factor, right, check_finite=False)


class Narrow:
    """A Gram matrix ``Z Z' + diag(rest)``, Z of few columns.

    Parameters
    ----------
    table
        Z, one row for each row of the Gram matrix.
    rest
        The diagonal, nonnegative.
    """

    def __init__(self, table: NDArray, rest: NDArray) -> None:
        self.table, self.rest = table, rest

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    def scale(self) -> float:
        """Return the largest value on the diagonal."""
        return float((np.einsum("ij,ij->i", self.table, self.table) + self.rest).max())

    def keep(self, rows: NDArray) -> Gram:
        """Return the Gram matrix of some of the rows, dense where that is the smaller problem."""
        table, rest = self.table[rows], self.rest[rows]
        if len(rows) > table.shape[1]:
            return Narrow(table, rest)
        return Dense(table @ table.T + np.diag(rest))

    def times(self, weights: NDArray) -> NDArray:
        """Multiply by a vector."""
        return self.table @ (weights @ self.table) + self.rest * weights

    def solver(self, diagonal: NDArray) -> Solve:
        """Return a function that solves (Gram + diagonal) x = b for the columns of b."""
        shifted = diagonal + self.rest + FIRST_RIDGE * self.scale()
        inner = (self.table / shifted[:, np.newaxis]).T @ self.table
        inner[np.diag_indices(len(inner))] += 1.0
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def apply(right: NDArray) -> NDArray:
            scaled = (right.T / shifted).T
            corrections = self.table @ cho_solve(factor, self.table.T @ scaled, check_finite=False)
            return scaled - (corrections.T / shifted).T

        def solve(right: NDArray) -> NDArray:
            result = apply(right)
            for _ in range(REFINEMENTS):  # Woodbury loses digits where the diagonal is small
                product = self.table @ (self.table.T @ result) + (result.T * shifted).T
                result = result + apply(right - product)
            return result

        return solve


class Landmarks:
    """Nystroem's approximation of the Gaussian kernel.

    Parameters
    ----------
    squared_distances
        Between all pairs of landmarks.
    sigma
        Width of the kernel.
    """

    def __init__(self, squared_distances: NDArray, sigma: float) -> None:
        values, vectors = eigh(gaussian(squared_distances, sigma), check_finite=False)
        kept = values > SMALLEST_EIGENVALUE * values[-1]
        self.sigma = sigma
        self.transform = vectors[:, kept] / np.sqrt(values[kept])

    def gram(self, squared_distances: NDArray) -> Narrow:
        """Return the Gram matrix of rows with these squared distances to the landmarks."""
        table = gaussian(squared_distances, self.sigma) @ self.transform
        return Narrow(table, np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", table, table)))


def gaussian(squared_distances: NDArray, sigma: float) -> NDArray:
    """Return the kernel of rows at these squared distances.

    Examples
    --------
    >>> gaussian(np.array([0.0, 2.0]), 1.0).round(3).tolist()
    [1.0, 0.368]
    """
    with np.errstate(over="ignore"):  # infinitely far in units of a tiny width: the kernel is 0
        values = squared_distances / sigma
        values /= -2.0 * sigma
    return np.exp(values, out=values)


def squared_distances(rows: NDArray, others: NDArray) -> NDArray:
    """Return squared Euclidean distances of all pairs, exact where rows are copies.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    from scipy.spatial.distance import cdist

    return cdist(rows, others, "sqeuclidean")
