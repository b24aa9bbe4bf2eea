"""The comparison on an own table."""

import numpy as np
import pytest

from boreod.paper.datasets import load
from boreod.paper.evaluation import Comparison, Journal, Plan, Summary, compare_methods
from boreod.paper.evaluation.summary import error_of_mean

WINE = load("wine")


def test_methods_and_budgets_share_their_splits(tmp_path):
    plan = Plan(["be", "bore"], ["1ms"], method="bore", repetitions=2)
    journal = Journal(tmp_path / "runs.jsonl")
    found = compare_methods(WINE.X, WINE.y, plan, n_jobs=1, journal=journal)
    everything = [run["auc"] for run in found.budget_runs if run["method"] == "all columns"]
    bore = [run["auc"] for run in found.runs if run["method"] == "bore"]
    assert everything == bore
    assert Summary(found.budget_runs).methods == ["all columns", "1ms"]
    assert len(found.advice()) == 2
    journal = Journal(tmp_path / "runs.jsonl")
    again = compare_methods(WINE.X, WINE.y, plan, n_jobs=1, journal=journal)
    assert again == found  # nothing was run twice: even the times are the same


def test_a_detector_within_budgets():
    plan = Plan(["detector"], ["20us"], repetitions=1)
    found = compare_methods(WINE.X, WINE.y, plan, n_jobs=1)
    whole, fast = found.budget_runs
    assert whole["auc"] == found.runs[0]["auc"]
    assert fast["cost"] <= 20e-6 < whole["cost"]
    assert all("Detector" in sentence for sentence in found.advice())


def test_labels_that_are_words_and_unlabelled_rows():
    words = np.array(["ok", "bad"], dtype=object)[WINE.y]
    words[:20] = None
    plan = Plan(["be"], [], repetitions=1)
    found = compare_methods(WINE.X, words, plan, outlier_label="bad", n_jobs=1)
    assert found.runs[0]["auc"] > 0.5
    assert found.budget_runs == []


def test_advice_names_what_cannot_be_told_apart():
    runs = [
        {"dataset": "table", "protocol": "transductive", "method": method,
         "repetition": number, "average_precision": value}
        for method, values in {
            "best": [1.0, 1.0, 1.0], "be": [0.5, 0.6, 0.7], "bore": [0.6, 0.55, 0.75],
            "mean": [0.1, 0.2, 0.1],
        }.items()
        for number, value in enumerate(values)
    ]  # fmt: skip
    advice = Comparison(runs, [], Plan()).advice()
    assert advice == [
        "The best method by mean average precision is BORE, which is not surely better than BE."
    ]


def test_error_of_mean():
    values = np.array([0.1, 0.3, 0.2, 0.4])
    expected = np.sqrt((1 / 4 + 0.4 / 0.6) * values.var(ddof=1))
    assert error_of_mean(values) == pytest.approx(expected, rel=1e-12)
    assert error_of_mean(values[:1]) == np.inf  # a single split


@pytest.mark.parametrize(
    ("labels", "plan", "message"),
    [
        (WINE.y, Plan(["be"], [300]), "time per row"),
        (WINE.y, Plan(["nothing"]), "Methods are"),
        (np.where(np.arange(140) > 137, 1, 0), Plan(["be"]), "at least 4 labelled rows"),
    ],
)
def test_bad_plans_are_refused_before_work(labels, plan, message):
    with pytest.raises(ValueError, match=message):
        compare_methods(WINE.X, labels, plan)


def test_summary_counts_ties_and_leaves_failures_out():
    runs = [
        {"dataset": "a", "method": "be", "auc": 0.90001},
        {"dataset": "a", "method": "bore", "auc": 0.90002},
        {"dataset": "b", "method": "be", "auc": 0.8},
        {"dataset": "b", "method": "bore", "error": "no"},
    ]
    summary = Summary(runs)
    assert summary.best("a", "auc") == {"be", "bore"}
    assert summary.wins("be", "auc") == 2
    assert summary.overall("bore", "auc") is None
    assert summary.ranking("auc") == ["be"]
    assert summary.cell("b", "bore", "auc") is None
