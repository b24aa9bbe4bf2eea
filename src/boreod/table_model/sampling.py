"""The rows to learn from, out of a table that may be larger than memory.

Labels are read first and alone, one byte a row; they tell which rows are wanted. A second pass then
keeps those. The rows are the same as if the table had been read at once.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.detector import BORE
from boreod.ensemble.bags import Shares
from boreod.parallel import Progress
from boreod.representation.memory import available_memory, check_reading
from boreod.tables import TableError, open_table, read_label_column
from boreod.tables.arrow import pa, pc
from boreod.tables.locations import is_address
from boreod.text import shorten, suggest

MOST_LABELS = 10_000  # different ones; an id column is not labels


@dataclass(frozen=True)
class Reference:
    """Rows to learn from.

    Attributes
    ----------
    table, codes
        A pyarrow table, and what the labels of its rows mean.
    shares, rows
        Which part of the whole table it is, and which rows of it; None for all.
    """

    table: Any
    codes: NDArray
    shares: Shares
    rows: NDArray | None


def read_reference(
    path: str, detector: BORE, label: str, outlier_label: Any, reading: dict[str, Any]
) -> Reference:
    """Return the rows of a file or folder that a detector wants to learn from.

    Parameters
    ----------
    path
        As in ``open_table``.
    detector
        Not fitted; its ``reference_size`` tells how many rows it wants.
    label, outlier_label
        As in ``fit_table``.
    reading
        Options of ``open_table``.
    """
    once = not (is_address(path) or os.path.isfile(path) or os.path.isdir(path))
    if detector.reference_size is None or once:  # a pipe cannot be read twice
        return pick_reference(_read_whole(path, reading), detector, label, outlier_label)
    codes = _read_codes(path, label, outlier_label, reading, detector.verbose)
    rows, shares = detector.draw_reference(codes)
    if rows is None:
        return Reference(_read_whole(path, reading), codes, shares, rows)
    table = _read_rows(path, rows, len(codes), reading, detector.verbose)
    return Reference(table, codes[rows], shares, rows)


def pick_reference(table: Any, detector: BORE, label: str, outlier_label: Any) -> Reference:
    """Return the rows of an Arrow table that a detector wants to learn from.

    Parameters
    ----------
    table
        A pyarrow table.
    detector, label, outlier_label
        As in :func:`read_reference`.
    """
    _check_label(label, table.column_names)
    codes = read_label_column(table[label], outlier_label, name=label)
    rows, shares = detector.draw_reference(codes)
    if rows is None:
        return Reference(table, codes, shares, rows)
    return Reference(table.take(pa.array(rows)), codes[rows], shares, rows)


def _read_whole(path: str, reading: dict[str, Any]) -> Any:
    """Read a table that must fit into memory, and stop as soon as it is seen that it does not."""
    room, rows, held, batches = available_memory(), 0, 0, []
    with open_table(path, **reading) as reader:
        for batch in reader:
            batches.append(batch)
            rows, held = rows + batch.num_rows, held + batch.nbytes
            check_reading(rows, held, room)
        return pa.Table.from_batches(batches, schema=reader.schema)


def _read_codes(
    path: str, label: str, outlier_label: Any, reading: dict[str, Any], verbose: bool
) -> NDArray:
    """Return the codes of all rows; distinct labels are few, so their numbers are remembered."""
    with open_table(path, **reading) as reader:
        _check_label(label, reader.schema.names)
    known: dict[Any, int] = {}
    numbers: list[NDArray] = []
    with (
        open_table(path, columns=[label], **reading) as reader,
        Progress("reading labels", None, verbose) as progress,
    ):
        kind = reader.schema.field(label).type
        for batch in reader:
            encoded = pc.dictionary_encode(batch.column(0), null_encoding="encode")
            new = [known.setdefault(v, len(known)) for v in encoded.dictionary.to_pylist()]
            if len(known) > MOST_LABELS:
                raise TableError(
                    f"Column {shorten(label)} holds more than {MOST_LABELS} different values, "
                    "which cannot be labels. Name the column of labels (--label)."
                )
            small = np.uint8 if len(known) <= 256 else np.uint16
            numbers.append(np.array(new, small)[encoded.indices.to_numpy()])
            progress.advance()
    codes = read_label_column(pa.array(list(known), kind), outlier_label, name=label)
    return np.concatenate([codes.astype(np.int8)[some] for some in numbers])


def _read_rows(
    path: str, rows: NDArray, n_rows: int, reading: dict[str, Any], verbose: bool
) -> Any:
    """Return some rows of a table, by ascending positions."""
    kept, start = [], 0
    with (
        open_table(path, **reading) as reader,
        Progress("reading the sample", None, verbose) as progress,
    ):
        for batch in reader:
            first, last = np.searchsorted(rows, [start, start + batch.num_rows])
            if first < last:
                kept.append(batch.take(pa.array(rows[first:last] - start)))
            start += batch.num_rows
            progress.advance()
        schema = reader.schema
    if start != n_rows:
        raise TableError(
            f"{path} had {n_rows} rows when its labels were read and has {start} now. Fit again "
            "when nobody writes to it."
        )
    return pa.Table.from_batches(kept, schema=schema).combine_chunks()


def _check_label(label: str, known: list[str]) -> None:
    if label not in known:
        raise TableError(f"There is no column {shorten(label)} of labels. {suggest(label, known)}")
