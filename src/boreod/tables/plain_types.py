"""The few column types that everything after reading has to know."""

from typing import Any, NamedTuple

import numpy as np

from boreod.tables.arrow import pa, pc
from boreod.tables.errors import TableError, check_names
from boreod.text import shorten


class Column(NamedTuple):
    """Name of a column and what it holds: number, boolean, text, or date or time."""

    name: str
    type: str


def plain_schema(schema: Any, shown: str) -> Any:
    """Return the schema that a table has after ``plain_batch``; refuse what it cannot have.

    Parameters
    ----------
    schema
        A pyarrow schema.
    shown
        How to call the table in a sentence.
    """
    check_names(schema.names, shown)
    return pa.schema([(field.name, _plain_type(field, shown)) for field in schema])


def plain_batch(batch: Any, schema: Any) -> Any:
    """Return a batch with the plain types of a schema, columns in its order."""
    columns = []
    for field in schema:
        column = batch.column(field.name)
        columns.append(plain_column(column, field))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def kind_of(held: Any) -> str:
    """Return the house word for a plain type.

    Examples
    --------
    >>> kind_of(pa.int32()), kind_of(pa.string()), kind_of(pa.date32())
    ('number', 'text', 'date or time')
    """
    if pa.types.is_boolean(held):
        return "boolean"
    if pa.types.is_integer(held) or pa.types.is_floating(held):
        return "number"
    return "date or time" if pa.types.is_temporal(held) else "text"


def _plain_type(field: Any, shown: str) -> Any:
    held, types = field.type, pa.types
    if types.is_dictionary(held):
        held = held.value_type
    if types.is_null(held) or types.is_decimal(held) or types.is_float16(held):
        return pa.float64()
    if types.is_string(held) or types.is_large_string(held) or str(held) == "string_view":
        return pa.string()
    simple = types.is_boolean(held) or types.is_integer(held) or types.is_floating(held)
    if simple or (types.is_temporal(held) and not types.is_interval(held)):
        return held
    what, remedy = "values of another kind", "Convert it"
    if types.is_nested(held):
        what, remedy = "nested values", "Spread it over columns of its own"
    raise TableError(
        f"Cells must hold one number, word or date each; column {shorten(field.name)} of {shown} "
        f"holds {what} ({str(held)[:60]}). {remedy}, or read only the others."
    )


def plain_column(column: Any, field: Any) -> Any:
    """Return an array with the type of a field."""
    if column.type == field.type:
        return column
    try:
        if pa.types.is_dictionary(column.type):
            words = pc.cast(column.dictionary, field.type)  # not all kinds of text can be decoded
            return pc.take(words, column.indices)
        if pa.types.is_float16(column.type):  # older versions have no cast
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
            return pa.array(values, from_pandas=True)
        return pc.cast(column, field.type)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {shorten(field.name)} cannot be read as {kind_of(field.type)}: {error}"
        ) from None
