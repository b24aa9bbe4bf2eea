"""Columns of a model that was saved without a preparation: numbers, taken as they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, column_of
from boreod.tables.cells import as_numbers
from boreod.tables.preparation import ColumnSummary
from boreod.text import listed, shorten, suggest


class PlainColumns:
    """What stands for a preparation if a detector was fitted to numbers in Python.

    Parameters
    ----------
    names
        Columns of the detector.
    named
        Whether its training table had these names; if not, they are x0, x1 and so on, and those of
        a file without header (c0, c1) are taken as well.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = PlainColumns(["x0", "x1"], named=False)
    >>> columns.transform(pa.table({"c0": [1, 2], "c1": [0.5, 0.25]}))
    array([[1.  , 0.5 ],
           [2.  , 0.25]])
    """

    label_: str | None = None
    ids_: tuple[str, ...] = ()
    notes_: tuple[str, ...] = ()

    def __init__(self, names: list[str], named: bool) -> None:
        self.names_, self.named = names, named
        self.summary_ = [ColumnSummary(name, "number", "as it is", 1) for name in names]

    @property
    def inputs_(self) -> list[str]:
        """The columns that ``transform`` needs."""
        return self.names_

    @property
    def types_(self) -> dict[str, str]:
        """How to read the columns from text."""
        return dict.fromkeys([*self.names_, *self._numbered], "number")

    def transform(self, batch: Any, *, first_row: int = 1) -> NDArray:
        """Return rows as float64.

        Parameters
        ----------
        batch
            A pyarrow record batch or table.
        first_row
            Number of its first row, for errors.
        """
        known = batch.schema.names
        numbered = not self.named and set(self._numbered) <= set(known)
        names = self._numbered if numbered else self.names_
        missing = [name for name in names if name not in known]
        if missing:
            raise TableError(
                f"The table has no column {listed(missing, 5)}, which the model was fitted with. "
                f"{suggest(missing[0], known)}"
            )
        columns = [as_numbers(column_of(batch, name), name, "number", first_row) for name in names]
        rows = np.column_stack(columns)
        for place in np.argwhere(np.isnan(rows))[:1].tolist():
            raise TableError(
                f"Row {first_row + place[0]} has no value in column {shorten(names[place[1]])}, "
                "and this model was fitted without a preparation that fills it. Fill it, or fit "
                "with `boreod fit`."
            )
        return rows

    @property
    def _numbered(self) -> list[str]:
        return [] if self.named else [f"c{place}" for place in range(len(self.names_))]
