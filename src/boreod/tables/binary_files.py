"""Parquet files, folders of them, and Arrow files: they know their own columns."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from boreod.tables.arrow import pa, parquet
from boreod.tables.errors import TableError, listed, reading
from boreod.tables.formats import SUFFIXES
from boreod.tables.plain_types import plain_batch, plain_schema
from boreod.tables.typed_text import Opened, Options, check_columns

PARQUET = "a Parquet file"
ARROW = "an Arrow or Feather file"


def open_parquet(path: str, options: Options, batch_rows: int) -> Opened:
    """Open a Parquet file, or all of a folder in the order of their names as one table.

    Parameters
    ----------
    path
        A file or a folder.
    options
        Columns to read.
    batch_rows
        How many rows to read at once.
    """
    paths = _parquet_files(path) if Path(path).is_dir() else [path]
    schemas = []
    for name in paths:
        with reading(name, PARQUET), parquet.ParquetFile(name) as file:
            schemas.append(_chosen(file.schema_arrow, options, name))
    schema = _unified(schemas, paths)

    def batches() -> Iterator[Any]:
        for name in paths:
            # pages are read as they are needed, not whole columns of a row group
            frugal = {"pre_buffer": False, "buffer_size": 1 << 16}
            with reading(name, PARQUET), parquet.ParquetFile(name, **frugal) as file:
                yield from file.iter_batches(batch_rows, columns=_quoted(schema.names))

    return Opened(schema, _plain(batches, schema), [])


def open_arrow(path: str, options: Options, stack: ExitStack) -> Opened:
    """Open an Arrow file (also called Feather), of the file or of the stream kind.

    Parameters
    ----------
    path
        The file.
    options
        Columns to read.
    stack
        Closes the file.
    """
    with reading(path, ARROW):
        file = stack.enter_context(pa.OSFile(path))
        is_stream = file.read(6) != b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
        schema = _chosen(opened.schema, options, path)

    def batches() -> Iterator[Any]:
        with reading(path, ARROW):
            found = opened if is_stream else map(opened.get_batch, range(opened.num_record_batches))
            for batch in found:
                batch.validate(full=True)  # offsets of a damaged file lead anywhere
                yield batch

    return Opened(schema, _plain(batches, schema), [])


def _parquet_files(folder: str) -> list[str]:
    found = sorted(
        str(path)
        for path in Path(folder).iterdir()
        if SUFFIXES.get(path.suffix.lower()) == "parquet" and path.name[0] not in "._"
    )
    if not found:
        raise TableError(
            f"The folder {folder} holds no Parquet files (.parquet, .pq). Pass the name of a file, "
            "or a folder that holds them itself and not in folders of its own."
        )
    return found


def _chosen(schema: Any, options: Options, shown: str) -> Any:
    """Return the plain schema of the columns to read; the others may be of any type."""
    if len(set(schema.names)) == len(schema.names):
        names = check_columns(options.columns, schema.names, shown)
        schema = pa.schema([schema.field(name) for name in names])
    if not schema.names:
        raise TableError(f"{shown} has no columns. A table needs columns and rows.")
    return plain_schema(schema, shown)


def _unified(schemas: list[Any], paths: list[str]) -> Any:
    """Return the schema of several files: same names, and types that hold the values of all."""
    names = set(schemas[0].names)
    for schema, path in zip(schemas, paths, strict=True):
        if set(schema.names) != names:
            raise TableError(
                f"All files of a folder must have the same columns; {path} differs from "
                f"{paths[0]} in {listed(sorted(names ^ set(schema.names)), 5)}. Move it elsewhere."
            )
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"Files of one folder must have columns of the same types, unlike those of "
            f"{Path(paths[0]).parent}: {str(error).splitlines()[0]}."
        ) from None


def _quoted(names: list[str]) -> list[str] | None:
    """Return names for the Parquet reader, which takes a dot for a way into nested columns."""
    return None if any("." in name for name in names) else names


def _plain(batches: Callable[[], Iterator[Any]], schema: Any) -> Iterator[Any]:
    for batch in batches():
        yield plain_batch(batch, schema)
