"""Separated text: separators, headers, types, missing values, encodings."""

import gzip
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boreod.tables import Column, TableError, open_table, read_table
from boreod.tables.arrow import option
from boreod.tables.reading.separated import find_separator


@pytest.fixture
def csv(tmp_path):
    def write(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_found(csv, separator):
    text = "name,amount,more\nx,1.5,2\ny,2.5,3\n".replace(",", separator)
    expected = {"name": ["x", "y"], "amount": [1.5, 2.5], "more": [2.0, 3.0]}
    assert csv(text).to_pydict() == expected
    assert csv(text, separator=separator).to_pydict() == expected


def test_separator_within_quotes_does_not_count():
    assert find_separator('a;b\n"x,y,z";1\n"x,y,z";2\n') == ";"
    assert find_separator("text\nno, separator\nhere\n") == ","


@pytest.mark.parametrize("header", [None, True, False])
def test_drawn_lines_alone_are_no_table(csv, header):
    with pytest.raises(TableError, match="nothing but drawn lines"):
        csv("-----\n=====\n", header=header)


def test_words_for_separators(csv):
    assert csv("a\tb,c\n1\t2\n", separator="\\t").column_names == ["a", "b,c"]
    assert csv("a b\n1 2\n", separator=" ").column_names == ["a", "b"]
    assert csv("a,b\tc\n1\t2\n", name="t.tsv").column_names == ["a,b", "c"]


def test_a_separator_that_the_first_line_tells(csv):
    assert csv("sep=;\r\na,b;c\r\n1;x\r\n").to_pydict() == {"a,b": [1.0], "c": ["x"]}
    assert csv("sep=|\n1|x\n", header=False).to_pydict() == {"c0": [1.0], "c1": ["x"]}
    with pytest.raises(TableError, match="Line 4"):
        csv("sep=;\na;c\n1;x\n1;x;y\n")


def test_no_header(csv):
    assert csv("1,x\n2,y\n", header=False).to_pydict() == {"c0": [1.0, 2.0], "c1": ["x", "y"]}
    assert csv("1,2\n3,4\n", header=True).column_names == ["1", "2"]


def test_columns_without_a_name_get_one(tmp_path):
    path = tmp_path / "index.csv"
    path.write_text(",a\n0,5\n1,6\n")
    with (
        pytest.warns(UserWarning, match=r"Column 1 has no name and is called c0\."),
        open_table(path) as reader,
    ):
        assert [column.name for column in reader.columns] == ["c0", "a"]


@pytest.mark.parametrize("cell", ["1.5", "x", "1,5e3", "007", "2", "-3,25"])
def test_cells_with_commas_stay_text(cell, csv):
    assert csv(f"a;b\n1,5;1\n{cell};2\n")["a"].to_pylist() == ["1,5", cell]


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "NaN", "nan", "null", "NULL", " ", '""'])
def test_missing_numbers(csv, marker):
    assert csv(f"a,b\n1,2\n{marker},3\n")["a"].to_pylist() == [1.0, None]


def test_words_that_mean_missing_elsewhere_are_text(csv):
    assert csv("country,n\nNA,1\nDE,2\n,3\n")["country"].to_pylist() == ["NA", "DE", None]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", "+3"], "number"),
        (["1", "2.5e-3", ".5", "5."], "number"),
        ([" 1", "2 "], "number"),
        (["inf", "1"], "number"),
        (["", "NA"], "number"),
        (["true", "False", ""], "boolean"),
        (["true", "1"], "boolean"),
        (["true", "2"], "text"),
        (["yes", "no"], "text"),
        (["1", "x"], "text"),
        (["007", "123"], "text"),
        (["0", "0.5", "0e1"], "number"),
        (["123456789012345"], "number"),
        (["1234567890123456"], "text"),
        (["2024-01-31"], "text"),
        (["1_000"], "text"),
        (["0x1f"], "text"),
    ],
)
def test_types(tmp_path, cells, kind):
    path = tmp_path / "cells.csv"
    path.write_text("\n".join(["a,b", *(f"{cell},w" for cell in cells)]))
    with open_table(path) as reader:
        assert reader.columns == (Column("a", kind), Column("b", "text"))


def test_whole_numbers_then_fractions_in_a_later_block(csv):
    table = csv("a,b\n" + "1,2\n" * 600_000 + "2.5,3\n,4\n")
    assert table.num_rows == 600_002
    assert table["a"][-2:].to_pylist() == [2.5, None]
    assert table["a"].null_count == 1


def test_declared_types(csv):
    text = "zip,flag,code\n0012,1,5\n99,0,6\n"
    types = {"zip": "number", "flag": "boolean", "code": "text"}
    assert csv(text, types=types).to_pydict() == {
        "zip": [12.0, 99.0],
        "flag": [True, False],
        "code": ["5", "6"],
    }


def test_numbers_of_a_model_that_may_be_thousands_are_asked_for(csv):
    """As in a fit: 1,511 is not taken for a thousand because the training table had 1.511."""
    text, types = "a;b\n1,511;2\n2,250;3\n", {"a": "number"}
    with pytest.raises(TableError, match=r"--decimal ,\) for the decimal point, or write 1234\.5"):
        csv(text, types=types)
    assert csv(text, types=types, decimal=",")["a"].to_pylist() == [1.511, 2.25]
    assert csv(text, types=types, decimal=".")["a"].to_pylist() == [1511.0, 2250.0]


def test_decimal_comma(csv):
    text = "a;b\n1,5;x\n-0,25;y\n3;z\n"
    assert csv(text, decimal=",")["a"].to_pylist() == ["1,5", "-0,25", "3"]
    table = csv(text, decimal=",", types={"a": "number"})
    assert table["a"].to_pylist() == [1.5, -0.25, 3.0]
    assert csv("a;b\n1,5;x\n", types={"a": "text"})["a"].to_pylist() == ["1,5"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(csv, end):
    text = end.join(["a,b", "1,x", "2,y"])
    assert csv(text).to_pydict() == {"a": [1.0, 2.0], "b": ["x", "y"]}
    assert csv(text + end).num_rows == 2


def test_cells_with_separators_quotes_and_line_ends(csv):
    table = csv('"a\nb","c"\n1,"x, ""y""\nz"\n2,5" pipe\n')
    assert table.column_names == ["a\nb", "c"]
    assert table["c"].to_pylist() == ['x, "y"\nz', '5" pipe']


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1", "utf-8"])
def test_encodings(csv, encoding):
    text = "naïve,b\n1,café\n"
    passed = None if encoding.startswith("utf-8") else encoding
    assert csv(text.encode(encoding), encoding=passed).to_pydict() == {
        "naïve": [1.0],
        "b": ["café"],
    }


def test_letters_cut_by_chunks(csv):
    words = ["é" * (n % 7 + 1) for n in range(150_000)]
    assert csv("n,word\n" + "\n".join(f"1,{w}" for w in words))["word"].to_pylist() == words


@pytest.mark.parametrize("name", ["table.csv.gz", "table.csv", "TABLE.TXT.GZ"])
def test_gzip_is_known_by_its_content(csv, name):
    assert csv(gzip.compress(b"a,b\n1,2\n"), name).to_pydict() == {"a": [1.0], "b": [2.0]}


def test_columns_in_the_order_asked_for(csv):
    assert csv("a,b,c\n1,2,3\n", columns=["c", "a"]).to_pydict() == {"c": [3.0], "a": [1.0]}


def test_line_of_an_error_within_gzip_and_quoted_lines(csv):
    packed = gzip.compress(b'a,b\n"x\n\ny",1\n\nz,2,3\n')
    with pytest.raises(TableError, match="Line 6"):
        csv(packed, "table.csv.gz")


CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**14), 10**14).map(str),
    st.sampled_from(["", "NA", "null"]),
)


@settings(max_examples=50)
@given(cells=st.lists(CELL, min_size=1), rows=st.integers(1, 9))
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, cells, rows):
    path = tmp_path_factory.mktemp("numbers") / "n.csv"
    path.write_text("a,b\n" + "".join(f"{cell},w\n" for cell in cells))
    expected = [None if cell in ("", "NA", "null") else float(cell) for cell in cells]
    with open_table(path, batch_rows=rows) as reader:
        batches = list(reader)
    assert [value for batch in batches for value in batch["a"].to_pylist()] == expected
    assert {batch.num_rows for batch in batches[:-1]} <= {rows}
    assert len({str(batch.schema) for batch in batches}) == 1


SLOW = """
import sys, time
from boreod.tables import TableError, open_table
from boreod.tables.reading import locations
usual = locations.TextSource._next
def slow(self):
    time.sleep(0.05)
    return usual(self)
locations.TextSource._next = slow
try:
    with open_table(sys.argv[1]) as reader:
        list(reader)
except TableError as error:
    print(error)
"""


def test_an_error_while_pyarrow_reads_ahead_does_not_end_the_process(tmp_path):
    """Its thread must be done when the interpreter ends, or both die of it."""
    path = tmp_path / "long.csv"
    path.write_text('a,b\n1,"' + "x," * 4_000_000)
    for _ in range(3):
        result = subprocess.run(
            [sys.executable, "-c", SLOW, str(path)], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert "is longer than 2 MB" in result.stdout


def test_names_longer_than_names_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a," + "b" * 10_001 + "\n1,2\n")
    with pytest.raises(TableError, match=r"Column 2 of .* has a name of 10001 letters, of at most"):
        read_table(path)
    assert len(option("id", "x" * 5000)) < 300


def test_columns_between_spaces_are_told(tmp_path):
    (tmp_path / "a.txt").write_text("id   amount fraud\n1    2.5    0\n")
    with pytest.warns(UserWarning, match="has one column, 'id   amount fraud'. If spaces"):
        read_table(tmp_path / "a.txt")
