"""Arrow files, and what all files have in common that know their own columns."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from boreod.tables.arrow import pa
from boreod.tables.errors import TableError, reading
from boreod.tables.plain_types import plain_batch, plain_schema
from boreod.tables.typed_text import Opened, Options, check_columns

ARROW = "an Arrow or Feather file"


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
        schema = chosen_schema(opened.schema, options, path)

    def batches() -> Iterator[Any]:
        with reading(path, ARROW):
            found = opened if is_stream else map(opened.get_batch, range(opened.num_record_batches))
            for batch in found:
                batch.validate(full=True)  # offsets of a damaged file lead anywhere
                yield batch

    return Opened(schema, _plain(batches, schema), [])


def chosen_schema(schema: Any, options: Options, shown: str) -> Any:
    """Return the plain schema of the columns to read; the others may be of any type.

    Parameters
    ----------
    schema
        Of a file.
    options
        Columns to read.
    shown
        How to call the file in a sentence.
    """
    if len(set(schema.names)) == len(schema.names):
        names = check_columns(options.columns, schema.names, shown)
        schema = pa.schema([schema.field(name) for name in names])
    if not schema.names:
        raise TableError(f"{shown} has no columns. A table needs columns and rows.")
    return plain_schema(schema, shown)


def _plain(batches: Callable[[], Iterator[Any]], schema: Any) -> Iterator[Any]:
    for batch in batches():
        yield plain_batch(batch, schema)
