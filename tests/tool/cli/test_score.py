"""`boreod score` as a user types it: all formats, pipes, signals, full disks."""

import json
import os
import signal
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from payments import FEW, make_frauds, write

import boreod
from tool.cli.runner import run, start


def probabilities(path):
    return pq.read_table(path)["probability"].to_numpy()


def test_from_python_to_the_command_line(labelled, tmp_path):
    X, y = labelled
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = boreod.BORE(FEW, random_state=0, n_estimators=20).fit(frame, y)
    boreod.save(model, tmp_path / "python.boreod")
    frame.to_csv(tmp_path / "new.csv", index=False)
    run("score", tmp_path / "python.boreod", tmp_path / "new.csv", "-o", tmp_path / "s.parquet")
    expected = model.predict_proba(frame)[:, 1]
    assert_allclose(probabilities(tmp_path / "s.parquet"), expected, rtol=1e-12, atol=1e-12)
    assert "Trained on a table: 300 rows" in run("info", tmp_path / "python.boreod").stdout
    unnamed = boreod.BORE(FEW, random_state=0, n_estimators=20).fit(X, y)
    boreod.save(unnamed, tmp_path / "python.boreod")
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    run("score", tmp_path / "python.boreod", tmp_path / "bare.csv", "--no-header", "--quiet",
        "-o", tmp_path / "s.parquet")  # fmt: skip
    assert_allclose(probabilities(tmp_path / "s.parquet"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "arrow", "csv.gz"])
def test_all_formats_give_the_same_scores(suffix, folder, tmp_path):
    path = write(make_frauds(210, seed=1), tmp_path / f"new.{suffix}")
    options = ["--reasons", 2, "--quiet", "-o"]
    run("score", folder / "small.boreod", path, *options, tmp_path / "a.parquet")
    run("score", folder / "small.boreod", folder / "new.parquet", *options, tmp_path / "b.parquet")
    one, two = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert one.equals(two)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_pipes(suffix, folder, tmp_path):
    content = write(make_frauds(210, seed=1), tmp_path / f"new.{suffix}").read_bytes()
    run("score", folder / "small.boreod", folder / "new.csv", "-o", tmp_path / "a.csv")
    for options in ([], ["-o", "-"], ["--json"]):
        result = run("score", folder / "small.boreod", "-", *options, input=content)
        assert result.stdout == (tmp_path / "a.csv").read_text()
        assert result.stderr
    assert json.loads(result.stderr)["rows"] == 210
    result = run("score", folder / "small.boreod", "-", "--quiet", input=content)
    assert result.stderr == ""


def test_what_score_says(folder, tmp_path):
    model, table, output = folder / "small.boreod", folder / "new.parquet", tmp_path / "s.csv"
    result = run("score", model, table, "-o", output, "--top", 5, "--threshold", "0.2")
    assert "210 rows in" in result.stdout
    assert "above 0.2" in result.stdout
    assert "s.csv (5 rows)" in result.stdout
    assert len(output.read_text().splitlines()) == 6
    assert run("score", model, table, "-o", output, "--quiet").output == ""
    facts = json.loads(run("score", model, table, "-o", output, "--json").stdout)
    assert facts["rows"] == facts["written"] == 210
    run("score", model, table, "-o", output, "--all-columns")
    assert output.read_text().startswith('"id","amount","hour"')
    run("score", model, table, "-o", output, "--no-ids")
    assert output.read_text().startswith(
        '"row","probability","rank","outlier","novelty","outside"\n1,'
    )
    run("score", model, table, "-o", output, "--id", "country,hour")
    assert output.read_text().startswith('"country","hour","prob')
    assert "exclude each other" in run("score", model, table, "--id=id", "--no-ids", code=2).output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(number, folder, tmp_path):
    """The table comes through a pipe, which tells that the program is in the middle of it."""
    lines = (folder / "new.csv").read_bytes().splitlines(keepends=True)
    content = lines[0] + b"".join(lines[1:]) * 300
    (tmp_path / "a.csv").write_text("before")
    (tmp_path / "m.boreod").write_bytes((folder / "small.boreod").read_bytes())
    program = start(tmp_path, "score", "m.boreod", "-", "-o", "a.csv", stdin=subprocess.PIPE)
    program.stdin.write(content)
    program.stdin.flush()
    program.send_signal(number)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 128 + number
    assert errors == b"Stopped.\n"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m.boreod"]
    assert (tmp_path / "a.csv").read_text() == "before"


def test_head_has_had_enough(folder, tmp_path):
    big = pa.concat_tables([make_frauds(210, seed=1)] * 60)
    write(big, tmp_path / "big.parquet")
    program = start(tmp_path, "score", str(folder / "small.boreod"), "big.parquet", "--quiet")
    assert program.stdout.readline().startswith(b'"id"')
    program.stdout.close()
    errors = program.stderr.read()
    assert program.wait(timeout=60) == 141  # as of a program that SIGPIPE ends
    program.stderr.close()
    assert errors == b""


def test_full_disk(folder, tmp_path):
    """The system itself refuses to let files grow."""
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "from boreod.tool.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "score", folder / "small.boreod", folder / "new.csv"]
    result = subprocess.run([*command, "-o", "b.csv"], cwd=tmp_path, capture_output=True,
                            text=True, check=False)  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.startswith("Error: The temporary file of scores could not be written")
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []
