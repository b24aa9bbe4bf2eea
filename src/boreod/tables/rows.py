"""Rows of frames, arrays and batches for a detector: a preparation that takes all of them.

Columns are found by their names. An array has the columns of the fit, one after the other.
"""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_arrow, column_of, names_of, pa, pc, take_columns
from boreod.tables.cells import as_numbers
from boreod.tables.preparing.preparation import Preparation
from boreod.tables.reading.blocks import check_columns
from boreod.text import shorten
from boreod.validation import LARGEST, is_frame, read_untidy_array

# Reasons name the words of outputs of these kinds.
WORDED = ("level", "other", "odds", "frequency")
# Columns to which this was done are no features.
NO_FEATURES = ("label", "id", "left out")


class TableRows(Preparation):
    """The preparation of a detector that was fitted to a table.

    ``is_named`` says whether the columns of the training table had names.
    """

    is_named = True

    @property
    def features_(self) -> list[str]:
        """Columns of the training table except labels, ids and those left out by the user."""
        return [row.column for row in self.summary_ if row.done not in NO_FEATURES]

    @property
    def outputs_(self) -> list[tuple[str, str, str]]:
        """Column, kind and level of every column of numbers."""
        return [(step.name, *output) for step in self.steps_ for output in step.outputs]

    def read(self, model: Any, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64; ``first_row`` is a row number for errors."""
        batch = self.as_batch(X, model)
        if not batch.num_rows:
            raise TableError("The table has no rows to score.")
        rows = self.transform(batch, first_row=first_row)
        for row, column in np.argwhere(~(np.abs(rows) <= LARGEST))[:1].tolist():
            raise TableError(
                f"Column {shorten(self.names_[column])} must hold numbers up to "
                f"{LARGEST:.0e}; row {first_row + row} holds {rows[row, column]:g}. Correct it, or "
                "leave it empty."
            )
        return np.ascontiguousarray(rows)

    def read_training(self, X: Any, codes: NDArray) -> NDArray:
        """Return the training rows as the fit saw them.

        Not all of their columns are those of :meth:`read`: what an id with many levels says of a
        row was learned without that row.
        """
        return np.ascontiguousarray(self.transform_training(self.as_batch(X), codes))

    def words_of(self, X: Any) -> dict[str, list[str | None]]:
        """Return cells by column: words that reasons name, None for missing cells with no mark."""
        batch = self.as_batch(X)
        marked = {column for column, kind, _ in self.outputs_ if kind == "missing"}
        worded = {column for column, kind, _ in self.outputs_ if kind in WORDED}
        cells: dict[str, list[str | None]] = {}
        for step in self.steps_:
            if step.name in worded:
                cells[step.name] = step.words_of(column_of(batch, step.name)).to_pylist()
            elif step.name not in marked:
                empty = pc.is_null(column_of(batch, step.name), nan_is_null=True)
                cells[step.name] = pc.if_else(empty, None, "").to_pylist()
        return cells

    def as_batch(self, X: Any, model: Any = None) -> Any:
        """Return a table as Arrow, with the column names of the fit."""
        if isinstance(X, pa.Table | pa.RecordBatch):
            return with_names_of_fit(self, X)
        if isinstance(X, str | PathLike):
            raise TypeError(
                f"X must hold rows; got a name, {shorten(X)}. Scores of a file are written by "
                "boreod.tool.score_table(model, file, output), or read it and pass the rows."
            )
        if is_frame(X):
            return with_names_of_fit(self, as_arrow(_narrow(X, self.inputs_)))
        return self._name_array(X, model)

    def _name_array(self, X: Any, model: Any) -> Any:
        """Return an array as an Arrow table with the names of the fit, if it is as wide."""
        array = read_untidy_array(X)
        array = np.asarray(X) if array is None else array
        if array.ndim != 2:
            raise ValueError(
                f"X must be a table of rows and columns; got a {type(X).__name__}. Pass a frame, "
                "also for one row: frame.iloc[[0]], pandas.DataFrame(rows)."
            )
        if model is not None:
            from sklearn.utils.validation import validate_data

            validate_data(model, array, reset=False, skip_check_array=True)
        return as_arrow(array).rename_columns(self.features_)


def read_numbers(preparation: Any, batch: Any, first_row: int) -> NDArray:
    """Return the columns of plain numbers of a batch as float64, NaN where a cell is empty."""
    names = preparation.names_
    batch = with_names_of_fit(preparation, batch)
    check_columns(names, batch.schema.names, "The table", names)
    columns = [as_numbers(column_of(batch, name), name, "number", first_row) for name in names]
    return np.column_stack(columns)


def find_missing(preparation: Any, batch: Any) -> NDArray:
    """Return which cells of a batch of plain numbers are empty."""
    batch = with_names_of_fit(preparation, batch)
    columns = [pc.is_null(column_of(batch, n), nan_is_null=True) for n in preparation.names_]
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])


def with_names_of_fit(preparation: Any, batch: Any) -> Any:
    """Return a batch whose columns c0, c1 and so on are called x0, x1 as in an array."""
    if preparation.is_named:
        return batch
    renamed = {"c" + name[1:]: name for name in preparation.inputs_}
    known = batch.schema.names
    if not set(renamed) <= set(known):
        return batch
    return batch.rename_columns([renamed.get(name, name) for name in known])


def _narrow(frame: Any, inputs: list[str]) -> Any:
    """Return a frame with the columns of a fit only, if all are there."""
    wanted = set(inputs)
    known = names_of(frame)
    if not wanted <= set(known):
        return frame
    return take_columns(frame, [place for place, name in enumerate(known) if name in wanted])
