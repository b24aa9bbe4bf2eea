"""Help is there at once, and what it shows can be typed."""

import inspect
import re
import shlex
import subprocess
import sys

import pytest
from payments import make_frauds, small_model, write
from typer.testing import CliRunner

from boreod.cli import app

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_help_imports_nothing_heavy():
    """One process asks for every help; what it has loaded then bounds the time of each."""
    code = (
        "import sys\nfrom boreod.cli import app\n"
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
        "import boreod, sys; assert {'save_model', 'load_model', 'ModelFileError'} <= "
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
        small_model().save(tmp_path / "fraud.boreod")
    result = CliRunner().invoke(app, shlex.split(example))
    assert result.exit_code == 0, result.output
    assert result.stdout
    assert (tmp_path / "fraud.boreod").exists()
    assert (tmp_path / "scored.csv").exists() == (name == "score")
