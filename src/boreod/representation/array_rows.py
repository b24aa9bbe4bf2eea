"""The preparation of plain numbers, and what every preparation offers a detector.

A detector *has* a preparation, which makes float64 rows of a table. Plain numbers get
:class:`ArrayRows`; files, and frames with words, dates or missing values, get
``boreod.tables.Preparation``. Upper floors are imported here by name and nowhere else in the core,
so numbers need no pyarrow.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boreod.validation import is_frame, read_rows

Cells = Mapping[str, Sequence[str | None]]


class Output(NamedTuple):
    """What a raw column of a detector is: a ``kind`` of output of a column of the table.

    ``"value"`` is a number, ``"flag"`` a truth value; ``"level"``, ``"other"`` and ``"missing"``
    are ones where the column of the table holds this level, a rare one, or nothing. ``"frequency"``
    is the logarithm to the base 10 of the share of rows with the same word, ``"odds"`` the natural
    logarithm of how much more often these are outliers. The ``level`` of a value may be a part of
    a date.
    """

    column: str
    kind: str = "value"
    level: str = ""


class Preparation(Protocol):
    """What a detector needs of whatever makes numbers of its table.

    Attributes
    ----------
    names_
        Names of the columns of numbers.
    features_
        Columns of the training table that were looked at.
    inputs_
        Columns that a new table must have.
    outputs_
        What each column of numbers is made of.
    since_
        Columns that need the rows before a row; empty if there are none.
    """

    names_: list[str]
    features_: list[str]
    inputs_: list[str]
    outputs_: list[Output]
    since_: Sequence[Any]

    def read(self, model: Any, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64; ``first_row`` is a row number for errors."""

    def read_training(self, X: Any, codes: NDArray) -> NDArray:
        """Return the training rows once more as the fit saw them."""

    def words_of(self, X: Any) -> Cells:
        """Return cells by column: words that reasons name, None for what is missing unmarked."""

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned, ready for JSON."""


class ColumnOfNumbers(NamedTuple):
    """What ``boreod.tables.ColumnSummary`` says of a column, for those who have no pyarrow."""

    column: str
    holds: str
    done: str
    outputs: int


class ArrayRows:
    """The preparation of plain numbers, which stay as they are.

    ``middle`` holds the medians of the training rows, which replace missing values of new rows.
    ``is_named`` says whether the training table had column names.
    """

    label_: str | None = None
    ids_: tuple[str, ...] = ()
    notes_: tuple[str, ...] = ()
    since_: tuple[Any, ...] = ()

    def __init__(self, names: list[str], middle: NDArray, is_named: bool) -> None:
        self.names_ = names
        self.features_ = names
        self.inputs_ = names
        self.types_ = dict.fromkeys(names, "number")
        self.middle = middle
        self.is_named = is_named

    @classmethod
    def fit(cls, rows: NDArray, names: list[str], is_named: bool) -> "ArrayRows":
        """Remember the median of every column, one that was there."""
        middle = np.quantile(rows, 0.5, axis=0, method="lower")
        return cls(names, middle, is_named)

    @property
    def summary_(self) -> list[ColumnOfNumbers]:
        """What was done to each column: nothing."""
        return [ColumnOfNumbers(name, "number", "as it is", 1) for name in self.names_]

    @property
    def outputs_(self) -> list[Output]:
        """What each column of numbers is made of: itself."""
        return [Output(name) for name in self.names_]

    def read(self, model: Any, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64; medians replace what is missing."""
        if not is_arrow(X):
            return read_rows(model, X, fitting=False, fill=self.middle)
        rows = upper_floor("tables.rows").read_numbers(self, X, first_row)
        return np.where(np.isnan(rows), self.middle, rows)

    def read_training(self, X: Any, codes: NDArray) -> NDArray:
        """Return the training rows as float64."""
        return np.array(X, dtype=np.float64)

    def words_of(self, X: Any) -> Cells:
        """Return None for every missing cell, by column."""
        if is_arrow(X):
            empty = upper_floor("tables.rows").find_missing(self, X)
        else:
            empty = np.isnan(np.asarray(X, dtype=np.float64))
        columns = zip(self.names_, empty.T.tolist(), strict=True)
        return {name: [None if hole else "" for hole in column] for name, column in columns}

    def to_dict(self) -> dict[str, Any]:
        """Return the medians, ready for JSON."""
        return {"middle": self.middle.tolist()}


def upper_floor(module: str) -> Any:
    """Import a module that stands above its caller: of ``persistence``, ``tables`` or ``tool``.

    Where pyarrow is missing, ``boreod.tables`` says how to install it.
    """
    return import_module(f"boreod.{module}")


def is_table(X: Any, numbers_as_they_are: bool) -> bool:
    """Tell whether something needs ``boreod.tables``: a file, or a frame.

    If numbers are taken as they are, a frame of finite numbers does not need it.
    """
    if isinstance(X, str | PathLike):
        return True
    return is_frame(X) and not (numbers_as_they_are and _holds_finite_numbers(X))


def _holds_finite_numbers(frame: Any) -> bool:
    if hasattr(frame, "collect_schema") and not hasattr(frame, "to_arrow"):  # a lazy polars frame
        return False
    kinds = [getattr(kind, "kind", "") for kind in getattr(frame, "dtypes", ())]
    if hasattr(frame, "dask"):
        return all(kind in ("i", "u", "f") for kind in kinds)
    values = np.asarray(frame)
    return values.dtype.kind in "iuf" and bool(np.isfinite(values).all())


def is_arrow(table: Any) -> bool:
    """Tell whether something is a table or a batch of pyarrow."""
    return type(table).__module__.partition(".")[0] == "pyarrow"


def columns_to_read(preparation: Any) -> list[str] | None:
    """Return the columns that a table must have; None if the training table had no names."""
    return list(preparation.inputs_) if preparation.is_named else None


def types_to_read(preparation: Any) -> dict[str, Any]:
    """Return how to read columns from text; those of files without header are c0, c1 and so on."""
    types = dict(preparation.types_)
    if preparation.is_named:
        return types
    return types | {"c" + name[1:]: kind for name, kind in types.items()}
