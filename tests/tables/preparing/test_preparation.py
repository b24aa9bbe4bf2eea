"""Columns as numbers: roles, levels, missing values, what is refused; and what is stored of it."""

import copy
import datetime as dt
import json
import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payments import ROLES, make_payments

from boreod.tables import Preparation, TableError, open_table, read_table, write_batches


def fit(columns, **roles):
    return Preparation().fit(pa.table(columns), **roles)


def test_numbers_stay_as_they_are():
    values = [0.1, -1e149, 5e-324]
    prepared = fit({"a": values, "b": [1, 2, 3]})
    assert prepared.names_ == ["a", "b"]
    result = prepared.transform(pa.table({"b": [7, 8, 9], "a": values}))
    assert result.tolist() == [[0.1, 7.0], [-1e149, 8.0], [5e-324, 9.0]]
    assert result.dtype == np.float64


def test_missing_numbers_are_filled_and_marked():
    prepared = fit({"a": [1.0, None, 4.0, float("nan"), 9.0], "b": [1.0, 2.0, 3.0, 4.0, 6.0]})
    assert prepared.names_ == ["a", "a is missing", "b"]
    rows = prepared.transform(pa.table({"a": [None, 2.0], "b": [None, 5.0]}))
    assert rows.tolist() == [[4.0, 1.0, 3.0], [2.0, 0.0, 5.0]]


@pytest.mark.parametrize(
    "column", [[True, False, None], [1, 0, None], ["True", "0", ""], [1.0, 0.0, float("nan")]]
)
def test_booleans(column):
    prepared = fit({"a": [True, False, None, True]})
    assert prepared.names_ == ["a", "a is missing"]
    rows = prepared.transform(pa.table({"a": column}))
    assert rows.tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_categories():
    words = ["b"] * 30 + ["a"] * 30 + ["rare"] + [None] * 3
    prepared = fit({"c": words})
    assert prepared.names_ == ["c=a", "c=b", "c is other", "c is missing"]
    rows = prepared.transform(pa.table({"c": ["a", "b", "rare", "new", None, ""]}))
    assert rows.argmax(axis=1).tolist() == [0, 1, 2, 2, 3, 3]
    assert (rows.sum(axis=1) == 1).all()


def test_unseen_levels_without_rare_ones_are_zeros():
    prepared = fit({"c": ["a", "b"] * 10})
    assert prepared.transform(pa.table({"c": ["c", None, "a"]})).tolist() == [
        [0, 0],
        [0, 0],
        [1, 0],
    ]


@pytest.mark.parametrize("max_levels", [3, 20])
def test_at_most_so_many_levels(max_levels):
    words = [f"level {i % max_levels}" for i in range(50 * max_levels)] + ["rare"]
    prepared = Preparation(max_levels).fit(pa.table({"c": words}))
    assert len(prepared.names_) == max_levels + 1
    assert prepared.summary_[0].done == f"{max_levels} levels; 1 rare one pooled"
    more = Preparation(max_levels).fit(pa.table({"c": [*words, *["more"] * 10]}))
    assert more.names_ == ["c frequency"]
    assert more.summary_[0].done == f"frequency of {max_levels + 2} levels"


def test_levels_may_be_called_other_or_missing():
    words = ["other", "missing"] * 20 + ["x"] + [None]
    names = ["c=missing", "c=other", "c is other", "c is missing"]
    assert fit({"c": words}).names_ == names


@pytest.mark.parametrize(
    "column", [[12], [12.0], pa.array([12], pa.int8()), pa.array(["12"]).dictionary_encode()]
)
def test_categories_that_arrive_as_numbers(column):
    prepared = fit({"c": ["12", "x"] * 10})
    assert prepared.transform(pa.table({"c": column})).tolist() == [[1.0, 0.0]]


def test_numbers_that_arrive_as_text():
    prepared = fit({"a": [1.0, 2.0]})
    assert prepared.transform(pa.table({"a": ["3.5", " 4", "NA"]})).tolist() == [[3.5], [4], [1.0]]
    with pytest.warns(UserWarning, match="1 bad cell .'a' 1; row 12: 'x'. counts as missing"):
        found = prepared.transform(pa.table({"a": ["3.5", "x"]}), first_row=11)
    assert found.tolist() == [[3.5], [1.0]]


def test_bad_cells_are_told_once():
    numbers = [str(number) for number in range(30)]
    dates = [f"2024-01-{number:02d}" for number in range(1, 31)]
    table = pa.table({"a": [*numbers, "x"], "d": [*dates, "soon"]})
    with pytest.warns(UserWarning, match="1 bad cell") as caught:
        Preparation().fit(table)
    assert [str(one.message)[:15] for one in caught] == ["1 bad cell ('a'", "1 bad cell ('d'"]


def test_constant_columns_are_left_out_with_a_note():
    prepared = fit({"a": [1, 2], "b": [5, 5], "c": ["x", "x"], "d": pa.nulls(2), "e": [True, True]})
    assert prepared.names_ == ["a"]
    assert prepared.inputs_ == ["a"]
    assert [note.split("'")[1] for note in prepared.notes_] == ["b", "c", "d", "e"]
    assert "all values are 'x'" in prepared.notes_[1]
    assert prepared.transform(pa.table({"a": [1]})).tolist() == [[1.0]]


@pytest.mark.parametrize("value", [5.0, "x", True])
def test_one_value_or_none(value):
    prepared = fit({"a": [value, None, value]})
    assert prepared.names_ == ["a is missing"]
    assert prepared.transform(pa.table({"a": [None, value]})).tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("n", list(range(100, 150))),
        ("row_id", [7 * i % 50 for i in range(50)]),
        ("n", [f"name {i}" for i in range(50)]),
        ("n", [f"{i * 7919 % 997:x}-{i}" for i in range(50)]),
    ],
)
def test_ids_of_rows_are_left_out(name, column):
    prepared = fit({name: column, "b": [0.5 * i for i in range(50)]})
    assert prepared.names_ == ["b"]
    (note,) = prepared.notes_
    assert f"Column '{name}' is left out" in note
    assert f"--id {name}" in note
    again = fit({name: column, "b": [0.5 * i for i in range(50)]}, ids=name)
    assert (again.names_, again.notes_) == (["b"], [])
    if not isinstance(column[0], str):
        assert fit({name: column, "b": [0.5] * 50}, keep=[name]).names_ == [name]


def test_whole_numbers_that_are_all_different_are_noted():
    prepared = fit({"n": [7 * i % 50 for i in range(50)]})
    assert prepared.names_ == ["n"]
    assert "'n' looks like an id" in prepared.notes_[0]


DAY = dt.date(2024, 1, 31)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["1,234", "5,678"], ["--decimal ,", "--decimal ."]),
        ([[1], [2]], ["nested"]),
        ([b"1", b"2"], ["binary"]),
    ],
)
def test_refused_columns(column, words):
    with pytest.raises(TableError) as caught:
        fit({"x y": column})
    for word in ["'x y'", *words]:
        assert word in str(caught.value)
    fit({"x y": column, "a": np.arange(len(column)) / 2}, drop="x y")
    fit({"x y": column, "a": np.arange(len(column)) / 2}, ids=["x y"])
    fit({"x y": column, "a": np.arange(len(column)) / 2}, keep=["a"])


def test_all_refused_columns_are_named_at_once():
    with pytest.raises(TableError, match=r"'a' holds.*'b' holds"):
        fit({"a": ["1,234", "2"], "n": [1, 2], "b": ["5,678", "3"]})


def test_infinite_numbers_are_missing():
    with pytest.warns(UserWarning, match="1 bad cell .'a' 1; row 2: inf. counts as missing"):
        prepared = fit({"a": [1.0, math.inf, 3.0, 5.0]})
    assert prepared.names_ == ["a", "a is missing"]


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"label": "frued"}, ["`label` (--label)", "'frued'", "Did you mean 'fraud'?"]),
        ({"ids": ["ID"]}, ["`ids` (--id)", "'ID'", "Did you mean 'id'?"]),
        ({"drop": "amounts"}, ["`drop` (--drop)", "'amount'"]),
        ({"keep": ["houre"]}, ["`keep`", "'hour'"]),
        ({"keep": []}, ["at least one"]),
        ({"label": "fraud", "keep": ["fraud"]}, ["'fraud'", "`label` and `keep`"]),
        ({"ids": ["id"], "drop": ["id"]}, ["`ids` and `drop`"]),
        ({"drop": make_payments(3).column_names}, ["No column is left"]),
        ({"keep": ["currency"]}, ["No column is left", "'EUR'"]),
    ],
)
def test_wrong_roles(roles, words):
    with pytest.raises(TableError) as caught:
        Preparation().fit(make_payments(), **roles)
    for word in words:
        assert word in str(caught.value)


def test_roles_are_kept():
    prepared = Preparation().fit(make_payments(), **ROLES, drop="shop")
    assert (prepared.label_, prepared.ids_) == ("fraud", ("id",))
    assert prepared.inputs_ == ["amount", "hour", "abroad", "country", "voucher"]
    assert prepared.types_["id"] == "text"
    done = {row.column: row.done for row in prepared.summary_}
    assert (done["fraud"], done["id"], done["shop"]) == ("label", "id", "left out")
    assert done["currency"] == "left out: all values are 'EUR'"
    assert sum(row.outputs for row in prepared.summary_) == len(prepared.names_)
    lines = prepared.describe().splitlines()
    assert len(lines) == 1 + 9
    assert len({len(line) for line in lines}) == 1


def test_bad_tables():
    with pytest.raises(TableError, match="not fitted"):
        Preparation().transform(make_payments())
    with pytest.raises(TableError, match="no rows"):
        fit({"a": pa.array([], pa.float64())})
    twice = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    with pytest.raises(TableError, match="distinct names"):
        Preparation().fit(twice)
    with pytest.raises(TableError, match="distinct names"):
        fit({"a": [1, 2]}).transform(twice)
    with pytest.raises(TableError, match="distinct names"):
        fit({"a": [1.0, None, 2.0], "a is missing": [1, 2, 3]})
    with pytest.raises(ValueError, match="max_levels"):
        Preparation(0).fit(make_payments())


def test_columns_at_scoring():
    prepared = Preparation().fit(make_payments(), **ROLES)
    table = make_payments(50, seed=1)
    expected = prepared.transform(table)
    assert expected.shape == (50, len(prepared.names_))
    shuffled = table.select(sorted(table.column_names)).append_column("extra", [[[1]] * 50])
    assert (prepared.transform(shuffled) == expected).all()
    assert (prepared.transform(table.to_batches()[0]) == expected).all()
    assert prepared.transform(table.slice(0, 0)).shape == (0, len(prepared.names_))
    with pytest.raises(TableError, match="no column 'amount', 'hour', which the model"):
        prepared.transform(table.drop_columns(["amount", "hour"]))
    wrong = table.drop_columns("amount").append_column("amount", [[DAY] * 50])
    with pytest.raises(TableError, match="'amount' must hold numbers; it holds dates"):
        prepared.transform(wrong)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.jsonl", "t.parquet", "t.arrow"])
def test_all_formats_give_the_same_matrix(tmp_path, name):
    table = make_payments()
    write_batches(tmp_path / name, table.to_batches())
    expected = Preparation().fit(table, **ROLES)
    prepared = Preparation().fit(read_table(tmp_path / name), **ROLES)
    assert prepared.to_dict() == expected.to_dict()
    with open_table(tmp_path / name, batch_rows=33, types=prepared.types_) as reader:
        result = np.vstack([prepared.transform(batch) for batch in reader])
    assert result.tobytes() == expected.transform(table).tobytes()
    assert np.isfinite(result).all()


def test_a_short_file_is_read_with_the_types_of_training(tmp_path):
    prepared = fit({"code": ["12", "x"] * 10, "id": ["007", "8"] * 10}, ids="id")
    (tmp_path / "one.csv").write_text("id,code\n0012,12\n")
    table = read_table(tmp_path / "one.csv", types=prepared.types_)
    assert table.to_pydict() == {"id": ["0012"], "code": ["12"]}
    assert prepared.transform(table).tolist() == [[1.0, 0.0]]


PAYMENTS = make_payments(60, seed=2)
PREPARED = Preparation().fit(make_payments(), **ROLES)
MATRIX = PREPARED.transform(PAYMENTS)


@settings(max_examples=60)
@given(cuts=st.lists(st.integers(0, 60), max_size=8))
def test_how_rows_are_split_does_not_matter(cuts):
    ends = [0, *sorted(cuts), 60]
    parts = [
        PREPARED.transform(PAYMENTS.slice(start, end - start)) for start, end in pairwise(ends)
    ]
    assert np.vstack(parts).tobytes() == MATRIX.tobytes()
    batch = PAYMENTS.combine_chunks().to_batches()[0]  # whose slices begin within the same memory
    slices = [PREPARED.transform(batch.slice(start, end - start)) for start, end in pairwise(ends)]
    assert np.vstack(slices).tobytes() == MATRIX.tobytes()


def test_one_row_equals_the_row_in_a_batch():
    for row in range(60):
        assert PREPARED.transform(PAYMENTS.slice(row, 1)).tobytes() == MATRIX[row].tobytes()


VALUE = st.one_of(st.none(), st.floats(allow_infinity=False))
WORD = st.one_of(st.none(), st.sampled_from(["a", "b", "NA", " ", "", "é"]))


@pytest.mark.filterwarnings("ignore:.*too large to compute with")
@settings(max_examples=60)
@given(st.lists(st.tuples(VALUE, WORD), min_size=4, max_size=40))
def test_any_table_gives_finite_numbers_or_one_sentence(rows):
    numbers = pa.array([row[0] for row in rows], pa.float64())
    table = pa.table({"n": numbers, "w": pa.array([row[1] for row in rows], pa.string())})
    try:
        prepared = Preparation().fit(table)
    except TableError:
        return
    result = prepared.transform(table)
    assert np.isfinite(result).all()
    assert result.shape == (len(rows), len(prepared.names_))
    assert (result.max(axis=0) > result.min(axis=0)).all() or len(prepared.names_) > 1


FITTED = Preparation(5).fit(make_payments(), **ROLES)
STORED = FITTED.to_dict()


def test_json_and_back():
    again = Preparation.from_dict(json.loads(json.dumps(STORED, allow_nan=False)))
    assert again.to_dict() == STORED
    assert again.names_ == FITTED.names_
    assert again.types_ == FITTED.types_
    assert again.describe() == FITTED.describe()
    table = make_payments(80, seed=3)
    assert again.transform(table).tobytes() == FITTED.transform(table).tobytes()


def places(data, path=()):
    """Give the places of all values within plain data."""
    yield path
    inner = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else inner:
        yield from places(value, (*path, key))


def changed(path, value):
    data = copy.deepcopy(STORED)
    if not path:
        return value
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=300)
@given(path=st.sampled_from(list(places(STORED))), value=JUNK)
def test_junk_is_refused_or_harmless(path, value):
    data = changed(path, value)
    try:
        read = Preparation.from_dict(data)
    except TableError:
        return
    json.dumps(read.to_dict(), allow_nan=False)
    assert len(set(read.names_)) == len(read.names_)


NUMBER, CATEGORY = (
    next(n for n, row in enumerate(STORED["steps"]) if row["becomes"] == becomes)
    for becomes in ("number", "category")
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 1),
        (("version",), True),
        (("max_levels",), 0),
        (("steps",), []),
        (("steps", 0), None),
        (("steps", 0, "kind"), "eval"),
        (("steps", 0, "name"), 5),
        (("steps", 0, "name"), "x" * 20_000),
        (("steps", 0, "name"), STORED["steps"][1]["name"]),
        (("steps", 0, "extra"), 1),
        (("steps", NUMBER, "middle"), math.nan),
        (("steps", NUMBER, "middle"), math.inf),
        (("steps", NUMBER, "middle"), "1"),
        (("steps", NUMBER, "middle"), True),
        (("steps", NUMBER, "middle"), 10**400),
        (("steps", NUMBER, "marked"), 1),
        (("steps", CATEGORY, "becomes"), "number"),
        (("steps", CATEGORY, "becomes"), "eval"),
        (("steps", CATEGORY, "levels"), ["a", "a"]),
        (("steps", CATEGORY, "levels"), "abc"),
        (("steps", CATEGORY, "levels"), [f"{n}" for n in range(100_001)]),
        (("steps", CATEGORY, "kind"), "boolean"),
        (("steps", CATEGORY, "middle"), 1.0),
        (("steps", NUMBER, "kind"), "text"),
        (("steps", NUMBER, "levels"), ["a"]),
        (("steps", NUMBER, "pooled"), True),
        (("summary",), [["a", "b", "c"]]),
        (("summary",), [["a", "b", "c", -1]]),
        (("notes",), [1]),
        (("ids",), ["a", "a"]),
        (("label",), ["fraud"]),
        (("more",), 1),
        ((), []),
        ((), None),
    ],
)
def test_damage_is_named(path, value):
    with pytest.raises(TableError, match=r"damaged|distinct"):
        Preparation.from_dict(changed(path, value))


@pytest.mark.parametrize("key", list(STORED))
def test_nothing_may_be_missing(key):
    data = {name: value for name, value in STORED.items() if name != key}
    with pytest.raises(TableError, match="damaged"):
        Preparation.from_dict(data)


def test_whole_numbers_that_float64_does_not_know_are_rounded_where_numbers_were_learned():
    """As they are in text; in training they would be codes."""
    prepared = Preparation().fit(pa.table({"a": [1, 5, 3]}))
    later = pa.table({"a": pa.array([2, 2**60 + 1], pa.int64())})
    assert prepared.transform(later).tolist() == [[2.0], [2.0**60]]
