"""Tables of tens of megabytes, good ones and hostile ones, for the look at memory.

``python -m fuzz.big_tables NAME FOLDER MEGABYTES`` writes one of them.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from payments import make_frauds

PIECE = 5000  # rows that are repeated


def write_big_table(name: str, folder: Path, size: int) -> None:
    """Write a table of about ``size`` bytes, unless it packs well."""
    piece = make_frauds(PIECE, seed=5)
    if name.endswith(".csv"):
        header, _, lines = _as_csv(piece).partition(b"\n")
        (folder / name).write_bytes(header + b"\n" + _lines(name, lines, size))
    elif name.endswith(".jsonl"):
        line = b'{"id":"a","amount":1.5,"hour":3.0,"abroad":true,"country":"DE","currency":"EUR",'
        line += b'"voucher":5.0,"note":"' + b"n" * 200 + b'"}\n'
        (folder / name).write_bytes(line * (size // len(line)))
    else:
        _write_parquet(name, folder / name, piece, size)


def _lines(name: str, lines: bytes, size: int) -> bytes:
    lines = lines.replace(b'"EUR"', b'"' + b"E" * 150 + b'"')  # no model asks for it
    many = lines * max(1, size // len(lines))
    if name == "late_word.csv":  # the last row cannot be read
        return many + lines.partition(b"\n")[0].replace(b",", b",many") + b"\n"
    if name == "long_cells.csv":
        longer = lines.replace(b"E" * 150, b"E" * 6000)[:size]
        return longer.rpartition(b"\n")[0] + b"\n"
    if name == "one_line.csv":
        return b"7" * size
    if name == "quote.csv":  # a cell that is never closed
        return lines + b'"' + many
    return many


def _write_parquet(name: str, path: Path, piece: pa.Table, size: int) -> None:
    """Write one group of rows, with a column that no model asks for."""
    random = np.random.default_rng(0)
    rows = size // 250
    table = piece.take(random.integers(PIECE, size=rows))
    notes = [random.bytes(110).hex() for _ in range(rows)]
    if name == "packed.parquet":  # a few bytes that become very many
        notes = ["n" * 3000] * rows
        table = piece.take(np.zeros(rows, np.int64))
    elif name == "categories.parquet":  # a level of its own in every row
        table = table.set_column(table.column_names.index("country"), "country", pa.array(notes))
    elif name == "ids.parquet":  # what is carried through is large
        table = table.set_column(table.column_names.index("id"), "id", pa.array(notes))
    pieces = pa.array(notes, pa.large_string())
    pq.write_table(table.append_column("note", pieces), path, row_group_size=rows)


def _as_csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


if __name__ == "__main__":
    write_big_table(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) * 2**20)
