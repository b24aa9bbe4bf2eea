"""How many rows a file has, before it is read: for the remaining time of a progress bar."""

import os

from boreod.tables.arrow import pa, parquet
from boreod.tables.locations import find_format, is_gzipped

SAMPLE = 1 << 16  # bytes


def count_batches(path: str, asked: str | None, batch_rows: int) -> int | None:
    """Return about how many batches a table has; None if only reading it would tell.

    Parameters
    ----------
    path
        A file name, or ``-``.
    asked
        Its format, None to go by the name.
    batch_rows
        Rows of a batch.
    """
    if not os.path.isfile(path):
        return None
    try:
        rows = _count_rows(path, find_format(path, asked))
    except (OSError, pa.ArrowException):
        return None
    return None if rows is None else -(-rows // batch_rows)


def _count_rows(path: str, kind: str | None) -> int | None:
    if kind == "parquet":
        return int(parquet.read_metadata(path).num_rows)
    if kind == "arrow" or is_gzipped(path):
        return None
    with open(path, "rb") as file:
        lines = file.read(SAMPLE)
    return os.path.getsize(path) * lines.count(b"\n") // max(1, len(lines))
