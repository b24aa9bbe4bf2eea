"""The claims of the paper's text about its experiments, compared with the results here."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from boreod.paper.evaluation.methods import METHODS, PAPER
from boreod.paper.evaluation.summary import Run, Summary, error_of_mean
from boreod.paper.reproduce import aggregation, budgets, figures
from boreod.paper.reproduce.setup import Settings, compare, paragraphs, write_csv
from boreod.paper.reproduce.tables import PRINTED, load_paper
from boreod.text import count_of
from boreod.tool.documents import Section, Table

SUPERVISED = ("ssad", "ssad+or", "be", "bore")
UNSUPERVISED = ("mean", "greedy")
# Differences are sure if a paired t-test with corrected error rejects equality at this level.
LEVEL = 0.05
# AUCs are similar if they differ by less than one percentage point.
SIMILAR = 0.01
# A claim with the words "nearly always" holds if at least this share of sets agrees.
NEARLY_ALL = 0.9
# A claim without a number holds if at least this share of sets agrees.
MOST = 0.75


class Claim(NamedTuple):
    """What the paper says, the paper's number, our number, and whether the claim holds here."""

    says: str
    printed: str
    here: str
    holds: str


class Rule(NamedTuple):
    """A claim about data sets.

    ``needed`` is the share of sets that must agree. ``agrees`` says whether a set agrees. ``pair``
    names two methods whose AUC is tested on each set.
    """

    says: str
    needed: float
    agrees: Callable[[Summary, str], bool]
    pair: tuple[str, str] | None = None


RULES = [
    Rule(
        "BORE is nearly always above BE in AUC",
        NEARLY_ALL,
        lambda summary, name: is_above(summary, name, "bore", "be"),
        ("bore", "be"),
    ),
    Rule(
        "BORE is best in all three measures on 6 of 12 sets",
        6 / 12,
        lambda summary, name: all("bore" in summary.best(name, measure) for measure in PRINTED),
    ),
    Rule(
        "BORE is best in at least one measure on 9 of 12 sets",
        9 / 12,
        lambda summary, name: any("bore" in summary.best(name, measure) for measure in PRINTED),
    ),
    Rule(
        "SSAD+OR is above SSAD for half of the data",
        1 / 2,
        lambda summary, name: is_above(summary, name, "ssad+or", "ssad"),
        ("ssad+or", "ssad"),
    ),
    Rule(
        "Methods with labels outperform those without (Best OSF left out)",
        1.0,
        lambda summary, name: all(
            is_above(summary, name, one, two) for one in SUPERVISED for two in UNSUPERVISED
        ),
    ),
    Rule(
        "The greedy ensemble is often worse than the mean",
        1 / 2,
        lambda summary, name: is_above(summary, name, "mean", "greedy"),
        ("mean", "greedy"),
    ),
]


def reproduce_claims(settings: Settings) -> Section:
    """Return a table of all claims; runs that other parts have finished are not run again."""
    ours = Summary(compare(settings, PAPER))
    claims = [
        *claims_of_table2(ours, load_paper(ours.datasets)),
        *claims_of_figures(settings),
        *claims_of_aggregation(aggregation.run_schemes(settings)),
        *claims_of_budgets(budgets.draw_budgets(settings)),
    ]
    write_csv(settings.folder / "claims.csv", [claim._asdict() for claim in claims])
    held = [claim.holds for claim in claims]
    counts = {key: held.count(key.replace("_", " ")) for key in ("yes", "in_part", "no")}
    text = paragraphs("claims", count=len(claims), level=LEVEL, **counts)
    header = ["the paper", "there", "here", "holds"]
    table = Table(header, [list(claim) for claim in claims], texts=frozenset({1, 2, 3}))
    return Section("Claims of the paper", [*text, table])


def claims_of_table2(ours: Summary, paper: Summary) -> list[Claim]:
    """Return the claims about the seven methods."""
    claims = []
    for says, needed, agrees, pair in RULES:
        printed = [agrees(paper, name) for name in paper.datasets]
        there = f"{sum(printed)} of {len(printed)}" if printed else "-"
        tests = compare_pairs(ours, *pair) if pair else None
        agree = [agrees(ours, name) for name in ours.datasets]
        claims.append(about_sets(says, needed, agree, tests, there))
    fair = [name for name in ours.methods if METHODS[name].labels != "hindsight"]
    better = [compare_pairs(ours, name, "bore") for name in fair if name != "bore"]
    among = [max(signs) < 1 for signs in zip(*better, strict=True)]
    claims.append(
        about_sets("BORE is always among the best: no method is surely above", 1.0, among)
    )
    sizes = [run["columns"] for name in ours.datasets for run in ours.runs(name, "greedy")]
    few = float(np.mean(np.array(sizes) <= 13))
    here = f"{min(sizes)} to {max(sizes)}; at most 13 in {100 * few:.0f} %"
    return [*claims, Claim("The greedy ensemble selects few scores", "1 to 13", here, grade(few))]


def claims_of_figures(settings: Settings) -> list[Claim]:
    """Return the claims about bags in two spaces and about sensitivity."""
    names = settings.only(figures.MAPPED)
    gains = [figures.is_better(figures.compare_spaces(settings, name)[0]) for name in names]
    says = "In bags, the representation separates outliers better"
    claims = [about_sets(says, 1.0, gains, there="3 of 3")]
    for name in settings.only(figures.SENSITIVITY):
        bore, ssad = (
            figures.judge_grids(settings, name, method).mean(axis=0) for method in figures.GRIDS
        )
        few = float(np.ptp(figures.enough_bags(settings, bore)))
        says = f"AUC is similar for all parameters from few bags on ({name})"
        holds = grade(-few, -SIMILAR, -2 * SIMILAR)
        claims.append(Claim(says, "a picture", f"range {100 * few:.1f} points", holds))
        here = f"range {100 * np.ptp(ssad):.1f} points, BORE {100 * np.ptp(bore):.1f}"
        holds = grade(float(np.ptp(ssad) - np.ptp(bore)), SIMILAR, 0.0)
        claims.append(
            Claim(f"SSAD varies more with its parameters ({name})", "a picture", here, holds)
        )
    return claims


def claims_of_aggregation(runs: list[Run]) -> list[Claim]:
    """Return the claims about other aggregations, classifiers and penalties."""
    summary = Summary(runs)
    claims = []
    for scheme in ("stacking", "maximin"):
        agree = [is_above(summary, name, "mean", scheme) for name in summary.datasets]
        says = f"{scheme.capitalize()} does not perform as well as the mean of bags"
        claims.append(about_sets(says, MOST, agree, compare_pairs(summary, "mean", scheme)))
    for scheme in aggregation.CLASSIFIERS:
        tests = compare_pairs(summary, scheme, "mean")
        says = (
            f"Any linear classifier could be used: {aggregation.SCHEMES[scheme]}, not surely worse"
        )
        claims.append(about_sets(says, MOST, [sign >= 0 for sign in tests], tests))
    counts = aggregation.chosen_penalties(runs)
    none = sum(count for value, count in counts.items() if value <= aggregation.NO_PENALTY)
    total = sum(counts.values())
    says = "Cross-validation chooses 0 as the l2 penalty"
    return [*claims, Claim(says, "always", f"in {none} of {total} fits", grade(none / total))]


def claims_of_budgets(draws: dict[str, budgets.Draws]) -> list[Claim]:
    """Return the claims about Figure 4."""

    def ahead(says: str, needed: float, first: str, *others: str, there: str = "-") -> Claim:
        """Return the claim that a curve is above others, by the means of both measures."""
        gaps = [
            [
                (budgets.curve_of(found, first, place) - budgets.curve_of(found, other, place))
                for other in others
                for place in (0, 1)
            ]
            for found in draws.values()
        ]
        agree = [all(gap.mean() > 0.0 for gap in of_set) for of_set in gaps]
        tests = [min(sign_of(gap.mean(axis=1)) for gap in of_set) for of_set in gaps]
        return about_sets(says, needed, agree, tests, there)

    def positive(says: str, gaps: list[NDArray]) -> Claim:
        return about_sets(says, MOST, [gap.mean() > 0.0 for gap in gaps], list(map(sign_of, gaps)))

    def smoother(says: str, first: str, other: str) -> Claim:
        pairs = [(budgets.falls_of(d, other), budgets.falls_of(d, first)) for d in draws.values()]
        return positive(says, [of_other - of_first for of_other, of_first in pairs])

    curves = [budgets.curve_of(found, "one_bag") for found in draws.values()]
    rises = float(np.mean([(np.diff(curve, axis=1) >= 0.0).mean() for curve in curves]))
    similar = [
        np.array([draw["similar"]["budget"] - draw["similar"]["omp"] for draw in found])
        for found in draws.values()
    ]
    above = "BORE-Budget has larger AUC and AUC 0.1 than"
    return [
        ahead(
            f"{above} OMP and random subsets", 9 / 12, "budget", "omp", "random", there="9 of 12"
        ),
        ahead(f"{above} OMP and random subsets that fill", 9 / 12, "budget", "omp", "filled"),
        ahead(f"{above} a control: the cheapest columns first", 9 / 12, "budget", "cheapest"),
        ahead("Random selection that stops is poor: below OMP", MOST, "omp", "random"),
        ahead("Random selection that fills is poor: below OMP", MOST, "omp", "filled"),
        smoother("BORE-Budget is smoother than OMP", "budget", "omp"),
        smoother("BORE-Budget is smoother than random subsets", "budget", "random"),
        Claim(
            "With one bag, AUC increases monotonically with the budget",
            "expected",
            f"AUC does not fall in {100 * rises:.0f} % of the steps",
            grade(rises, 0.95, MOST),
        ),
        smoother("Random subsets are relatively monotonic: smoother than OMP", "random", "omp"),
        positive("What bags buy is more similar to the stable set than with OMP", similar),
        smoother("Weighting bags by similarity might be smoother", "budget_weighted", "budget"),
    ]


def is_above(summary: Summary, name: str, first: str, other: str) -> bool:
    """Return whether the mean AUC of ``first`` on a set is above the mean AUC of ``other``."""
    one, two = (summary.cell(name, method, "auc") for method in (first, other))
    return one is not None and two is not None and one.mean > two.mean


def compare_pairs(summary: Summary, first: str, other: str) -> list[int]:
    """Return, for each set, 1 if ``first`` surely has a higher AUC, -1 if ``other`` has, else 0."""
    signs = []
    for name in summary.datasets:
        one, two = (
            {run["repetition"]: run["auc"] for run in summary.runs(name, method)}
            for method in (first, other)
        )
        signs.append(sign_of(np.array([one[n] - two[n] for n in one if n in two])))
    return signs


def sign_of(differences: NDArray) -> int:
    """Return 1 if paired differences are surely above 0, -1 if they are surely below 0, else 0."""
    if len(differences) < 2:
        return 0
    limit = error_of_mean(differences) * student.isf(LEVEL / 2, len(differences) - 1)
    return int(differences.mean() > limit) - int(differences.mean() < -limit)


def about_sets(
    says: str, needed: float, agree: list[bool], tests: list[int] | None = None, there: str = "-"
) -> Claim:
    """Return a claim about a share of the sets, with the numbers of sure differences."""
    here = f"{sum(agree)} of {count_of(len(agree), 'set')}"
    if tests is not None:
        here += f"; surely on {tests.count(1)}, surely not on {tests.count(-1)}"
    return Claim(says, there, here, grade(float(np.mean(agree)), needed, needed / 2))


def grade(value: float, needed: float = MOST, in_part: float = MOST / 2) -> str:
    """Return whether a claim holds, given a value and the limits for "yes" and "in part"."""
    if value >= needed:
        return "yes"
    return "in part" if value >= in_part else "no"
