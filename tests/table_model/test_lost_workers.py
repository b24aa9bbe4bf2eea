"""Workers of a cluster that are killed while they score a folder."""

import os
import signal

import pyarrow.parquet as pq
import pytest

from boreod.parallel import dask
from boreod.table_model import folders, score_folder, score_table
from table_model.folder_desk import assert_same_scores, files_in, joined, make_folder


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**settings, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class Killing:
    """An engine that kills a worker when the first results are there, in the middle of the work."""

    def __init__(self, engine, pid):
        self.engine, self.map, self.pid, self.killed_at = engine, engine.map, pid, {}

    def map_unordered(self, function, items, callback, label, shared=()):
        taken = []

        def call_and_kill(item, result):
            taken.append(item)
            if len(taken) == 3 and not self.killed_at:
                os.kill(self.pid, signal.SIGKILL)
                self.killed_at[label] = len(items)
            callback(item, result)

        self.engine.map_unordered(function, items, call_and_kill, label, shared)
        assert len(taken) == len(items)


def test_a_worker_that_is_killed(client, model, new, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PIECE_ROWS", 4)
    monkeypatch.setattr(folders, "BATCH_ROWS", 3)
    source = make_folder(new, tmp_path / "new")
    score_table(model, source, tmp_path / "one.parquet", reasons=1)
    worker = next(iter(client.run(os.getpid).values()))
    with dask(client) as engine:
        killing = Killing(engine, worker)
        score_folder(model, source, tmp_path / "out", reasons=1, engine=killing)
    assert killing.killed_at == {"scoring": 54}
    assert worker not in client.run(os.getpid).values()
    assert_same_scores(joined(tmp_path / "out"), pq.read_table(tmp_path / "one.parquet"))
    assert len(files_in(tmp_path / "out")) == 4
    assert sorted(os.listdir(tmp_path)) == ["new", "one.parquet", "out"]
