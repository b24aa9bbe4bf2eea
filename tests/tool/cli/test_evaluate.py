"""`boreod evaluate` as a user types it: what it says about reference samples."""

import json

import pytest
from payments import make_frauds, write

from tool.cli.runner import run

FEW = ["--label", "fraud", "--id", "id", "--methods", "be", "--budgets", "none", "--method", "bore"]


def evaluate(folder, sizes, *options, code=0):
    """Run the command on a small table."""
    table = write(make_frauds(), folder / "payments.csv")
    more = ["--repetitions", "2", "--jobs", "1", "--quiet", "-o", str(folder / "results")]
    sized = ["--reference-sizes", sizes]
    return run("evaluate", table, *FEW, *more, *options, *sized, code=code)


def test_the_loss_is_reported(tmp_path):
    found = json.loads(evaluate(tmp_path, "60,120", "--json").stdout)
    names = [run["method"] for run in found["references"]]
    assert names == ["all rows", "all rows", "60", "60", "120", "120"]
    aucs = [run["auc"] for run in found["references"]]
    losses = found["reference_losses"]
    assert losses["60"]["mean"] == pytest.approx((aucs[0] - aucs[2] + aucs[1] - aucs[3]) / 2)
    assert set(losses) == {"60", "120"}
    assert all(loss["error_of_mean"] >= 0.0 for loss in losses.values())
    said = evaluate(tmp_path, "60,120").stdout
    assert found["advice"][1] in said
    assert "BORE with reference samples" in said
    assert "loss in AUC" in (tmp_path / "results" / "comparison.html").read_text()
    assert len((tmp_path / "results" / "runs.jsonl").read_text().splitlines()) == 8


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

    text = evaluate(tmp_path, "60", "--json", "--repetitions", "1").stdout
    found = json.loads(text, parse_constant=refuse)
    assert found["reference_losses"]["60"]["error_of_mean"] is None


@pytest.mark.parametrize(
    ("sizes", "code", "said"),
    [
        ("60,100000", 1, "`reference_sizes` must be whole numbers from"),
        ("60,many", 2, "60,many"),
        (",", 2, "numbers of rows"),
    ],
)
def test_sizes_that_cannot_be(tmp_path, sizes, code, said):
    assert said in evaluate(tmp_path, sizes, code=code).output
    assert not (tmp_path / "results").exists()
