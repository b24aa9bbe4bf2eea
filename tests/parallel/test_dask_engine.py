"""The engine of a Dask cluster: real worker processes, some of which are killed."""

import gc
import logging
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import boreod
from boreod import OutlierRepresentation
from boreod.parallel import current_engine
from boreod.parallel.dask_engine import DaskEngine
from parallel import remote

distributed = pytest.importorskip("distributed")
QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}


def soon(condition):
    """Wait until something holds."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def killing(client, workers):
    """Return a callback that kills some workers when the first result comes, and the results."""
    pids = list(client.run(os.getpid).values())[:workers]
    results = {}

    def receive(item, result):
        results[item] = result
        while pids:
            os.kill(pids.pop(), signal.SIGKILL)

    return receive, results


def test_the_same_bits_as_local(client):
    points = np.random.default_rng(0).normal(size=(400, 5))
    points[300:] = points[:100]  # copies
    new = np.random.default_rng(1).normal(size=(300, 5))
    options = {"ks": [5, 20], "views": ["full", "sample:200"], "random_state": 0}
    local = OutlierRepresentation(**options)
    expected = local.fit_transform(points), local.transform(new)
    with boreod.parallel.dask(client):
        other = OutlierRepresentation(**options)
        assert_array_equal(other.fit_transform(points), expected[0])
        assert_array_equal(other.transform(new), expected[1])
    assert_array_equal(other.transform(new), expected[1])


def test_a_client_a_cluster_and_an_address(cluster, client):
    for given in (client, cluster, cluster.scheduler_address):
        with boreod.parallel.dask(given) as engine:
            in_effect = current_engine(2, True)
            assert isinstance(in_effect, DaskEngine)
            assert in_effect.verbose
            assert engine.map(remote.add_slowly, [1, 2], "sums", [np.ones(3)]) == [
                4.0,
                5.0,
            ]
        assert not isinstance(current_engine(2, True), DaskEngine)
    assert client.status == "running"
    with client.as_current(), boreod.parallel.dask() as engine:
        assert engine.client is client


def test_a_cluster_of_its_own_is_closed_in_the_end():
    with boreod.parallel.dask(n_workers=1) as engine:
        assert engine.map(abs, [-3, 4], "absolute values") == [3, 4]
        client = engine.client
        assert list(client.nthreads().values()) == [1]
    assert client.status == "closed"
    assert client.cluster.status.name == "closed"


def test_a_client_has_its_own_number_of_workers(client):
    with (
        pytest.raises(ValueError, match="`client` and `n_workers` exclude each other"),
        boreod.parallel.dask(client, n_workers=2),
    ):
        pass


def test_many_small_items_are_few_tasks(client):
    with boreod.parallel.dask(client) as engine:
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert engine.map(abs, list(range(-2000, 0)), "values") == list(range(2000, 0, -1))
        after = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert engine.map(abs, [], "nothing") == []
    assert after - before < 12 * 40  # some transitions for each of about 32 tasks


def test_shared_objects_are_sent_once_and_dropped_when_they_die(client):
    with boreod.parallel.dask(client) as engine:
        counted, other = remote.Counted(), remote.Counted()
        before = client.run(remote.arrivals)
        for _ in range(3):
            assert set(engine.map(remote.use, list(range(40)), "uses", [counted])) == {"Counted"}
        assert client.run(remote.arrivals) == {worker: n + 1 for worker, n in before.items()}
        engine.map(remote.use, list(range(40)), "uses", [other])
        assert set(client.run(remote.held).values()) == {2}
        del counted
        gc.collect()
        assert soon(lambda: set(client.run(remote.held).values()) == {1})
    assert soon(lambda: set(client.run(remote.held).values()) == {0})


def test_arrays_arrive_as_kernels_want_them(client):
    fixed = np.arange(5.0)
    fixed.setflags(write=False)
    items = [np.arange(n, dtype=float) for n in range(1, 9)]
    with boreod.parallel.dask(client) as engine:
        found = engine.map(remote.flags, items, "flags", [np.arange(1001.0)])
        assert set(found) == {(True, True, True)}
        assert engine.map(remote.flags, items[:1], "flags", [fixed]) == [(True, False, True)]


def test_one_thread_within_a_task(client):
    with boreod.parallel.dask(client) as engine:
        found = engine.map(remote.threads_in_a_task, list(range(4)), "threads", [None])
    assert {number for numbers in found for number in numbers} == {1}


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_workers_are_survived(workers, client):
    """Dask repeats the tasks of one; with both the shared table is lost, and sent again."""
    receive, results = killing(client, workers)
    table = np.arange(1000.0)
    with boreod.parallel.dask(client) as engine:
        engine.map_unordered(remote.add_slowly, list(range(100)), receive, "sums", [table])
        assert results == {item: table.sum() + item for item in range(100)}
        client.wait_for_workers(2, timeout=60)
        for pid in client.run(os.getpid).values():  # all of them, and nobody knows yet
            os.kill(pid, signal.SIGKILL)
        assert engine.map(remote.add_slowly, [1], "sums", [table]) == [table.sum() + 1]
        assert engine.map(remote.add_slowly, [2], "sums", [table[:9]]) == [38.0]


def test_a_function_that_kills_its_workers_is_given_up(client, monkeypatch):
    monkeypatch.setattr("boreod.parallel.dask_engine.MAX_ROUNDS", 2)  # as many as there are workers
    allowed = client.run_on_scheduler(remote.allow_failures, 0)
    with (
        boreod.parallel.dask(client) as engine,
        pytest.raises(RuntimeError, match="lost its workers 2 times during 'dying'"),
    ):
        engine.map(remote.die, [1], "dying")
    client.run_on_scheduler(remote.allow_failures, allowed)


def test_failures_arrive_as_themselves_and_end_the_rest(client):
    with boreod.parallel.dask(client) as engine:
        with pytest.raises(LookupError, match="item 37"):
            engine.map(remote.fail, list(range(2000)), "failing", [np.ones(3)])
        assert soon(lambda: not client.run_on_scheduler(remote.tasks_left))


def test_interrupts_end_the_rest(client):
    with boreod.parallel.dask(client) as engine:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            engine.map(remote.add_slowly, list(range(2000)), "sums", [np.ones(3)])
        assert soon(lambda: not client.run_on_scheduler(remote.tasks_left))


def test_workers_that_come_later_take_part():
    """Workers in this process start at once; nothing is pickled between them and us."""
    found = set()
    options = {"threads_per_worker": 1, "processes": False, **QUIET}
    with (
        distributed.LocalCluster(n_workers=1, **options) as cluster,
        boreod.parallel.dask(cluster) as engine,
    ):

        def receive(item, address):
            found.add(address)
            cluster.scale(2)

        engine.map_unordered(remote.where, list(range(100)), receive, "where")
    assert len(found) == 2


def test_bad_numbers_of_threads_are_refused(client):
    with boreod.parallel.dask(client), pytest.raises(ValueError, match="`n_jobs` must be"):
        current_engine(0, False)


@pytest.mark.parametrize(
    ("given", "failure", "sentence"),
    [
        (17, TypeError, "must be a distributed.Client, a cluster, or the address"),
        ("nowhere", ConnectionError, "No Dask scheduler answers at 'nowhere'"),
    ],
)
def test_what_is_no_cluster(given, failure, sentence):
    with pytest.raises(failure, match=sentence), boreod.parallel.dask(given):
        pass


def test_no_workers_and_no_connection():
    with distributed.LocalCluster(n_workers=0, processes=False, **QUIET) as cluster:
        with (
            distributed.Client(cluster, set_as_default=False, timeout=0.5) as client,
            boreod.parallel.dask(client) as engine,
            pytest.raises(ConnectionError, match="has no workers"),
        ):
            engine.map(remote.add_slowly, [1], "sums", [np.ones(3)])
        with pytest.raises(ValueError, match="must be connected"), boreod.parallel.dask(client):
            pass
    with pytest.raises(ConnectionError, match="already closed"), boreod.parallel.dask(cluster):
        pass


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install boreod\[dask\]"), boreod.parallel.dask():
        pass


def test_a_scheduler_that_goes_away():
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        boreod.parallel.dask(client) as engine,
    ):
        closing = threading.Timer(0.3, cluster.close)
        closing.start()
        with pytest.raises(ConnectionError, match="Dask"):
            engine.map(remote.where, list(range(1000)), "where")
        closing.join()
