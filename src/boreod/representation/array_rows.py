"""The preparation of plain numbers, which has the interface of every preparation.

A detector *has* a preparation, which turns a table into float64 rows. For plain numbers it is
:class:`ArrayRows`. For files, and for frames with words, dates or missing values, it is
``boreod.tables.Preparation``. The core imports packages above it (``tables`` and others) only here
and only when they are needed, so a detector of plain numbers works without pyarrow.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.validation import is_frame, read_rows

Cells = Mapping[str, Sequence[str | None]]


class Output(NamedTuple):
    """A raw column of a detector: the column of the table that it comes from, and its kind.

    The kind ``"value"`` is a number and ``"flag"`` is a truth value. ``"level"``, ``"other"`` and
    ``"missing"`` are 1 where a cell holds this level, a rare level, or no value, and 0 elsewhere.
    ``"frequency"`` is the logarithm to the base 10 of the share of rows with the same word.
    ``"odds"`` is the natural logarithm of an odds ratio: the odds that rows with the same word are
    outliers, divided by the odds of all rows. The ``level`` of a ``"value"`` may be part of a date.
    """

    column: str
    kind: str = "value"
    level: str = ""


class ColumnOfNumbers(NamedTuple):
    """The fields of ``boreod.tables.ColumnSummary``, which cannot be imported without pyarrow."""

    column: str
    holds: str
    done: str
    outputs: int


class ArrayRows:
    """The preparation of plain numbers, which stay as they are.

    ``names_`` are the columns of numbers. ``features_`` are the columns of the training table from
    which they were chosen. ``inputs_`` are the columns that a new table must have. Here all three
    are the same. No column depends on earlier rows (``since_``). ``middle`` holds the medians of
    the training rows, which replace missing values of new rows. ``is_named`` says whether the
    training table had column names.
    """

    label_: str | None = None
    ids_: tuple[str, ...] = ()
    notes_: tuple[str, ...] = ()
    since_: tuple[Any, ...] = ()

    def __init__(self, names: list[str], middle: NDArray, is_named: bool) -> None:
        self.names_ = self.features_ = self.inputs_ = names
        self.types_ = dict.fromkeys(names, "number")
        self.middle = middle
        self.is_named = is_named
        # Every column stays as it is, under the same name.
        self.summary_ = [ColumnOfNumbers(name, "number", "as it is", 1) for name in names]
        self.outputs_ = [Output(name) for name in names]

    @classmethod
    def fit(cls, rows: NDArray, names: list[str], is_named: bool) -> "ArrayRows":
        """Store the median of every column; it is always a value of the column, never a mean."""
        return cls(names, np.quantile(rows, 0.5, axis=0, method="lower"), is_named)

    def read(self, model: Any, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64; medians replace missing values.

        Errors count rows from ``first_row``.
        """
        if not is_arrow(X):
            return read_rows(model, X, fitting=False, fill=self.middle)
        rows = upper_floor("tables.rows").read_numbers(self, X, first_row)
        return np.where(np.isnan(rows), self.middle, rows)

    def read_training(self, X: Any, codes: NDArray) -> NDArray:
        """Return the training rows as float64."""
        return np.array(X, dtype=np.float64)

    def words_of(self, X: Any) -> Cells:
        """Return the cells by column: None where a cell is missing, empty text elsewhere."""
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
    """Import a module of a higher layer: of ``persistence``, ``tables`` or ``tool``.

    If pyarrow is missing, the error of ``boreod.tables`` says how to install it.
    """
    return import_module(f"boreod.{module}")


def is_table(X: Any, numbers_as_they_are: bool) -> bool:
    """Return whether an object must be read by ``boreod.tables``, as files and frames are.

    If ``numbers_as_they_are``, the result is False for a frame of finite numbers.
    """
    if isinstance(X, str | PathLike):
        return True
    return is_frame(X) and not (numbers_as_they_are and _holds_finite_numbers(X))


def _holds_finite_numbers(frame: Any) -> bool:
    # A lazy polars frame has a schema, but no rows.
    if hasattr(frame, "collect_schema") and not hasattr(frame, "to_arrow"):
        return False
    kinds = [getattr(kind, "kind", "") for kind in getattr(frame, "dtypes", ())]
    if hasattr(frame, "dask"):
        return all(kind in ("i", "u", "f") for kind in kinds)
    values = np.asarray(frame)
    return values.dtype.kind in "iuf" and bool(np.isfinite(values).all())


def is_arrow(table: Any) -> bool:
    """Return whether an object is a table or a batch of pyarrow."""
    return type(table).__module__.partition(".")[0] == "pyarrow"
