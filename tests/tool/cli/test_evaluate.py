"""`boreod evaluate` as a user types it: what it shows."""

import json

from payments import make_frauds, write

from boreod.paper.evaluation.methods import METHODS
from tool.cli.runner import run

FEW = ["--label", "fraud", "--id", "id", "--methods", "be", "--budgets", "1s", "--method", "bore"]


def evaluate(folder, *options):
    """Run the command on a small table."""
    table = write(make_frauds(), folder / "payments.csv")
    more = ["--repetitions", "2", "--jobs", "1", "--quiet", "-o", str(folder / "results")]
    return run("evaluate", table, *FEW, *more, *options)


def test_all_results_are_shown(tmp_path):
    found = json.loads(evaluate(tmp_path, "--json").stdout)
    assert set(found) == {"methods", "budgets", "advice"}
    assert [run["method"] for run in found["methods"]] == ["be", "be"]
    assert [run["method"] for run in found["budgets"]] == ["all columns", "1s"] * 2
    said = evaluate(tmp_path).stdout
    assert len(found["advice"]) == 2
    assert all(sentence in said for sentence in found["advice"])
    page = (tmp_path / "results" / "comparison.html").read_text()
    assert "BORE within budgets" in page
    assert len((tmp_path / "results" / "runs.jsonl").read_text().splitlines()) == 4


def test_budgets_for_rows_that_come_alone(tmp_path):
    """Budgets below the price of a call are left out, as those below any column are."""
    table = write(make_frauds(120), tmp_path / "payments.csv")
    labels = ["--label", "fraud", "--id", "id", "--methods", "be", "--method", "bore"]
    more = ["--repetitions", "1", "--jobs", "1", "--quiet", "-o", str(tmp_path / "results")]
    budgets = ["--budgets", "2us,1s", "--batch", "1"]
    said = run("evaluate", table, *labels, *more, *budgets).stdout
    assert "BORE within budgets for a row alone; time as priced" in said
    assert "| 1s |" in said
    assert "| 2us |" not in said
    nothing = run("evaluate", table, *labels, *more, "--budgets", "none", "--batch", "1", code=1)
    assert "`batch_size` (--batch) is 1, but there are no `budgets` (--budgets)" in nothing.stderr


def test_one_split_gives_valid_json(tmp_path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    text = evaluate(tmp_path, "--json", "--repetitions", "1").stdout
    assert len(json.loads(text, parse_constant=refuse)["methods"]) == 1


def test_names_of_methods_are_in_the_help_and_checked_before_the_table_is_read(tmp_path):
    said = run("evaluate", "--help", env={"COLUMNS": "1000"}).stdout
    assert f"separated by commas: {', '.join(METHODS)}; by default" in said
    options = ["--label", "fraud", "--methods", "be,bor"]
    refused = run("evaluate", tmp_path / "no.csv", *options, code=1).stderr
    assert refused == f"Error: Methods are {', '.join(METHODS)}; got 'bor'.\n"
    refused = run("evaluate", tmp_path / "no.csv", *options[:3], "be", "--budgets", "5", code=1)
    assert "or a time per row in ns" in refused.stderr
