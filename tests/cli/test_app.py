"""The command line as a user types it, and what it does not import."""

import json
import os
import subprocess
import sys

import pytest

import boreod
from boreod.scores import SCORES


def run(*arguments):
    command = [sys.executable, "-c", "from boreod.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_version():
    result = run("--version")
    assert result.stdout == f"boreod {boreod.__version__}\n"
    assert result.returncode == 0


def test_scores_table():
    result = run("scores")
    assert result.returncode == 0
    for score in SCORES.values():
        assert score.name in result.stdout
        assert score.title in result.stdout


def test_scores_json():
    rows = json.loads(run("scores", "--json").stdout)
    assert [row["name"] for row in rows] == list(SCORES)
    assert all(row["formula"] and row["citation"] and row["min_k"] for row in rows)


def test_help_and_usage():
    assert "scores" in run("--help").stdout
    assert run("no-such-command").returncode == 2


@pytest.mark.parametrize(
    "statement", ["import boreod", "import boreod; dir(boreod)", "from boreod import cli"]
)
def test_cheap_imports(statement):
    heavy = "{'sklearn', 'numba', 'matplotlib', 'scipy'}"
    code = f"{statement}; import sys; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom boreod.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'sklearn', 'numba', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_terminal_without_umlauts():
    command = [sys.executable, "-c", "from boreod.cli import main; main()", "scores"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert result.returncode == 0
    assert b"ODIN" in result.stdout


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'LOF'"):
        boreod.LOF  # noqa: B018
