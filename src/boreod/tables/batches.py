"""Batches of as many rows as are wanted."""

from collections.abc import Iterable, Iterator
from typing import Any

from boreod.tables.arrow import pa


def rebatch(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Give batches of so many rows, whatever a format reads at once; the last may have fewer.

    Parameters
    ----------
    batches
        Pyarrow record batches of one schema.
    rows
        Of a batch.
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows - count)
            held.append(part)
            start, count = start + part.num_rows, count + part.num_rows
            if count == rows:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
