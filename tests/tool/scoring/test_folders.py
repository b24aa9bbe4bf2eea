"""Folders of scores: the same as one table of scores, whatever the chunks; whole or not there."""

import os
import pickle
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from payments import small_model, write

from boreod.parallel import Engine, Threads, dask, use_engine
from boreod.tables import TableError, read_table
from boreod.tool.scoring import parts, writing
from boreod.tool.scoring import scoring as scoring_module
from boreod.tool.scoring.scoring import ScoreOptions, Scoring
from tool.scoring.payment_folders import (
    FILES,
    assert_same_scores,
    files_in,
    joined,
    make_folder,
    score,
)

SMALL = {"batch_rows": 13}  # cuts 210 rows into many chunks


@pytest.fixture
def source(new, tmp_path):
    return make_folder(new, tmp_path / "new")


def one_table(model, source, folder, **options):
    score(model, source, folder / "one.parquet", **options)
    table = pq.read_table(folder / "one.parquet")
    (folder / "one.parquet").unlink()
    return table


@pytest.mark.parametrize("rows", [3, 13, 60, 20_000])
@pytest.mark.parametrize("group", [7, 1000])
def test_a_folder_is_scored_as_one_table_is(rows, group, model, new, source, tmp_path):
    make_folder(new, source, row_group_size=group)
    expected = one_table(model, source, tmp_path, reasons=2)
    summary = score(model, source, tmp_path / "out", reasons=2, batch_rows=rows)
    assert files_in(tmp_path / "out") == sorted(FILES)
    assert_same_scores(joined(tmp_path / "out"), expected)
    assert expected.column_names == [
        "id",
        "probability",
        "rank",
        "outlier",
        "novelty",
        "outside",
        "reason_1",
        "reason_2",
    ]
    assert expected["id"].to_pylist() == new["id"].to_pylist()
    assert (summary.rows, summary.written, summary.files) == (210, 210, 4)
    assert summary.outliers == sum(expected["outlier"].to_pylist())
    assert sorted(os.listdir(tmp_path)) == ["new", "out"]


@pytest.mark.parametrize(
    "options",
    [
        {"carry": ()},
        {"carry": ("hour", "country", "hour")},
        {"all_columns": True},
        {"threshold": "alerts:20"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_is_asked_for(options, model, source, tmp_path):
    score(model, source, f"{tmp_path / 'out'}/", **options, **SMALL)
    assert_same_scores(joined(tmp_path / "out"), one_table(model, source, tmp_path, **options))


@pytest.mark.parametrize("group", [11, 1000])
def test_one_file_in_chunks(group, model, new, tmp_path):
    pq.write_table(new, tmp_path / "new.parquet", row_group_size=group)
    (tmp_path / "out").mkdir()
    score(model, tmp_path / "new.parquet", tmp_path / "out", **SMALL)
    assert files_in(tmp_path / "out") == ["new.parquet"]
    expected = one_table(model, tmp_path / "new.parquet", tmp_path)
    assert_same_scores(joined(tmp_path / "out", ["new.parquet"]), expected)
    (tmp_path / "new.parquet").rename(tmp_path / "new.data")
    score(model, tmp_path / "new.data", tmp_path / "on", {"format": "parquet"}, **SMALL)
    assert files_in(tmp_path / "on") == ["new.data.parquet"]


class Cluster(Engine):
    """Two threads that are no `Threads`: tables are scored in chunks, as on a cluster."""

    def map_unordered(self, function, items, callback, label, shared=()):
        Threads(2).map_unordered(function, items, callback, label, shared)


@pytest.mark.parametrize("top", [None, 7])
def test_a_folder_into_one_file(top, model, source, tmp_path):
    with use_engine(lambda *_: Cluster()):
        summary = score(model, source, tmp_path / "all.parquet", top=top, **SMALL)
    expected = one_table(model, source, tmp_path, top=top)
    assert_same_scores(pq.read_table(tmp_path / "all.parquet"), expected)
    assert (summary.rows, summary.written, summary.files) == (210, top or 210, 1)
    assert sorted(os.listdir(tmp_path)) == ["all.parquet", "new"]


def test_folders_that_are_called_like_values(model, new, tmp_path):
    """What the name of a folder tells is a column, and need not be in the files of scores."""
    for value in ("DE", "FR", "IT", "NA", None):
        called = "__HIVE_DEFAULT_PARTITION__" if value is None else value
        rows = new.filter(pa.array([country == value for country in new["country"].to_pylist()]))
        (tmp_path / "new" / f"country={called}").mkdir(parents=True)
        pq.write_table(rows.drop("country"), tmp_path / "new" / f"country={called}" / "1.parquet")
    expected = one_table(model, tmp_path / "new", tmp_path, carry=("id", "country"))
    plain = {row["id"]: row for row in one_table(
        model, write(new, tmp_path / "new.parquet"), tmp_path, carry=("id", "country")
    ).to_pylist()}  # fmt: skip
    assert [plain[row["id"]] for row in expected.to_pylist()] == expected.to_pylist()
    score(model, tmp_path / "new", tmp_path / "out", carry=("id", "country"), **SMALL)
    names = files_in(tmp_path / "out")
    assert "country=FR/1.parquet" in names
    assert "country" not in joined(tmp_path / "out", names).column_names
    assert_same_scores(read_table(tmp_path / "out").select(expected.column_names), expected)


def test_a_model_of_this_session_leaves_its_training_behind(new, source, tmp_path):
    fitted = small_model(n_jobs=2)
    scoring = Scoring(fitted, fitted.preparation_.ids_, ScoreOptions(reasons=1))
    small = pickle.dumps(scoring.without_training(1))
    assert len(small) < 0.7 * len(pickle.dumps(scoring))
    again = pickle.loads(small)
    batch = new.to_batches()[0]
    assert again.score(batch)[0].equals(scoring.score(batch)[0])
    score(fitted, source, tmp_path / "out")
    assert_same_scores(joined(tmp_path / "out"), one_table(fitted, source, tmp_path))
    assert fitted.n_jobs == 2
    assert fitted.oob_.codes.any()


class Twice(Threads):
    """Does everything twice, as a cluster does that has lost a worker."""

    def map_unordered(self, function, items, callback, label, shared=()):
        def again(*arguments):
            function(*arguments)
            return function(*arguments)

        super().map_unordered(again, items, callback, label, shared)


def test_chunks_that_are_scored_again(model, source, tmp_path):
    with use_engine(lambda *_: Twice(2)):
        score(model, source, tmp_path / "out", **SMALL)
    assert files_in(tmp_path / "out") == sorted(FILES)
    assert_same_scores(joined(tmp_path / "out"), one_table(model, source, tmp_path))


REFUSED = {
    "not empty": ("full", {}, "not empty"),
    "inside": ("new/out", {}, "in the folder that is being read"),
    "no parent": ("nowhere/out", {}, "There is no folder .*nowhere to write to"),
    "a file": ("full/a.txt/", {}, "is no folder"),
    "top": ("out", {"top": 5}, "Name a file, such as top.parquet"),
    "no such column": ("out", {"carry": ("it",)}, "no column 'it'"),
    "format": ("out", {"reading": {"format": "csv"}}, "Only Parquet files"),
    "file in source": ("new/c/all.parquet", {}, "in the folder that is being read"),
    "format out": ("all.xlsx", {}, "does not tell in which format"),
    "bad cells": ("out", {"reading": {"bad_cells": "drop"}}, "bad_cells.* must be missing"),
    "query": ("out", {"reading": {"query": "select 1"}}, "query.* is for databases"),
    "no folder of file": ("nowhere/all.csv", {}, "There is no folder .*nowhere to write to"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, model, source, tmp_path):
    output, options, message = REFUSED[name]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    before = files_in(tmp_path)
    slash = "/" if output.endswith("/") else ""
    with pytest.raises(TableError, match=message):
        score(model, source, str(tmp_path / output) + slash, **options)
    assert files_in(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["full", "new"]


@pytest.mark.parametrize(
    ("name", "output", "message"),
    [
        ("new.csv", "out", r"Only Parquet files .* name a file"),
        ("-", "out", "Only Parquet files"),
        ("none", "out", "There is no file"),
        ("new/_temporary", "out", "holds no Parquet files|not a Parquet file"),
        ("rows.parquet", "out", "no rows"),
        ("new.csv", "out.csv", "use threads"),
        ("new", "-", "need a place on a disk"),
    ],
)
def test_sources_that_are_refused(name, output, message, model, new, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(new, tmp_path / "new.csv")
    pq.write_table(new.slice(0, 0), tmp_path / "rows.parquet")
    engine = pytest.raises(TableError, match=message)
    with engine, use_engine(lambda *_: Cluster()):
        score(model, name, output)
    assert sorted(os.listdir(tmp_path)) == ["new", "new.csv", "rows.parquet"]


def test_files_of_other_columns_are_refused(model, new, source, tmp_path):
    pq.write_table(new.rename_columns(["it", *new.column_names[1:]]), source / "c" / "e.parquet")
    with pytest.raises(TableError, match=r"e\.parquet has no column 'id'"):
        score(model, source, tmp_path / "out")
    with pytest.raises(TableError, match=r"e\.parquet differs from .*1\.parquet in 'id', 'it'"):
        score(model, source, tmp_path / "out", all_columns=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("place", ["score", "write"])
@pytest.mark.parametrize("output", ["out", "all.parquet"])
def test_what_goes_wrong_leaves_nothing(
    output, place, failure, model, source, tmp_path, monkeypatch
):
    owner, method = {
        "score": (scoring_module, "assess"),
        "write": (writing, "read_ranked"),
    }[place]
    original, calls = getattr(owner, method), []

    def fail_later(*arguments, **options):
        calls.append(1)
        if len(calls) > (2 if output == "out" else 2 * (place == "score")):
            assert any(name.endswith(".part") for name in os.listdir(tmp_path))
            raise failure
        return original(*arguments, **options)

    monkeypatch.setattr(owner, method, fail_later)
    failed = pytest.raises((KeyboardInterrupt, OSError, TableError))
    with failed, use_engine(lambda *_: Cluster()):
        score(model, source, tmp_path / output, **SMALL)
    assert calls
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("output", ["one.parquet", "out"])
def test_a_wrong_value_is_noted_as_in_one_table(output, model, new, source, tmp_path):
    amounts = new["amount"].to_pylist()
    amounts[120] = float("inf")
    make_folder(new.set_column(1, "amount", pa.array(amounts)), source)
    with pytest.warns(UserWarning, match="ow 121: inf. counts as missing"):
        score(model, source, tmp_path / output)


def test_workers_that_do_not_see_the_disk(tmp_path):
    with pytest.raises(TableError, match="one on a disk that they share"):
        parts.FolderStore(str(tmp_path / ".out.part")).path("1.scores")


def test_a_file_that_changes(model, new, source, tmp_path, monkeypatch):
    original = parts.unified_schema

    def late(*arguments):
        pq.write_table(new.slice(0, 9), source / "b.parquet")
        return original(*arguments)

    monkeypatch.setattr(parts, "unified_schema", late)
    with pytest.raises(TableError, match=r"b\.parquet has changed while it was being read"):
        score(model, source, tmp_path / "out")
    assert os.listdir(tmp_path) == ["new"]


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


def test_a_worker_that_is_killed(client, model, new, tmp_path):
    source = make_folder(new, tmp_path / "new")
    score(model, source, tmp_path / "one.parquet", reasons=1)
    worker = next(iter(client.run(os.getpid).values()))
    with dask(client) as engine:
        killing = Killing(engine, worker)
        with use_engine(lambda *_: killing):
            score(model, source, tmp_path / "out", reasons=1, batch_rows=3)
    assert killing.killed_at == {"scoring": 54}
    assert worker not in client.run(os.getpid).values()
    assert_same_scores(joined(tmp_path / "out"), pq.read_table(tmp_path / "one.parquet"))
    assert len(files_in(tmp_path / "out")) == 4
    assert sorted(os.listdir(tmp_path)) == ["new", "one.parquet", "out"]
