"""Tables in and out: separated text, JSON lines, Parquet and Arrow, in batches.

``open_table`` and ``read_table`` give pyarrow record batches and tables with few, plain column
types: numbers, booleans, text, dates and times. ``write_batches`` and ``TableWriter`` write the
same formats, and leave either a whole file or none. A ``TableError`` says in one sentence what is
wrong with a table.

``Preparation`` learns from a training table how its columns become numbers. ``read_label_column``
reads labels as people write them. ``as_arrow`` turns data frames and arrays into Arrow tables, and
``like_input`` turns them back.

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
