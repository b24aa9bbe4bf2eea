"""What all commands share: cheap imports, help that can be typed, errors and exit codes."""

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from payments import make_frauds, small_model, write

import boreod
from boreod import ColumnSelection
from boreod.scores import DETECTORS, SCORES
from boreod.tool.cli import app
from tool.cli.runner import PROGRAM, run

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def run_program(*arguments):
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("program", [PROGRAM, [sys.executable, "-m", "boreod"]], ids=["name", "-m"])
def test_version(program):
    """Python runs the package where the program is not on the path."""
    command = [*program, "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout == f"boreod {boreod.__version__}\n"
    assert result.returncode == 0


def test_scorers_table():
    result = run_program("scorers")
    assert result.returncode == 0
    for score in (*SCORES.values(), *DETECTORS.values()):
        assert score.name in result.stdout
        assert score.title in result.stdout


def test_scorers_json():
    rows = json.loads(run_program("scorers", "--json").stdout)
    assert [row["name"] for row in rows] == [*SCORES, *DETECTORS]
    assert all(row["formula"] and row["citation"] for row in rows)
    assert [row["min_k"] is None for row in rows] == [row["name"] in DETECTORS for row in rows]


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_output(folder):
    command = shlex.join([*PROGRAM, "info", str(folder / "small.boreod")])
    done = subprocess.run(f"{command} >&-", shell=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: Standard output is closed. Send it to a file,")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("quiet", [[], ["--json"]])
def test_closed_output_after_a_file_was_written(folder, tmp_path, quiet):
    score = ["score", "small.boreod", "new.csv", "-o", str(tmp_path / "a.csv"), *quiet]
    command = shlex.join([*PROGRAM, *score])
    done = subprocess.run(
        f"{command} >&-", shell=True, capture_output=True, cwd=folder, check=False
    )
    assert done.returncode == 0
    assert b"Note: Standard output is closed, so no summary was printed" in done.stderr
    assert (tmp_path / "a.csv").read_text().count("\n") > 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_help_that_nobody_can_read():
    full = subprocess.run(
        f"{shlex.join(PROGRAM)} --help >/dev/full", shell=True, capture_output=True, check=False
    )
    assert (full.returncode, full.stderr.count(b"\n")) == (1, 1)
    assert full.stderr.startswith(b"Error: No space left on device.")
    reader, writer = os.pipe()
    os.close(reader)
    unread = subprocess.run(
        [*PROGRAM, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (unread.returncode, unread.stderr) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_that_something_swallows():
    code = (
        "import os, signal\nfrom boreod.tool.cli import app as module\nimport sys\n"
        "module = sys.modules['boreod.tool.cli.app']\n"
        "def app():\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except BaseException:\n        raise SystemExit(0) from None\n"
        "module.app = app\nmodule.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"Stopped.\n")


def test_help_and_usage():
    assert "scorers" in run_program("--help").stdout
    assert run_program("no-such-command").returncode == 2


@pytest.mark.parametrize(
    "statement", ["import boreod", "import boreod; dir(boreod)", "from boreod.tool import cli"]
)
def test_cheap_imports(statement):
    heavy = "{'sklearn', 'numba', 'matplotlib', 'scipy'}"
    code = f"{statement}; import sys; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_help_imports_nothing_heavy():
    """One process asks for every help; what it has loaded then bounds the time of each."""
    code = (
        "import sys\nfrom boreod.tool.cli import app\n"
        f"for command in {COMMANDS}:\n"
        "    try:\n        app([command, '--help'])\n    except SystemExit:\n        pass\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'numpy', 'pyarrow', 'safetensors', 'matplotlib'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("loaded: []\n")
    assert result.stdout.count("Usage:") == len(COMMANDS)


def test_public_names_import_nothing_heavy():
    code = (
        "import boreod, sys; assert {'save', 'load', 'ModelFileError'} <= "
        "set(dir(boreod)); heavy = {'sklearn', 'numba', 'scipy', 'pyarrow', 'safetensors'}; "
        "assert not heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_help_texts_run(name, tmp_path, monkeypatch):
    command = next(c.callback for c in app.registered_commands if c.callback.__name__ == name)
    example = re.search(r"Example: boreod (.*)", inspect.getdoc(command))[1]
    monkeypatch.chdir(tmp_path)
    write(make_frauds(), tmp_path / "payments.csv")
    write(make_frauds(40, seed=1), tmp_path / "new.csv")
    if name != "fit":
        small_model(selection=ColumnSelection()).save(tmp_path / "fraud.boreod", narrowable=True)
    if name == "compare":
        for file in ("old.boreod", "new.boreod"):
            shutil.copy("fraud.boreod", file)
        shutil.copy("new.csv", "labelled.csv")
    assert run(*shlex.split(example)).stdout
    assert (tmp_path / "fraud.boreod").exists()
    assert (tmp_path / "scored.csv").exists() == (name == "score")


def test_terminal_without_umlauts():
    command = [*PROGRAM, "scorers"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert result.returncode == 0
    assert b"ODIN" in result.stdout


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'LOF'"):
        boreod.LOF  # noqa: B018


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
        (["fit", "payments.parquet", "--id=id", "-o", "a", "--method", "bore"], 1, "--label"),
        (["fit", "payments.parquet", "-o", "a.boreod", "--outlier-label", "1"], 1, "--label"),
        (["fit", "payments.parquet", "--id=id", "-o", "a", "--threshold", "0.3"], 1, "alerts:20"),
        (["fit", "payments.parquet", "--label", "fraud", "--method", "lof"], 1, "`method` must be"),
        (["fit", "payments.parquet", "--label", "fraud", "--prior", "2"], 1, "`prior` must be"),
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
def test_exit_codes(arguments, code, words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    result = run(*arguments, code=code)
    assert words in result.stderr
    assert result.stdout == ""
    if code == 1:
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (MemoryError(), "There is not enough memory"),
        (KeyError("x"), "Something unforeseen happened (KeyError: 'x')"),
        (
            OSError(28, "No space left on device", "a.csv"),
            "No space left on device: 'a.csv'. Free some",
        ),
        (KeyboardInterrupt(), "Stopped."),
        (BrokenPipeError(), ""),
        (ValueError("two\nlines"), "two lines"),
    ],
)
def test_whatever_goes_wrong(failure, words, folder, monkeypatch):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr("boreod.persistence.load_predictor", fail)
    code = {KeyboardInterrupt: 130, BrokenPipeError: 141}.get(type(failure), 1)
    result = run("info", folder / "small.boreod", code=code)
    assert result.stderr.strip().removeprefix("Error: ").startswith(words)
    assert result.stderr.count("\n") == bool(words)
