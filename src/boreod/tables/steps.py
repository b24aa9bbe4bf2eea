"""What is done to one column, as data.

A step knows the names of its output columns and fills its part of a matrix. All steps work
row by row, so that a row alone gives the same numbers as within a batch.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pa, pc
from boreod.tables.values import as_numbers, as_text, is_missing


class Step(Protocol):
    """What all steps have."""

    @property
    def name(self) -> str:
        """Name of the input column."""

    @property
    def kind(self) -> str:
        """``number``, ``boolean`` or ``text``: how to read the input column."""

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""


@dataclass(frozen=True)
class NumberStep:
    """A number as it is; ``middle`` where it is missing, and a column that says where.

    Attributes
    ----------
    name
        Name of the input column.
    kind
        ``number`` or ``boolean``.
    middle
        The median of the training rows.
    marked
        Whether missing values have a column of their own.
    """

    name: str
    kind: str
    middle: float
    marked: bool

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [self.name, missing_name(self.name)] if self.marked else [self.name]

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        values = as_numbers(column, self.name, self.kind, first_row)
        missing = np.isnan(values)
        result[:, 0] = np.where(missing, self.middle, values)
        if self.marked:
            result[:, 1] = missing


@dataclass(frozen=True)
class CategoryStep:
    """One column a level, one for all rare levels, and one for missing values.

    Attributes
    ----------
    name
        Name of the input column.
    levels
        The levels with columns of their own.
    pooled
        Whether other levels have a column; without it they are zeros everywhere.
    marked
        Whether missing values have a column of their own.
    """

    name: str
    levels: tuple[str, ...]
    pooled: bool
    marked: bool
    kind: str = "text"

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name} is other"] if self.pooled else []
        return names + ([missing_name(self.name)] if self.marked else [])

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        words = as_text(column, self.name)
        missing = words.is_null().to_numpy(zero_copy_only=False)
        positions = pc.index_in(words, value_set=pa.array(self.levels, pa.string()))
        codes = pc.fill_null(positions, -1).to_numpy(zero_copy_only=False)
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = 1.0
        if self.pooled:
            result[:, len(self.levels)] = ~missing & (codes < 0)
        if self.marked:
            result[:, -1] = missing


@dataclass(frozen=True)
class PresenceStep:
    """Only whether a value is missing: for columns that hold one value or nothing.

    Attributes
    ----------
    name
        Name of the input column.
    kind
        ``number``, ``boolean`` or ``text``.
    """

    name: str
    kind: str

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [missing_name(self.name)]

    def fill(self, result: NDArray, column: Any, first_row: int) -> None:
        """Write the output columns of some rows into zeros."""
        result[:, 0] = is_missing(column, self.name, self.kind, first_row)


def missing_name(name: str) -> str:
    """Return the name of the column that marks missing values."""
    return f"{name} is missing"
