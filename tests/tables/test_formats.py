"""Tables in other files: packed text, JSON arrays, workbooks, databases, several files as one."""

import bz2
import io
import lzma
import sqlite3
import sys
import zipfile

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boreod.tables import TableError, open_table, read_table, write_batches
from boreod.tables.number_formats import NumberFormat
from boreod.tables.reading.blocks import row_numbers

TEXT = b"id,amount,word\n1,3.5,x\n2,,y\n3,7,x\n"
EXPECTED = {"id": [1.0, 2.0, 3.0], "amount": [3.5, None, 7.0], "word": ["x", "y", "x"]}
ROWS = [(1, 3.5, "x"), (2, None, "y"), (3, 7, "x")]


def zipped(**members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.zst", pa.compress(TEXT, "zstd", asbytes=True)),
        ("a.csv.bz2", bz2.compress(TEXT)),
        ("a.csv.xz", lzma.compress(TEXT)),
        ("a.zip", zipped(a_csv=TEXT)),
        ("a.csv.zip", zipped(b_csv=TEXT)),
    ],
    ids=["zstd", "bzip2", "xz", "zip", "zip with another name"],
)
def test_packed_text(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read_table(tmp_path / name).to_pydict() == EXPECTED


def test_an_archive_of_two_files(tmp_path):
    (tmp_path / "two.zip").write_bytes(zipped(a_csv=TEXT, b_csv=TEXT))
    with pytest.raises(TableError, match=r"holds 2 files \('a.csv', 'b.csv'\)"):
        read_table(tmp_path / "two.zip")


@pytest.mark.parametrize(
    ("words", "header", "offset", "byte"),
    [
        ("damaged", b"PK\x03\x04", 30, b"x"),  # the name in front of the content
        ("password", b"PK\x01\x02", 8, b"\x01"),
        ("unknown way", b"PK\x01\x02", 10, b"\x63"),
    ],
)
def test_archives_that_cannot_be_unpacked(tmp_path, words, header, offset, byte):
    whole = zipped(a_csv=TEXT)
    place = whole.index(header) + offset
    (tmp_path / "a.zip").write_bytes(whole[:place] + byte + whole[place + 1 :])
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "a.zip")


def test_lines_of_bad_cells_in_packed_text(tmp_path):
    rows = b"".join(b"%d.5,1\n" % n for n in range(30))
    (tmp_path / "a.zip").write_bytes(zipped(a_csv=b"a,b\n" + rows + b"ERR,2\n"))
    with pytest.warns(UserWarning, match="line 32: 'ERR'"):
        read_table(tmp_path / "a.zip")


def test_json_array(tmp_path, monkeypatch):
    from boreod.tables.reading import json_lines

    monkeypatch.setattr(json_lines, "BLOCK_CHARACTERS", 7)  # objects are cut anywhere
    text = '\n[\n {"id": 1, "amount": 3.5, "word": "x"},{"id": 2, "amount": null, "word": "y"}\n'
    (tmp_path / "a.json").write_text(text + ',\n{"id": 3, "amount": 7, "word": "x"} ]\n')
    assert read_table(tmp_path / "a.json").to_pydict() == EXPECTED
    (tmp_path / "b.json").write_text('[{"a": 1, "b": {"c": 2}}]')
    with pytest.raises(TableError, match=r"Object 1 holds nested values for 'b'.*--drop b"):
        read_table(tmp_path / "b.json")
    assert read_table(tmp_path / "b.json", drop=["b"]).to_pydict() == {"a": [1.0]}
    (tmp_path / "c.json").write_text("[]")
    with pytest.raises(TableError, match="empty"):
        read_table(tmp_path / "c.json")


def test_workbook(tmp_path):
    book = openpyxl.Workbook()
    for row in [("id", "amount", "word"), *ROWS]:
        book.active.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "a.xlsx")
    assert read_table(tmp_path / "a.xlsx").to_pydict() == EXPECTED
    book["empty"].append(["a", "a", "b"])
    book["empty"].append([1, 2, 3])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(TableError, match=r"several sheets: name one of 'Sheet', 'empty'"):
        read_table(tmp_path / "a.xlsx")
    assert read_table(tmp_path / "a.xlsx", query="Sheet").to_pydict() == EXPECTED
    with pytest.raises(TableError, match="distinct names"):
        read_table(tmp_path / "a.xlsx", query="empty")
    assert read_table(tmp_path / "a.xlsx", query="empty", drop="a").to_pydict() == {"b": [3.0]}


@pytest.mark.parametrize("library", [sqlite3, duckdb])
def test_databases(tmp_path, library):
    path = str(tmp_path / f"a.{library.__name__.removesuffix('3')}")
    connection = library.connect(path)
    connection.execute('CREATE TABLE "my rows" (id INTEGER, amount DOUBLE, word TEXT)')
    connection.executemany('INSERT INTO "my rows" VALUES (?, ?, ?)', ROWS)
    connection.commit()
    connection.close()
    assert read_table(path).to_pydict() == EXPECTED
    asked = 'SELECT id FROM "my rows" WHERE amount > 5'
    assert read_table(path, query=asked).to_pydict() == {"id": [3]}
    lines = 'SELECT\nid\nFROM\n"my rows"\nWHERE\nid=2'
    assert read_table(path, query=lines).to_pydict() == {"id": [2]}
    with pytest.raises(TableError, match=r"--query"):
        read_table(path, query="SELECT nothing FROM nowhere")
    with pytest.raises(TableError, match=r"no table 'rows': name one of 'my rows'"):
        read_table(path, query="rows")
    with pytest.raises(TableError):  # nothing is ever written
        read_table(path, query='DELETE FROM "my rows"')
    other = tmp_path / "other.db"
    for asked in (f"ATTACH '{other}' AS other", f"VACUUM INTO '{other}'"):
        with pytest.raises(TableError, match="--query"):
            read_table(path, query=asked)
    assert not other.exists()
    assert read_table(path).num_rows == 3


def test_a_query_without_rows(tmp_path):
    sqlite3.connect(tmp_path / "a.sqlite").execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(TableError, match="gives no rows"):
        read_table(tmp_path / "a.sqlite", query="PRAGMA foreign_keys = 1")


def test_several_files(tmp_path):
    (tmp_path / "day1.csv").write_text("amount,word\n$1,x\n$2.50,y\n")
    (tmp_path / "day2.csv").write_text("word,amount\nz,3\nz,ERR\n")
    with pytest.warns(UserWarning, match="line 3 of day2.csv: 'ERR'"):
        table = read_table(tmp_path / "day*.csv")
    assert table.to_pydict() == {"amount": ["$1", "$2.50", "3", None], "word": ["x", "y", "z", "z"]}
    with pytest.warns(UserWarning, match="1 row left out"):
        assert read_table(tmp_path, bad_cells="drop").num_rows == 3  # the folder
    files = [str(tmp_path / "day2.csv"), str(tmp_path / "day1.csv")]
    with open_table(files, bad_cells="drop", batch_rows=2) as reader:
        batches = iter(reader)
        numbers = [row_numbers(next(batches), 1).tolist() for _ in range(2)]
    assert numbers == [[1, 3], [4]]
    (tmp_path / "day0.csv").write_text("amount,word\n")
    files = [str(tmp_path / f"day{day}.csv") for day in (0, 1, 0)]
    assert read_table(files).to_pydict() == {"amount": ["$1", "$2.50"], "word": ["x", "y"]}
    assert read_table(files[::2]).num_rows == 0
    (tmp_path / "day3.csv").write_text("word\nz\n")
    with pytest.raises(TableError, match=r"day3.csv differs from .*day1.csv in 'amount'"):
        read_table(tmp_path / "day[13].csv")
    with pytest.raises(TableError, match="No file matches"):
        read_table(tmp_path / "night*.csv")


def test_duplicate_columns_can_be_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a,tags\n1,2,3,4\n")
    with pytest.raises(TableError, match="--drop a"):
        read_table(tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv", drop="a, tags").to_pydict() == {"b": [2.0]}
    assert read_table(tmp_path / "a.csv", columns=["b"]).to_pydict() == {"b": [2.0]}
    with pytest.raises(TableError, match="no column 'aa'"):
        read_table(tmp_path / "a.csv", drop="aa")
    pq.write_table(pa.table({"b": [2.0], "n": [[1]]}), tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet", drop="n").to_pydict() == {"b": [2.0]}


def test_an_arrow_stream_from_a_pipe(monkeypatch):
    sink = io.BytesIO()
    table = pa.table({"a": [1.0, 2.0]})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    assert read_table("-", format="arrow").equals(table)


def test_a_line_of_totals_is_noted(tmp_path):
    (tmp_path / "a.csv").write_text("id,amount\na,1\nb,2\nTOTAL,3\n")
    with pytest.warns(UserWarning, match="last row looks like a line of totals.*'TOTAL'"):
        assert read_table(tmp_path / "a.csv").num_rows == 3


def test_rows_with_bad_cells(tmp_path):
    cells = [str(n / 2) for n in range(20)]
    cells[3], cells[7] = "N.A.", "-"
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{cell},w{cell}\n" for cell in cells))
    with pytest.warns(UserWarning, match="2 bad cells .'a' 2; line 5: 'N.A.'; line 9: '-'. count"):
        assert read_table(path)["a"].null_count == 2
    with pytest.raises(TableError, match=r"Line 5, column 'a': 'N.A.' is no number.*--bad-cells"):
        read_table(path, bad_cells="error")
    with pytest.warns(UserWarning, match="2 rows left out because of 2 bad cells"):
        assert read_table(path, bad_cells="drop").num_rows == 18
    pq.write_table(pa.table({"a": cells}), tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="2 bad cells .'a' 2; row 4: 'N.A.'"):
        assert read_table(tmp_path / "a.parquet")["a"].null_count == 2


def test_the_share_of_bad_cells_is_that_of_all_rows(tmp_path):
    cells = [f"${number}" for number in range(100)] + ["ERR"] * 30
    schema = pa.schema([("a", pa.string())])
    with pa.ipc.new_file(tmp_path / "a.arrow", schema) as file:
        for start, end in ((0, 0), (0, 100), (100, 130)):  # the first batch has no rows
            file.write_batch(pa.record_batch([pa.array(cells[start:end], pa.string())], schema))
    with pytest.warns(UserWarning, match="30 bad cells"):
        assert read_table(tmp_path / "a.arrow")["a"].null_count == 30
    pq.write_table(pa.table({"a": cells[:60] + ["ERR"] * 70}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"of .* filled cells"):
        read_table(tmp_path / "b.parquet", types={"a": NumberFormat(".", "$")}, batch_rows=10)


@pytest.mark.parametrize("name", ["folder/a.parquet", "a.csv", "a.parquet", "a.arrow"])
def test_queries_are_for_databases_and_workbooks(tmp_path, name):
    (tmp_path / "folder").mkdir()
    write_batches(tmp_path / name, [pa.record_batch({"a": [1.0]})])
    path = tmp_path / name.removesuffix("/a.parquet")
    assert read_table(path).num_rows
    with pytest.raises(TableError, match="is for databases and workbooks"):
        read_table(path, query="SELECT 1")


def test_what_is_dropped_need_not_be_in_all_files(tmp_path):
    for name, text in {
        "a.csv": "x,note\n1,b\n",
        "b.csv": "x\n2\n",
        "c.csv": "x,other\n3,c\n",
    }.items():
        (tmp_path / name).write_text(text)
    table = read_table(f"{tmp_path}/*.csv", drop="note, other")
    assert table.to_pydict() == {"x": [1.0, 2.0, 3.0]}
    with pytest.raises(TableError, match="No file has a column 'notes' to drop"):
        read_table(f"{tmp_path}/*.csv", drop=["note,other", "notes"])
    with pytest.raises(TableError, match=r"differs from .* in 'note'.*boreod fit --drop note"):
        read_table([f"{tmp_path}/a.csv", f"{tmp_path}/b.csv"])
