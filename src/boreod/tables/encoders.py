"""Write batches into an open binary file, one class a format."""

import io
import json
import math
from typing import Any, Protocol

from boreod.tables.arrow import arrow_csv, pa, parquet
from boreod.tables.errors import TableError
from boreod.tables.plain_types import plain_batch, plain_schema
from boreod.text import shorten


class Encoder(Protocol):
    """What all formats can do."""

    def write(self, batch: Any) -> None:
        """Write a batch of the schema."""

    def close(self) -> None:
        """Write what comes at the end; the file stays open."""


class SeparatedEncoder:
    """Separated text with names in the first line; text is quoted, numbers are not."""

    def __init__(self, file: Any, schema: Any, separator: str) -> None:
        self.schema = plain_schema(schema, "the table to write")
        options = arrow_csv.WriteOptions(delimiter=separator)
        self._writer = arrow_csv.CSVWriter(file, self.schema, write_options=options)

    def write(self, batch: Any) -> None:
        """Write a batch of the schema."""
        self._writer.write(plain_batch(batch, self.schema))

    def close(self) -> None:
        """Write what comes at the end; the file stays open."""
        self._writer.close()


class JsonEncoder:
    """JSON lines: one object a row, missing values as null."""

    def __init__(self, file: Any, schema: Any) -> None:
        self.schema = plain_schema(schema, "the table to write")
        self._file = file

    def write(self, batch: Any) -> None:
        """Write a batch of the schema."""
        text = io.StringIO()
        for row in plain_batch(batch, self.schema).to_pylist():
            cells = {name: _json_value(name, value) for name, value in row.items()}
            text.write(json.dumps(cells, ensure_ascii=False, allow_nan=False, default=str))
            text.write("\n")
        self._file.write(text.getvalue().encode("utf-8"))

    def close(self) -> None:
        """Write what comes at the end; the file stays open."""


class BinaryEncoder:
    """Parquet or Arrow."""

    def __init__(self, file: Any, schema: Any, name: str) -> None:
        self._sink = pa.PythonFile(file, mode="w")
        if name == "parquet":
            self._writer = parquet.ParquetWriter(self._sink, schema)
        else:
            self._writer = pa.ipc.new_file(self._sink, schema)

    def write(self, batch: Any) -> None:
        """Write a batch of the schema."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write what comes at the end; the file stays open."""
        self._writer.close()


def make_encoder(file: Any, schema: Any, name: str, separator: str | None) -> Encoder:
    """Return the encoder of a format.

    Parameters
    ----------
    file
        An open binary file.
    schema
        The pyarrow schema of the batches.
    name
        One of the formats.
    separator
        Of separated text; None for a comma, or a tab in TSV.
    """
    if name == "jsonl":
        return JsonEncoder(file, schema)
    if name in ("csv", "tsv"):
        return SeparatedEncoder(file, schema, separator or ("\t" if name == "tsv" else ","))
    return BinaryEncoder(file, schema, name)


def _json_value(name: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        raise TableError(
            f"JSON has no infinite numbers, but column {shorten(name)} holds one. "
            "Write CSV or Parquet instead."
        )
    return value
