"""Data frames and arrays take the same way as files: into Arrow, and back into their own kind."""

from typing import Any

import numpy as np

from boreod.tables.arrow import pa
from boreod.tables.errors import TableError
from boreod.tables.plain_types import kind_of, plain_batch, plain_schema


def as_arrow(frame: Any) -> Any:
    """Return a pyarrow table with plain column types.

    Parameters
    ----------
    frame
        A pandas or polars data frame, a pyarrow table or record batch, a NumPy array of rows
        (columns are called c0, c1 and so on), or whatever else speaks Arrow's stream protocol.

    Examples
    --------
    >>> as_arrow(np.array([[1.0, 2.0]])).to_pylist()
    [{'c0': 1.0, 'c1': 2.0}]
    """
    table = _to_table(frame)
    schema = plain_schema(table.schema, "the table")
    if table.schema.equals(schema):
        return table.replace_schema_metadata(None)
    return pa.Table.from_batches([plain_batch(b, schema) for b in table.to_batches()], schema)


def like_input(table: Any, original: Any) -> Any:
    """Return a pyarrow table as the kind of thing that the original is.

    Parameters
    ----------
    table
        A pyarrow table.
    original
        What was given to ``as_arrow``. A pandas index is kept if the numbers of rows agree.

    Examples
    --------
    >>> like_input(as_arrow(np.array([[1.0, 2.0]])), np.zeros((3, 1)))
    array([[1., 2.]])
    """
    if isinstance(original, pa.RecordBatch):
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    if isinstance(original, np.ndarray):
        return _to_rows(table)
    library = _library(original)
    if library == "pandas":
        frame = table.to_pandas()
        if len(original.index) == len(frame):
            frame.index = original.index
        return frame
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def _to_table(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, np.ndarray):
        return _from_rows(frame)
    if hasattr(frame, "collect_schema") and not hasattr(frame, "to_arrow"):
        raise TableError("A lazy frame has no rows yet. Pass the rows themselves: `.collect()`.")
    is_pandas = _library(frame) == "pandas"
    speaks_arrow = is_pandas or hasattr(frame, "__arrow_c_stream__")
    if not speaks_arrow or len(getattr(frame, "shape", (0, 0))) != 2:
        raise TableError(
            "A table must be a pandas, polars or Arrow table or a NumPy array of rows; got "
            f"{type(frame).__name__}."
        )
    try:
        if is_pandas:
            return pa.Table.from_pandas(frame, preserve_index=False)
        return frame.to_arrow() if _library(frame) == "polars" else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(part) for part in error.args).splitlines()[0]
        raise TableError(
            f"The {type(frame).__name__} cannot be read as a table of plain columns: {reason}. "
            "Give each column values of one kind and a name of its own."
        ) from None


def _from_rows(rows: Any) -> Any:
    if rows.ndim != 2 or rows.dtype.kind not in "biufUSO" or rows.dtype.kind == "S":
        raise TableError(
            "An array must have rows and columns of numbers or words; got shape "
            f"{rows.shape} of {rows.dtype}."
        )
    names = [f"c{i}" for i in range(rows.shape[1])]
    try:
        columns = [pa.array(rows[:, i], from_pandas=True) for i in range(rows.shape[1])]
    except (pa.ArrowException, TypeError) as error:
        raise TableError(f"An array must have columns of one kind each: {error}") from None
    return pa.table(columns, names=names)


def _to_rows(table: Any) -> Any:
    words = [
        field.name for field in table.schema if kind_of(field.type) not in ("number", "boolean")
    ]
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack([c.astype(object if words else np.float64) for c in columns])


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]
