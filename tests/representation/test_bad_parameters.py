"""Parameters and columns that a representation refuses, and fits that fail."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError

from boreod import ColumnsLeftOutWarning, OutlierRepresentation
from boreod.scores import LDF, SCORES, Score

GOOD = np.random.default_rng(0).normal(size=(150, 3))


SPOILED = GOOD.copy()
SPOILED[4, 1] = np.nan


def test_not_fitted():
    with pytest.raises(NotFittedError):
        OutlierRepresentation().transform(GOOD)
    with pytest.raises(NotFittedError):
        OutlierRepresentation().keep(["lof_10"])


def test_too_few_rows_for_the_grid():
    model = OutlierRepresentation()
    with pytest.warns(ColumnsLeftOutWarning, match="at most 25"):
        table = model.fit_transform(GOOD[:25])
    assert table.shape == (25, 3 + 33)
    assert "lof_30" in model.left_out_
    assert "lof_20" in model.columns_


def test_two_rows():
    with pytest.warns(ColumnsLeftOutWarning):
        table = OutlierRepresentation().fit_transform(GOOD[:2])
    assert table.shape == (2, 3 + 9)
    assert np.isfinite(table).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ks": [5, 150]}, r"from 1 to 149 \(rows - 1\); got 150. Lower it or pass more rows"),
        ({"scores": ["lof_150"]}, "got 150"),
        ({"ks": [0]}, "positive integers; got 0"),
        ({"ks": [2.5]}, "got 2.5"),
        ({"ks": [True]}, "got True"),
        ({"ks": []}, "at least one"),
        ({"ks": [3, 3]}, "each once"),
        ({"ks": "ten"}, "got 'ten'"),
        ({"scores": ["lofx"]}, "names among knn, knnw"),
        ({"scores": ["lof", "lof"]}, "'lof' twice"),
        ({"scores": [object()]}, "score_samples"),
        ({"scores": 3}, "got 3"),
        ({"scores": ["ldof"], "ks": [1]}, "'ldof' needs k of at least 2; got 1"),
        ({"scores": ["abod_2"]}, "'abod' needs k of at least 3"),
        ({"scores": [], "passthrough": False}, "no column"),
        ({"scores": [LDF(bandwidth=3.0), "ldf_10"]}, "'ldf' with different parameters"),
        ({"scores": [(5, "lof")]}, "name in a pair must be a text without '@'; got 5"),
        ({"scores": [Score]}, "must hold names"),
        ({"scores": [IsolationForest]}, "must hold names"),
        ({"views": [], "passthrough": False}, "`views` is empty"),
        ({"passthrough": "no"}, "`passthrough` must be True or False; got 'no'"),
        ({"random_state": np.random.default_rng(0)}, "`random_state` must be None, an integer"),
        ({"random_state": -1}, "`random_state` must be None, an integer"),
        ({"ks": b"a"}, "list of positive integers"),
        ({"neighbors": "ball"}, "got 'ball'"),
        ({"n_jobs": 0}, "n_jobs.*got 0"),
        ({"n_jobs": "two"}, "n_jobs.*got 'two'"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OutlierRepresentation(**options).fit(GOOD)


def test_grid_with_too_small_k_warns():
    model = OutlierRepresentation(["lof", "ldof"], [1, 10], passthrough=False)
    with pytest.warns(ColumnsLeftOutWarning, match="ldof_1"):
        model.fit(GOOD)
    assert model.columns_ == ["lof_1", "lof_10", "ldof_10"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["lof_11"], r"got 'lof_11'\. Did you mean lof_"),
        ([], "at least one"),
        (["lof_10", "lof_10"], "each once"),
        ([3], "got 3"),
        ([["lof_10"]], r"got \['lof_10'\]"),
    ],
)
def test_wrong_columns_to_keep(columns, message):
    model = OutlierRepresentation(["lof"]).fit(GOOD)
    with pytest.raises(ValueError, match=message):
        model.keep(columns)


def test_raw_column_with_the_name_of_a_score():
    table = pd.DataFrame(GOOD, columns=["a", "b", "lof_10"])
    with pytest.raises(ValueError, match="called 'lof_10'"):
        OutlierRepresentation(["lof"], [10]).fit(table)


@pytest.mark.parametrize("bad", [SPOILED, SPOILED[:, :2], GOOD[:4, :2]])
def test_failed_fit_leaves_the_old_one(bad):
    model = OutlierRepresentation(["lof"], [5]).fit(GOOD)
    expected = model.transform(GOOD)
    with pytest.raises(ValueError, match=r"NaN|from 1 to 3"):
        model.fit(bad)
    assert np.array_equal(model.transform(GOOD), expected)


def test_first_fit_that_fails_leaves_nothing():
    model = OutlierRepresentation(["lof"], [5])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(SPOILED)
    with pytest.raises(NotFittedError):
        model.transform(GOOD)


def test_all_scores_have_a_smallest_k():
    for score in SCORES.values():
        with pytest.raises(ValueError, match=r"at least 1|needs k|positive|names among"):
            OutlierRepresentation([f"{score.name}_{score.min_k - 1}"]).fit(GOOD)
