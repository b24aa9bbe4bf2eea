"""Labels of a second file, and words that are no labels."""

import pyarrow as pa
import pytest

from boreod.tables import TableError, read_label_column, read_table
from boreod.tables.preparing.labels import LabelSource


@pytest.fixture
def files(tmp_path):
    (tmp_path / "rows.csv").write_text("id,amount,fraud\n1,5,N\n2,6,\n3,7,Y\n4,8,?\n")
    (tmp_path / "review.csv").write_text("fraud;id\nY;2\nN;2\nN;3\n;1\nY;99\nN;3\n")
    return tmp_path / "rows.csv", str(tmp_path / "review.csv")


def test_answers_by_id(files):
    rows, review = files
    source = LabelSource("fraud", ("id",), review)
    words = "3 ids of the table|2 ids of the table have an answer"
    with pytest.warns(UserWarning, match=words) as caught:
        table = read_table(rows, labels=source)
    assert table["fraud"].to_pylist() == ["N", "N", "N", "?"]
    told = str(caught[0].message)
    assert "1 label of the table changed" in told
    assert "1 id with several answers, the last of which counts (2: Y, N)" in told
    assert "1 id not in the table" in told


def test_columns_that_nobody_asked_for_are_not_given(files):
    rows, review = files
    source = LabelSource("fraud", ("id",), review)
    with pytest.warns(UserWarning, match="have an answer"):
        assert read_table(rows, labels=source, columns=["fraud"]).column_names == ["fraud"]
    rows.write_text("id,amount\n1,5\n2,6\n")
    with pytest.warns(UserWarning, match="1 id of the table"):
        table = read_table(rows, labels=source, columns=["amount", "fraud"])
    assert table.to_pydict() == {"amount": [5.0, 6.0], "fraud": [None, "N"]}


def test_ids_are_the_same_whole_numbers_with_a_point_or_without(files):
    files[0].with_name("review.csv").write_text("id,fraud\n1.0,Y\n2.00,N\n03,Y\n")
    with pytest.warns(UserWarning, match="2 ids of the table have an answer.*1 id not in"):
        table = read_table(files[0], labels=LabelSource("fraud", ("id",), files[1]))
    assert table["fraud"].to_pylist() == ["Y", "N", "Y", "?"]


def test_other_words_are_no_labels(files):
    source = LabelSource("fraud", outlier_label="Y", inlier_label="N")
    assert read_table(files[0], labels=source)["fraud"].to_pylist() == ["N", None, "Y", None]


@pytest.mark.parametrize("outlier", ["1", "1.0", "True"])
def test_numbers_are_the_same_label_however_they_are_written(tmp_path, outlier):
    (tmp_path / "a.csv").write_text("id,fraud\na,1.0\nb,0.0\nc,-1\nd,\n")
    (tmp_path / "b.csv").write_text("id,fraud\na,1\na,true\n")
    source = LabelSource("fraud", ("id",), str(tmp_path / "b.csv"), outlier, "0")
    with pytest.warns(UserWarning, match="have an answer in [^;]*b.csv.$"):
        words = read_table(tmp_path / "a.csv", labels=source)["fraud"]
    assert words.to_pylist() == ["true", "0", None, None]
    assert read_label_column(words, outlier).tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answers": "a.csv"}, "--id"),
        ({"inlier_label": "N"}, "--outlier-label"),
    ],
)
def test_what_is_needed(given, words):
    with pytest.raises(TableError, match=words):
        LabelSource("fraud", **given)


def test_answers_without_ids(files):
    rows, review = files
    with pytest.raises(TableError, match="no column 'card'"):
        read_table(rows, labels=LabelSource("fraud", ("card",), review))


@pytest.mark.parametrize(
    ("values", "outlier", "codes"),
    [
        (["Y", "N", "?", "", "y"], None, [1, 0, -1, -1, 1]),
        (["t", "f", "unknown"], None, [1, 0, -1]),
        (["fraud", "ok", "?", "pending"], "fraud", [1, 0, -1, -1]),
        (["?", "ok"], "?", [1, 0]),
        ([1.0, float("nan"), 0.0], None, [1, -1, 0]),
        ([True, None, False], None, [1, -1, 0]),
    ],
)
def test_words_for_nobody_knows(values, outlier, codes):
    assert read_label_column(pa.array(values), outlier).tolist() == codes


def test_the_rarest_word_is_a_label():
    with pytest.raises(TableError, match=r"'bad'.*--outlier-label=bad.*--inlier-label"):
        read_label_column(["ok", "ok", "bad", "?"])
