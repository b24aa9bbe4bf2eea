"""Tables and figures of the paper, on sets that need no download."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from boreod.paper.evaluation.methods import PAPER
from boreod.paper.evaluation.runs import code_digest
from boreod.paper.evaluation.summary import Summary
from boreod.paper.reproduce import PARTS, SETS, Settings, reproduce
from boreod.paper.reproduce.setup import make_feature_bagging, read_paper
from boreod.paper.reproduce.tables import distances, fewest_outliers
from boreod.tool.cli import paper as commands
from boreod.tool.documents import to_markdown

pytestmark = pytest.mark.filterwarnings("ignore")  # few rows: some k are left out, and said so


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the results of everything, on one small set."""
    path = tmp_path_factory.mktemp("results")
    settings = Settings(path, ("wine",), quick=True, n_jobs=1, verbose=False)
    reproduce(list(PARTS), settings)
    return path


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("name", PARTS)
def test_every_part_leaves_its_files(folder, name):
    assert (folder / f"{name}.md").read_text(encoding="utf-8").startswith("# ")
    assert read(folder / f"{name}.csv")
    assert not list(folder.glob("*.part*"))


@pytest.mark.parametrize("picture", ["tsne", "roc", "sensitivity_wine", "budget_wine"])
def test_pictures_are_complete(folder, picture):
    assert (folder / f"{picture}.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    assert (folder / f"{picture}.png").read_bytes().startswith(b"\x89PNG")


def test_the_report_has_everything_and_needs_nothing(folder):
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in PARTS:
        title = (folder / f"{name}.md").read_text(encoding="utf-8").splitlines()[0][2:]
        assert f"## {title}" in markdown
        assert f">{title}</h2>" in page
    for picture in re.findall(r"\]\((.+?\.svg)\)", markdown):
        assert (folder / picture).exists()
    assert page.count("<svg") == 4
    assert not re.findall(r'(?:src|href)="(?!#|data:)', page)


def test_numbers_in_table2_are_those_of_its_runs(folder):
    runs = read(folder / "table2_runs.csv")
    assert {run["method"] for run in runs} == set(PAPER)
    means = {(row["method"], row["measure"]): row for row in read(folder / "table2.csv")}
    for run in runs:  # one repetition: the mean is the run
        for measure in ("auc", "early_auc", "precision"):
            assert float(means[run["method"], measure]["mean"]) == float(run[measure])
    best = max(float(run["auc"]) for run in runs)
    text = (folder / "table2.md").read_text(encoding="utf-8")
    assert f"**{100 * best:.1f}**" in text


def test_the_same_command_gives_the_same_files(folder, tmp_path):
    settings = Settings(tmp_path, ("wine",), quick=True, n_jobs=2, verbose=False)
    reproduce(["table2", "tsne"], settings)
    for name in ("table2.csv", "table2_runs.csv", "table2.md", "tsne.csv", "tsne.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_more_tables_unless_quick(tmp_path):
    settings = Settings(tmp_path, ("wine",), repetitions=1, n_jobs=1, verbose=False)
    text = to_markdown(reproduce(["table2"], settings)[0])
    assert "Unseen rows" in text
    assert "Splits that are not stratified" in text
    runs = read(tmp_path / "table2_runs.csv")
    assert {run["protocol"] for run in runs} == {"transductive", "unseen", "unstratified"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_run_goes_on_and_ends_the_same(folder, tmp_path):
    path = tmp_path / "runs.jsonl"
    code = "from boreod.tool.cli import main; main()"
    command = [sys.executable, "-W", "ignore", "-c", code, "reproduce", "table2", "--datasets",
               "wine", "--quick", "--jobs", "1", "-o", str(tmp_path)]  # fmt: skip
    for how in (signal.SIGKILL, signal.SIGINT):
        before = len(path.read_text().splitlines()) if path.exists() else 0
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            deadline = time.monotonic() + 120
            while not path.exists() or len(path.read_text().splitlines()) <= before:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            process.send_signal(how)
            _, said = process.communicate(timeout=60)
        assert process.returncode != 0
        assert len(path.read_text().splitlines()) < len(PAPER)
        assert "Traceback" not in said
    assert "the same command goes on from there" in said
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Time: " in result.stdout
    assert (tmp_path / "table2_runs.csv").read_bytes() == (folder / "table2_runs.csv").read_bytes()


def test_the_papers_figures_are_complete():
    rows = read_paper("paper_table2.csv")
    assert {(row["dataset"], row["method"]) for row in rows} == {
        (s, m) for s in SETS for m in PAPER
    }
    figures = {(row["dataset"], row["method"]): row for row in rows}
    assert figures["higgs", "bore"]["auc"] == "81.47"
    assert figures["waveform", "ssad"]["precision"] == "53.33"
    assert [row["dataset"] for row in read_paper("paper_table1.csv")] == list(SETS)
    assert list(PARTS) == list(commands.NAMES)  # what the help says


@pytest.mark.parametrize(("name", "expected"), [("letter", 50), ("higgs", 40)])
def test_feature_bagging_has_the_papers_numbers_of_columns(name, expected):
    rows = np.random.default_rng(0).normal(size=(120, 30))
    columns = make_feature_bagging(name, 0).set_params(passthrough=False).fit(rows)
    assert len(columns.columns_) == expected
    assert all("@s" in column for column in columns.columns_)


def test_distances_to_the_paper_leave_out_sets_with_few_test_outliers():
    counts = {"wilt": 104, "letter": 40, "parkinson": 5}
    paper = [{"dataset": name, "method": "bore", "auc": 0.9} for name in counts]
    paper += [{**run, "method": "be"} for run in paper]
    offsets = {"bore": 0.02, "be": -0.05}
    runs = [
        {**run, "auc": run["auc"] + offsets[run["method"]], "test_outliers": counts[run["dataset"]]}
        for run in paper
    ]
    table = distances(Summary(runs), Summary(paper))
    assert table.header == ["method", "wilt", "letter", "mean distance"]
    assert [row[1:] for row in table.rows] == [["+2.0", "+2.0", "2.0"], ["-5.0", "-5.0", "5.0"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cardio", 36), ("hepatitis", 1), ("letter", 36), ("parkinson", 5), ("ionosphere", 50)],
)
def test_printed_precisions_tell_the_number_of_test_outliers(name, expected):
    rows = [row for row in read_paper("paper_table2.csv") if row["dataset"] == name]
    assert fewest_outliers([float(row["precision"]) / 100 for row in rows]) == expected


def test_missing_matplotlib_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    settings = Settings(tmp_path, ("wine",), quick=True, n_jobs=1, verbose=False)
    with pytest.raises(ImportError, match=r"boreod\[report\]"):
        reproduce(["table1", "budget"], settings)
    assert not list(tmp_path.iterdir())


def test_the_report_names_code_and_time(folder):
    about = (folder / "report.md").read_text(encoding="utf-8").split("## Table 1")[0]
    assert f"digest of the code {code_digest()}" in about
    assert re.search(r"commit ([0-9a-f]{12}(-dirty)?|unknown), ", about)
    assert re.search(r"This call took .*; all runs, each on one core, took .* together", about)
