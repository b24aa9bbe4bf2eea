"""Threads of this process, and which engine is in effect."""

import pickle
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from boreod import OutlierRepresentation
from boreod.neighbors import NeighborGraph, TrainingGraph
from boreod.parallel import Engine, Threads, current_engine, one_blas_thread, use_engine


def scaled(table, factor, rows):
    return factor * table[rows]


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_put_where_they_belong(threads):
    table = np.random.default_rng(0).normal(size=(100, 3))
    rows = [slice(start, start + 7) for start in range(0, 100, 7)]
    result = np.empty_like(table)
    Threads(threads).map_unordered(scaled, rows, result.__setitem__, "scaling", [table, 2.0])
    np.testing.assert_array_equal(result, 2.0 * table)


@pytest.mark.parametrize("threads", [1, 3])
def test_map_keeps_the_order(threads):
    found = Threads(threads).map(pow, list(range(50)), "powers", shared=[2])
    assert found == [2**n for n in range(50)]
    assert Threads(threads).map(abs, [], "nothing") == []


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_failure_is_raised(threads):
    taken = []

    def receive(item, result):
        taken.append(item)
        if item >= 10:
            raise KeyError(item)

    with pytest.raises(KeyError) as failure:
        Threads(threads).map_unordered(abs, list(range(1000)), receive, "failing")
    assert failure.value.args[0] == min(item for item in taken if item >= 10)
    assert len(taken) <= 10 + threads


class Serial(Engine):
    """The simplest engine there can be."""

    calls = 0

    def __init__(self, n_jobs, verbose):
        self.wanted = (n_jobs, verbose)

    def map_unordered(self, function, items, callback, label, shared=()):
        Serial.calls += 1
        function, shared = pickle.loads(pickle.dumps((function, shared)))
        for item in items:
            callback(item, function(*shared, pickle.loads(pickle.dumps(item))))


def test_threads_are_the_engine_unless_told_otherwise():
    assert current_engine(3, False).n_threads == 3
    with use_engine(Serial):
        assert current_engine(2, True).wanted == (2, True)
        with pytest.raises(ValueError, match="n_jobs"), use_engine(Threads):
            current_engine(0, False)
        assert isinstance(current_engine(2, True), Serial)
    assert isinstance(current_engine(None, False), Threads)


@pytest.mark.parametrize("points", ["rows", "grid"])
@pytest.mark.parametrize("backend", ["brute", "tree"])
def test_all_that_runs_on_blocks_survives_pickling(points, backend, request):
    """Every function, shared object and item goes through pickle; the grid has ties and copies."""
    points = request.getfixturevalue(points)
    make = partial(OutlierRepresentation, ks=[3, 10], neighbors=backend, random_state=0)
    views = ["full", "subspaces:2", "sample:90", "cosine"]
    local = make(views=views)
    new = np.tile(points, (3, 1)) + 0.25
    expected = local.fit_transform(points), local.transform(new)
    Serial.calls = 0
    with use_engine(Serial):
        other = make(views=views)
        np.testing.assert_array_equal(other.fit_transform(points), expected[0])
        np.testing.assert_array_equal(other.transform(new), expected[1])
    assert Serial.calls > 20


def test_a_graph_of_training_rows_is_a_smaller_message(rows):
    graph = TrainingGraph.build(
        NeighborGraph.build(rows, (5, 10), 10, "euclidean", "brute"), Threads(1)
    )
    message = pickle.dumps(graph.without_search())
    assert len(message) < len(pickle.dumps(graph))
    block, again = (g.block(slice(20, 40)) for g in (graph, pickle.loads(message)))
    np.testing.assert_array_equal(again.reverse[1], block.reverse[1])
    np.testing.assert_array_equal(again.radii((10,)), block.radii((10,)))


def enter_in_another_thread():
    """Let a thread limit linear algebra; return what makes it leave."""
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(20)

    def end():
        leave.set()
        thread.join()

    return end


def test_blas_stays_limited_until_the_last_one_leaves():
    def threads_of_blas():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with one_blas_thread():
        pass
    before = threads_of_blas()
    leave = enter_in_another_thread()
    with one_blas_thread():
        assert threads_of_blas() == {1}
    assert threads_of_blas() == {1}
    leave()
    assert threads_of_blas() == before


def test_blas_is_free_again_where_another_thread_leaves_last():
    """The one that sets a limit is not the one that lifts it; nor is it while rows are searched."""
    before = [pool["num_threads"] for pool in threadpool_info()]
    with one_blas_thread():
        leave = enter_in_another_thread()
    leave()
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    rows = np.random.default_rng(0).normal(size=(3000, 16))
    OutlierRepresentation(["knn_5"], n_jobs=2).fit_transform(rows)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_dask_is_not_imported_before_it_is_used():
    code = (
        "import boreod, sys; from boreod.parallel import is_collection; "
        "boreod.parallel.dask; is_collection(3); "
        "assert not {'dask', 'distributed', 'cloudpickle', 'scipy', 'numba'} & set(sys.modules); "
        "assert 'boreod.parallel.dask_engine' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
