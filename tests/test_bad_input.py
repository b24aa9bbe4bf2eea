"""Wrong input gets one clear sentence and never a traceback from inside a kernel."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError

from boreod import ColumnsLeftOutWarning, OutlierRepresentation
from boreod.parallel import Threads
from boreod.scores import KDEOS, LDF, SCORES, LoOP, Score

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
    "too long": (np.array([[10**400, 1]] * 9, dtype=object), "column 0 holds 1000"),
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


def test_not_fitted():
    with pytest.raises(NotFittedError):
        OutlierRepresentation().transform(GOOD)
    with pytest.raises(NotFittedError):
        OutlierRepresentation().keep(["lof_10"])


def test_too_few_rows_for_the_grid():
    model = OutlierRepresentation()
    with pytest.warns(ColumnsLeftOutWarning, match="25 in all"):
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


@pytest.mark.parametrize("bad", [spoiled(np.nan), spoiled(np.nan)[:, :2], GOOD[:4, :2]])
def test_failed_fit_leaves_the_old_one(bad):
    model = OutlierRepresentation(["lof"], [5]).fit(GOOD)
    expected = model.transform(GOOD)
    with pytest.raises(ValueError, match=r"NaN|from 1 to 3"):
        model.fit(bad)
    assert np.array_equal(model.transform(GOOD), expected)


def test_first_fit_that_fails_leaves_nothing():
    model = OutlierRepresentation(["lof"], [5])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(spoiled(np.nan))
    with pytest.raises(NotFittedError):
        model.transform(GOOD)


@pytest.mark.parametrize(
    ("score", "parameters"),
    [
        (LoOP, {"extent": -1}),
        (LDF, {"bandwidth": 0}),
        (LDF, {"smoothing": None}),
        (KDEOS, {"dimension": float("nan")}),
        (KDEOS, {"scale": "1"}),
        (KDEOS, {"scale": 1e308}),
        (LoOP, {"extent": 5e-324}),
    ],
)
def test_wrong_parameters_of_scores(score, parameters):
    with pytest.raises(ValueError, match=r"must be a number from 1e-100 to 1e\+100; got"):
        score(**parameters)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_after_a_failure_nobody_takes_another_item(threads):
    taken = []

    def fail(item):
        taken.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        Threads(threads).map(fail, list(range(1000)), "failing")
    assert len(taken) <= threads


def test_interrupt_stops_all_threads(rows):
    """Ctrl-C in the middle of a long fit: a process of its own, a real signal."""
    code = (
        "import numpy as np, sys\n"
        "from boreod import OutlierRepresentation\n"
        "X = np.random.default_rng(0).normal(size=(60_000, 20))\n"
        "OutlierRepresentation(['lof'], [5], neighbors='brute').fit(X[:2000])\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    OutlierRepresentation(n_jobs=2).fit(X)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        process.wait(timeout=20)
    assert time.monotonic() - started < 20


def test_interrupt_inside_a_kernel_is_an_interrupt():
    def interrupted(item):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(KeyboardInterrupt):
        Threads(1).map(interrupted, [0], "work")
    with pytest.raises(SystemError):
        Threads(1).map(lambda item: (_ for _ in ()).throw(SystemError("other")), [0], "work")


def test_threads():
    assert Threads(None).n_threads == 1
    assert Threads(3).n_threads == 3
    assert Threads(-1).n_threads >= 1
    assert Threads(-1000).n_threads == 1


def test_errors_in_threads_reach_the_caller():
    def fail(item):
        raise RuntimeError(f"block {item}")

    with pytest.raises(RuntimeError, match="block 0"):
        Threads(2).map(fail, [0, 1, 2], "failing")


def test_all_scores_have_a_smallest_k():
    for score in SCORES.values():
        with pytest.raises(ValueError, match=r"at least 1|needs k|positive|names among"):
            OutlierRepresentation([f"{score.name}_{score.min_k - 1}"]).fit(GOOD)
