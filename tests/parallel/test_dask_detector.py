"""The detector on a Dask cluster: frames and arrays, the same bits, also when a worker dies."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import boreod
from boreod import BORE, Detector, Heads, OutlierRepresentation, Reference
from boreod.predictor import for_workers

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

FEW = OutlierRepresentation(["knn", "lof", "odin", "cof"], [5, 20])
N = 3000


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    y = (random.random(N) < 0.03).astype(int)
    rows = random.normal(size=(N, 4)) * np.where(y == 1, 2.5, 1.0)[:, np.newaxis]
    return pd.DataFrame(rows, columns=list("abcd")), pd.Series(y, name="fraud")


def detector(**options):
    return BORE(FEW, random_state=0, **options)


@pytest.fixture(scope="module")
def local(frame):
    return detector(reference=Reference(size=1000)).fit(*frame)


def test_fit_and_predict_frames(client, frame, local):
    X, y = (dd.from_pandas(part, npartitions=5) for part in frame)
    with boreod.parallel.dask(client):
        model = detector(reference=Reference(size=1000)).fit(X, y)
        assert_array_equal(model.reference_rows_, local.reference_rows_)
        assert_array_equal(model.oob_proba_, local.oob_proba_)
        for method in ("predict_proba", "decision_function", "predict"):
            found = getattr(model, method)(X)
            assert isinstance(found, da.Array)
            assert_array_equal(found.compute(), getattr(local, method)(frame[0]))
    assert model.feature_names_in_.tolist() == list("abcd")


def test_fit_to_all_rows_of_arrays(client, frame):
    X, y = frame[0].to_numpy(), frame[1].to_numpy()
    lazy = da.from_array(X, chunks=(700, 3))  # columns in two chunks
    expected = detector().fit(X, y).predict_proba(X)
    with boreod.parallel.dask(client):
        model = detector().fit(lazy, da.from_array(y, chunks=400))
        assert_array_equal(model.predict_proba(lazy).compute(), expected)
        assert_array_equal(model.predict_proba(X), expected)  # rows of this process


@pytest.mark.parametrize("labelled", [True, False])
def test_trees_and_rankings_travel(labelled, client, frame):
    grid = OutlierRepresentation(["knn_5", "iforest"])
    model = Detector(grid, n_estimators=40, heads=Heads(n_trees=1), random_state=0)
    model.fit(frame[0], frame[1].where(frame[1] == 1, -1) if labelled else None)
    lazy = dd.from_pandas(frame[0], npartitions=3)
    with boreod.parallel.dask(client):
        for method in ("predict_proba", "decision_function", "predict"):
            found = getattr(model, method)(lazy).compute()
            assert_array_equal(found, getattr(model, method)(frame[0]))
    sent = for_workers(model, n_jobs=1)
    assert type(sent) is Detector
    assert sent.oob_.summarize() == model.oob_.summarize()


def test_labels_of_this_process(client, frame, local):
    X = dd.from_pandas(frame[0], npartitions=3)
    with boreod.parallel.dask(client):
        model = detector(reference=Reference(size=1000)).fit(X, frame[1].to_numpy())
    assert_array_equal(model.oob_proba_, local.oob_proba_)


def test_without_a_cluster(frame, local):
    X = dd.from_pandas(frame[0], npartitions=3)
    model = detector(reference=Reference(size=1000)).fit(X, frame[1])
    assert_array_equal(model.predict_proba(X).compute(), local.predict_proba(frame[0]))


def test_results_may_be_computed_later(client, frame, local):
    X = dd.from_pandas(frame[0], npartitions=3)
    with boreod.parallel.dask(client):
        odds = local.decision_function(X)
    assert_array_equal(odds.compute(), local.decision_function(frame[0]))


def test_a_worker_dies_while_rows_are_scored(frame, local):
    X = da.from_array(frame[0].to_numpy(), chunks=(25, 4))
    plain = detector(reference=Reference(size=1000)).fit(frame[0].to_numpy(), frame[1])
    expected = plain.decision_function(frame[0].to_numpy())
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as connected,
        boreod.parallel.dask(connected),
    ):
        victim = cluster.workers[0].pid
        odds = connected.compute(plain.decision_function(X))
        killed = threading.Event()

        def kill():
            while not connected.run_on_scheduler(finished_tasks) > 5:
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill)
        killer.start()
        assert_allclose(odds.result(), expected, rtol=0, atol=1e-12)
        killer.join()
        assert killed.is_set()


def finished_tasks(dask_scheduler):
    return sum(task.state in ("memory", "released") for task in dask_scheduler.tasks.values())


def test_wrong_labels_and_rows(client, frame):
    X = dd.from_pandas(frame[0], npartitions=3)
    with boreod.parallel.dask(client):
        with pytest.raises(ValueError, match="one label per row of X; got 2999 labels for 3000"):
            detector().fit(X, frame[1][:-1])
        with pytest.raises(ValueError, match=r"1d array, got an array of shape \(3000, 4\)"):
            detector().fit(X, X)
        with pytest.raises(ValueError, match="NaN"):
            detector().fit(X.where(X > -3), frame[1])


def test_explanations_are_for_local_rows(frame, local):
    with pytest.raises(TypeError, match=r"X\.compute"):
        local.explain(dd.from_pandas(frame[0], npartitions=2))
