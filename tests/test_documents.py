"""Documents tell the truth: their code runs, their tables and links are complete."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boreod.scorers import SCORERS

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


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
