"""The table of claims: the paper's own figures confirm its text, and made-up results its rules."""

import numpy as np
import pytest

from boreod.paper.evaluation.summary import Summary
from boreod.paper.reproduce import Settings, reproduce
from boreod.paper.reproduce.aggregation import SCHEMES
from boreod.paper.reproduce.budgets import CURVES, VARIANTS
from boreod.paper.reproduce.claims import (
    about_sets,
    claims_of_aggregation,
    claims_of_budgets,
    claims_of_table2,
    compare_pairs,
)
from boreod.paper.reproduce.setup import read_paper
from boreod.paper.reproduce.tables import PRINTED

SAYS = {
    "BORE is nearly always above BE in AUC": "12 of 12",
    "BORE is best in all three measures on 6 of 12 sets": "6 of 12",
    "BORE is best in at least one measure on 9 of 12 sets": "11 of 12",
    "SSAD+OR is above SSAD for half of the data": "7 of 12",
    "The greedy ensemble is often worse than the mean": "10 of 12",
}


@pytest.fixture(scope="module")
def of_the_paper():
    rows = [
        row | {measure: float(row[measure]) / 100 for measure in PRINTED} | {"columns": 13}
        for row in read_paper("paper_table2.csv")
    ]
    return Summary([{**row, "repetition": 0} for row in rows])


@pytest.mark.parametrize("says", SAYS)
def test_the_papers_figures_say_what_its_text_says(of_the_paper, says):
    claims = {claim.says: claim for claim in claims_of_table2(of_the_paper, of_the_paper)}
    assert claims[says].printed == SAYS[says]
    assert claims[says].here.startswith(SAYS[says])
    assert claims[says].holds == "yes"


@pytest.mark.parametrize(
    ("bore", "verdicts"),
    [(0.95, ["yes", "yes", "yes"]), (0.60, ["no", "no", "no"])],
    ids=["BORE wins", "BORE loses"],
)
def test_claims_follow_our_figures(of_the_paper, bore, verdicts):
    values = {"bore": bore, "be": 0.9, "ssad": 0.8, "ssad+or": 0.85, "greedy": 0.7, "mean": 0.75}
    runs = [
        {"dataset": name, "method": method, "repetition": number, "columns": 5}
        | dict.fromkeys(PRINTED, value + 0.001 * number)
        for name in ("wilt", "letter")
        for method, value in values.items()
        for number in range(4)
    ]
    claims = {claim.says: claim for claim in claims_of_table2(Summary(runs), of_the_paper)}
    wins = [claims[says] for says in list(SAYS)[:3]]
    assert [claim.holds for claim in wins] == verdicts
    assert claims["SSAD+OR is above SSAD for half of the data"].holds == "yes"
    among = claims["BORE is always among the best: no method is surely above"]
    assert among.holds == verdicts[0]
    assert claims["The greedy ensemble selects few scores"].here == "5 to 5; at most 13 in 100 %"


@pytest.mark.parametrize(
    ("gains", "expected"),
    [([0.1, 0.12, 0.11, 0.1], 1), ([-0.1, -0.12, -0.11, -0.1], -1), ([0.1, -0.1, 0.02, 0.0], 0),
     ([0.1], 0)],
)  # fmt: skip
def test_sure_differences(gains, expected):
    runs = [
        {"dataset": "wilt", "method": method, "repetition": number, "auc": 0.7 + gain * sign}
        for number, gain in enumerate(gains)
        for method, sign in (("bore", 1), ("be", 0))
    ]
    assert compare_pairs(Summary(runs), "bore", "be") == [expected]


@pytest.mark.parametrize(
    ("agree", "holds"), [(9, "yes"), (8, "in part"), (5, "in part"), (4, "no")]
)
def test_a_claim_holds_if_as_many_sets_agree_as_the_text_says(agree, holds):
    claim = about_sets("says", 9 / 12, [place < agree for place in range(12)], [1, 0, -1], "9")
    assert claim[1:] == ("9", f"{agree} of 12 sets; surely on 1, surely not on 1", holds)


def make_draws(levels, rough=()):
    """Return draws of one set with flat curves at these levels, some of them with a fall."""
    draws = []
    for number in range(5):
        curves = {}
        for key in (*CURVES, *VARIANTS):
            curve = np.full((4, 2), levels.get(key, 0.5) + 0.001 * number)
            curve[2] -= 0.1 * (key in rough)
            curves[key] = curve.tolist()
        similar = {"budget": 0.8 + 0.01 * number, "omp": 0.3}
        draws.append({"curves": curves, "similar": similar})
    return draws


@pytest.mark.parametrize(
    ("levels", "rough", "expected"),
    [
        ({"budget": 0.9, "omp": 0.8, "filled": 0.7, "random": 0.6, "cheapest": 0.95}, ("omp",),
         ["yes", "yes", "no", "yes", "yes", "yes", "no", "yes", "yes", "yes", "no"]),
        ({"budget": 0.8, "omp": 0.9, "filled": 0.95, "random": 0.85},
         ("budget", "random", "one_bag"),
         ["no", "no", "yes", "yes", "no", "no", "no", "no", "no", "yes", "yes"]),
    ],
    ids=["as printed", "the other way round"],
)  # fmt: skip
def test_claims_about_budgets_follow_the_curves(levels, rough, expected):
    claims = claims_of_budgets({"wilt": make_draws(levels, rough)})
    assert [claim.holds for claim in claims] == expected
    sure = [claim.here for claim in claims if "OMP and random subsets" in claim.says]
    signs = {"yes": "surely on 1, surely not on 0", "no": "surely on 0, surely not on 1"}
    assert sure[0].endswith(signs[expected[0]])


def test_claims_about_aggregation_follow_the_runs():
    values = dict.fromkeys(SCHEMES, 0.9) | {"stacking": 0.8, "maximin": 0.95, "ridge": 0.7}
    runs = [
        {"dataset": "wilt", "method": scheme, "repetition": number, "auc": value + 0.001 * number}
        | {"penalty": 1e-8 if number else 0.1}
        for scheme, value in values.items()
        for number in range(4)
    ]
    claims = claims_of_aggregation(runs)
    assert [claim.holds for claim in claims] == ["yes", "no", "yes", "no", "yes", "yes"]
    assert claims[-1].here == "in 3 of 4 fits"


def test_claims_are_computed_from_the_finished_runs(tmp_path):
    settings = Settings(tmp_path, ("wine",), quick=True, n_jobs=1, verbose=False)
    reproduce(["claims"], settings)
    lines = len((tmp_path / "runs.jsonl").read_text().splitlines())
    text = reproduce(["claims"], Settings(tmp_path, ("wine",), quick=True, n_jobs=1))[0]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == lines
    assert len(text.blocks[1].rows) > 20
