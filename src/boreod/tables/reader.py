"""Read tables, at once or in batches."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from typing import Any

import numpy as np

from boreod.tables.arrow import Column, Names, TableError, as_arrow, as_names, kind_of, pa, rebatch
from boreod.tables.bad_cells import ROW, ROWS, BadCells, total_note
from boreod.tables.number_formats import NumberFormat
from boreod.tables.preparing.labels import LabelSource
from boreod.tables.preparing.since import Asked, add_to_batches, as_list
from boreod.tables.reading.blocks import Options, Typed
from boreod.tables.reading.locations import several, show_place
from boreod.tables.reading.opening import open_source

BATCH_ROWS = 50_000
ADVICE = " `bad_cells` (--bad-cells): drop leaves the rows out, error stops."
FilePath = str | os.PathLike[str]


class TableReader:
    """An open table: iterate over it once, or read it all; use it in a ``with`` statement.

    Attributes
    ----------
    path
        The file name, or ``-`` for standard input.
    columns
        Names and types of the columns.
    schema
        The pyarrow schema that all batches have.
    """

    def __init__(
        self, path: str, opened: Typed, batch_rows: int, stack: ExitStack, found: BadCells
    ) -> None:
        self.path = path
        self.schema, batches = opened
        if ROW in self.schema.names:
            self.schema = self.schema.remove(self.schema.get_field_index(ROW))
        self.columns = tuple(Column(field.name, kind_of(field.type)) for field in self.schema)
        self._stack = stack
        self._found = found
        self._batches = self._noted(rebatch(batches, batch_rows))
        first = next(self._batches, None)  # what is wrong at the beginning is told at once
        self._batches = iter(()) if first is None else chain([first], self._batches)

    def __iter__(self) -> Iterator[Any]:
        """Give pyarrow record batches, all of the same schema."""
        return self._batches

    def __enter__(self) -> "TableReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _noted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Give batches; tell at the end what was remarkable."""
        last = None
        for last in map(_with_row_numbers, batches):
            yield last
        for note in (
            self._found.note(ADVICE),
            None if last is None else total_note(last, self._found.total),
        ):
            if note is not None:
                warnings.warn(note, stacklevel=3)

    def read_all(self) -> Any:
        """Return the rest as one pyarrow table."""
        return pa.Table.from_batches(list(self._batches), schema=self.schema)

    def close(self) -> None:
        """Close the file."""
        self._batches = iter(())
        self._stack.close()


def settle_labels(table: Any, labels: LabelSource | None) -> Any:
    """Return a pyarrow table with the labels that a second table or file tells."""
    if labels is None:
        return table
    schema, batches = labels.add_to(table.schema, table.to_batches(), None, _read_answers(labels))
    return pa.Table.from_batches(list(batches), schema)


def _read_answers(labels: LabelSource) -> Any:
    """Return the table of a second file of labels; None if there is none."""
    if labels.answers is None:
        return None
    if not isinstance(labels.answers, str | os.PathLike):
        return as_arrow(labels.answers)
    types = dict.fromkeys((*as_names(labels.ids, []), labels.label), "text")
    return read_table(labels.answers, types=types, columns=list(types))


def _with_row_numbers(batch: Any) -> Any:
    """Return a batch with the numbers of its rows as metadata, where rows were left out."""
    place = batch.schema.get_field_index(ROW)
    if place < 0:
        return batch
    numbers = batch.column(place).to_numpy().astype(np.int64)
    rest = batch.select([name for name in batch.schema.names if name != ROW])
    return rest.replace_schema_metadata({ROWS: numbers.tobytes()})


def open_table(
    path: FilePath | list[str] | tuple[str, ...],
    *,
    format: str | None = None,  # noqa: A002
    separator: str | None = None,
    header: bool | int | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    types: Mapping[str, str | NumberFormat] | None = None,
    columns: Iterable[str] | None = None,
    since: Asked = (),
    drop: Names = (),
    bad_cells: str = "missing",
    computed: Iterable[str] | None = (),
    query: str | None = None,
    labels: LabelSource | None = None,
    batch_rows: int = BATCH_ROWS,
) -> TableReader:
    r"""Open a table for reading in batches; memory does not depend on its length.

    Parameters
    ----------
    path
        A file, several files of the same columns as a list or a pattern (``day*.csv``), a folder of
        Parquet or of text files, also in folders of its own, or ``-`` for standard input (text, or
        an Arrow stream). Text may be packed (gzip, zstd, bzip2, xz, or a zip archive of one file);
        Parquet files and folders may have an address such as ``s3://bucket/folder``. Excel
        workbooks need ``pip install boreod[excel]``, DuckDB databases ``boreod[duckdb]``.
    format
        ``csv``, ``tsv``, ``jsonl`` (also an array of objects), ``parquet``, ``arrow``, ``xlsx``,
        ``sqlite`` or ``duckdb``; None to go by the name.
    separator
        One character between the cells of a line; None to find out.
    header
        Whether separated text or a sheet has a line of column names, or which line that is. None
        for the first, or the first below titles of fewer cells; nothing but numbers is refused.
        False names them c0, c1 and so on.
    encoding
        Encoding of text; None for UTF-8.
    decimal
        Decimal point of numbers that are text, ``.`` or ``,``; None to find out. Where cells do not
        tell, as in 1,234, the column stays text.
    types
        ``number``, ``boolean`` or ``text`` for columns of text formats that should not be judged by
        their first rows, or how their numbers are written. Names that the table does not have do
        not matter.
    columns
        Names of the columns to read, in this order; None for all.
    since
        Columns of ids, such as ``card`` or ``card:time``, each of which adds a column: the time
        since the last row of the same id, in hours for dates. The table must be sorted by time.
    drop
        Names of columns to leave out; they may hold anything, and there may be several of a name.
    bad_cells
        What to do with cells of a column of numbers that hold none: ``missing``, ``error``, or
        ``drop`` to leave their rows out. A warning at the end tells how many there were and where.
    computed
        Columns to compute with, None for all: numbers beyond 1e150, whose squares may be infinite,
        are bad cells there.
    query
        For databases SQL or the name of a table, for workbooks the name of a sheet; None if there
        is only one.
    labels
        Labels that a second file holds, and which words are labels; None for the column alone.
    batch_rows
        Rows of a batch; the last may have fewer.

    Raises
    ------
    TableError
        If the table cannot be read; also while reading, if a later row is broken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "payments.csv"
    ...     _ = path.write_text("amount;country\n3.5;DE\n;NA\n")
    ...     with open_table(path) as reader:
    ...         print(*reader.columns)
    ...         print([batch.to_pylist() for batch in reader][0][1])
    Column(name='amount', type='number') Column(name='country', type='text')
    {'amount': None, 'country': 'NA'}
    """
    if not isinstance(batch_rows, int) or isinstance(batch_rows, bool) or batch_rows < 1:
        raise TableError(f"`batch_rows` must be a whole number from 1 on; got {batch_rows!r}.")
    asked = wanted = None if columns is None else tuple(columns)
    if labels is not None:
        wanted = labels.columns(asked)
    found = BadCells(bad_cells)
    options = Options(
        separator,
        header,
        encoding,
        decimal,
        dict(types or {}),
        wanted,
        (drop,) if isinstance(drop, str) else tuple(drop),
        query,
        found,
        None if computed is None else tuple(computed),
        () if labels is None or labels.answers is None else (labels.label,),
    )
    name = several(path) if isinstance(path, list | tuple) else os.fspath(path)
    stack = ExitStack()
    try:
        opened = open_source(name, format, options, batch_rows, stack)
        # of some columns only, they are made if these are what they are made of
        if since and (wanted is None or not isinstance(as_list(since)[0], str)):
            opened = add_to_batches(*opened, since)
        if labels is not None:
            opened = labels.add_to(*opened, asked, _read_answers(labels))
        return TableReader(show_place(name), opened, batch_rows, stack, found)
    except BaseException:
        stack.close()
        raise


def read_table(path: FilePath | list[str] | tuple[str, ...], **options: Any) -> Any:
    """Read a whole table into a ``pyarrow.Table``; path and options are those of ``open_table``."""
    with open_table(path, **options) as reader:
        return reader.read_all()
