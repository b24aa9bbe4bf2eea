"""From a table to scores on the command line: to Python and back, all formats, pipes, signals."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from payments import FEW, make_frauds, small_model, write
from typer.testing import CliRunner

import boreod
from boreod.cli import app
from boreod.table_model import TableModel

PROGRAM = [sys.executable, "-c", "from boreod.cli import main; main()"]


def run(*arguments, code=0, **options):
    """Run a command here; expect an exit code and no traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with tables, a model of the command line and one of Python."""
    folder = tmp_path_factory.mktemp("desk")
    write(make_frauds(), folder / "payments.parquet")
    write(make_frauds(210, seed=1), folder / "new.parquet")
    write(make_frauds(210, seed=1), folder / "new.csv")
    small_model(threshold="fpr:0.05").save(folder / "small.boreod")
    return folder


@pytest.fixture(scope="module")
def fitted(desk):
    """What `fit` printed, as JSON, and its model file."""
    table, output = desk / "payments.parquet", desk / "fraud.boreod"
    options = ["--label", "fraud", "--id", "id", "--budget", "15us", "--threshold", "alerts:30"]
    result = run("fit", table, *options, "--json", "-o", output)
    return json.loads(result.stdout), output


def probabilities(path):
    return pq.read_table(path)["probability"].to_numpy()


def test_from_the_command_line_to_python(fitted, desk):
    facts, path = fitted
    new = pq.read_table(desk / "new.parquet")
    run("score", path, desk / "new.parquet", "-o", desk / "scored.parquet", "--quiet")
    detector = boreod.load_model(path)
    model = TableModel.load(path)
    rows = pd.DataFrame(model.preparation.transform(new), columns=model.preparation.names_)
    found = probabilities(desk / "scored.parquet")
    assert_allclose(found, detector.predict_proba(rows)[:, 1], rtol=1e-12, atol=1e-12)
    assert facts["cost"] <= 15e-6
    assert [c["name"] for c in facts["columns"]] == detector.selection_.columns
    assert facts["bytes"] == path.stat().st_size
    assert facts["training"]["auc"] > 0.6
    assert facts["source"] == "payments.parquet"
    assert facts["threshold"] == detector.threshold_
    assert facts["training_rows_above"] == 30


def test_the_same_fit_in_python(fitted, desk):
    table = make_frauds()
    from boreod.table_model import fit_table

    again = fit_table(
        desk / "payments.parquet", label="fraud", ids=["id"], random_state=0, n_jobs=1
    )
    assert again.source == "payments.parquet"
    model = TableModel.load(fitted[1])
    assert again.preparation.to_dict() == model.preparation.to_dict()
    run("fit", desk / "payments.parquet", "--label=fraud", "--id=id", "-o", desk / "all.boreod")
    assert_allclose(
        TableModel.load(desk / "all.boreod").log_odds(table),
        again.log_odds(table),
        rtol=1e-12,
        atol=1e-12,
    )


def test_from_python_to_the_command_line(labelled, tmp_path):
    X, y = labelled
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = boreod.BORE(FEW, random_state=0, n_estimators=20).fit(frame, y)
    boreod.save_model(model, tmp_path / "python.boreod")
    frame.to_csv(tmp_path / "new.csv", index=False)
    run("score", tmp_path / "python.boreod", tmp_path / "new.csv", "-o", tmp_path / "s.parquet")
    expected = model.predict_proba(frame)[:, 1]
    assert_allclose(probabilities(tmp_path / "s.parquet"), expected, rtol=1e-12, atol=1e-12)
    assert "Trained on A table: 300 rows" in run("info", tmp_path / "python.boreod").stdout
    unnamed = boreod.BORE(FEW, random_state=0, n_estimators=20).fit(X, y)
    boreod.save_model(unnamed, tmp_path / "python.boreod")
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    run("score", tmp_path / "python.boreod", tmp_path / "bare.csv", "--no-header", "--quiet",
        "-o", tmp_path / "s.parquet")  # fmt: skip
    assert_allclose(probabilities(tmp_path / "s.parquet"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "arrow", "csv.gz"])
def test_all_formats_give_the_same_scores(suffix, desk, tmp_path):
    path = write(make_frauds(210, seed=1), tmp_path / f"new.{suffix}")
    options = ["--reasons", 2, "--quiet", "-o"]
    run("score", desk / "small.boreod", path, *options, tmp_path / "a.parquet")
    run("score", desk / "small.boreod", desk / "new.parquet", *options, tmp_path / "b.parquet")
    one, two = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert one.equals(two)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_pipes(suffix, desk, tmp_path):
    content = write(make_frauds(210, seed=1), tmp_path / f"new.{suffix}").read_bytes()
    run("score", desk / "small.boreod", desk / "new.csv", "-o", tmp_path / "a.csv")
    for options in ([], ["-o", "-"], ["--json"]):
        result = run("score", desk / "small.boreod", "-", *options, input=content)
        assert result.stdout == (tmp_path / "a.csv").read_text()
        assert result.stderr
    assert json.loads(result.stderr)["rows"] == 210
    result = run("score", desk / "small.boreod", "-", "--quiet", input=content)
    assert result.stderr == ""


def test_fit_to_and_from_text(desk, tmp_path):
    """Semicolons, decimal commas, words as labels, another encoding, names with commas."""
    lines = ["id;amount, net;kind;state"]
    random = np.random.default_rng(0)
    for number in range(80):
        fraud = number % 8 == 0
        amount = f"{random.normal(9 * fraud, 1):.4f}".replace(".", ",")
        state = "" if number % 9 == 1 else "böse" if fraud else "gut"
        lines.append(f"{number:03};{amount};{'ab'[number % 2]};{state}")
    (tmp_path / "t.csv").write_bytes("\n".join([*lines, ""]).encode("cp1252"))
    reading = ["--encoding", "cp1252", "--decimal", ",", "--separator", ";"]
    result = run(
        "fit", tmp_path / "t.csv", "--label", "state", "--outlier-label", "böse", "--id", "id",
        "--keep", "amount, net", "--keep", "kind", *reading, "-o", tmp_path / "m.boreod",
    )  # fmt: skip
    assert "80 rows, 9 outliers, 62 inliers, 9 unlabelled" in result.stdout
    assert "amount, net" in result.stdout
    assert "boreod score" in result.stdout
    assert "Note: " in result.stderr
    run("score", tmp_path / "m.boreod", tmp_path / "t.csv", *reading, "-o", tmp_path / "s.csv")
    first = (tmp_path / "s.csv").read_text().splitlines()[1]
    assert first.startswith('"000",0.')


def test_what_score_says(desk, tmp_path):
    model, table, output = desk / "small.boreod", desk / "new.parquet", tmp_path / "s.csv"
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


def test_explain(desk):
    model, table = desk / "small.boreod", desk / "new.csv"
    result = run("explain", model, table, "--top", 4)
    assert len(result.stdout.splitlines()) == 5
    assert "amount +" in result.stdout
    rows = json.loads(run("explain", model, table, "--top", 4, "--json").stdout)
    assert [row["outlier"] for row in rows] == [True] * 4
    again = run("explain", model, table, "--row", rows[2]["row"], "--id", rows[0]["ids"]["id"],
                "--json")  # fmt: skip
    assert {row["row"] for row in json.loads(again.stdout)} == {rows[2]["row"], rows[0]["row"]}
    assert "no row 999" in run("explain", model, table, "--row", 999, code=1).stderr
    assert "has the id 'x'" in run("explain", model, table, "--id", "x", code=1).stderr


def test_info(fitted, desk):
    facts, path = fitted
    found = json.loads(run("info", path, "--json").stdout)
    assert found == facts
    text = run("info", path).stdout
    known = ("format 3", "AUC", "Label: fraud. Ids: id.", "of 15us", "alerts:30", "voucher")
    for words in (*known, "all values are 'EUR'", *(c["name"] for c in facts["columns"])):
        assert words in text


def test_cells_cannot_steer_the_terminal(desk, tmp_path):
    new = make_frauds(50, seed=1)
    names = pa.array([f"\x1b[2J[red]{number}" for number in range(50)])
    path = write(new.set_column(0, "id", names), tmp_path / "new.parquet")
    output = run("explain", desk / "small.boreod", path).stdout
    assert "\x1b" not in output
    assert "?[2J[red]" in output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["fit", "payments.parquet", "--label", "fraud", "-o", "payments.parquet"],
            1,
            "being read",
        ),
        (["fit", "payments.parquet", "--label", "fraud", "-o", "no/a.boreod"], 1, "no folder"),
        (["fit", "payments.parquet", "--label", "frud", "-o", "a.boreod"], 1, "mean 'fraud'"),
        (["fit", "payments.parquet", "-o", "a.boreod"], 2, "--label"),
        (["fit", "none.csv", "--label", "fraud", "-o", "a.boreod"], 1, "no file none.csv"),
        (["score", "none.boreod", "new.csv", "-o", "a.csv"], 1, "could not be read (no such file"),
        (["score", "new.csv", "new.csv", "-o", "a.csv"], 1, "cannot be used"),
        (["score", "small.boreod", "none.csv", "-o", "a.csv"], 1, "no file none.csv"),
        (["score", "small.boreod", "new.csv", "-o", "new.csv"], 1, "being read"),
        (["score", "small.boreod", "new.csv", "-o", "a.csv", "--jobs", "0"], 1, "`n_jobs`"),
        (["score", "small.boreod", "new.csv", "-o", "a.csv", "--top", "0"], 2, "--top"),
        (["score", "small.boreod", "new.csv", "-o", "a.csv", "--threshold", "3"], 1, "threshold"),
        (["explain", "small.boreod", "new.csv", "--top", "many"], 2, "--top"),
        (["info", "payments.parquet"], 1, "cannot be used"),
        (["info"], 2, "MODEL"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(arguments, code, words, desk, monkeypatch):
    monkeypatch.chdir(desk)
    before = sorted(os.listdir(desk))
    result = run(*arguments, code=code)
    assert words in result.stderr
    assert result.stdout == ""
    if code == 1:
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
    assert sorted(os.listdir(desk)) == before


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (MemoryError(), "There is not enough memory"),
        (KeyError("x"), "Something unforeseen happened (KeyError: 'x')"),
        (OSError(28, "No space left on device", "a.csv"), "No space left on device: 'a.csv'."),
        (KeyboardInterrupt(), "Stopped."),
        (BrokenPipeError(), ""),
        (ValueError("two\nlines"), "two lines"),
    ],
)
def test_whatever_goes_wrong(failure, words, desk, monkeypatch):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(TableModel, "load", fail)
    result = run("info", desk / "small.boreod", code=1)
    assert result.stderr.strip().removeprefix("Error: ").startswith(words)
    assert result.stderr.count("\n") == bool(words)


def start(folder, *arguments, **options):
    return subprocess.Popen(
        [*PROGRAM, *arguments], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(number, desk, tmp_path):
    """The table comes through a pipe, which tells that the program is in the middle of it."""
    lines = (desk / "new.csv").read_bytes().splitlines(keepends=True)
    content = lines[0] + b"".join(lines[1:]) * 300
    (tmp_path / "a.csv").write_text("before")
    (tmp_path / "m.boreod").write_bytes((desk / "small.boreod").read_bytes())
    program = start(tmp_path, "score", "m.boreod", "-", "-o", "a.csv", stdin=subprocess.PIPE)
    program.stdin.write(content)
    program.stdin.flush()
    program.send_signal(number)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 1
    assert errors == b"Stopped.\n"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m.boreod"]
    assert (tmp_path / "a.csv").read_text() == "before"


def test_head_has_had_enough(desk, tmp_path):
    big = pa.concat_tables([make_frauds(210, seed=1)] * 60)
    write(big, tmp_path / "big.parquet")
    program = start(tmp_path, "score", str(desk / "small.boreod"), "big.parquet", "--quiet")
    assert program.stdout.readline().startswith(b'"id"')
    program.stdout.close()
    errors = program.stderr.read()
    assert program.wait(timeout=60) in (0, 1)
    program.stderr.close()
    assert errors == b""


def test_full_disk(desk, tmp_path):
    """The system itself refuses to let files grow."""
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "from boreod.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "score", desk / "small.boreod", desk / "new.csv"]
    result = subprocess.run([*command, "-o", "b.csv"], cwd=tmp_path, capture_output=True,
                            text=True, check=False)  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.startswith("Error: The temporary file of scores could not be written")
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []
