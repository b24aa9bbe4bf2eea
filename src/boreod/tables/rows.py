"""Prepare rows for a detector, from data frames, arrays or Arrow batches.

Columns are matched by name. An array must have the columns of the training table, in the same
order.
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

# Reasons quote the text of a cell if its column has outputs of these kinds.
WORDED = ("level", "other", "odds", "frequency")
# A column is not a feature if its summary has one of these entries.
NO_FEATURES = ("label", "id", "left out")


class TableRows(Preparation):
    """The preparation of a detector that was fitted to a table.

    ``is_named`` says whether the columns of the training table had names.
    """

    is_named = True

    @property
    def features_(self) -> list[str]:
        """Columns of the training table, except labels, ids and columns that the user left out."""
        return [row.column for row in self.summary_ if row.done not in NO_FEATURES]

    @property
    def outputs_(self) -> list[tuple[str, str, str]]:
        """The input column, the kind and the level of every output column."""
        return [(step.name, *output) for step in self.steps_ for output in step.outputs]

    def read(self, model: Any, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64; errors count rows from ``first_row``."""
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

        Some columns differ from those of :meth:`read`: for an id with many levels, the numbers of
        a row do not depend on the row itself.
        """
        return np.ascontiguousarray(self.transform_training(self.as_batch(X), codes))

    def words_of(self, X: Any) -> dict[str, list[str | None]]:
        """Return the text of cells by column, for reasons to quote; missing cells are None."""
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
                f"X must hold rows; got a name, {shorten(X)}. To score a file, call "
                "boreod.tool.score_table(model, file, output), or read the file and pass its rows."
            )
        if is_frame(X):
            return with_names_of_fit(self, as_arrow(_narrow(X, self.inputs_)))
        return self._name_array(X, model)

    def _name_array(self, X: Any, model: Any) -> Any:
        """Return an array as an Arrow table; its columns get the names of the training table."""
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
    """Return a batch of plain numbers as float64, with NaN for empty cells."""
    names = preparation.names_
    batch = with_names_of_fit(preparation, batch)
    check_columns(names, batch.schema.names, "The table", names)
    return np.column_stack(
        [as_numbers(column_of(batch, name), name, "number", first_row) for name in names]
    )


def find_missing(preparation: Any, batch: Any) -> NDArray:
    """Return which cells of a batch of plain numbers are empty."""
    batch = with_names_of_fit(preparation, batch)
    columns = [column_of(batch, name) for name in preparation.names_]
    return np.column_stack([pc.is_null(column, nan_is_null=True) for column in columns])


def with_names_of_fit(preparation: Any, batch: Any) -> Any:
    """Rename columns c0, c1 and so on to x0, x1 and so on if the training data was an array."""
    if preparation.is_named:
        return batch
    renamed = {"c" + name[1:]: name for name in preparation.inputs_}
    known = batch.schema.names
    if not set(renamed) <= set(known):
        return batch
    return batch.rename_columns([renamed.get(name, name) for name in known])


def _narrow(frame: Any, inputs: list[str]) -> Any:
    """Return only the columns of the fit, or the whole frame if some of them are missing."""
    wanted = set(inputs)
    known = names_of(frame)
    if not wanted <= set(known):
        return frame
    return take_columns(frame, [place for place, name in enumerate(known) if name in wanted])
