"""Every claim of the paper's text about its experiments, beside what the results here say."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from boreod.paper.evaluation.methods import PAPER
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
# AUCs are similar if they differ by less than a point.
SIMILAR = 0.01
# The share of sets that must agree with a claim that has no number.
MOST_SETS = 0.75
Rule = Callable[[Summary, str], bool]


class Claim(NamedTuple):
    """What the paper says, the paper's own figure, ours, and whether the claim holds here."""

    says: str
    printed: str
    here: str
    holds: str


def reproduce_claims(settings: Settings) -> Section:
    """Compute a table of all claims, from runs that other parts have finished if they have."""
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
    header = ["the paper", "there", "here", "holds"]
    table = Table(header, [list(claim) for claim in claims], texts=frozenset({1, 2, 3}))
    text = paragraphs("claims", count=len(claims), level=LEVEL, **counts)
    return Section("Claims of the paper", [*text, table])


# Claims about the seven methods, the rule for one set, and the two methods of a paired test.
RULES: list[tuple[str, Rule, tuple[str, str] | None]] = [
    (
        "BORE is nearly always above BE in AUC",
        lambda summary, name: is_above(summary, name, "bore", "be"),
        ("bore", "be"),
    ),
    (
        "BORE is best in all three measures on 6 sets",
        lambda summary, name: all("bore" in summary.best(name, measure) for measure in PRINTED),
        None,
    ),
    (
        "BORE is best in at least one measure on 9 sets",
        lambda summary, name: any("bore" in summary.best(name, measure) for measure in PRINTED),
        None,
    ),
    (
        "SSAD+OR is above SSAD for half of the data",
        lambda summary, name: is_above(summary, name, "ssad+or", "ssad"),
        ("ssad+or", "ssad"),
    ),
    (
        "Methods with labels outperform those without (Best OSF left out)",
        lambda summary, name: all(
            is_above(summary, name, taught, other)
            for taught in SUPERVISED
            for other in UNSUPERVISED
        ),
        None,
    ),
    (
        "The greedy ensemble is often worse than the mean",
        lambda summary, name: is_above(summary, name, "mean", "greedy"),
        None,
    ),
]


def claims_of_table2(ours: Summary, paper: Summary) -> list[Claim]:
    """Return the claims about the seven methods."""
    claims = []
    for says, rule, pair in RULES:
        agree = [rule(ours, name) for name in ours.datasets]
        printed = [rule(paper, name) for name in paper.datasets]
        tests = compare_pairs(ours, *pair) if pair else None
        claims.append(about_sets(says, printed, agree, tests))
    sizes = [run["columns"] for name in ours.datasets for run in ours.runs(name, "greedy")]
    here = f"{min(sizes)} to {max(sizes)}"
    holds = "yes" if max(sizes) <= 13 else "in part"
    return [*claims, Claim("The greedy ensemble selects few scores", "1 to 13", here, holds)]


def claims_of_figures(settings: Settings) -> list[Claim]:
    """Return the claims about bags in two spaces and about sensitivity."""
    names = settings.only(figures.MAPPED)
    gains = [figures.is_better(figures.compare_spaces(settings, name)[0]) for name in names]
    claims = [
        about_sets(
            "In bags, the representation separates outliers better", [True] * len(gains), gains
        )
    ]
    for name in settings.only(figures.SENSITIVITY):
        bore, ssad = (
            figures.judge_grids(settings, name, method).mean(axis=0) for method in figures.GRIDS
        )
        few = np.ptp(figures.enough_bags(settings, bore))
        more = f"range {100 * np.ptp(ssad):.1f} points, BORE {100 * np.ptp(bore):.1f}"
        claims += [
            Claim(
                f"AUC is similar for all parameters from few bags on ({name})",
                "a picture",
                f"range {100 * few:.1f} points",
                "yes" if few < SIMILAR else "no",
            ),
            Claim(
                f"SSAD varies more with its parameters ({name})",
                "a picture",
                more,
                "yes" if np.ptp(ssad) > np.ptp(bore) else "no",
            ),
        ]
    return claims


def claims_of_aggregation(runs: list[Run]) -> list[Claim]:
    """Return the claims about other aggregations, classifiers and penalties."""
    summary = Summary(runs)
    claims = []
    for scheme in ("stacking", "maximin"):
        agree = [is_above(summary, name, "mean", scheme) for name in summary.datasets]
        says = f"{scheme.capitalize()} does not perform as well as the mean of bags"
        claims.append(about_sets(says, [], agree, compare_pairs(summary, "mean", scheme)))
    means = {scheme: summary.overall(scheme, "auc") or 0.0 for scheme in aggregation.SCHEMES}
    for scheme in aggregation.CLASSIFIERS:
        gain = means[scheme] - means["mean"]
        says = f"Any linear classifier could be used: {aggregation.SCHEMES[scheme]}"
        holds = "yes" if gain > -SIMILAR else "in part"
        claims.append(Claim(says, "-", f"mean AUC {100 * gain:+.1f} points", holds))
    counts = aggregation.chosen_penalties(runs)
    none = sum(count for value, count in counts.items() if value <= aggregation.NO_PENALTY)
    total = sum(counts.values())
    says = "Cross-validation chooses 0 as the l2 penalty"
    return [*claims, Claim(says, "always", f"in {none} of {total} fits", judge(none / total, 1.0))]


def claims_of_budgets(draws: dict[str, budgets.Draws]) -> list[Claim]:
    """Return the claims about Figure 4."""

    def ahead(first: str, *others: str) -> list[bool]:
        """Return on which sets a curve is above others, by the mean of both measures."""
        return [
            all(
                budgets.curve_of(found, first, place).mean()
                > budgets.curve_of(found, other, place).mean()
                for other in others
                for place in (0, 1)
            )
            for found in draws.values()
        ]

    def smoother(first: str, other: str) -> list[bool]:
        return [
            budgets.falls_of(found, first).mean() < budgets.falls_of(found, other).mean()
            for found in draws.values()
        ]

    curves = [budgets.curve_of(found, "one_bag") for found in draws.values()]
    rises = np.mean([(np.diff(curve, axis=1) >= 0.0).mean() for curve in curves])
    similar = [
        sum(draw["similar"]["budget"] - draw["similar"]["omp"] for draw in found) > 0.0
        for found in draws.values()
    ]
    nine = [True] * 9 + [False] * 3
    says = "BORE-Budget has larger AUC and AUC 0.1 than OMP and random subsets"
    control = "The same beside controls that the paper lacks:"
    return [
        about_sets(says, nine, ahead("budget", "omp", "random")),
        about_sets(f"{control} random subsets that fill", nine, ahead("budget", "omp", "filled")),
        about_sets(f"{control} cheapest columns first", nine, ahead("budget", "cheapest")),
        about_sets("Random selection that stops is below OMP", [], ahead("omp", "random")),
        about_sets("Random selection that fills is below OMP", [], ahead("omp", "filled")),
        about_sets("BORE-Budget is smoother than OMP", [], smoother("budget", "omp")),
        Claim(
            "With one bag, AUC increases monotonically with the budget",
            "expected",
            f"AUC does not fall in {100 * rises:.0f} % of the steps",
            judge(float(rises), 1.0),
        ),
        about_sets(
            "The random baseline is relatively monotonic (smoother than OMP)",
            [],
            smoother("random", "omp"),
        ),
        about_sets("What bags buy is more similar to the stable set than with OMP", [], similar),
        about_sets(
            "Weighting bags by this similarity might give smoother curves",
            [],
            smoother("budget_weighted", "budget"),
        ),
    ]


def is_above(summary: Summary, name: str, first: str, other: str) -> bool:
    """Return whether the mean AUC of a method is above that of another on a set."""
    one, two = (summary.cell(name, method, "auc") for method in (first, other))
    return one is not None and two is not None and one.mean > two.mean


def compare_pairs(summary: Summary, first: str, other: str) -> list[int]:
    """Return by set whether AUC is surely higher (1), surely lower (-1), or neither (0)."""
    found = []
    for name in summary.datasets:
        one, two = (
            {run["repetition"]: run["auc"] for run in summary.runs(name, method)}
            for method in (first, other)
        )
        differences = np.array([one[number] - two[number] for number in one if number in two])
        limit = np.inf
        if len(differences) > 1:
            limit = error_of_mean(differences) * student.isf(LEVEL / 2, len(differences) - 1)
        mean = differences.sum() / max(1, len(differences))
        found.append(int(mean > limit) - int(mean < -limit))
    return found


def about_sets(
    says: str, printed: list[bool], agree: list[bool], tests: list[int] | None = None
) -> Claim:
    """Return a claim about a number of sets.

    ``printed`` and ``agree`` hold on which sets it is true in the paper and here.
    """
    here = f"{sum(agree)} of {count_of(len(agree), 'set')}"
    if tests is not None:
        here += f"; surely on {tests.count(1)}, surely not on {tests.count(-1)}"
    needed = float(np.mean(printed)) if printed else MOST_SETS
    there = f"{sum(printed)} of {len(printed)}" if printed else "-"
    return Claim(says, there, here, judge(float(np.mean(agree)), needed))


def judge(share: float, needed: float) -> str:
    """Return whether a claim holds, from the share that agrees and the share that it needs."""
    if share >= needed:
        return "yes"
    return "in part" if share >= needed / 2 else "no"
