"""Folders of Parquet files on the command line: on threads, on a cluster, from addresses."""

import json
import os
import signal
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from payments import make_frauds, small_model, write

from tool.cli.runner import run, start
from tool.scoring.payment_folders import FILES, assert_same_scores, files_in, joined, make_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of tables, a model, and the scores as one table."""
    path = tmp_path_factory.mktemp("folders")
    make_folder(make_frauds(210, seed=1), path / "new")
    small_model().save(path / "fraud.boreod")
    run("score", path / "fraud.boreod", path / "new", "-o", path / "one.parquet")
    return path


@pytest.fixture(scope="module")
def expected(folder):
    return pq.read_table(folder / "one.parquet")


def test_a_folder_into_a_folder(folder, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("score", folder / "fraud.boreod", folder / "new", "-o", "out/")
    assert "Scores: out/ (210 rows in 4 files)" in result.stdout
    assert_same_scores(joined(tmp_path / "out"), expected)
    facts = json.loads(
        run("score", folder / "fraud.boreod", folder / "new", "-o", "on", "--json").stdout
    )
    assert (facts["rows"], facts["files"], facts["output"]) == (210, 4, "on")
    assert files_in(tmp_path / "on") == sorted(FILES)


def test_addresses(folder, expected, tmp_path):
    source = (folder / "new").as_uri()
    run("score", folder / "fraud.boreod", source, "-o", tmp_path / "out", "--quiet")
    assert_same_scores(joined(tmp_path / "out"), expected)
    run("score", folder / "fraud.boreod", source, "-o", tmp_path / "one.parquet", "--quiet")
    assert_same_scores(pq.read_table(tmp_path / "one.parquet"), expected)
    write(make_frauds(), tmp_path / "payments.parquet")
    table = (tmp_path / "payments.parquet").as_uri()
    fit = ["fit", table, "--label", "fraud", "--id", "id", "--keep", "amount", "--json", "-o"]
    facts = json.loads(run(*fit, tmp_path / "a.boreod").stdout)
    assert facts["source"] == "payments.parquet"
    assert "being read" in run(*fit, tmp_path / "payments.parquet", code=1).stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-o", "full"], 1, "not empty"),
        (["-o", "out", "--top", "5"], 1, "such as top.parquet"),
        (["-o", "s3://bucket/out"], 1, "not to addresses"),
        (["-o", "s3://bucket/out.csv"], 1, "not to addresses"),
        (["-o", "out", "--engine", "spark"], 2, "--engine is threads or dask; got 'spark'"),
        (["-o", "out", "--workers", "2"], 2, "need --engine dask"),
        (["-o", "out", "--scheduler", "tcp://x"], 2, "need --engine dask"),
        (["-o", "out", "--engine", "dask", "--workers", "2", "--scheduler", "x"], 2, "exclude"),
        (["-o", "out", "--engine", "dask", "--jobs", "2"], 2, "--jobs needs --engine threads"),
        (["-o", "out", "--engine", "dask", "--workers", "0"], 2, "--workers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused(options, code, words, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    result = run("score", folder / "fraud.boreod", folder / "new", *options, code=code)
    assert words in result.stderr
    assert files_in(tmp_path) == ["full/a.txt"]
    if code == 1:
        assert result.stderr.count("\n") == 1


def test_without_dask(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    command = ["score", folder / "fraud.boreod", folder / "new", "--engine", "dask"]
    result = run(*command, "-o", tmp_path / "out", code=1)
    assert result.stderr.endswith("pip install boreod[dask]\n")
    assert not os.listdir(tmp_path)


def test_text_needs_a_file_for_its_scores(folder, tmp_path):
    text = write(make_frauds(20, seed=1), tmp_path / "new.csv")
    result = run("score", folder / "fraud.boreod", text, "-o", tmp_path / "out", code=1)
    assert "name a file for the scores" in result.stderr
    result = run("score", folder / "fraud.boreod", "foo://a/b", "-o", tmp_path / "a.csv", code=1)
    assert "cannot be reached" in result.stderr
    assert os.listdir(tmp_path) == ["new.csv"]


def many_rows(path, copies):
    """Write a file that takes seconds to score."""
    table = make_frauds(1000, seed=1)
    pq.write_table(pa.concat_tables([table] * copies), path, row_group_size=20_000)


def wait_for_scores(folder):
    """Return when the first chunk of scores is there."""
    for _ in range(1200):
        if list(folder.glob(".*.part/*.scores")):
            return
        time.sleep(0.05)
    raise AssertionError("no chunk was scored")


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        (["--jobs", "2"], signal.SIGINT),
        (["--jobs", "2"], signal.SIGTERM),
        (["--engine", "dask", "--workers", "2"], signal.SIGINT),
    ],
    ids=str,
)
def test_signals_leave_nothing(engine, number, folder, tmp_path):
    """Ctrl-C goes to all processes of a terminal, a service stops only the first."""
    if "dask" in engine:
        pytest.importorskip("distributed")
    many_rows(tmp_path / "new.parquet", 500)
    running = start(
        tmp_path, "score", folder / "fraud.boreod", "new.parquet", "-o", "out", *engine,
        text=True, start_new_session=True,
    )  # fmt: skip
    wait_for_scores(tmp_path)
    send = os.killpg if number == signal.SIGINT else os.kill
    send(running.pid, number)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert errors == "Stopped.\n"
    assert output == ""
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_on_a_cluster(folder, expected, tmp_path):
    pytest.importorskip("distributed")
    command = ["score", folder / "fraud.boreod", folder / "new", "--engine", "dask", "--workers", 2]
    running = start(tmp_path, *command, "-o", "out/", text=True, start_new_session=True)
    output, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert errors == ""
    assert "(210 rows in 4 files)" in output
    assert_same_scores(joined(tmp_path / "out"), expected)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings, silence_logs=50) as cluster:
        yield cluster


def test_on_a_running_cluster(cluster, folder, expected, tmp_path):
    address = cluster.scheduler_address
    command = [
        "score",
        folder / "fraud.boreod",
        folder / "new",
        "--engine=dask",
        "--scheduler",
        address,
    ]
    run(*command, "-o", tmp_path / "out")
    assert_same_scores(joined(tmp_path / "out"), expected)
    run(*command, "-o", tmp_path / "top.parquet", "--top", 9)
    best = expected.sort_by([("rank", "ascending")]).slice(0, 9)
    assert_same_scores(pq.read_table(tmp_path / "top.parquet"), best)
    assert "Name a file or a folder" in run(*command, code=1).stderr
    text = write(make_frauds(20, seed=1), tmp_path / "new.csv")
    command[2] = text
    assert "use threads" in run(*command, "-o", tmp_path / "a.csv", code=1).stderr
    assert sorted(os.listdir(tmp_path)) == ["new.csv", "out", "top.parquet"]
