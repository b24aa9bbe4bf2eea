"""Every claim of the paper's text about its experiments, beside what the results here say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from boreod.paper.evaluation.methods import PAPER
from boreod.paper.evaluation.summary import Run, Summary, error_of_mean
from boreod.paper.reproduce import aggregation, budgets, figures
from boreod.paper.reproduce.setup import Settings, compare, write_csv
from boreod.paper.reproduce.tables import PRINTED, load_paper
from boreod.text import count_of
from boreod.tool.documents import Paragraph, Section, Table

SUPERVISED = ("ssad", "ssad+or", "be", "bore")
UNSUPERVISED = ("mean", "greedy")
# Differences are sure if a paired t-test with corrected error rejects equality at this level.
LEVEL = 0.05
# AUCs are similar if they differ by less than a point.
SIMILAR = 0.01


class Claim(NamedTuple):
    """What the paper says, the paper's own figure, ours, and whether the claim holds here."""

    says: str
    printed: str
    here: str
    holds: str


@dataclass(frozen=True)
class Evidence:
    """The results of all parts; runs that are finished are read from the journal."""

    settings: Settings

    @cached_property
    def ours(self) -> Summary:
        """The runs of Table 2."""
        return Summary(compare(self.settings, PAPER))

    @cached_property
    def paper(self) -> Summary:
        """The figures that the paper prints for these sets."""
        return load_paper(self.ours.datasets)

    @cached_property
    def draws(self) -> dict[str, budgets.Draws]:
        """The draws of Figure 4."""
        return budgets.draw_budgets(self.settings)

    @cached_property
    def schemes(self) -> list[Run]:
        """The runs with other aggregations and classifiers."""
        return aggregation.run_schemes(self.settings)


def reproduce_claims(settings: Settings) -> Section:
    """Compute a table of all claims."""
    evidence = Evidence(settings)
    parts = (claims_of_table2, claims_of_figures, claims_of_aggregation, claims_of_budgets)
    claims = [claim for part in parts for claim in part(evidence)]
    write_csv(settings.folder / "claims.csv", [claim._asdict() for claim in claims])
    held = [claim.holds for claim in claims]
    text = (
        f"Of {len(claims)} claims, {held.count('yes')} hold here, {held.count('in part')} hold in "
        f"part and {held.count('no')} do not. A claim about a number of sets holds if as large a "
        "share of our sets agrees as of the paper's, and in part from half of that share on. Sure "
        f"differences are those of paired t-tests over splits at a level of {LEVEL:g}, with the "
        "correction for splits that share rows."
    )
    rows = [list(claim) for claim in claims]
    header = ["the paper", "there", "here", "holds"]
    table = Table(header, rows, texts=frozenset({1, 2, 3}))
    return Section("Claims of the paper", [Paragraph(text), table])


def claims_of_table2(evidence: Evidence) -> Iterator[Claim]:
    """Give the claims about the seven methods."""
    ours = evidence.ours
    found = compare_pairs(ours, "bore", "be")
    agree, printed = _count(evidence, lambda s, name: _auc(s, name, "bore") > _auc(s, name, "be"))
    yield _about_sets("BORE is nearly always above BE in AUC", printed, agree, found)
    agree, printed = _count(
        evidence, lambda s, name: all("bore" in s.best(name, measure) for measure in PRINTED)
    )
    yield _about_sets("BORE is best in all three measures on 6 sets", printed, agree)
    agree, printed = _count(
        evidence, lambda s, name: any("bore" in s.best(name, measure) for measure in PRINTED)
    )
    yield _about_sets("BORE is best in at least one measure on 9 sets", printed, agree)
    found = compare_pairs(ours, "ssad+or", "ssad")
    agree, printed = _count(
        evidence, lambda s, name: _auc(s, name, "ssad+or") > _auc(s, name, "ssad")
    )
    yield _about_sets("SSAD+OR is above SSAD for half of the data", printed, agree, found)
    agree, printed = _count(
        evidence,
        lambda s, name: (
            min(_auc(s, name, method) for method in SUPERVISED)
            > max(_auc(s, name, method) for method in UNSUPERVISED)
        ),
    )
    says = "Methods with labels outperform those without (Best OSF left out)"
    yield _about_sets(says, printed, agree)
    agree, printed = _count(
        evidence, lambda s, name: _auc(s, name, "greedy") < _auc(s, name, "mean")
    )
    yield _about_sets("The greedy ensemble is often worse than the mean", printed, agree)
    sizes = [run["columns"] for name in ours.datasets for run in ours.runs(name, "greedy")]
    holds = "yes" if max(sizes) <= 13 else "in part"
    here = f"{min(sizes)} to {max(sizes)}"
    yield Claim("The greedy ensemble selects few scores", "1 to 13", here, holds)


def claims_of_figures(evidence: Evidence) -> Iterator[Claim]:
    """Give the claims about bags in two spaces and about sensitivity."""
    settings = evidence.settings
    names = settings.only(figures.MAPPED)
    gains = [figures.is_better(figures.compare_spaces(settings, name)[0]) for name in names]
    says = "In bags, the representation separates outliers better"
    yield _about_sets(says, (3, 3), gains)
    for name in settings.only(figures.SENSITIVITY):
        grids = [
            figures.judge_grids(settings, name, method).mean(axis=0) for method in ("bore", "ssad")
        ]
        ranges = [float(np.ptp(grid)) for grid in (figures.enough_bags(settings, grids[0]), *grids)]
        few, bore, ssad = ranges
        says = f"AUC is similar for all parameters from few bags on ({name})"
        holds = "yes" if few < SIMILAR else "no"
        yield Claim(says, "a picture", f"range {100 * few:.1f} points", holds)
        here = f"range {100 * ssad:.1f} points, BORE {100 * bore:.1f}"
        holds = "yes" if ssad > bore else "no"
        yield Claim(f"SSAD varies more with its parameters ({name})", "a picture", here, holds)


def claims_of_aggregation(evidence: Evidence) -> Iterator[Claim]:
    """Give the claims about other aggregations, classifiers and penalties."""
    summary = Summary(evidence.schemes)
    for scheme in ("stacking", "maximin"):
        found = compare_pairs(summary, "mean", scheme)
        agree = [_auc(summary, name, "mean") > _auc(summary, name, scheme) for name in found]
        says = f"{scheme.capitalize()} does not perform as well as the mean of bags"
        yield _about_sets(says, None, agree, found)
    means = {scheme: summary.overall(scheme, "auc") or 0.0 for scheme in aggregation.SCHEMES}
    for scheme in aggregation.CLASSIFIERS:
        loss = means["mean"] - means[scheme]
        says = f"Any linear classifier could be used: {aggregation.SCHEMES[scheme]}"
        here = f"mean AUC {-100 * loss:+.1f} points"
        yield Claim(says, "-", here, "yes" if loss < SIMILAR else "in part")
    counts = aggregation.chosen_penalties(evidence.schemes)
    total = sum(counts.values())
    none = sum(count for value, count in counts.items() if value <= aggregation.NO_PENALTY)
    here = f"none in {none} of {total} fits"
    holds = _holds(none / total, 1.0)
    yield Claim("Cross-validation chooses 0 as the l2 penalty", "always", here, holds)


def claims_of_budgets(evidence: Evidence) -> Iterator[Claim]:
    """Give the claims about Figure 4."""
    draws = evidence.draws
    quality = {
        (name, key, place): float(budgets.curve_of(found, key, place).mean())
        for name, found in draws.items()
        for key in budgets.CURVES
        for place in (0, 1)
    }
    falls = {
        (name, key): float(budgets.falls_of(found, key).mean())
        for name, found in draws.items()
        for key in (*budgets.CURVES, *budgets.VARIANTS)
    }

    def ahead(first: str, others: tuple[str, ...]) -> list[bool]:
        """Return on which sets a curve is above others by both measures."""
        return [
            all(
                quality[name, first, place] > quality[name, other, place]
                for other in others
                for place in (0, 1)
            )
            for name in draws
        ]

    def smoother(first: str, other: str) -> list[bool]:
        return [falls[name, first] < falls[name, other] for name in draws]

    says = "BORE-Budget has larger AUC and AUC 0.1 than OMP and random subsets"
    yield _about_sets(says, (9, 12), ahead("budget", ("omp", "random")))
    control = "The same beside controls that the paper lacks: "
    fills = ahead("budget", ("omp", "filled"))
    yield _about_sets(f"{control}random subsets that fill the budget", (9, 12), fills)
    cheapest = ahead("budget", ("cheapest",))
    yield _about_sets(f"{control}cheapest columns first", (9, 12), cheapest)
    poor = [quality[name, "random", 0] < quality[name, "omp", 0] for name in draws]
    yield _about_sets("Random selection that stops is poor (below OMP)", None, poor)
    poor = [quality[name, "filled", 0] < quality[name, "omp", 0] for name in draws]
    yield _about_sets("Random selection that fills is poor (below OMP)", None, poor)
    yield _about_sets("BORE-Budget is smoother than OMP", None, smoother("budget", "omp"))
    steps = np.concatenate(
        [np.diff(budgets.curve_of(found, "one_bag"), axis=1).ravel() for found in draws.values()]
    )
    rises = float((steps >= 0.0).mean())
    here = f"AUC does not fall in {100 * rises:.0f} % of the steps"
    says = "With one bag, AUC increases monotonically with the budget"
    yield Claim(says, "expected", here, _holds(rises, 1.0))
    says = "The random baseline is relatively monotonic (smoother than OMP)"
    yield _about_sets(says, None, smoother("random", "omp"))
    similar = [
        np.mean([draw["similar"]["budget"] > draw["similar"]["omp"] for draw in found]) > 0.5
        for found in draws.values()
    ]
    says = "Stable sets are more similar to what bags bought than those of OMP"
    yield _about_sets(says, None, similar)
    says = "Weighting bags by this similarity might give smoother curves"
    yield _about_sets(says, None, smoother("budget_weighted", "budget"))


def compare_pairs(summary: Summary, first: str, other: str) -> dict[str, int]:
    """Return by set whether AUC is surely higher (1), surely lower (-1), or neither (0)."""
    found = {}
    for name in summary.datasets:
        pairs = [
            {run["repetition"]: run["auc"] for run in summary.runs(name, method)}
            for method in (first, other)
        ]
        common = sorted(set(pairs[0]) & set(pairs[1]))
        differences = np.array([pairs[0][number] - pairs[1][number] for number in common])
        limit = np.inf
        if len(differences) > 1:
            limit = error_of_mean(differences) * student.isf(LEVEL / 2, len(differences) - 1)
        mean = differences.mean() if len(differences) else 0.0
        found[name] = int(mean > limit) - int(mean < -limit)
    return found


def _auc(summary: Summary, name: str, method: str) -> float:
    cell = summary.cell(name, method, "auc")
    return cell.mean if cell else np.nan


def _count(
    evidence: Evidence, rule: Callable[[Summary, str], bool]
) -> tuple[list[bool], tuple[int, int] | None]:
    """Return for which sets a rule holds here, and the number and total of the paper's sets."""
    agree = [rule(evidence.ours, name) for name in evidence.ours.datasets]
    printed = [rule(evidence.paper, name) for name in evidence.paper.datasets]
    return agree, (sum(printed), len(printed)) if printed else None


def _about_sets(
    says: str,
    printed: tuple[int, int] | None,
    agree: list[bool],
    tests: dict[str, int] | None = None,
) -> Claim:
    """Return a claim about a number of sets; without a printed number, most sets must agree."""
    here = f"{sum(agree)} of {count_of(len(agree), 'set')}"
    if tests is not None:
        signs = list(tests.values())
        here += f"; surely on {signs.count(1)}, surely not on {signs.count(-1)}"
    needed = printed[0] / printed[1] if printed else 0.75
    there = f"{printed[0]} of {printed[1]}" if printed else "-"
    return Claim(says, there, here, _holds(sum(agree) / len(agree), needed))


def _holds(share: float, needed: float) -> str:
    if share >= needed:
        return "yes"
    return "in part" if share >= needed / 2 else "no"
