"""Read and write tables in batches: separated text, JSON lines, Parquet and Arrow.

``open_table`` yields pyarrow record batches, and ``read_table`` returns a pyarrow table. Columns
have one of a few plain types: number, boolean, text, date or time. ``write_batches`` and
``TableWriter`` write the same formats. If writing fails, they leave no incomplete file. The message
of a ``TableError`` says in one sentence what is wrong with a table.

``Preparation`` learns from a training table how its columns become numbers. ``read_label_column``
reads labels as people write them, such as yes and no. ``as_arrow`` converts data frames and arrays
to Arrow tables, and ``like_input`` converts them back.

pyarrow is optional: without it, the import of this package fails and says how to install it.
"""

from boreod.tables.arrow import Column, TableError, as_arrow, like_input
from boreod.tables.preparing.labels import read_label_column
from boreod.tables.preparing.preparation import ColumnSummary, Preparation
from boreod.tables.reader import TableReader, open_table, read_table
from boreod.tables.writer import TableWriter, write_batches

__all__ = [
    "Column",
    "ColumnSummary",
    "Preparation",
    "TableError",
    "TableReader",
    "TableWriter",
    "as_arrow",
    "like_input",
    "open_table",
    "read_label_column",
    "read_table",
    "write_batches",
]
