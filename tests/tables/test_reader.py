"""What is written in a format is read again, with little memory; broken files are one sentence."""

import datetime as dt
import gzip
import os
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz.model_cases import damage
from hypothesis import given, settings
from hypothesis import strategies as st

from boreod.tables import TableError, open_table, read_table, write_batches
from tables.reading.broken import BROKEN, LONG, PARQUET

NAMES = ["t.csv", "t.tsv", "t.txt", "t.jsonl", "t.ndjson", "t.parquet", "t.pq", "t.arrow"]
NAMES += ["t.feather", "t.ipc", "t.csv.gz", "t.tsv.gz", "t.txt.gz", "t.jsonl.gz", "t.ndjson.gz"]


def make_table(rows=100):
    random = np.random.default_rng(0)
    numbers = random.normal(size=rows) * 10.0 ** random.integers(-300, 300, rows)
    return pa.table(
        {
            "number": pa.array(numbers, mask=random.random(rows) < 0.2),
            "whole number": random.integers(-(10**15) + 1, 10**15, rows).astype(float),
            "yes, or no": pa.array(random.random(rows) < 0.5, mask=random.random(rows) < 0.2),
            "word": pa.array(random.choice(["a", 'q"', "c,d", "e\nf", "é", None], rows).tolist()),
        }
    )


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(tmp_path, name):
    table = make_table()
    path = tmp_path / name
    assert write_batches(path, table.to_batches(max_chunksize=30)) == 100
    assert read_table(path).equals(table)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 7, 100, 1000])
def test_batches(tmp_path, name, rows):
    table = make_table()
    write_batches(tmp_path / name, table.to_batches())
    with open_table(tmp_path / name, batch_rows=rows) as reader:
        batches = list(reader)
    assert [batch.num_rows for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    assert pa.Table.from_batches(batches).equals(table)


@pytest.mark.parametrize("name", NAMES)
def test_some_columns(tmp_path, name):
    table = make_table()
    write_batches(tmp_path / name, table.to_batches())
    names = ["word", "number"]
    assert read_table(tmp_path / name, columns=names).equals(table.select(names))


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_the_format_can_be_named(tmp_path, name):
    table = make_table()
    write_batches(tmp_path / "data", table.to_batches(), format=name)
    assert read_table(tmp_path / "data", format=name).equals(table)


def test_same_bytes_every_time(tmp_path):
    for name in ("1.csv.gz", "2.csv.gz"):
        write_batches(tmp_path / name, make_table().to_batches())
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()


def test_types_become_plain(tmp_path):
    table = pa.table(
        {
            "category": pa.array(["a", "b", None]).dictionary_encode(),
            "large": pa.array(["a", "b", None], pa.large_string()),
            "decimal": pa.array([1, 2, None], pa.int64()).cast(pa.decimal128(30, 2)),
            "nothing": pa.nulls(3),
            "small": pa.array([1, 2, 3], pa.int8()),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
            "day": pa.array([dt.date(2024, 1, 31)] * 3),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as reader:
        types = [column.type for column in reader.columns]
        assert types == ["text", "text", *["number"] * 4, "date or time"]
        read = reader.read_all()
    assert read.column("category").to_pylist() == ["a", "b", None]
    assert read.column("decimal").to_pylist() == [1.0, 2.0, None]
    assert read.column("nothing").to_pylist() == [None] * 3


def test_categories_of_batches_may_differ(tmp_path):
    batches = [
        pa.RecordBatch.from_pydict({"a": pa.array(words).dictionary_encode()})
        for words in (["x", "y"], ["z", "x"])
    ]
    write_batches(tmp_path / "t.csv", batches)
    assert read_table(tmp_path / "t.csv")["a"].to_pylist() == ["x", "y", "z", "x"]


def test_folder_of_parquet_files(tmp_path):
    table = make_table()
    for number, start in enumerate((0, 30, 60), start=8):  # 10 is before 8 and 9
        pq.write_table(table.slice(start, 30), tmp_path / f"{number}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    expected = pa.concat_tables([table.slice(60, 30), table.slice(0, 60)])
    assert read_table(tmp_path, batch_rows=7).combine_chunks().equals(expected.combine_chunks())


def test_folder_with_whole_numbers_and_fractions(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["z"], "a": [0.5]}), tmp_path / "2.parquet")
    assert read_table(tmp_path).to_pydict() == {"a": [1.0, 2.0, 0.5], "b": ["x", "y", "z"]}


def test_arrow_streams(tmp_path):
    table = make_table()
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert read_table(tmp_path / "t.arrow").equals(table)


def test_files_of_pandas(tmp_path):
    frame = make_table().to_pandas()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    read = read_table(tmp_path / "t.csv")
    assert read["number"].to_pylist() == read_table(tmp_path / "t.parquet")["number"].to_pylist()
    write_batches(tmp_path / "copy.csv", read.to_batches())
    copy = pd.read_csv(tmp_path / "copy.csv")
    pd.testing.assert_series_equal(copy["number"], frame["number"])


def test_json_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": "7", "c": true}\r\n\n{"a": 2.5, "d": 12345678901234567890}\n')
    assert read_table(path).to_pydict() == {
        "a": [1.0, 2.5],
        "b": ["7", None],
        "c": [True, None],
        "d": [None, "12345678901234567890"],
    }
    mixed = '{"a": 1}\n{"a": "x"}\n{"a": NaN}\n'
    path.write_text(mixed)
    assert read_table(path)["a"].to_pylist() == ["1", "x", "NaN"]


def peak_memory(path, rows):
    """Return the most bytes that pyarrow held while a file was read, and its number of rows."""
    pool, before = pa.default_memory_pool(), pa.default_memory_pool().bytes_allocated()
    most = count = 0
    with open_table(path, batch_rows=rows) as reader:
        for batch in reader:
            count += batch.num_rows
            most = max(most, pool.bytes_allocated() - before)
    return most, count


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    random = np.random.default_rng(0)
    values = {f"column {i}": random.normal(size=100_000) for i in range(10)}
    table = pa.table({**values, "word": ["some word"] * 100_000})
    if name.startswith("t.jsonl"):
        table = table.slice(0, 30_000)
    write_batches(tmp_path / name, table.to_batches(max_chunksize=5_000))
    most, count = peak_memory(tmp_path / name, 1_000)
    assert count == table.num_rows
    size = len(gzip.decompress((tmp_path / name).read_bytes())) if "gz" in name else 0
    size = size or (tmp_path / name).stat().st_size
    assert most < max(12_000_000, size / 2)


def test_memory_does_not_grow_with_a_row_group(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 400_000))
    table = pa.table(list(values), names=list("abcde"))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=400_000, use_dictionary=False)
    most, count = peak_memory(tmp_path / "t.parquet", 1_000)
    assert count == 400_000
    assert most < table.nbytes / 2


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=5),
    rows=st.integers(1, 70),
    name=st.sampled_from(["t.csv", "t.jsonl", "t.parquet", "t.arrow"]),
)
def test_how_rows_are_split_does_not_matter(tmp_path_factory, cuts, rows, name):
    table, path = make_table(60), tmp_path_factory.mktemp("split") / name
    ends = [0, *sorted(cuts), 60]
    parts = [table.slice(a, b - a).to_batches() for a, b in pairwise(ends)]
    write_batches(path, [batch for part in parts for batch in part])
    with open_table(path, batch_rows=rows) as reader:
        assert reader.read_all().equals(table)


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
    write(tmp_path, "table.txt.bak", b"a\n1\n")
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
    path = write(tmp_path, "late.csv", LONG + b"7,oops,1\n")
    batches = []
    with open_table(path, batch_rows=1000) as reader, pytest.raises(TableError, match="3 cells"):
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


SUFFIXES = ("csv", "jsonl", "parquet", "arrow", "csv.gz")
PER_FORMAT = 40


@pytest.mark.filterwarnings("ignore:.*bad cell")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_or_one_sentence(suffix, tmp_path):
    path = tmp_path / f"whole.{suffix}"
    write_batches(path, make_table().to_batches())
    content, random = path.read_bytes(), np.random.default_rng(0)
    sentences = []
    for number in range(PER_FORMAT):
        damaged = tmp_path / f"damaged_{number}.{suffix}"
        damaged.write_bytes(damage(content, random))
        try:
            read_table(damaged)
        except TableError as error:
            sentences.append(str(error))
    assert sentences  # some damage cannot be overlooked
    assert not [text for text in sentences if "\n" in text or len(text) > 1000]
