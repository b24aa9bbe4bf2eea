"""BORE with reference samples: the same splits, what is lost, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from boreod import BORE, Reference
from boreod.paper.evaluation import Comparison, Journal, Plan, Summary, compare_methods
from boreod.paper.evaluation.comparison import ALL_ROWS, read_sizes
from boreod.paper.evaluation.presentation import present
from boreod.paper.evaluation.splits import MEASURES, judge, split_rows
from boreod.tool.documents import to_markdown

LABELS = np.repeat([0, 1], [140, 20])
ROWS = np.random.default_rng(0).normal(LABELS[:, None], size=(160, 4))  # hard to tell apart


def make_plan(methods, sizes):
    """Return a plan without budgets, for two splits."""
    return Plan(methods, [], method="bore", repetitions=2, reference_sizes=sizes)


def made_up(**aucs):
    """Return a comparison with these AUCs by reference; None for a run that failed."""
    runs = [
        {
            "dataset": "table", "protocol": "unseen", "repetition": number,
            "method": name.removeprefix("rows_").replace("_", " "),
            **({"error": "OSError: no"} if value is None else dict.fromkeys(MEASURES, value)),
            "fit_seconds": 1.0, "row_seconds": 2e-6,
        }
        for name, values in aucs.items()
        for number, value in enumerate(values)
    ]  # fmt: skip
    return Comparison([], [], runs, Plan(method="bore"))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A comparison, and the journal that it left."""
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    plan = make_plan(["bore"], np.array([60, 30]))
    return compare_methods(ROWS, LABELS, plan, n_jobs=1, journal=Journal(path)), path


def test_all_rows_are_the_method_itself(found):
    comparison, path = found
    assert Summary(comparison.reference_runs).methods == [ALL_ROWS, "60", "30"]
    everything = [run for run in comparison.reference_runs if run["method"] == ALL_ROWS]
    assert everything == [{**run, "method": ALL_ROWS} for run in comparison.runs]
    assert len(path.read_text().splitlines()) == 6  # it was not run twice


@pytest.mark.filterwarnings("ignore")  # of k beyond few rows
def test_samples_are_judged_on_the_splits_of_the_methods(found):
    run = next(run for run in found[0].reference_runs if run["method"] == "30")
    assert run["auc"] not in {other["auc"] for other in found[0].runs}
    split = split_rows(LABELS, 0, "unseen")
    model = BORE(reference=Reference(size=30), n_jobs=1, random_state=0).fit(
        ROWS[split.fitted], split.labels
    )
    assert len(model.reference_rows_) == 30
    expected = judge(LABELS[split.test] == 1, model.decision_function(ROWS[split.test]))
    assert {measure: run[measure] for measure in MEASURES} == expected


def test_a_stopped_comparison_goes_on(found, tmp_path):
    comparison, path = found
    kept = tmp_path / "runs.jsonl"
    kept.write_text("\n".join(path.read_text().splitlines()[:5]) + "\n")
    plan = make_plan([], [60, 30, 60])
    again = compare_methods(ROWS, LABELS, plan, n_jobs=1, journal=Journal(kept))
    assert again.runs == []
    same = [run for run in again.reference_runs if run in comparison.reference_runs]
    assert len(same) == 5  # down to the times; the sixth was run again
    assert len(again.reference_runs) == 6
    assert len(kept.read_text().splitlines()) == 6


@pytest.mark.parametrize("nothing", [None, []])
def test_nothing_is_run_unless_asked_for(nothing):
    plan = make_plan([], nothing)
    assert compare_methods(ROWS, LABELS, plan, n_jobs=1) == Comparison([], [], [], plan)


LEARNED = split_rows(LABELS, 0, "unseen").labels


@pytest.mark.parametrize(
    "size", [len(LEARNED), int(LEARNED.sum()), 0, 30.0, True, "30", None, 10**99]
)
def test_sizes_that_cannot_be(size, tmp_path):
    journal = Journal(tmp_path / "runs.jsonl")
    allowed = rf"from {LEARNED.sum() + 1}, .* to {len(LEARNED) - 1}, .*; got "
    with pytest.raises(ValueError, match=allowed):
        compare_methods(ROWS, LABELS, make_plan(["be"], [30, size]), n_jobs=1, journal=journal)
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize("sizes", [30, "30", [[30]]])
def test_sizes_that_are_no_list(sizes):
    with pytest.raises(ValueError, match="must be a list of numbers of rows; got"):
        compare_methods(ROWS, LABELS, make_plan(["be"], sizes))


def test_extreme_sizes_are_allowed_in_every_split():
    codes = np.repeat([0, 1], 11)
    outliers = [int(split_rows(codes, n, "unseen", seed=1).labels.sum()) for n in range(5)]
    assert outliers[0] == 6
    assert max(outliers) == 7  # 6.5 is rounded by chance
    plan = Plan([], [], reference_sizes=[8, 12], repetitions=5, seed=1)
    assert read_sizes(plan, codes) == [8, 12]
    # The judged rows are in the fit.
    transductive = replace(plan, reference_sizes=[21], protocol="transductive")
    assert read_sizes(transductive, codes) == [21]
    with pytest.raises(ValueError, match=r"from 8, .* to 12, .*; got 7"):
        compare_methods(ROWS[:22], codes, replace(plan, reference_sizes=[7]))


def test_losses_are_paired():
    losses = made_up(all_rows=[0.9, 0.7, 0.8], rows_50=[0.8, 0.5, 0.75]).reference_losses
    differences = np.array([0.1, 0.2, 0.05])
    error = np.sqrt((1 / 3 + 0.4 / 0.6) * differences.var(ddof=1))
    assert list(losses) == ["50"]
    assert losses["50"].mean == pytest.approx(differences.mean(), rel=1e-12)
    assert losses["50"].error == pytest.approx(error, rel=1e-12)
    assert str(losses["50"]) == "11.67 ±7.64"


BETTER, WORSE, GONE = [0.91, 0.69, 0.8], [0.5, 0.3, 0.4], [None] * 3


@pytest.mark.parametrize(
    ("samples", "advice"),
    [
        ({"rows_1000": BETTER, "rows_90": BETTER, "rows_50": WORSE}, "with all rows: 90 (by AUC)."),
        ({"rows_90": WORSE, "rows_50": WORSE}, "every reference tried BORE is worse"),
        ({"rows_90": BETTER, "rows_50": GONE}, "with all rows: 90 (by AUC)."),
    ],
)
def test_advice(samples, advice):
    said = made_up(**{"all_rows": [0.9, 0.7, 0.8], **samples}).advice()
    assert len(said) == 1
    assert advice in said[0]


@pytest.mark.parametrize(
    "samples", [{"rows_50": GONE}, {"rows_50": BETTER, "all_rows": GONE}], ids=["sample", "all"]
)
def test_no_advice_without_runs(samples):
    assert made_up(**{"all_rows": [0.9, 0.7, 0.8], **samples}).advice() == []


def test_readers_see_losses_failures_and_notes():
    comparison = made_up(
        all_rows=[0.9, 0.7, 0.8], rows_90=[0.9, 0.7001, 0.8], rows_50=[0.8, 0.5, None]
    )
    comparison.reference_runs[3]["warnings"] = ["few rows"]
    comparison.runs.append({**comparison.reference_runs[-1], "method": "be"})
    text = to_markdown(present(comparison, "A table."), level=1)
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}
    assert "over 3 splits" in text
    assert lines["all rows"].split("|")[6].strip() == "-"
    assert lines["90"].split("|")[6].strip() == "0.00 ±0.01"  # no minus before zero
    assert lines["50"].split("|")[6].strip() == "15.00 ±7.64"  # sqrt((1/2 + 2/3) * 0.005)
    assert [cell.strip() for cell in lines["50"].split("|")[7:9]] == ["1.00", "2"]
    assert "BORE with reference 50 failed: OSError: no" in text
    assert "BE failed: OSError: no" in text
    assert "BORE with reference 90 says: few rows" in text


def test_one_split_has_no_error():
    comparison = made_up(all_rows=[0.9], rows_50=[0.8])
    assert str(comparison.reference_losses["50"]) == "10.00"
    assert not comparison.reference_losses["50"].is_sure
