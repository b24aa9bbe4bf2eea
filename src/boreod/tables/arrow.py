"""Convert data frames and arrays to Arrow tables with a few plain column types.

pyarrow is optional, and only this module imports it. The rest of ``boreod`` imports this package
inside functions, so pyarrow is loaded only when it is needed.
"""

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.text import listed, shorten

try:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.compute as pc  # type: ignore[import-untyped]
    import pyarrow.csv as arrow_csv  # type: ignore[import-untyped]
    from pyarrow import fs, parquet
except ImportError:
    raise ImportError(
        "Tables need pyarrow, which is not installed: pip install boreod[data]"
    ) from None

__all__ = ["arrow_csv", "fs", "pa", "parquet", "pc"]

# The name of a column may have at most this many characters.
MAX_NAME = 10_000
Names = str | Iterable[str]


class TableError(ValueError):
    """A table cannot be read, written or prepared. The message says what to do."""


class MissingColumnsError(TableError):
    """A table lacks columns of a model; ``known`` names its columns, after renaming."""

    # Workers send errors as bytes, from which they are made with their text only.
    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.known = list(known)


class Column(NamedTuple):
    """The name of a column, and its type: "number", "boolean", "text" or "date or time"."""

    name: str
    type: str


def leave_pandas_out() -> None:
    """Keep pyarrow from importing pandas when it makes its first value.

    Importing pandas takes a seventh of the time of a short command, and the command line uses no
    data frames. pyarrow ignores pandas if its version is too old, so this function pretends that
    such a version is installed. The real pandas can still be imported later.
    """
    if "pandas" in sys.modules:
        return
    stub = ModuleType("pandas")
    stub.__version__ = "0"  # type: ignore[attr-defined]
    sys.modules["pandas"] = stub
    try:
        with warnings.catch_warnings(action="ignore"):
            pa.scalar(0)
    finally:
        del sys.modules["pandas"]


def option(name: str, *columns: str) -> str:
    """Return command-line options that name columns, such as ``--drop amount``."""
    shown = (column if len(column) <= 200 else f"{column[:197]}..." for column in columns)
    return " ".join(f"--{name} {shlex.quote(column)}" for column in shown)


def leave_out(*columns: str) -> str:
    """Return the ``fit`` and ``score`` commands that do not read the given columns."""
    return f"boreod fit {option('drop', *columns)}; boreod score without --all-columns"


def check_names(names: list[str], shown: str, places: list[int] | None = None) -> None:
    """Refuse column names that are too long or occur twice."""
    seen: dict[str, int] = {}
    for position, name in zip(places or range(len(names)), names, strict=True):
        if len(name) > MAX_NAME:
            raise TableError(
                f"Column {position + 1} of {shown} has a name of {len(name)} letters, of at most "
                f"{MAX_NAME} that are allowed: {shorten(name)}. Rename the column."
            )
        if name in seen:
            raise TableError(
                f"Columns must have distinct names; {shown} has {shorten(name)} as column "
                f"{seen[name] + 1} and as column {position + 1}. Rename one of them, or leave both "
                f"out ({leave_out(name)})."
            )
        seen[name] = position


def check_same(names: Iterable[str], found: Iterable[str], first: str, path: str) -> None:
    """Refuse a file whose columns differ from those of the first file of a table."""
    different = sorted(set(names) ^ set(found))
    if different:
        raise TableError(
            f"Files that are one table must have the same columns; {path} differs from {first} in "
            f"{listed(different, 5)}. Leave the file out, or these columns "
            f"({leave_out(*different[:5])})."
        )


def as_names(names: Names, known: list[str]) -> tuple[str, ...]:
    """Return distinct names; a comma separates two names unless it is part of a known name."""
    found: list[str] = []
    for name in [names] if isinstance(names, str) else names:
        if isinstance(name, str) and "," in name and name not in known:
            found += filter(None, map(str.strip, name.split(",")))
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


def kind_of(held: Any) -> str:
    """Return the word for a type: "number", "boolean", "text" or "date or time"."""
    if pa.types.is_boolean(held):
        return "boolean"
    if pa.types.is_integer(held) or pa.types.is_floating(held):
        return "number"
    return "date or time" if pa.types.is_temporal(held) else "text"


def plain_schema(schema: Any, shown: str) -> Any:
    """Return the schema of a table with plain types; refuse columns that have no plain type."""
    check_names(schema.names, shown)
    return pa.schema([(field.name, _plain_type(field, shown)) for field in schema])


def plain_batch(batch: Any, schema: Any) -> Any:
    """Return a batch with the columns, the order and the plain types of a schema."""
    return pa.RecordBatch.from_arrays(
        [_plain_column(batch.column(field.name), field) for field in schema], schema=schema
    )


def column_of(table: Any, name: str) -> Any:
    """Return a column of a table or batch as one array of a plain type."""
    column = table.column(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    schema = plain_schema(pa.schema([(name, column.type)]), "the table")
    return _plain_column(column, schema.field(0))


def as_mask(booleans: Any) -> NDArray:
    """Return Arrow booleans as a NumPy array, with False for nulls."""
    return pc.fill_null(booleans, False).to_numpy(zero_copy_only=False)


def encode(column: Any) -> tuple[Any, NDArray]:
    """Return the distinct values of a column, and for each cell the index of its value.

    The index of a null is the number of distinct values.
    """
    encoded = pc.dictionary_encode(column)
    places = pc.fill_null(encoded.indices, len(encoded.dictionary))
    return encoded.dictionary, places.to_numpy(zero_copy_only=False)


def rebatch(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield the same rows in batches of ``rows`` rows; the last batch may have fewer."""
    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= rows:
            table = pa.Table.from_batches(held)
            for start in range(0, count - rows + 1, rows):
                yield _one_batch(table.slice(start, rows))
            count %= rows
            held = table.slice(table.num_rows - count).to_batches()
    if count:
        yield _one_batch(pa.Table.from_batches(held))


def as_arrow(frame: Any) -> Any:
    """Return a pyarrow table with plain column types.

    ``frame`` is a pandas or polars data frame, a pyarrow table or record batch, a NumPy array of
    rows (its columns are called c0, c1 and so on), or any object with Arrow's stream protocol.

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


def names_of(frame: Any) -> list[str]:
    """Return the column names of a frame; the list is empty for an array or a lazy frame."""
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    return [] if _is_lazy(frame) else [str(name) for name in getattr(frame, "columns", ())]


def take_columns(frame: Any, places: list[int]) -> Any:
    """Return the columns of a frame at the given places; other columns may have any type."""
    if hasattr(frame, "column_names"):
        return frame.select(places)
    if hasattr(frame, "iloc"):
        return frame.iloc[:, places]
    return frame.select([frame.columns[place] for place in places])


def like_input(table: Any, original: Any) -> Any:
    """Return a pyarrow table as an object of the same type as ``original``.

    ``original`` may be anything that ``as_arrow`` accepts. The result keeps the pandas index of
    ``original`` if both have the same number of rows.

    Examples
    --------
    >>> like_input(as_arrow(np.array([[1.0, 2.0]])), np.zeros((3, 1)))
    array([[1., 2.]])
    """
    if isinstance(original, pa.RecordBatch):
        return _one_batch(table)
    if isinstance(original, np.ndarray):
        are_numbers = all(kind_of(field.type) in ("number", "boolean") for field in table.schema)
        dtype = np.float64 if are_numbers else object
        return np.column_stack([column.to_numpy().astype(dtype) for column in table.columns])
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


def _one_batch(table: Any) -> Any:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _plain_type(field: Any, shown: str) -> Any:
    types = pa.types
    held = field.type
    if types.is_dictionary(held):
        held = held.value_type
    if types.is_null(held) or types.is_decimal(held) or types.is_float16(held):
        return pa.float64()
    if str(held) in ("string", "large_string", "string_view"):
        return pa.string()
    if kind_of(held) != "text" and not types.is_interval(held):
        return held
    is_nested = types.is_nested(held)
    what = "nested values" if is_nested else "values of another kind"
    remedy = "Spread it over columns of its own" if is_nested else "Convert it"
    raise TableError(
        f"Cells must hold one number, word or date each; column {shorten(field.name)} of {shown} "
        f"holds {what} ({str(held)[:60]}). {remedy}, or leave it out ({leave_out(field.name)})."
    )


def _plain_column(column: Any, field: Any) -> Any:
    if column.type == field.type:
        return column
    try:
        if pa.types.is_dictionary(column.type):
            # pyarrow cannot decode dictionaries of some text types.
            return pc.take(pc.cast(column.dictionary, field.type), column.indices)
        # Older versions of pyarrow cannot cast float16.
        if pa.types.is_float16(column.type):
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
            return pa.array(values, from_pandas=True)
        return pc.cast(column, field.type)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {shorten(field.name)} cannot be read as {kind_of(field.type)}: {error}"
        ) from None


def _to_table(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame
    if _is_lazy(frame):
        raise TableError("A lazy frame has no rows yet. Pass the rows themselves: `.collect()`.")
    library = _library(frame)
    is_array = isinstance(frame, np.ndarray)
    is_frame = library == "pandas" or hasattr(frame, "__arrow_c_stream__")
    is_known = frame.dtype.kind in "biufUO" if is_array else is_frame
    if not is_known or len(getattr(frame, "shape", (0, 0))) != 2:
        raise TableError(
            "A table must be a pandas, polars or Arrow table, or a NumPy array with rows and "
            f"columns of numbers or words; got {type(frame).__name__}"
            + (f" of shape {frame.shape} and {frame.dtype}." if is_array else ".")
        )
    try:
        if is_array:
            columns = [_to_column(column) for column in frame.T]
            return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
        if library == "pandas":
            return _from_pandas(frame)
        return frame.to_arrow() if library == "polars" else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(part) for part in error.args).splitlines()[0]
        raise TableError(
            f"The {type(frame).__name__} cannot be read as a table of plain columns: {reason}. "
            "Give each column values of one kind and a name of its own."
        ) from None


def _from_pandas(frame: Any) -> Any:
    """Return a table; columns that mix numbers and words, or several time zones, become text."""
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    with suppress(pa.ArrowException, TypeError, OverflowError):
        if not any(map(_mixes_zones, columns)):
            return pa.Table.from_pandas(frame, preserve_index=False)
    return pa.table([_to_column(column) for column in columns], list(map(str, frame.columns)))


def _to_column(values: Any) -> Any:
    if not _mixes_zones(values):
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, OverflowError):
            # Cells of one column may mix numbers and words.
            plain = (str, bool, int, float, np.generic, Decimal)
            if not all(isinstance(cell, plain) or _is_missing(cell) for cell in values.tolist()):
                raise
    cells = [None if _is_missing(cell) else str(cell) for cell in values.tolist()]
    return pa.array(cells, pa.string())


def _mixes_zones(values: Any) -> bool:
    """Return whether the times in a column of objects have several time zones.

    Arrow would use the zone of the first time for all times. The first cell that is not missing
    decides whether a column holds times.
    """
    if values.dtype != object:
        return False
    present = (value for value in values if not _is_missing(value))
    first = next(present, None)
    if not isinstance(first, datetime):
        return False
    return any(str(getattr(value, "tzinfo", None)) != str(first.tzinfo) for value in present)


def _is_missing(value: Any) -> bool:
    name = type(value).__name__
    return name in ("NoneType", "NAType", "NaTType") or (name == "float" and np.isnan(value))


def _is_lazy(frame: Any) -> bool:
    return hasattr(frame, "collect_schema") and not hasattr(frame, "to_arrow")


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]
