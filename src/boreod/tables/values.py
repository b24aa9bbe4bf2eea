"""The values of one column as float64 or as text, whatever type the table holds them in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pa, pc
from boreod.tables.cells import Cell, to_kind
from boreod.tables.errors import TableError, option
from boreod.tables.plain_types import kind_of, plain_column, plain_schema
from boreod.text import shorten

WHOLE = 2.0**53  # beyond this, float64 does not know every whole number


def column_of(table: Any, name: str) -> Any:
    """Return a column of a table or batch as one array of a plain type."""
    column = table.column(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    schema = plain_schema(pa.schema([(name, column.type)]), "the table")
    return plain_column(column, schema.field(0))


def as_numbers(column: Any, name: str, kind: str, first_row: int = 1) -> NDArray:
    """Return a column as float64 with NaN where a value is missing.

    Parameters
    ----------
    column
        An array of a plain type; text is read as numbers.
    name
        Name of the column, for errors.
    kind
        ``number``, or ``boolean`` for 0 and 1 only.
    first_row
        Number of the first row, for errors.
    """
    held = kind_of(column.type)
    if held == "date or time":
        raise TableError(f"Column {shorten(name)} must hold {kind}s; it holds dates or times.")
    if held == "text":
        column = to_kind(column, kind)
        if isinstance(column, Cell):
            raise TableError(
                f"Column {shorten(name)} must hold {kind}s; row {first_row + column.row} holds "
                f"{shorten(column.value)}. Correct it, or leave it empty."
            )
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    if pa.types.is_integer(column.type):
        column = _from_integers(column, name, first_row)
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    _refuse(np.isinf(values), values, name, first_row, "finite numbers")
    if kind == "boolean":
        wrong = ~np.isnan(values) & (values != 0.0) & (values != 1.0)
        _refuse(wrong, values, name, first_row, "true or false (1 or 0)")
    return values


def as_text(column: Any, name: str) -> Any:
    """Return a column as text with nulls where a value is missing; whole numbers have no point.

    Parameters
    ----------
    column
        An array of a plain type.
    name
        Name of the column, for errors.

    Examples
    --------
    >>> as_text(pa.array([12.0, 0.5, None]), "code").to_pylist()
    ['12', '0.5', None]
    """
    kind = kind_of(column.type)
    if kind == "date or time":
        raise TableError(f"Column {shorten(name)} must hold words; it holds dates or times.")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return to_kind(pc.cast(column, pa.string()), "text")


def is_missing(column: Any, name: str, kind: str, first_row: int = 1) -> NDArray:
    """Tell for each row whether its value is missing."""
    if kind == "text":
        return as_text(column, name).is_null().to_numpy(zero_copy_only=False)
    return np.isnan(as_numbers(column, name, kind, first_row))


def _from_integers(column: Any, name: str, first_row: int) -> Any:
    numbers = pc.cast(column, pa.float64(), safe=False)
    long = pc.greater_equal(pc.abs(numbers), WHOLE)
    row = pc.index(pc.fill_null(long, False), True).as_py()
    if row >= 0:
        raise TableError(
            f"Column {shorten(name)} must hold whole numbers below 2**53; row "
            f"{first_row + row} holds {column[row].as_py()}. If it is an id, say so "
            f"({option('id', name)}), else divide it or leave it out ({option('drop', name)})."
        )
    return numbers


def _refuse(wrong: NDArray, values: NDArray, name: str, first_row: int, allowed: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"Column {shorten(name)} must hold {allowed}; row {first_row + row} holds "
            f"{values[row]:g}. Correct it, or leave it empty."
        )
