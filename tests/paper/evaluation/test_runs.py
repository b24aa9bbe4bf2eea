"""Many tasks: order, failures, interruptions, and going on afterwards."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from boreod.paper.evaluation.runs import Journal, code_digest, run_tasks

SLOW_TASKS = """
import sys, time
from pathlib import Path
from boreod.paper.evaluation.runs import Journal, run_tasks

def work(number):
    time.sleep(0.2)
    return {"square": number * number}

if __name__ == "__main__":
    tasks = {f"task {n}": (n,) for n in range(20)}
    results = run_tasks(work, tasks, Journal(Path(sys.argv[1])), n_jobs=int(sys.argv[2]))
    print([result["square"] for result in results])
"""


def square(number):
    if number == 3:
        raise ValueError("three is not wanted")
    return {"square": number * number}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    tasks = {f"task {n}": (n,) for n in (5, 1, 4)}
    results = run_tasks(square, tasks, Journal(None), n_jobs)
    assert [result["square"] for result in results] == [25, 1, 16]
    assert all(result["seconds"] >= 0 for result in results)


def test_a_failure_is_reported_and_the_others_go_on(tmp_path):
    path = tmp_path / "runs.jsonl"
    results = run_tasks(square, {str(n): (n,) for n in range(5)}, Journal(path), n_jobs=1)
    assert results[3] == {"error": "ValueError: three is not wanted"}
    assert [result.get("square") for result in results] == [0, 1, 4, None, 16]
    assert len(path.read_text().splitlines()) == 4  # the failed one is tried again next time


def test_finished_runs_are_not_repeated(tmp_path):
    path = tmp_path / "runs.jsonl"
    first = run_tasks(square, {"2": (2,)}, Journal(path), n_jobs=1)
    calls = []
    again = run_tasks(lambda n: calls.append(n) or {}, {"2": (2,)}, Journal(path), n_jobs=1)
    assert again == first
    assert calls == []


def test_a_line_cut_short_is_run_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    journal = Journal(path)
    journal.add("a", {"auc": 0.1 + 0.2})
    journal.add("b", {"auc": 0.5})
    path.write_bytes(path.read_bytes()[:-9])
    journal = Journal(path)
    assert journal["a"]["auc"] == 0.1 + 0.2  # to the last bit
    assert "b" not in journal
    journal.add("b", {"auc": 0.5})
    assert "b" in Journal(path)


def test_lines_of_other_code_are_not_used(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    Journal(path).add("a", {"auc": 0.5})
    assert json.loads(path.read_text())["code"] == code_digest()
    monkeypatch.setattr("boreod.paper.evaluation.runs.code_digest", lambda: "0123456789ab")
    journal = Journal(path)
    assert "a" not in journal
    journal.add("b", {"auc": 0.5})
    assert set(Journal(path)) == {"b"}
    monkeypatch.undo()
    assert set(Journal(path)) == {"a"}


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("name,value\n")
    with pytest.raises(ValueError, match=r"Line 1 of .* is not a finished run"):
        Journal(path)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on(tmp_path, how, n_jobs):
    script, path = tmp_path / "script.py", tmp_path / "runs.jsonl"
    script.write_text(SLOW_TASKS)
    command = [sys.executable, str(script), str(path), n_jobs]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        wait_for(lambda: path.exists() and len(path.read_text().splitlines()) >= 3)
        os.killpg(process.pid, how)  # as a terminal does
        assert process.wait(60) != 0
    done = len(path.read_text().splitlines())
    assert 3 <= done < 20
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"{[n * n for n in range(20)]}\n"
    assert len(path.read_text().splitlines()) == 20


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
