"""Which format a table has, and several files as one table."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from boreod.tables.arrow import TableError, as_names, kind_of, leave_out, pa, pc
from boreod.tables.bad_cells import ROW
from boreod.tables.reading.binary_files import find_text_files, open_arrow, open_parquet
from boreod.tables.reading.blocks import Options, Typed, find_rules
from boreod.tables.reading.databases import open_duckdb, open_sqlite, open_workbook
from boreod.tables.reading.json_lines import open_json_lines
from boreod.tables.reading.locations import (
    STANDARD,
    TEXT_FORMATS,
    expand,
    find_format,
    is_address,
    reading,
    refuse_name,
    show_place,
)
from boreod.tables.reading.separated import open_separated
from boreod.tables.reading.sources import TextSource, zip_member
from boreod.text import listed, shorten, suggest


def open_source(
    path: str, asked: str | None, options: Options, batch_rows: int, stack: ExitStack
) -> Typed:
    """Open a file, a folder, standard input, or several of these as one table."""
    paths = expand(path)
    if len(paths) == 1 and os.path.isdir(paths[0]):
        texts = find_text_files(paths[0], asked)
        paths = texts or paths
    if len(paths) == 1:
        return _open(paths[0], asked, options, batch_rows, stack)
    return _open_several(paths, asked, options, batch_rows, stack)


def _open_several(
    paths: list[str], asked: str | None, options: Options, batch_rows: int, stack: ExitStack
) -> Typed:
    """Open files that have the same columns; the first one with rows tells their types.

    What is dropped need not be in all of them.
    """
    dropped = as_names(options.drop, [])
    options = replace(options, optional=(*options.optional, *options.drop, *dropped))
    names: list[str] = []
    left = iter(paths)
    for path in left:
        options.bad_cells.file = PurePath(path).name
        schema, batches = _open(path, asked, options, batch_rows, stack)
        names = names or [name for name in schema.names if name != ROW]
        _check_same(names, schema, paths[0], path)
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is not None:
            break
    rules = {} if first is None else find_rules(first, options)
    kinds = {name: rules.get(name, kind_of(schema.field(name).type)) for name in names}
    types = {name: kind for name, kind in kinds.items() if kind != "date or time"}
    same = replace(options, types={**types, **options.types})

    def all_batches() -> Iterator[Any]:
        if first is not None:
            yield first
        yield from batches
        for path in left:
            options.bad_cells.file = PurePath(path).name
            with ExitStack() as own:
                found, others = _open(path, asked, same, batch_rows, own)
                _check_same(names, found, paths[0], path)
                for batch in others:
                    yield _cast(batch, schema, path)
        for name in as_names(options.drop, list(options.met)):
            if name not in options.met:
                close = suggest(name, names)
                raise TableError(f"No file has a column {shorten(name)} to drop. {close}")

    return schema, all_batches()


def _check_same(names: list[str], found: Any, first: str, path: str) -> None:
    different = sorted(set(names) ^ {name for name in found.names if name != ROW})
    if different:
        raise TableError(
            f"Files that are one table must have the same columns; {path} differs from {first} in "
            f"{listed(different, 5)}. Leave the file out, or these columns "
            f"({leave_out(*different[:5])})."
        )


def _cast(batch: Any, schema: Any, path: str) -> Any:
    """Return a batch with the columns of a schema, in its order."""
    try:
        columns = [pc.cast(batch.column(field.name), field.type) for field in schema]
    except pa.ArrowException as error:
        raise TableError(
            f"Files that are one table must have columns of the same types, unlike {path}: "
            f"{str(error).splitlines()[0]}."
        ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _open(
    path: str, asked: str | None, options: Options, batch_rows: int, stack: ExitStack
) -> Typed:
    found = find_format(path, asked, to_read=True)
    if is_address(path) or os.path.isdir(path):
        if found not in (None, "parquet"):
            raise TableError(
                f"From addresses, only Parquet files can be read; {show_place(path)} is {found}. "
                "Pass the name of a file on a disk."
            )
        _refuse_query(path, "Parquet", options)
        return open_parquet(path, options, batch_rows)
    if path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
        return _open_pipe(path, found, options, stack)
    if found is None and path.lower().endswith(".zip"):
        found = find_format(zip_member(path), None, to_read=True)
        if found not in TEXT_FORMATS:
            raise TableError(f"{path} holds no text (CSV, TSV, JSON). Unpack it first.")
    if found in TEXT_FORMATS:
        return _open_text(path, found, options, stack)
    if found is None:
        with reading(path):
            os.stat(path)
        raise refuse_name(path)
    return _open_binary(path, found, options, batch_rows, stack)


def _open_binary(
    path: str, found: str, options: Options, batch_rows: int, stack: ExitStack
) -> Typed:
    if found in ("parquet", "arrow"):
        _refuse_query(path, found.capitalize(), options)
    if found == "parquet":
        return open_parquet(path, options, batch_rows)
    if found == "arrow":
        return open_arrow(path, options, stack)
    if found == "xlsx":
        return open_workbook(path, options)
    if found == "duckdb":
        return open_duckdb(path, options, batch_rows, stack)
    return open_sqlite(path, options, stack)


def _open_text(path: str, found: str | None, options: Options, stack: ExitStack) -> Typed:
    _refuse_query(path, "text", options)
    source = stack.enter_context(TextSource(path, options.encoding))
    if found is None:
        found = "jsonl" if source.head().lstrip().startswith((b"{", b"[")) else "csv"
    if found == "jsonl":
        return open_json_lines(source, options)
    if found == "tsv" and options.separator is None:
        options = replace(options, separator="\t")
    return open_separated(source, options)


def _refuse_query(path: str, what: str, options: Options) -> None:
    if options.query is not None:
        raise TableError(
            f"`query` (--query) is for databases and workbooks; {show_place(path)} is {what}. "
            "Leave it out."
        )


def _open_pipe(path: str, found: str | None, options: Options, stack: ExitStack) -> Typed:
    """Open text or an Arrow stream that comes through a pipe."""
    if found in (None, *TEXT_FORMATS):
        return _open_text(path, found, options, stack)
    if found != "arrow":
        raise TableError(f"Standard input and pipes cannot be {found}. Pass the name of a file.")
    _refuse_query(path, "Arrow", options)
    is_standard = path == STANDARD
    raw = sys.stdin.buffer if is_standard else stack.enter_context(open(path, "rb"))  # noqa: SIM115
    shown = "standard input" if is_standard else path
    return open_arrow(shown, options, stack, pa.PythonFile(raw, mode="r"))
