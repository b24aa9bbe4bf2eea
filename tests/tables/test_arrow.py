"""Data frames and arrays take the same way as files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from payments import ROLES, make_payments

from boreod.tables import Preparation, TableError, as_arrow, like_input

TABLE = make_payments(100)


@pytest.mark.parametrize(
    "frame",
    [
        TABLE,
        TABLE.combine_chunks().to_batches()[0],
        TABLE.to_pandas(),
        TABLE.to_pandas(types_mapper=pd.ArrowDtype),
        TABLE.to_pandas(strings_to_categorical=True),
        pl.from_arrow(TABLE),
        pl.from_arrow(TABLE).with_columns(pl.col("country").cast(pl.Categorical)),
    ],
    ids=[
        "table",
        "batch",
        "pandas",
        "pandas-arrow",
        "pandas-category",
        "polars",
        "polars-category",
    ],
)
def test_same_numbers_and_same_kind(frame):
    table = as_arrow(frame)
    prepared = Preparation().fit(TABLE, **ROLES)
    assert prepared.transform(table).tobytes() == prepared.transform(TABLE).tobytes()
    assert table.column_names == TABLE.column_names
    back = like_input(table, frame)
    assert type(back) is type(frame)
    assert len(back) == len(frame)
    assert prepared.transform(as_arrow(back)).tobytes() == prepared.transform(TABLE).tobytes()


def test_pandas_index():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    back = like_input(as_arrow(frame), frame)
    pd.testing.assert_frame_equal(back, frame)
    assert like_input(as_arrow(frame.iloc[:1]), frame).index.tolist() == [0]


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(dtype, order):
    rows = np.asarray(np.arange(12).reshape(4, 3), dtype, order=order)[:, ::2]
    table = as_arrow(rows)
    assert table.column_names == ["c0", "c1"]
    back = like_input(table, rows)
    assert (back == rows).all()
    assert back.dtype == np.float64


def test_arrays_of_words_and_gaps():
    rows = np.array([[1.5, "x"], [None, "y"]], dtype=object)
    table = as_arrow(rows)
    assert table.to_pydict() == {"c0": [1.5, None], "c1": ["x", "y"]}
    assert like_input(table, rows)[:, 1].tolist() == ["x", "y"]
    assert as_arrow(np.array([["a", "b"]])).to_pydict() == {"c0": ["a"], "c1": ["b"]}
    assert as_arrow(np.array([[np.nan, 1.0]]))["c0"].null_count == 1


def test_columns_that_mix_numbers_and_words_are_text():
    cells = [1, "x", 2.5, None, float("nan"), pd.NA, True]
    expected = ["1", "x", "2.5", None, None, None, "True"]
    assert as_arrow(pd.DataFrame({"a": cells}))["a"].to_pylist() == expected
    rows = np.array([[cell] for cell in cells], dtype=object)
    assert as_arrow(rows)["c0"].to_pylist() == expected


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.LazyFrame({"a": [1]}), "collect"),
        (np.zeros(3), "rows and columns"),
        (np.zeros((2, 2), complex), "complex"),
        (np.zeros((2, 2), "datetime64[s]"), "datetime64"),
        (np.array([[1], [{"a": 1}]], dtype=object), "one kind"),
        ([[1, 2]], "got list"),
        (pd.Series([1]), "got Series"),
        (None, "got NoneType"),
        (pd.DataFrame({"a": [1, {"a": 1}]}), "one kind"),
        (pd.DataFrame({"a": [[1], [2]]}), "nested"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"distinct|name of its own"),
    ],
)
def test_refused_frames(frame, words):
    with pytest.raises(TableError, match=words):
        as_arrow(frame)
