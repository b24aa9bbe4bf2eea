"""Read tables and queries of SQLite and DuckDB databases, and sheets of Excel workbooks.

Databases are read row by row, and never written. If there is only one table or sheet, it need not
be named.
"""

import logging
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import quote

from boreod.tables.arrow import TableError, leave_out, pa, plain_batch, plain_schema
from boreod.tables.cells import Kind, find_kind, to_kind
from boreod.tables.reading import blocks, locations, separated
from boreod.text import listed, shorten


def open_sqlite(path: str, options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open a table or query of an SQLite database."""
    with _asking(path, "an SQLite database", sqlite3.Error):
        address = f"file:{quote(os.path.abspath(path))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        stack.callback(connection.close)
        # Attaching a database would create a file.
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        tables = [name for (name,) in connection.execute(names) if not name.startswith("sqlite_")]
        cursor = connection.execute(_sql(path, options.query, tables))
    if cursor.description is None:
        raise _no_rows(path)
    known = [column[0] for column in cursor.description]
    places = options.chosen(known, path)

    def fetched() -> Iterator[blocks.Values]:
        before = 0
        with _asking(path, "an SQLite database", sqlite3.Error):
            while True:
                rows = cursor.fetchmany(blocks.BLOCK_ROWS)
                values = {known[place]: [row[place] for row in rows] for place in places}
                for name, cells in values.items():
                    if bytes in map(type, cells):
                        raise TableError(
                            f"Cells must hold one number or word each; column {shorten(name)} "
                            f"holds bytes. Leave it out ({leave_out(name)})."
                        )
                yield values, blocks.rows_after(before)
                before += len(rows)
                if not rows:
                    return

    return blocks.from_values(fetched(), options)


def open_duckdb(path: str, options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open a table or query of a DuckDB database."""
    duckdb = _library(path, "duckdb", "DuckDB", "duckdb")
    with _asking(path, "a DuckDB database", duckdb.Error):
        # DuckDB keeps the pages that it has read in memory, up to this limit.
        safe = {"enable_external_access": "false", "memory_limit": "256MB"}
        connection = duckdb.connect(path, read_only=True, config=safe)
        stack.callback(connection.close)
        names = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
        tables = [name for (name,) in connection.execute(names).fetchall()]
        relation = connection.sql(_sql(path, options.query, tables))
        if relation is None:
            raise _no_rows(path)
        known = relation.columns
        quoted = (known[place].replace('"', '""') for place in options.chosen(known, path))
        relation = relation.project(", ".join(f'"{name}"' for name in quoted))
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        batches = read(options.batch_rows)
    schema = plain_schema(batches.schema, path)

    def converted() -> Iterator[Any]:
        with _asking(path, "a DuckDB database", duckdb.Error):
            for batch in batches:
                yield plain_batch(batch, schema)

    return blocks.cleaned(schema, converted(), options)


def open_workbook(path: str, options: blocks.Options) -> blocks.Typed:
    """Open a sheet of an Excel workbook; its first row has the column names."""
    fastexcel = _library(path, "fastexcel", "fastexcel", "excel")
    # Without this, fastexcel would warn of empty columns.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    with _asking(path, "an Excel workbook", fastexcel.FastExcelError):
        book = fastexcel.read_excel(path)
        names = book.sheet_names
        filled = [n for n in names if book.load_sheet(n, header_row=None, n_rows=1).height]
        sheet = _find_table(path, options.query, filled, "sheet")
        first = book.load_sheet(
            sheet, header_row=None, skip_rows=0, n_rows=separated.HEAD_LINES, dtypes="string"
        )
        head = [[str(c or "") for c in row.values()] for row in first.to_arrow().to_pylist()]
        place = separated.find_header(head, range(1, len(head) + 1), options.header, path)
        names = [cell.strip() for cell in head[place]] if place >= 0 else [""] * first.width
        known = [name or f"c{i}" for i, name in enumerate(names)]
        places = options.chosen(known, path)
        # All rows decide the types. Otherwise values of later rows may be lost.
        whole = book.load_sheet(
            sheet, header_row=None, skip_rows=place + 1, schema_sample_rows=None
        ).to_arrow()
    for note in separated.other_lines(head[:place], "above the column names"):
        warnings.warn(note, stacklevel=2)
    batch = _real_rows(whole, names, place).select(places)
    batch = batch.rename_columns([known[place] for place in places])
    schema = plain_schema(batch.schema, path)
    return blocks.cleaned(schema, iter([plain_batch(batch, schema)]), options)


def _library(path: str, module: str, name: str, extra: str) -> Any:
    """Import the library for a file; if it is missing, say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise TableError(
            f"{path} needs {name}, which is not installed: pip install boreod[{extra}]"
        ) from None


def _real_rows(sheet: Any, names: list[str], place: int) -> Any:
    """Return a sheet without empty rows, and without repeated names, which turn columns to text."""
    empty = separated.NoRows(names)
    rows = empty.find(sheet, lambda row: f"Line {place + row + 2}")
    if rows is None:
        return sheet
    sheet = sheet.take(pa.array(rows))
    for note in empty.notes():
        warnings.warn(note, stacklevel=3)
    if not empty.repeated:
        return sheet
    columns = []
    for column in sheet.columns:
        kind = find_kind(column) if pa.types.is_string(column.type) else Kind("text")
        columns.append(column if kind.type == "text" else to_kind(column, kind)[0])
    return pa.RecordBatch.from_arrays(columns, sheet.schema.names)


def _sql(path: str, query: str | None, tables: list[str]) -> str:
    """Return the query that was asked for, or one that reads a whole table."""
    if query is not None and query not in tables and len(query.split()) > 1:
        return query
    name = _find_table(path, query, tables, "table").replace('"', '""')
    return f'SELECT * FROM "{name}"'


def _no_rows(path: str) -> TableError:
    return TableError(f"The query for {path} gives no rows. Pass a SELECT (--query).")


def _find_table(path: str, query: str | None, tables: list[str], what: str) -> str:
    if query is None and len(tables) == 1:
        return tables[0]
    if query is not None and query in tables:
        return query
    if not tables:
        raise TableError(f"{path} holds no {what}s. A table needs columns and rows.")
    asked = f"no {what} {shorten(query)}" if query is not None else f"several {what}s"
    raise TableError(f"{path} has {asked}: name one of {listed(tables)} (`query`, --query).")


@contextmanager
def _asking(path: str, what: str, kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of a library into one sentence about the file."""
    try:
        with locations.reading(path, what):
            os.stat(path)
        yield
    except kinds as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")[:200]
        raise TableError(
            f"{path} cannot be read as {what} ({reason}). Check the file and the query (--query)."
        ) from None
