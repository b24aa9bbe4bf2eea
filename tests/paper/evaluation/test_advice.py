"""What readers learn about budgets: losses on the same splits, advice, failures and notes."""

import numpy as np
import pytest

from boreod.paper.evaluation import Comparison, Journal, Plan, compare_methods
from boreod.paper.evaluation.comparison import EVERYTHING, present
from boreod.paper.evaluation.splits import MEASURES
from boreod.paper.evaluation.summary import Summary, find_losses
from boreod.tool.documents import to_markdown

LABELS = np.repeat([0, 1], [140, 20])
ROWS = np.random.default_rng(0).normal(LABELS[:, None], size=(160, 4))  # hard to tell apart
WHOLE = [0.9, 0.7, 0.8]
BETTER, WORSE, GONE = [0.91, 0.69, 0.8], [0.5, 0.3, 0.4], [None] * 3


def made_up(values_by_budget):
    """Return a comparison in which every measure has these values; None for a run that failed."""
    runs = [
        {
            "dataset": "table", "protocol": "unseen", "repetition": number, "method": budget,
            **({"error": "OSError: no"} if value is None else dict.fromkeys(MEASURES, value)),
            "columns": 3, "cost": 2e-6,
        }
        for budget, values in values_by_budget.items()
        for number, value in enumerate(values)
    ]  # fmt: skip
    return Comparison([], runs, Plan(method="bore"))


def test_a_stopped_comparison_goes_on(tmp_path):
    path = tmp_path / "runs.jsonl"
    plan = Plan(["be", "bore"], [], repetitions=2)
    whole = compare_methods(ROWS, LABELS, plan, n_jobs=1, journal=Journal(path))
    lines = path.read_text().splitlines()
    assert len(lines) == 4
    path.write_text("\n".join(lines[:3]) + "\n")
    again = compare_methods(ROWS, LABELS, plan, n_jobs=1, journal=Journal(path))
    same = [run for run in again.runs if run in whole.runs]
    assert len(same) == 3  # down to the times; the fourth was run again
    assert len(again.runs) == 4
    assert len(path.read_text().splitlines()) == 4


def test_nothing_is_run_unless_asked_for():
    plan = Plan([], [])
    assert compare_methods(ROWS, LABELS, plan, n_jobs=1) == Comparison([], [], plan)


def test_losses_are_paired():
    runs = made_up({EVERYTHING: WHOLE, "50us": [0.8, 0.5, 0.75]}).budget_runs
    losses = find_losses(Summary(runs), EVERYTHING, "auc", over_sets=False)
    differences = np.array([0.1, 0.2, 0.05])
    error = np.sqrt((1 / 3 + 0.4 / 0.6) * differences.var(ddof=1))
    assert list(losses) == ["50us"]
    assert losses["50us"].mean == pytest.approx(differences.mean(), rel=1e-12)
    assert losses["50us"].high - losses["50us"].mean == pytest.approx(error, rel=1e-12)
    assert losses["50us"].mean - losses["50us"].low == pytest.approx(error, rel=1e-12)
    assert losses["50us"].count == 3
    assert losses["50us"].is_sure
    assert str(losses["50us"]) == "+0.117 [+0.040, +0.193]"


@pytest.mark.parametrize(
    ("whole", "part", "shown"),
    [(WHOLE, [0.9, 0.7001, 0.8], "+0.000 [+0.000, +0.000]"), ([0.9], [0.8], "+0.100")],
    ids=["no minus before zero", "no interval of one split"],
)
def test_losses_are_shown_with_their_interval(whole, part, shown):
    runs = made_up({EVERYTHING: whole, "50us": part}).budget_runs
    loss = find_losses(Summary(runs), EVERYTHING, "auc", over_sets=False)["50us"]
    assert str(loss) == shown
    assert not loss.is_sure


@pytest.mark.parametrize(
    ("budgets", "advice"),
    [
        ({"1ms": BETTER, "90us": BETTER, "50us": WORSE}, "than with all columns is 90us."),
        ({"90us": WORSE, "50us": WORSE}, "every budget tried, BORE is worse"),
        ({"90us": BETTER, "50us": GONE}, "than with all columns is 90us."),
    ],
)
def test_advice(budgets, advice):
    said = made_up({EVERYTHING: WHOLE, **budgets}).advice()
    assert len(said) == 1
    assert advice in said[0]


@pytest.mark.parametrize(
    "budgets", [{"50us": GONE}, {"50us": BETTER, EVERYTHING: GONE}], ids=["budget", "all columns"]
)
def test_no_advice_without_runs(budgets):
    assert made_up({EVERYTHING: WHOLE, **budgets}).advice() == []


def test_readers_see_costs_failures_and_notes():
    comparison = made_up({EVERYTHING: WHOLE, "50us": [0.8, 0.5, None]})
    shown = {"dataset": "table", "protocol": "unseen", "repetition": 0}
    times = {"fit_seconds": 1.0, "row_seconds": 2e-6}
    comparison.runs.append({**shown, "method": "be", "error": "OSError: no"})
    quality = dict.fromkeys(MEASURES, 0.5)
    said = {"warnings": ["few rows"]}
    comparison.runs.append({**shown, "method": "bore", **quality, **times, **said})
    comparison.runs.append({**shown, "method": "iforest", **quality, **times, **said})
    text = to_markdown(present(comparison, "A table."), level=1)
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}
    assert "over 3 splits" in text
    assert [cell.strip() for cell in lines["50us"].split("|")[-3:-1]] == ["3", "2"]
    assert "Budgets failed: OSError: no" in text
    assert "BE failed: OSError: no" in text
    assert "BORE says: few rows" in text
    assert text.count("few rows") == 1  # other libraries warn too often
