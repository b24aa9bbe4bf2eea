"""Columns that are renamed and multiplied while a table is read, in every format."""

import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from payments import SUFFIXES, write

from boreod.tables import TableError, open_table, read_table
from boreod.tables.number_formats import NumberFormat

TABLE = pa.table({"Id": ["a", "b", "c"], "Weight": [1000.0, None, 3000.0], "n": [1, 2, 3]})
REPAIRS = {"rename": {"Weight": "weight", "Id": "id"}, "scale": {"weight": 0.001, "n": -2}}
REPAIRED = {"id": ["a", "b", "c"], "weight": [1.0, None, 3.0], "n": [-2.0, -4.0, -6.0]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format(suffix, tmp_path):
    path = write(TABLE, tmp_path / f"a.{suffix}")
    assert read_table(path, **REPAIRS).to_pydict() == REPAIRED
    chosen = read_table(path, columns=["weight"], types={"weight": "number"},
                        rename={"Weight": "weight"}, scale={"weight": 0.001})  # fmt: skip
    assert chosen.to_pydict() == {"weight": [1.0, None, 3.0]}
    with open_table(path, columns=["id"], rename=REPAIRS["rename"]) as reader:
        assert reader.header == ["id", "weight", "n"]


def test_databases_and_several_files(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE t (Id TEXT, Weight REAL, n INT)")
        database.executemany(
            "INSERT INTO t VALUES (?, ?, ?)", zip(*TABLE.to_pydict().values(), strict=True)
        )
    assert read_table(tmp_path / "a.sqlite", **REPAIRS).to_pydict() == REPAIRED
    paths = [str(write(TABLE, tmp_path / name)) for name in ("a.csv", "b.csv")]
    both = read_table(paths, **REPAIRS)
    assert both.to_pydict() == {name: 2 * values for name, values in REPAIRED.items()}
    pq.write_to_dataset(TABLE, tmp_path / "folder", partition_cols=["n"])
    assert read_table(tmp_path / "folder", **REPAIRS).to_pydict() == REPAIRED


def test_two_columns_can_change_places(tmp_path):
    path = write(TABLE, tmp_path / "a.csv")
    turned = read_table(path, columns=["n", "Weight"], rename={"n": "Weight", "Weight": "n"})
    assert turned.to_pydict() == {"n": [1000.0, None, 3000.0], "Weight": [1.0, 2.0, 3.0]}


def test_numbers_as_people_write_them(tmp_path):
    (tmp_path / "a.csv").write_text('price,x\n"$ 1,200.50",1\n"$ 2,000.00",2\n')
    types = {"price": NumberFormat(thousands=",", unit="$")}
    found = read_table(tmp_path / "a.csv", types=types, scale={"price": 0.01})
    assert found["price"].to_pylist() == pytest.approx([12.005, 20.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rename": {"weight": "w"}}, "no column 'weight' to rename .* Did you mean 'Weight'?"),
        ({"rename": {"Weight": "n"}}, "has a column 'n' already, so 'Weight' cannot"),
        (
            {"rename": {"Weight": "w", "n": "w"}},
            "gives one name to several columns: 'Weight=w', 'n=w'",
        ),
        ({"scale": {"x": 2.0}}, "no column 'x' to multiply"),
        ({"scale": {"Id": 2.0}}, "multiplies numbers, and column 'Id' holds text"),
        ({"scale": {"n": 0}}, "other than 0, .* got 0 for 'n'"),
        ({"scale": {"n": float("nan")}}, "got nan for 'n'"),
        ({"scale": {"n": float("inf")}}, "got inf for 'n'"),
        ({"scale": {"n": "1,5"}}, "got '1,5' for 'n'"),
        ({"scale": {"n": True}}, "got True for 'n'"),
        ({"columns": ["n"], "scale": {"Weight": 2.0}}, "no column 'Weight' to multiply"),
    ],
)
def test_what_is_refused(options, words, tmp_path):
    with pytest.raises(TableError, match=words):
        read_table(write(TABLE, tmp_path / "a.csv"), **options)


def test_products_that_are_too_large(tmp_path):
    path = write(pa.table({"x": [1e140, 1.0]}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"'x' times 1e\+20 is beyond 1e\+150"):
        read_table(path, scale={"x": 1e20})


def test_columns_that_may_be_missing(tmp_path):
    path = write(TABLE, tmp_path / "a.csv")
    found = read_table(path, columns=["n", "more"], optional=["more"])
    assert found.column_names == ["n"]
    with pytest.raises(TableError, match="has no column 'more'"):
        read_table(path, columns=["more"], optional=["more"])
