"""Arrays: which of them are numbers as they are, and what such numbers have for a preparation.

Nothing here imports pyarrow at its top: detectors of plain numbers do without it.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.text import shorten


class PlainColumn(NamedTuple):
    """What ``boreod.tables.ColumnSummary`` tells of a column, for those who have no pyarrow."""

    column: str
    holds: str
    done: str
    outputs: int


class PlainColumns:
    """What stands for a preparation if a detector was fitted to plain numbers.

    ``middle`` are the medians of the training rows, which take the place of missing values; without
    them these are refused.
    """

    label_: str | None = None
    ids_: tuple[str, ...] = ()
    notes_: tuple[str, ...] = ()
    since_: tuple[Any, ...] = ()

    def __init__(self, names: list[str], middle: NDArray | None = None) -> None:
        self.names_ = self.inputs_ = names
        self.types_ = dict.fromkeys(names, "number")
        self.middle = middle

    @property
    def summary_(self) -> list["PlainColumn"]:
        """What was done to each column: nothing."""
        return [PlainColumn(name, "number", "as it is", 1) for name in self.names_]

    def transform(self, batch: Any, *, first_row: int = 1) -> NDArray:
        """Return rows as float64, as :class:`boreod.tables.Preparation` does."""
        from boreod.tables import TableError
        from boreod.tables.arrow import column_of
        from boreod.tables.cells import as_numbers
        from boreod.tables.reading.blocks import check_columns

        names = self.names_
        check_columns(names, batch.schema.names, "The table", names)
        columns = [as_numbers(column_of(batch, name), name, "number", first_row) for name in names]
        rows = np.column_stack(columns)
        if self.middle is not None:
            return np.where(np.isnan(rows), self.middle, rows)
        for row, column in np.argwhere(np.isnan(rows))[:1].tolist():
            raise TableError(
                f"Row {first_row + row} has no value in column {shorten(names[column])}, and BORE, "
                "which this model was saved from, fills none. Fill it, or fit with `boreod fit` or "
                "boreod.Detector."
            )
        return rows


def is_frame(table: Any) -> bool:
    """Tell whether something has rows and named columns."""
    if hasattr(table, "collect_schema"):  # polars, also lazy frames, which are slow to name columns
        return True
    return hasattr(table, "column_names") or (
        hasattr(table, "columns") and getattr(table, "ndim", 2) == 2
    )


def names_of(frame: Any) -> list[str]:
    """Return the names of the columns of a frame; none of one that has no rows yet."""
    if hasattr(frame, "column_names"):  # Arrow
        return list(frame.column_names)
    is_lazy = hasattr(frame, "collect_schema") and not hasattr(frame, "to_arrow")
    return [] if is_lazy else [str(name) for name in getattr(frame, "columns", ())]


def numbered(name: str) -> str:
    """Return what a column of an array, such as x3, is called in files without header: c3."""
    return "c" + name[1:]


def take_columns(frame: Any, places: list[int]) -> Any:
    """Return some columns of a frame: the others may hold what no table can."""
    if hasattr(frame, "column_names"):
        return frame.select(places)
    if hasattr(frame, "iloc"):
        return frame.iloc[:, places]
    return frame.select([frame.columns[place] for place in places])


def read_array(table: Any) -> NDArray | None:
    """Return an array that has to be prepared: with missing values or words; None for others.

    Examples
    --------
    >>> read_array([[1.0, 2.0]]), read_array([[1.0, None]])
    (None, array([[ 1., nan]]))
    """
    if isinstance(table, list | tuple):
        try:
            table = np.array(table, dtype=object)
        except ValueError:  # rows of several lengths
            return None
    if not isinstance(table, np.ndarray) or np.ma.isMaskedArray(table) or table.ndim != 2:
        return None
    if table.dtype.kind in "OU":
        try:
            table = table.astype(np.float64)
        except OverflowError:
            return None
        except (TypeError, ValueError):
            known = all(isinstance(cell, str | Real | None) for cell in table.ravel().tolist())
            return table if known else None
    return table if table.dtype.kind == "f" and np.isnan(table).any() else None


def medians(rows: NDArray) -> NDArray:
    """Return the middle value of every column, one that was there."""
    return np.quantile(rows, 0.5, axis=0, method="lower")
