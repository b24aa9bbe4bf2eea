"""Documents tell the truth: their code runs, their tables and links are complete."""

import csv
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boreod.datasets import load
from boreod.scorers import SCORERS

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

COMMANDS = [
    (path.name, line)
    for path in DOCUMENTS
    for block in re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("boreod ")
]


@pytest.mark.filterwarnings("ignore::boreod.ColumnsLeftOutWarning")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_code_blocks_run(path):
    """One after the other, as a reader would type them."""
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL):
        exec(compile(code, str(path), "exec"), names)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example, tmp_path):
    command = [sys.executable, str(example)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder with the table that the documents speak of."""
    folder = tmp_path_factory.mktemp("desk")
    data = load("wdbc")
    with (folder / "tumors.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", *data.feature_names, "malignant"])
        for number, (row, label) in enumerate(zip(data.X, data.y, strict=True)):
            table.writerow([f"P{number:03}", *row, "yes" if label else "no"])
    return folder


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[line for _, line in COMMANDS])
def test_commands_run(path, command, desk):
    """As they stand, but that the paper is reproduced on a small set."""
    arguments = shlex.split(command, comments=True)[1:]
    if arguments[0] == "reproduce" and "--datasets" not in arguments:
        arguments += ["--datasets", "wine", "--quick"]
    result = subprocess.run(
        [sys.executable, "-c", "from boreod.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=desk,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_commands_exist():
    """The two commands of the README are targets of the Makefile; one of them runs this test."""
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^make (\w+)", text, re.M)
    assert commands == ["demo", "test"]
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for target in [*commands, "bench"]:
        plan = subprocess.run(
            ["make", "--dry-run", target], capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert "python" in plan.stdout


def test_readme_lists_every_scorer():
    text = (ROOT / "README.md").read_text()
    for scorer in SCORERS.values():
        row = f"| `{scorer.name}` | {scorer.title} | {scorer.min_k} | {scorer.formula} |"
        assert row in text


def test_the_scorer_in_the_guide_is_the_real_one():
    source = (ROOT / "src/boreod/scorers/slof.py").read_text()
    assert f"```python\n{source}```" in (ROOT / "docs/adding-a-scorer.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_files_stay_small():
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert len(path.read_text().splitlines()) <= 400, f"{path} is a wall"
