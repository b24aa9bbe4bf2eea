"""One cluster of two worker processes for all tests of this folder."""

import logging

import pytest

OPTIONS = {
    # Between tasks Dask drops copies of shared objects now and then; here they are counted.
    "distributed.scheduler.active-memory-manager.start": False,
    # A worker that was killed twice within this time would not be started again.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}


@pytest.fixture(scope="session")
def cluster():
    from dask import config
    from distributed import LocalCluster

    with (
        config.set(OPTIONS),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
