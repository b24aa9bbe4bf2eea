"""Broken tables: one clear sentence each, and no file is left by a copy of them."""

import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boreod.tables import TableError, open_table, read_table, write_batches
from tables.broken import BROKEN, LONG, PARQUET


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    BROKEN,
    ids=[f"{name}-{' '.join(words)[:30]}" for name, _, _, words in BROKEN],
)
def test_one_clear_sentence(tmp_path, name, content, options, words):
    path = write(tmp_path, name, content)
    with pytest.raises(TableError) as caught, open_table(path, **options) as reader:
        write_batches(tmp_path / "copy.csv", reader, inputs=[path])
    sentence = str(caught.value)
    for word in words:
        assert word in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400 + len(str(path)) * 2
    assert re.match(r"[A-Z`/]", sentence)
    assert sentence[-1] in ".?"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.arrow", "none", "none.jsonl"])
def test_missing_file(tmp_path, name):
    with pytest.raises(TableError, match="There is no file"):
        open_table(tmp_path / name)


def test_folder_without_tables(tmp_path):
    write(tmp_path, "_part.parquet", PARQUET)
    write(tmp_path, "table.csv", b"a\n1\n")
    with pytest.raises(TableError, match="holds no Parquet files"):
        open_table(tmp_path)
    with pytest.raises(TableError, match="only Parquet files"):
        open_table(tmp_path, format="csv")


def test_folder_of_different_tables(tmp_path):
    write(tmp_path, "1.parquet", PARQUET)
    pq.write_table(pa.table({"a": [1.0], "c": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(TableError, match=r"2\.parquet differs from .*1\.parquet in 'b', 'c'"):
        open_table(tmp_path)


def test_folder_of_different_types(tmp_path):
    write(tmp_path, "1.parquet", PARQUET)
    pq.write_table(pa.table({"a": ["word"], "b": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(TableError, match="same types"):
        open_table(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs an ordinary user")
@pytest.mark.parametrize("name", ["secret.csv", "secret.parquet", "secret.arrow"])
def test_unreadable_file(tmp_path, name):
    path = write(tmp_path, name, b"a\n1\n")
    path.chmod(0)
    with pytest.raises(TableError, match="may not be read"):
        open_table(path)


def test_rows_before_the_broken_one_come_out(tmp_path):
    path = write(tmp_path, "late.csv", LONG + b"7,oops\n")
    batches = []
    with open_table(path, batch_rows=1000) as reader, pytest.raises(TableError, match="oops"):
        batches.extend(reader)
    assert len(batches) > 100


def test_the_broken_column_is_read_as_text_on_demand(tmp_path):
    path = write(tmp_path, "late.csv", LONG + b"7,oops\n")
    table = read_table(path, types={"b": "text", "no such column": "number"})
    assert table["b"][-1].as_py() == "oops"
    assert table["a"][-1].as_py() == 7.0


def test_nested_columns_can_be_left_aside(tmp_path):
    path = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"a": [1, 2], "tags": [["x"], []]}), path)
    assert read_table(path, columns=["a"]).to_pydict() == {"a": [1, 2]}
