"""Labels as people write them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from boreod.tables import Preparation, TableError, read_label_column, read_table, write_batches
from boreod.validation import read_labels


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, None, 0],
        [1.0, 0.0, float("nan"), 0.0],
        [1, 0, -1, 0],
        [True, False, None, False],
        ["1", "0", "", "0"],
        ["1.0", "0.00", "-1", "0"],
        ["yes", "NO", "  ", "No"],
        ["TRUE", "false", "NA", "False"],
        ["yes", "0", None, "false"],
        [" 1", "0 ", "null", "0"],
    ],
)
@pytest.mark.parametrize(
    "container",
    [list, pa.array, lambda v: pa.chunked_array([v[:1], v[1:]]), pd.Series, np.array, pl.Series],
)
def test_labels_with_a_plain_meaning(values, container):
    codes = read_label_column(container(values))
    assert codes.tolist() == [1, 0, -1, 0]
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "outlier"),
    [
        (["fraud", "ok", None, "fine"], "fraud"),
        ([" fraud", "ok", "", "ok "], "fraud "),
        ([2, 1, None, 3], 2),
        ([2, 1, -1, 3], "2"),
        (["2.0", "1", "NA", "3"], 2),
        ([False, True, None, True], "false"),
        ([0, 1, None, 1], False),
        ([-1, 1, None, 1], -1),
        (["x", 1, None, 2.5], "x"),
    ],
)
def test_a_value_for_outliers(values, outlier):
    assert read_label_column(values, outlier).tolist() == [1, 0, -1, 0]


def test_categories():
    words = pa.array(["b", "a", None, "a"]).dictionary_encode()
    assert read_label_column(words, "b").tolist() == [1, 0, -1, 0]
    assert read_label_column(pd.Series(["b", "a", None, "a"], dtype="category"), "b").sum() == 0


def test_one_and_minus_one_alone_are_refused():
    with pytest.raises(TableError, match=r"1 and -1 but no 0.*--outlier-label=1"):
        read_label_column([1, -1, None, -1])
    assert read_label_column([1, -1, None, -1], assume=True).tolist() == [1, -1, -1, -1]
    with pytest.raises(TableError, match=r"--outlier-label=fraud, if the rarest"):
        read_label_column(["legit", "legit", "fraud"])


@pytest.mark.parametrize(
    ("values", "outlier", "words"),
    [
        (["ok", "fraud"], None, ["'ok', 'fraud'", "--outlier-label=ok", "'class'"]),
        ([0, 1, 2], None, ["'0', '1', '2'", "--outlier-label=2"]),
        ([0.5, 1], None, ["'0.5'"]),
        (["ok", "Fraud"], "fraud", ["'fraud'", "'Fraud'"]),
        ([None, None], "fraud", ["nothing"]),
        ([0, 1], "", ["must not be empty"]),
        ([[1], [2]], None, ["nested"]),
        (pa.array([0], pa.timestamp("s")), None, ["dates"]),
        (5, None, ["one column", "int"]),
        ([f"word {n}" for n in range(99)], None, ["94 more"]),
    ],
)
def test_unclear_labels(values, outlier, words):
    with pytest.raises(TableError) as caught:
        read_label_column(values, outlier, name="class")
    for word in words:
        assert word in str(caught.value)


def test_no_labels_at_all():
    assert read_label_column([None, ""]).tolist() == [-1, -1]
    assert read_label_column(pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize(
    ("values", "outlier"),
    [
        ([1, 0, -1, 0], None),
        ([True, False, False], None),
        (["fraud", "ok", None, ""], "fraud"),
        ([2, 1, -1, 3], 2),
        ([-1, 1, 0, 1], -1),
        ([2.0, 1.0, -1.0], 2.0),
        ([False, True, True], False),
    ],
)
def test_arrays_and_columns_are_read_alike(values, outlier):
    codes, _ = read_labels(np.array(values), len(values), outlier)
    assert read_label_column(values, outlier).tolist() == codes.tolist()


@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()])
def test_small_floats_are_read_without_a_warning(type_, tmp_path):
    values = pa.array(np.array([0.5, -60_000.0, np.nan], type_.to_pandas_dtype()))
    write_batches(tmp_path / "t.parquet", pa.table({"x": values}).to_batches())
    with warnings.catch_warnings(action="error"):
        table = read_table(tmp_path / "t.parquet", computed=["x"])
    assert table["x"].to_pylist()[:2] == [0.5, -60_000.0]


WHOLE = 10**15 * np.random.default_rng(0).integers(10, 90, 40)


@pytest.mark.parametrize(
    ("column", "is_rounded"),
    [
        (pa.array([int(value) for value in WHOLE], pa.decimal128(25, 0)), True),
        (pa.array([int(value) for value in WHOLE // 1000], pa.decimal128(25, 0)), False),
        (pa.array(WHOLE.astype(float)), True),
        (pa.array(np.append(WHOLE[1:], 0.5)), False),
        (pa.array(WHOLE * 1e14), False),
    ],
)
def test_whole_numbers_that_are_rounded_are_named(column, is_rounded):
    preparation = Preparation().fit(pa.table({"volume": column, "x": np.arange(40) % 7 / 7}))
    named = [note for note in preparation.notes_ if "'volume' holds whole numbers of 16" in note]
    assert len(named) == is_rounded
    assert preparation.names_[0] == "volume"
