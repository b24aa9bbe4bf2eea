"""Labels: what is read, what is refused, and with which words."""

import numpy as np
import pandas as pd
import pytest

from boreod.validation import read_labels


@pytest.mark.parametrize(
    ("y", "outlier_label", "codes", "classes"),
    [
        ([0, 1, -1], None, [0, 1, -1], [0, 1]),
        ([False, True, False], None, [0, 1, 0], [0, 1]),
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
def test_read(y, outlier_label, codes, classes):
    found, labels = read_labels(y, len(y), outlier_label)
    assert found.tolist() == codes
    assert labels.tolist() == classes


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        (["ok", "fraud", "ok"], [0, 1, 0], ["ok", "fraud"]),  # the rarer
        ([2, 1, 2, 1], [1, 0, 1, 0], [1, 2]),  # the larger
        ([-1, 1, 1], [0, 1, 1], [-1, 1]),
    ],
)
def test_two_labels_without_outlier_label_are_guessed_aloud(y, codes, classes):
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
        ([0.0, 1.0, np.nan], None, "y contains NaN"),
        ([0.1, 0.5, 0.7], None, "Unknown label type"),
        (None, None, "requires y to be passed"),
    ],
)
def test_refuse(y, outlier_label, message):
    n_rows = 3 if y is None or (len(y) == 2 and y != ["a", "a"]) else len(y)
    with pytest.raises(ValueError, match=message):
        read_labels(y, n_rows, outlier_label)
