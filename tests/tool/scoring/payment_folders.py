"""Payments as a folder of Parquet files, tables scored with options, and scores as one table."""

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.testing import assert_allclose

from boreod.tool import ScoreOptions, score_table

FILES = {  # of a folder, in the order in which they are read: first row, number of rows
    "a/1.parquet": (0, 50),
    "a/2.parquet": (50, 0),
    "b.parquet": (50, 101),
    "c/d/1.pq": (151, 59),
}
IGNORED = ("_SUCCESS", ".b.parquet", "_temporary/c.parquet", "c/.crc/d.parquet", "read me.txt")


def make_folder(table, folder, **options):
    """Write the rows of a table into files of a new folder, and others that are none of it."""
    for name, (start, rows) in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(start, rows), path, **options)
    for name in IGNORED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"no table")
    return folder


def score(model, source, output, reading=None, **options):
    """Score a table with the given options."""
    return score_table(model, source, output, ScoreOptions(**options), reading=reading)


def files_in(folder):
    """Return the names of all files, hidden ones too."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def joined(folder, names=tuple(FILES)):
    """Return the scores in files of a folder, one after the other."""
    return pa.concat_tables(pq.ParquetFile(folder / name).read() for name in names)


def assert_same_scores(found, expected):
    """Probabilities to 1e-12, everything else exactly."""
    assert found.schema.equals(expected.schema)
    assert_allclose(found["probability"], expected["probability"], rtol=1e-12, atol=1e-12)
    names = [name for name in expected.column_names if name != "probability"]
    for name in names:
        assert found[name].to_pylist() == expected[name].to_pylist(), name
