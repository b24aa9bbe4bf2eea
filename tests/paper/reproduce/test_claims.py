"""The table of claims: the paper's own figures must confirm what its text says of them."""

import pytest

from boreod.paper.evaluation.summary import Summary
from boreod.paper.reproduce import SETS, Settings, reproduce
from boreod.paper.reproduce.claims import about_sets, claims_of_table2, compare_pairs
from boreod.paper.reproduce.setup import read_paper
from boreod.paper.reproduce.tables import PRINTED

SAYS = {
    "BORE is nearly always above BE in AUC": "12 of 12",
    "BORE is best in all three measures on 6 sets": "6 of 12",
    "BORE is best in at least one measure on 9 sets": "11 of 12",
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
def test_a_claim_holds_if_as_many_sets_agree_as_in_the_paper(agree, holds):
    printed = [True] * 9 + [False] * 3
    claim = about_sets("says", printed, [place < agree for place in range(12)], [1, 0, -1])
    assert claim[1:] == ("9 of 12", f"{agree} of 12 sets; surely on 1, surely not on 1", holds)


def test_claims_are_computed_from_the_finished_runs(tmp_path):
    settings = Settings(tmp_path, ("wine",), quick=True, n_jobs=1, verbose=False)
    reproduce(["claims"], settings)
    lines = len((tmp_path / "runs.jsonl").read_text().splitlines())
    text = reproduce(["claims"], Settings(tmp_path, ("wine",), quick=True, n_jobs=1))[0]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == lines
    assert len(text.blocks[1].rows) > 20
    assert set(SETS).isdisjoint(settings.datasets)
