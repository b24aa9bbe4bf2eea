"""The fuzzer itself: it runs, it says the same again, and it notices what is planted."""

import json

import pytest

from fuzz.__main__ import Campaign, main, run_again
from fuzz.processes import Worker
from fuzz.verdicts import Wrong, check_sentence, signature

# With these, the cases are quick, and no two kinds have the same.
SEEDS = {"caches": 1, "modes": 2, "names": 3, "units": 4}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A folder, and verdicts on planted faults; the worker is started again when it dies."""
    folder = tmp_path_factory.mktemp("planted")
    worker, verdicts = Worker(folder, 120.0), {}
    assert worker.ask({"prepare": str(folder / "files")}, 600.0)["verdict"] == "ready"
    for kind in ("good", "NaN", "file", "code", "mode", "tags", "silence", "hang", "crash"):
        case = {"kind": f"planted {kind}", "seed": 2, "good": str(folder / "files")}
        limit = 1.0 if kind == "hang" else 120.0
        verdicts[kind] = worker.ask({**case, "folder": str(folder / kind)}, limit)
    worker.stop()
    return folder, verdicts


@pytest.mark.parametrize("kind", ["caches", "modes", "names", "units"])
def test_the_other_kinds_find_nothing_in_honest_work(kind, planted, tmp_path):
    run = Campaign(SEEDS[kind], tmp_path / "kept", limit=120.0, show=lambda text: None)
    run.run(cases=1, kinds=(kind,), good=planted[0] / "files")
    assert run.failed == 0, run.table()
    assert run.counts[kind].total() == 1


@pytest.fixture(scope="module")
def campaign(planted, tmp_path_factory):
    """A short run of two kinds."""
    failures = tmp_path_factory.mktemp("failures") / "cases"
    run = Campaign(7, failures, limit=120.0, look_at_memory=0, show=lambda text: None)
    run.run(cases=30, kinds=("models", "tables"), good=planted[0] / "files")
    return run


def test_a_short_run_finds_nothing(campaign):
    assert campaign.table().splitlines()[-1].endswith("seed 7"), campaign.table()
    assert campaign.failed == 0
    counts = campaign.counts["models"] + campaign.counts["tables"]
    assert counts.total() == 30
    assert counts["refused"] > 5
    assert counts["scored"] > 0


def test_good_files_are_scored(planted):
    assert planted[1]["good"]["verdict"] == "scored"


@pytest.mark.parametrize(
    ("kind", "verdict", "words"),
    [
        ("crash", "crash", "signal 11"),
        ("hang", "hang", "worker.py hang"),
        ("NaN", "wrong", "not finite"),
        ("file", "wrong", "scored.csv.part"),
        ("code", "wrong", "scores differ with damaged machine code"),
        ("mode", "wrong", "the mode of a file is wider than before"),
        ("tags", "wrong", "a name is not escaped in a page"),
        ("silence", "wrong", "a factor of 100 or more is not noticed"),
    ],
)
def test_planted_faults_are_noticed(kind, verdict, words, planted):
    assert planted[1][kind]["verdict"] == verdict
    assert words in planted[1][kind]["detail"]


def test_a_saved_case_runs_again(planted, tmp_path):
    folder = planted[0] / "NaN"
    assert json.loads((folder / "case.json").read_text())["kind"] == "planted NaN"
    before = sorted(item.name for item in folder.rglob("*"))
    assert "not finite" in run_again(folder, 60.0)["detail"]
    assert sorted(item.name for item in folder.rglob("*")) == before


def test_failures_are_counted_and_kept(tmp_path):
    shown = []
    run = Campaign(1, tmp_path / "kept", look_at_memory=0, show=shown.append)
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.json").write_text("{}")
    for number in range(9):
        failure = {"verdict": "wrong", "detail": f"row {number}", "signature": signature("row 5")}
        run._note("rows", failure, tmp_path / "case")
    run._note("rows", {"verdict": "scored"}, tmp_path / "case")
    assert run.failed == 9
    assert len(shown) == 1
    assert len(list((tmp_path / "kept").iterdir())) == 3
    assert "row 0" in (tmp_path / "kept" / "rows-wrong-00001" / "failure.txt").read_text()


def test_no_time_means_no_cases(capsys, monkeypatch):
    monkeypatch.setattr(Campaign, "_prepare", lambda *_, **__: None)
    assert main(["--minutes", "0", "--seed", "3"]) == 0
    assert "seed 3" in capsys.readouterr().out


@pytest.mark.parametrize("message", ["", "Two\nlines.", "no end", "x" * 5000 + "."])
def test_what_is_no_sentence(message):
    with pytest.raises(Wrong):
        check_sentence(message)
