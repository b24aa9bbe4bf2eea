"""Rows and labels: what is read, what is refused, and with which sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from boreod import OutlierRepresentation
from boreod.validation import all_or_nothing, is_number, read_labels, read_rows, read_seed

GOOD = np.random.default_rng(0).normal(size=(150, 3))


def spoiled(value):
    table = GOOD.copy()
    table[4, 1] = value
    return table


TABLES = {
    "NaN": (spoiled(np.nan), r"NaN in 1 of 150 rows \(first: row 4, column 1\)"),
    "infinity": (spoiled(-np.inf), "infinity in 1 of 150 rows"),
    "huge": (spoiled(1e200), "Rescale the column"),
    "strings": (GOOD.astype(str).astype(object) + "x", "numbers only; column 0 holds"),
    "a word": (pd.DataFrame(GOOD).assign(city="Oslo"), "column 'city' holds 'Oslo'"),
    "dates": (
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9)}),
        "column 'day' holds",
    ),
    "missing object": (np.array([[1, None], [2, 3]], dtype=object), "NaN|None"),
    "array of dates": (np.array([["2020-01-01", "NaT"]] * 9, dtype="M8[D]"), "dates or times"),
    "masked": (np.ma.masked_array(GOOD, mask=GOOD > 1), "masked array with missing values"),
    "tiny": (GOOD * 1e-160, "squared distances would vanish"),
    "series": (pd.DataFrame(GOOD)[0], "(?i)1d|2d|dim"),
    "no frame": (pd.DataFrame(), "0 feature|0 sample|at least one"),
    "repeated names": (pd.DataFrame(GOOD, columns=list("aba")), "'a' is there more than once"),
    "too long": (np.array([[10**400, 1]] * 9, dtype=object), "column 0 .* beyond all float64"),
    "generator": ((row for row in GOOD), "got a generator"),
    "dictionary": ({"a": [1, 2]}, "got a dict"),
    "complex": (GOOD + 1j, "Complex data not supported"),
    "sparse": (sparse.csr_matrix(GOOD), "(?i)sparse"),
    "empty": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((5, 0)), "0 feature"),
    "one row": (GOOD[:1], "1 sample"),
    "one dimension": (GOOD[0], "2D array"),
    "three dimensions": (GOOD[None], "(?i)dim"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_fit_refuses(kind):
    table, message = TABLES[kind]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        OutlierRepresentation(["lof"], [1]).fit(table)
    assert "\n" not in str(caught.value).strip() or kind == "one dimension"


@pytest.mark.parametrize("kind", ["NaN", "infinity", "huge", "strings", "complex", "sparse"])
def test_transform_refuses(kind):
    table, message = TABLES[kind]
    model = OutlierRepresentation(["lof"], [5]).fit(GOOD)
    with pytest.raises((ValueError, TypeError), match=message):
        model.transform(table)


def test_transform_of_no_rows():
    with pytest.raises(ValueError, match="0 sample"):
        OutlierRepresentation(["lof"], [5]).fit(GOOD).transform(np.empty((0, 3)))


def test_wrong_columns():
    model = OutlierRepresentation(["lof"], [5]).fit(GOOD)
    with pytest.raises(ValueError, match="2 features, but OutlierRepresentation is expecting 3"):
        model.transform(GOOD[:, :2])
    named = OutlierRepresentation(["lof"], [5]).fit(pd.DataFrame(GOOD, columns=list("abc")))
    with pytest.raises(ValueError, match="feature names should match"):
        named.transform(pd.DataFrame(GOOD, columns=list("abd")))
    with pytest.warns(UserWarning, match="valid feature names"):
        named.transform(GOOD)


class Plain:
    n_features_in_ = 3


def test_plain_rows_are_taken_without_a_copy_in_prediction_only():
    assert read_rows(Plain(), GOOD, fitting=False) is GOOD
    model = OutlierRepresentation(["lof"], [5])
    copied = read_rows(model, GOOD, fitting=True)
    assert not np.shares_memory(copied, GOOD)
    assert np.array_equal(copied, GOOD)
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("rows", [GOOD[::2], GOOD.T[:, :3], GOOD.astype(np.float32)])
def test_rows_of_every_layout_become_contiguous_float64(rows):
    found = read_rows(OutlierRepresentation(), rows, fitting=True)
    assert found.flags.c_contiguous
    assert found.dtype == np.float64
    assert np.array_equal(found, rows)


def test_rows_that_cannot_be_written_to_are_copied():
    fixed = GOOD.copy()
    fixed.flags.writeable = False
    found = read_rows(Plain(), fixed, fitting=False)
    assert found.flags.writeable
    assert np.array_equal(found, fixed)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, True), (1.5, True), (np.int8(1), True), (True, False), (np.bool_(1), False), ("1", False)],
)
def test_is_number(value, expected):
    assert is_number(value) is expected


def test_all_or_nothing():
    model = OutlierRepresentation(["lof"], [5])

    def change_and_stop():
        with all_or_nothing(model):
            model.fitted_columns_, model.ks = "half", [7]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change_and_stop()
    assert model.ks == [5]
    assert not hasattr(model, "fitted_columns_")


def test_seeds():
    assert read_seed(3).randint(1000) == np.random.RandomState(3).randint(1000)
    given = np.random.RandomState(0)
    assert read_seed(given) is given
    with pytest.raises(ValueError, match=r"from 0 to 2\*\*32 - 1 or a .*; got 'now'"):
        read_seed("now")


@pytest.mark.parametrize(
    ("y", "outlier_label", "codes", "classes"),
    [
        ([0, 1, -1], None, [0, 1, -1], [0, 1]),
        ([False, True, False], None, [0, 1, 0], [0, 1]),
        (pd.Series([False, True, None]), None, [0, 1, -1], [False, True]),
        (np.array([0.0, 1.0, -1.0]), None, [0, 1, -1], [0, 1]),
        (["ok", "fraud", ""], "fraud", [0, 1, -1], ["ok", "fraud"]),
        (["ok", "fraud", "refund", None], "fraud", [0, 1, 0, -1], ["not fraud", "fraud"]),
        ([3, 7, -1, 3], 7, [0, 1, -1, 0], [3, 7]),
        (pd.Series(["a", None, "b"]), "b", [0, -1, 1], ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), "b", [0, 1], ["a", "b"]),
        (np.array([0, 1, -1], dtype=object), 1, [0, 1, -1], [0, 1]),
        (np.array([0, 1, None, ""], dtype=object), None, [0, 1, -1, -1], [0, 1]),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "b", [0, -1, 1], ["a", "b"]),
        ([3, 7, 5], 7, [0, 1, 0], [3, 7]),
    ],
)
def test_labels(y, outlier_label, codes, classes):
    found, labels = read_labels(y, len(y), outlier_label)
    assert found.tolist() == codes
    assert labels.tolist() == classes
    booleans = all(isinstance(value, bool) for value in y if value is not None)
    assert (labels.dtype == bool) == booleans  # as scikit-learn's classifiers have it


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        (["ok", "fraud", "ok"], [0, 1, 0], ["ok", "fraud"]),  # the rarer
        ([2, 1, 2, 1], [1, 0, 1, 0], [1, 2]),  # the larger
        ([-1, 1, 1], [0, 1, 1], [-1, 1]),
    ],
)
def test_two_labels_without_outlier_label_are_guessed_with_a_warning(y, codes, classes):
    with pytest.warns(UserWarning, match="is taken for the outlier|-1 is read as inlier"):
        found, labels = read_labels(y, len(y), None)
    assert found.tolist() == codes
    assert labels.tolist() == classes


@pytest.mark.parametrize(
    ("y", "outlier_label", "message"),
    [
        ([0, 1, 2], None, "1 for outliers, 0 for inliers and -1 for unlabelled.*got the labels"),
        (["a", "b", "c"], None, "Pass `outlier_label`"),
        ([0, 0, 0], None, "only one class: there is no outlier"),
        ([1, 1, 1], None, "only one class: there is no inlier"),
        ([-1, -1, -1], None, "All rows are unlabelled"),
        (["a", "a"], None, "only one class"),
        ([0, 1], None, "2 labels for 3 rows"),
        (["ok", "ok", "ok"], "fraud", "No row of `y` has the label 'fraud'"),
        ([0.0, 1.0, np.inf], None, "y contains infinity"),
        ([np.nan, np.nan, np.nan], None, "All of `y` is NaN"),
        ([0.1, 0.5, 0.7], None, "Unknown label type"),
        (None, None, "requires y to be passed"),
    ],
)
def test_labels_refused(y, outlier_label, message):
    n_rows = 3 if y is None or (len(y) == 2 and y != ["a", "a"]) else len(y)
    with pytest.raises(ValueError, match=message):
        read_labels(y, n_rows, outlier_label)
