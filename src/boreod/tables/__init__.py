"""Tables in and out: separated text, JSON lines, Parquet and Arrow, in batches.

``open_table`` and ``read_table`` give pyarrow record batches and tables with few, plain column
types: numbers, booleans, text, dates and times. ``write_batches`` and ``TableWriter`` write the
same formats, and leave either a whole file or none. What is wrong with a table is said in one
sentence, as a ``TableError``.

pyarrow is an extra: importing this package without it says how to install it.
"""

from boreod.tables.errors import TableError
from boreod.tables.plain_types import Column
from boreod.tables.reader import TableReader, open_table, read_table
from boreod.tables.writer import TableWriter, write_batches

__all__ = [
    "Column",
    "TableError",
    "TableReader",
    "TableWriter",
    "open_table",
    "read_table",
    "write_batches",
]
