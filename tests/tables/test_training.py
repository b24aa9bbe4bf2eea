"""Training rows of files and frames, and what they become."""

import os
import threading
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from boreod.parallel import Progress, dask_engine
from boreod.tables import TableError, training, write_batches
from boreod.tables.training import (
    Roles,
    name_source,
    prepare_training,
    read_training_rows,
    reading_options,
    warn_of_copies,
)

Wishes = partial(
    training.Wishes,
    check_memory=lambda rows, size: None,
    progress=partial(Progress, total=None, wanted=False),
)
ROLES = Roles(label="fraud", ids="id")


def every_third(codes):
    return np.flatnonzero((codes == 1) | (np.arange(len(codes)) % 3 == 0))


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    fraud = [1 if n < 12 else None if n % 2 else 0 for n in range(240)]
    return pa.table(
        {
            "id": [f"p{n}" for n in range(240)],
            "amount": random.normal(size=240),
            "shop": [f"s{n}" for n in random.integers(0, 40, 240)],
            "fraud": fraud,
        }
    )


def write(table, path):
    if path.suffix:
        write_batches(path, table.to_batches(max_chunksize=50))
        return path
    path.mkdir()
    for number, start in enumerate(range(0, 240, 60)):
        pq.write_table(table.slice(start, 60), path / f"{number}.parquet")
    return path


@pytest.mark.parametrize("sample", [None, every_third, lambda codes: None])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "folder"])
def test_a_file_gives_the_rows_of_its_table(table, tmp_path, name, sample):
    wishes = Wishes(sample=sample)
    expected = read_training_rows(table, None, ROLES, wishes)
    path = write(table, tmp_path / name)
    found = read_training_rows(path, None, ROLES, wishes, {"batch_rows": 70})
    assert_array_equal(found.codes, expected.codes)
    assert_array_equal(found.positions, expected.positions)
    assert found.n_all == expected.n_all == 240
    assert found.classes.tolist() == [0, 1]
    assert found.table["id"].to_pylist() == expected.table["id"].to_pylist()
    assert_array_equal(found.table["amount"].to_numpy(), expected.table["amount"].to_numpy())


@pytest.mark.parametrize("make", [pa.Table.to_pandas, pl.from_arrow, pa.Table.combine_chunks])
def test_frames(table, make):
    wishes = Wishes(sample=every_third)
    found = read_training_rows(make(table), None, ROLES, wishes)
    assert_array_equal(found.positions, read_training_rows(table, None, ROLES, wishes).positions)
    assert found.name(0, ("id",)) == "p0"
    assert found.name(12, ()) == "row 13"
    assert found.name(13, ()) == "row 16"


def test_labels_beside_a_frame(table):
    frame = table.drop_columns(["fraud"]).to_pandas()
    labels = np.where(np.arange(240) < 12, "bad", "good")
    found = read_training_rows(frame, labels, Roles(ids="id"), Wishes(outlier_label="bad"))
    assert found.codes.tolist() == [1] * 12 + [0] * 228
    assert found.classes.tolist() == ["good", "bad"]
    assert_array_equal(found.positions, np.arange(240))


def test_an_array(table):
    found = read_training_rows(np.zeros((5, 2)), None, Roles(), Wishes())
    assert found.table.column_names == ["x0", "x1"]
    assert found.codes.tolist() == [-1] * 5


def test_a_table_in_partitions(table):
    dd = pytest.importorskip("dask.dataframe")
    wishes = Wishes(sample=every_third, collections=dask_engine)
    parts = dd.from_pandas(table.to_pandas(), npartitions=3)
    found = read_training_rows(parts, None, ROLES, wishes)
    expected = read_training_rows(table, None, ROLES, wishes)
    assert_array_equal(found.codes, expected.codes)
    assert found.table["id"].to_pylist() == expected.table["id"].to_pylist()
    with pytest.raises(TableError, match="come in parts"):
        read_training_rows(parts, None, Roles("fraud", "id", since="id:amount"), wishes)


def test_a_pipe_is_read_once(table, tmp_path):
    content = write(table, tmp_path / "a.csv").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    feeder = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    feeder.start()
    wishes = Wishes(sample=every_third)
    found = read_training_rows(tmp_path / "pipe", None, ROLES, wishes, {"format": "csv"})
    feeder.join()
    expected = read_training_rows(table, None, ROLES, wishes)
    assert_array_equal(found.positions, expected.positions)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", [None, every_third])
def test_rows_keep_their_numbers_where_others_are_left_out(tmp_path, sample):
    cells = ["ERR" if n == 3 else f"{n}.5" for n in range(30)]
    rows = "".join(f"{cell},{int(n < 2)}\n" for n, cell in enumerate(cells))
    (tmp_path / "a.csv").write_text("amount,fraud\n" + rows)
    options = {"bad_cells": "drop"}
    found = read_training_rows(
        tmp_path / "a.csv", None, Roles("fraud"), Wishes(sample=sample), options
    )
    assert_array_equal(found.positions + 0.5, found.table["amount"].to_numpy())
    assert found.name(2, ()) == ("row 3" if sample is None else "row 5")


@pytest.mark.parametrize("make", [lambda table, path: table, write])
def test_a_second_file_of_labels(table, tmp_path, make):
    source = make(table.drop_columns(["fraud"]), tmp_path / "a.csv")
    (tmp_path / "review.csv").write_text("id,fraud\np3,Y\np4,N\n")
    roles = Roles("fraud", "id", labels=str(tmp_path / "review.csv"))
    with pytest.warns(UserWarning, match="2 ids of the table have an answer"):
        found = read_training_rows(source, None, roles, Wishes(sample=every_third))
    assert found.codes.tolist() == [-1, 1, *[-1] * (len(found.codes) - 2)]


def test_memory_and_progress(table, tmp_path):
    class Progress:
        def __init__(self, title):
            self.title = title

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def advance(self):
            seen.append(self.title)

    seen, sizes = [], []
    wishes = Wishes(
        sample=every_third,
        check_memory=lambda rows, size: sizes.append((rows, size)),
        progress=Progress,
    )
    path = write(table, tmp_path / "a.csv")
    found = read_training_rows(path, None, ROLES, wishes, {"batch_rows": 100})
    assert seen == ["reading labels"] * 3 + ["reading"] * 3
    assert [rows for rows, _ in sizes][-1] == len(found.codes)

    def refuse(rows, size):
        raise MemoryError(rows)

    with pytest.raises(MemoryError, match="240"):
        read_training_rows(path, None, ROLES, Wishes(check_memory=refuse))


def test_a_table_that_grows_meanwhile(table, tmp_path):
    folder = write(table, tmp_path / "folder")

    def grow(codes):
        pq.write_table(table.slice(0, 20), folder / "9.parquet")
        return np.arange(10)

    with pytest.raises(TableError, match="had 240 rows when its labels were read and has 260 now"):
        read_training_rows(folder, None, ROLES, Wishes(sample=grow))


def test_what_rows_become(table):
    found = read_training_rows(table, None, ROLES, Wishes())
    preparation, matrix, later = prepare_training(found, ROLES, Wishes())
    assert preparation.names_ == ["amount", "shop frequency", "shop outlier odds"]
    assert preparation.ids_ == ("id",)
    assert_array_equal(later, preparation.transform(table))
    assert (matrix[:, 2] != later[:, 2]).any()
    plain = read_training_rows(table, None, Roles("fraud", keep="amount"), Wishes())
    _, matrix, later = prepare_training(plain, Roles("fraud", keep="amount"), Wishes())
    assert later is matrix


@pytest.mark.parametrize(
    ("labels", "assume", "words"),
    [
        ([0, 0, None], True, "marks 0 outliers and 2 inliers.*an outlier and another row"),
        ([1, 1, 1], True, "marks 3 outliers and 0 inliers.*an outlier and another row"),
        ([0, 0, None], False, "one of each is needed.*let Detector"),
    ],
)
def test_labels_of_one_kind(labels, assume, words):
    table = pa.table({"amount": [1.0, 2.0, 3.0], "fraud": labels})
    wishes = Wishes(assume=assume)
    found = read_training_rows(table, None, Roles("fraud"), wishes)
    with pytest.raises(TableError, match=words):
        prepare_training(found, Roles("fraud"), wishes)


@pytest.mark.parametrize(
    ("source", "y", "roles", "wishes", "error", "words"),
    [
        ("a.csv", [1], Roles(), Wishes(), TableError, "name it"),
        ([[1]], [1], Roles("fraud"), Wishes(), TableError, "not both"),
        ([[1]], "fraud", Roles(), Wishes(), TypeError, "`label` must be the name"),
        ([[1]], None, Roles([1]), Wishes(), TypeError, "`y` must be the labels"),
        ([[1]], None, Roles(), Wishes(outlier_label="x"), TableError, "no column of labels"),
        ([[1]], None, Roles(), Wishes(assume=False), TableError, "learns from labels"),
        ("a.csv", None, Roles(inlier_label="x"), Wishes(), TableError, "need the column of labels"),
    ],
)
def test_labels_must_be_clear(source, y, roles, wishes, error, words):
    with pytest.raises(error, match=words):
        read_training_rows(source, y, roles, wishes)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (Roles("frau"), "no column 'frau'.*Did you mean 'fraud'"),
        (Roles("fraud", drop="amonut"), "no column 'amonut'"),
    ],
)
@pytest.mark.parametrize("name", [None, "a.csv"])
def test_columns_must_be_there(table, tmp_path, roles, words, name):
    source = table if name is None else write(table, tmp_path / name)
    with pytest.raises(TableError, match=words):
        read_training_rows(source, None, roles, Wishes())


@pytest.mark.parametrize("sample", [None, every_third])
def test_a_file_without_rows(tmp_path, sample):
    (tmp_path / "a.csv").write_text("amount,fraud\n")
    with pytest.raises(TableError, match="has columns but no rows: 'amount', 'fraud'"):
        read_training_rows(tmp_path / "a.csv", None, Roles("fraud"), Wishes(sample=sample))
    with pytest.raises(TableError, match="no rows to learn from"):
        read_training_rows(pd.DataFrame({"a": []}), None, Roles(), Wishes())


def test_an_id_column_is_no_column_of_labels(tmp_path):
    (tmp_path / "a.csv").write_text("id\n" + "".join(f"p{n}\n" for n in range(10_001)))
    with pytest.raises(TableError, match="more than 10000 different values"):
        read_training_rows(tmp_path / "a.csv", None, Roles("id"), Wishes(sample=every_third))


def test_reading_options():
    found = reading_options(Roles("y", "a,b", drop="c", keep=["d"]), {"decimal": ","})
    assert found["columns"] == ("y", "a,b", "d")
    assert found["types"] == dict.fromkeys(["y", "a,b", "a", "b"], "text")
    assert (found["decimal"], found["drop"], found["computed"]) == (",", ("c",), None)
    assert reading_options(Roles("y", keep="d", since="a"))["columns"] is None


@pytest.mark.parametrize(
    ("roles", "reading", "words"),
    [
        (Roles("y", drop="y"), None, "one role; 'y'"),
        (Roles("y"), {"columns": ["a"]}, "`reading` must not choose the columns"),
        (Roles("y"), {"drop": ["a"]}, "`reading` must not choose the columns"),
    ],
)
def test_roles_must_be_clear(roles, reading, words):
    with pytest.raises(TableError, match=words):
        reading_options(roles, reading)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/a/b.csv", "b.csv"), ("-", "standard input"), ("a.csv\0b.csv\0c.csv", "a.csv and 2 more")],
)
def test_names_of_sources(path, name):
    assert name_source(path) == name


def test_many_copies():
    warn_of_copies(5, 100)
    with pytest.warns(UserWarning, match="6 of 100 rows are copies"):
        warn_of_copies(6, 100)
