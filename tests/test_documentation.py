"""The documentation is true: its code runs, its tables and links are complete."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boreod.scores import SCORES
from boreod.tool.cli import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

SHELL_BLOCKS = {
    path.name: re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    for path in DOCUMENTS
}
QUICK = ["--datasets", "wine", "--quick", "--jobs", "1"]  # the paper is reproduced on a small set


@pytest.mark.filterwarnings("ignore::boreod.ColumnsLeftOutWarning")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_code_blocks_run(path, tmp_path, monkeypatch):
    """One after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL):
        exec(compile(code, str(path), "exec"), names)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example, tmp_path):
    command = [sys.executable, str(example)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
@pytest.mark.filterwarnings("ignore")  # the command prints them
@pytest.mark.parametrize("name", [name for name, blocks in SHELL_BLOCKS.items() if blocks])
def test_shell_blocks_run(name, tmp_path, monkeypatch):
    """One line after the other in an empty folder; `boreod` runs in this process, which is warm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    for line in "".join(SHELL_BLOCKS[name]).replace("\\\n", " ").splitlines():
        words = shlex.split(os.path.expandvars(line), comments=True)
        if words[:1] != ["boreod"]:
            subprocess.run(["sh", "-ec", line], check=True)
            continue
        arguments = words[1:] + (QUICK if words[1] == "reproduce" else [])
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, (line, result.output, result.exception)


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


def test_files_that_run_with_checked_indices_exist():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    paths = re.search(r"^CHECKED := (.*)", text, re.M).group(1).split()
    assert "tests/neighbors" in paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_reference_is_that_of_the_docstrings():
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs/make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert module.make_api() == written, "run: python docs/make_api.py"


def test_the_list_of_scores_is_complete():
    text = (ROOT / "docs/representation.md").read_text()
    for score in SCORES.values():
        row = f"| `{score.name}` | {score.title} | {score.min_k} | {score.formula} |"
        assert row in text


def test_the_score_in_the_guide_is_the_real_one():
    source = (ROOT / "src/boreod/scores/lof.py").read_text()
    assert f"```python\n{source}```" in (ROOT / "docs/adding-a-score.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_files_that_are_named_exist(path):
    """Paths in backticks begin at the root of the repository or of the package."""
    packages = "|".join(p.name for p in (ROOT / "src/boreod").iterdir() if p.is_dir())
    found = re.findall(rf"`((?:src|tests|docs|benchmarks|{packages})/[\w/.-]+)`", path.read_text())
    missing = [f for f in found if not ((ROOT / f).exists() or (ROOT / "src/boreod" / f).exists())]
    assert missing == []


def test_the_quality_in_the_readme_is_that_of_the_results():
    """Mean average precision at every share, by method; BORE as printed was run later."""
    texts = [(ROOT / f"docs/results/{n}.md").read_text() for n in ("quality", "quality_bore")]
    means, of_bore = (t.partition("## Means over sets")[2].partition("\n## ")[0] for t in texts)
    shares = {"none": "no labels", "5 %": "5 % of", "25 %": "25 % of", "all": "100 % of"}
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| outliers labelled"))
    methods = [cell.strip() for cell in lines[start].split("|")[2:-1]]
    for line in lines[start + 2 : start + 6]:
        share, *figures = (cell.strip() for cell in line.split("|")[1:-1])
        for method, figure in zip(methods, figures, strict=True):
            found = of_bore if method == "BORE" else means
            part = found.partition(f"*{shares[share]}")[2].partition("\n*")[0].replace("**", "")
            assert figure == "-" or f"| {method} | {figure} |" in part, (share, method)
