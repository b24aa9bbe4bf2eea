"""Purchases for detectors with tree heads: a budget buys columns, and the rest buys trees.

The quality of columns depends on the trees that read them. So a few candidates, each with columns
and trees, are learned and compared. A few labels would not compare candidates well. The *whole
detector*, which has all columns and heads, has learned from these labels and ranks all rows. So a
candidate is judged by how well its out-of-bag ranking agrees with the ranking of the whole
detector. The candidates are:

- all columns and all heads;
- raw columns, read by all tree heads or by the tree heads of one kind;
- raw columns with scores, where the logistic head reads raw columns and scores, and tree heads read
  raw columns; the scores are either those that pursuit finds for half of the budget, or the one
  score that most bags find best;
- unless all columns fit: the better of the two sets above, with tree heads that read raw columns
  and scores;
- if no tree fits: the logistic head alone, with the columns that pursuit finds.

Each candidate spends the rest of the budget on trees. All bags get the same number of trees, so
that every row can be judged by the bags that did not hold it. Fitting trees takes most of the time
of a fit. So candidates reuse the trees of the whole detector where possible, and heads that must be
fitted anew get few trees. With labels, candidates are compared on a few bags only, and then the
best candidate is learned from all bags.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import LogisticHead, TreeHead
from boreod.ensemble.members import BOOSTED_BAGS, CONSENSUS, FOLDS, Recipe
from boreod.ensemble.training import Training
from boreod.metrics import average_precision, average_ranks
from boreod.parallel import Engine
from boreod.selection.budgets import Selection, price_columns, too_low
from boreod.selection.costs import Costs, kind_of_tree
from boreod.validation import OUTLIER

# Number of bags that are used to compare candidates and to choose their columns.
FEW_BAGS = BOOSTED_BAGS
# Share of the budget for columns, after the fixed price of a prediction is subtracted.
SHARE_FOR_COLUMNS = 0.5
LOGISTIC = "logistic"
MAX_CANDIDATES = 16

Learned = tuple[Fitted, OutOfBag]
# The kind of a head, and the columns that it reads.
Reads = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Candidate:
    """Columns, heads and trees that fit into a budget."""

    selection: Selection
    recipe: Recipe


class Judged(NamedTuple):
    """A candidate, its quality, and what was learned from it."""

    quality: float
    candidate: Candidate
    learned: Learned


@dataclass
class Learner:
    """Learns candidates, and reuses the first trees of the whole detector's heads.

    A fit of fewer trees would give the first trees of a head, so reusing these trees does not
    change the result. ``whole`` was learned from all columns and heads. The weights of heads are
    learned with ``n_folds`` folds. ``draft``, which only compares candidates, uses no folds (0).
    """

    training: Training
    whole: Learned
    n_folds: int = FOLDS
    made: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the whole detector, with the kinds of its members."""
        kinds = tuple(member.kind for member in self.whole[0].members)
        return replace(self.training.options.recipe, kinds=kinds)

    @cached_property
    def given(self) -> dict[Reads, Any]:
        """The heads of the whole detector, by kind and columns."""
        names = self.training.columns.names
        return {self._reads(member.kind, names): member.head for member in self.whole[0].members}

    @cached_property
    def draft(self) -> "Learner":
        """The learner with few bags, or with all bags if an outlier is in each of the few bags."""
        bags = self.training.bags.first(FEW_BAGS)
        in_all = bags.holds[self.training.codes == OUTLIER].all(axis=1)
        if len(self.training.bags.rows) <= FEW_BAGS or in_all.any():
            return self
        fitted, oob = self.whole
        members = [
            replace(member, head=member.head.first(FEW_BAGS))
            for member in fitted.members
            if isinstance(member.head, TreeHead | LogisticHead)
        ]
        # No folds are needed: candidates are compared with the whole detector, not with labels.
        whole = replace(fitted, members=members), oob
        return Learner(replace(self.training, bags=bags), whole, n_folds=0)

    def compare(self, candidate: Candidate, engine: Engine) -> Judged:
        """Learn a candidate, unless it was learned before, and judge it."""
        recipe = candidate.recipe
        key = frozenset(candidate.selection.columns), recipe.kinds, recipe.n_trees
        learned = self.once(key, partial(self.learn, candidate, engine))
        return Judged(self.judge(learned[1]), candidate, learned)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached result for a key, or call ``make``; the latest results are kept."""
        if key not in self.made:
            kept = list(self.made.items())[1 - MAX_CANDIDATES :]
            self.made = dict([*kept, (key, make())])
        return self.made[key]

    def learn(self, candidate: Candidate, engine: Engine) -> Learned:
        """Learn a candidate; only heads that the whole detector lacks are fitted."""
        names = candidate.selection.columns
        recipe = candidate.recipe
        if len(names) == len(self.training.columns.names) and recipe == self.recipe:
            return self.whole
        reads = {kind: self._reads(kind, names) for kind in recipe.kinds}
        known = {kind: self.given[key] for kind, key in reads.items() if key in self.given}
        return self.training.learn(names, engine, recipe, known, self.n_folds)

    def price_trees(self, costs: Costs, kinds: Iterable[str], n_trees: int) -> float:
        """Return the price of the heads of some kinds, with ``n_trees`` trees per bag."""
        recipe = replace(self.recipe, n_trees=n_trees)
        numbers = {kind: recipe.count_trees(kind, len(self.training.bags.rows)) for kind in kinds}
        return costs.cost_of_trees({kind: number for kind, number in numbers.items() if number})

    def must_fit(self, kinds: Iterable[str], names: list[str]) -> bool:
        """Return whether the whole detector lacks one of these tree heads on these columns."""
        trees = (kind for kind in kinds if self.recipe.trees_of(kind))
        return any(self._reads(kind, names) not in self.given for kind in trees)

    def judge(self, oob: OutOfBag) -> float:
        """Return how well out-of-bag probabilities agree with the whole detector.

        With labels, the agreement is the average precision, where the rows that the whole detector
        ranks highest count as outliers. Their number is the number of known outliers plus the
        number of suspicious rows left out of the bags. Without labels, it is the rank correlation.
        """
        both = np.column_stack([self.whole[1].probabilities, oob.probabilities])
        both = both[np.isfinite(both).all(axis=1)]
        if not self.training.taught:
            return float(_rank_correlations(both)[0]) if len(both) else 0.0
        highest = np.zeros(len(both), dtype=bool)
        n_outliers = int((oob.codes == OUTLIER).sum()) + oob.left_out
        highest[np.argsort(-both[:, 0], kind="stable")[:n_outliers]] = True
        return average_precision(highest, both[:, 1]) if 0 < highest.sum() < len(both) else 0.0

    def split(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the raw columns and the scores among some columns, in the order of the table."""
        wanted = set(names)
        used = [name for name in self.training.columns.names if name in wanted]
        raw = set(self.training.columns.raw)
        return [name for name in used if name in raw], [name for name in used if name not in raw]

    def _reads(self, kind: str, names: Iterable[str]) -> Reads:
        raw, scores = self.split(names)
        everything = kind == LOGISTIC or kind.endswith("+scores") or not raw
        return kind_of_tree(kind), tuple(raw + scores if everything else raw)


def best_of(judged: Iterable[Judged]) -> Judged:
    """Return the best candidate, and among equally good candidates the cheapest."""
    return max(judged, key=lambda one: (one.quality, -one.candidate.selection.cost))


@dataclass(frozen=True)
class Offer:
    """A budget, the prices, and functions that choose columns for a part of the budget.

    ``choose`` returns the columns for an amount. ``best_single`` returns the best single column and
    the quality of this column.
    """

    learner: Learner
    budget: float
    costs: Costs
    choose: Callable[[float, Costs], Selection]
    best_single: Callable[[Costs, float], tuple[str, float]] | None

    def buy(self, engine: Engine) -> tuple[Selection, Learned]:
        """Return the best candidate within the budget."""
        learner = self.learner
        kinds = learner.recipe.kinds
        costs = self.costs
        whole = spend(learner, price_columns(costs.names, {}, costs, self.budget), kinds)
        if whole is not None and whole.recipe == learner.recipe:
            return whole.selection, learner.compare(whole, engine).learned
        raw, with_scores = self._sets()
        found = [whole, *self._on_raw_columns(raw), *self._beside_scores(with_scores)]
        judged = [learner.draft.compare(one, engine) for one in found if one is not None]
        found = [] if whole else self._on_both(with_scores, judged)
        if LOGISTIC in kinds and not any(one.candidate.selection.trees for one in judged):
            found.append(spend(learner, self.choose(self.budget, costs), (LOGISTIC,)))
        judged += [learner.draft.compare(one, engine) for one in found if one is not None]
        if not judged:
            what = "the cheapest column and one tree for every bag cost"
            least = float(costs.alone.min()) + cost_of_fewest(learner, costs)
            advice = ". Raise the budget, or add 'logistic' to `heads`."
            raise too_low(self.budget, what, least, costs.unit, advice)
        best = best_of(judged).candidate
        return best.selection, learner.compare(best, engine).learned

    def _sets(self) -> tuple[Selection, list[Selection]]:
        """Return a set of raw columns, which may be empty, and sets of columns with scores."""
        learner = self.learner
        costs = self.costs
        raw_names, score_names = learner.split(costs.names)
        part = costs.base + SHARE_FOR_COLUMNS * (self.budget - costs.base)
        part = max(part, float(costs.alone.min()))
        part = min(part, self.budget - cost_of_fewest(learner, costs))
        raw = self._buy(part, raw_names)
        bought = self._buy(part, costs.names)
        scores = learner.split(bought.columns)[1]
        found = [self._select(raw.columns + scores, bought)] if scores else []
        if self.best_single is not None and self._can_buy(self.budget, score_names):
            best = self.best_single(costs.only(score_names), self.budget)[0]
            left = self.budget - costs.total([best])
            beside = self._buy(costs.base + SHARE_FOR_COLUMNS * left, raw_names)
            if beside.columns and best not in scores:
                found.append(self._select([*beside.columns, best], beside))
        return self._select(raw.columns, raw), found

    def _on_raw_columns(self, raw: Selection) -> list[Candidate | None]:
        """Return candidates of raw columns: one with all heads, and one per kind of tree head."""
        if not raw.columns:
            return []
        plain = _on_raw(self.learner.recipe.kinds)
        trees = [kind for kind in plain if kind != LOGISTIC]
        alone = [tuple(kind for kind in plain if kind in (LOGISTIC, one)) for one in trees]
        return [spend(self.learner, raw, kinds) for kinds in dict.fromkeys([plain, *alone])]

    def _beside_scores(self, sets: list[Selection]) -> list[Candidate | None]:
        """Return candidates whose logistic head reads scores and whose trees read raw columns."""
        kinds = tuple(k for k in self.learner.recipe.kinds if not k.endswith("+scores"))
        if LOGISTIC not in kinds or len(kinds) == 1:
            return []
        return [self._spend_few(some, kinds) for some in sets]

    def _on_both(self, sets: list[Selection], judged: list[Judged]) -> list[Candidate | None]:
        """Return the better set of columns, with heads that read raw columns and scores.

        If no set was judged, return a candidate for each set.
        """
        kinds = self.learner.recipe.kinds
        both = tuple(kind for kind in kinds if kind == LOGISTIC or kind.endswith("+scores"))
        # If no tree head reads scores, use all heads.
        heads = kinds if both == (LOGISTIC,) else both
        quality = {tuple(one.candidate.selection.columns): one.quality for one in judged}
        known = [some for some in sets if tuple(some.columns) in quality]
        if not known:
            return [spend(self.learner, some, heads) for some in sets]
        return [self._spend_few(max(known, key=lambda some: quality[tuple(some.columns)]), heads)]

    def _spend_few(self, some: Selection, kinds: tuple[str, ...]) -> Candidate | None:
        """Spend the rest of the budget on trees.

        If heads must be fitted anew, a bag gets at most a fifth of the usual number of trees.
        """
        most = self.learner.recipe.n_trees
        if self.learner.must_fit(kinds, some.columns):
            most = max(1, round(0.2 * most))
        return spend(self.learner, some, kinds, most)

    def _buy(self, amount: float, names: list[str]) -> Selection:
        """Return a selection from some columns; it is empty if no column is affordable."""
        if not self._can_buy(amount, names):
            return price_columns([], {}, self.costs, self.budget)
        return self.choose(amount, self.costs.only(names))

    def _can_buy(self, amount: float, names: list[str]) -> bool:
        """Return whether at least one of some columns is affordable."""
        return bool(names) and bool(self.costs.only(names).alone.min() <= amount)

    def _select(self, columns: list[str], found: Selection) -> Selection:
        wanted = {name: share for name, share in found.frequencies.items() if name in columns}
        return price_columns(columns, wanted, self.costs, self.budget)


def buy_untaught(
    learner: Learner, budget: float, costs: Costs, engine: Engine
) -> tuple[Selection, Learned]:
    """Return the best candidate without labels: some scores, and trees for the rest of the budget.

    For each set of scores, there is one candidate without trees and one with trees that read the
    raw columns.
    """
    raw, scores = learner.split(costs.names)
    if not scores:
        raise ValueError(
            "Without labels, rows are ranked by scores, and `costs` has no price for any of them. "
            "Price at least one score, for example {'iforest': 5, 'knn': 40}."
        )
    found = []
    for some in _sets_of_scores(learner, scores):
        for columns, kinds in (some, (CONSENSUS,)), (raw + some, (CONSENSUS, "trees")):
            found.append(spend(learner, price_columns(columns, {}, costs, budget), kinds))
    judged = [learner.compare(one, engine) for one in found if one is not None]
    if not judged:
        cheapest = min(costs.total([name]) for name in scores)
        advice = ", and without labels, rows are ranked by scores. Raise the budget."
        raise too_low(budget, "the cheapest score costs", cheapest, costs.unit, advice)
    best = best_of(judged)
    return best.candidate.selection, best.learned


def _sets_of_scores(learner: Learner, scores: list[str]) -> list[list[str]]:
    """Return sets of scores to compare: all possible sets, if there are at most four scores.

    If there are more scores, return the best score, the best two scores, and so on. The best scores
    have the highest rank correlation with the whole detector.
    """
    places = learner.training.place_of(scores)
    table = np.column_stack([learner.whole[1].probabilities, learner.training.table[:, places]])
    ranked = [scores[place] for place in np.argsort(-_rank_correlations(table), kind="stable")]
    sizes = range(1, len(ranked) + 1)
    if len(ranked) > 4:
        return [ranked[:size] for size in sizes]
    return [list(some) for size in sizes for some in combinations(ranked, size)]


def _rank_correlations(table: NDArray) -> NDArray:
    """Return rank correlations of the first column with the others; 0 for constant columns."""
    ranks = average_ranks(table)
    ranks = ranks - ranks.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=0))
    products = (ranks[:, 1:] * ranks[:, :1]).sum(axis=0)
    sizes = size[1:] * size[0]
    return np.divide(products, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)


def spend(
    learner: Learner, selection: Selection, kinds: tuple[str, ...], most: int | None = None
) -> Candidate | None:
    """Spend the rest of the budget on trees of some heads; ``most`` is the largest number per bag.

    If the rest is too small for one tree per bag of every head, the most expensive heads are
    dropped. If the rest is too small for any head, return None.
    """
    left = selection.budget - selection.cost
    if not all(learner.split(selection.columns)):
        kinds = _on_raw(kinds)
    while kinds and left >= 0.0:
        for n_trees in range(most or learner.recipe.n_trees, 0, -1):
            cost = learner.price_trees(selection.costs, kinds, n_trees)
            if cost <= left:
                recipe = replace(learner.recipe, kinds=kinds, n_trees=n_trees)
                trees = {kind: recipe.trees_of(kind) for kind in kinds if recipe.trees_of(kind)}
                total = selection.cost + cost
                bought = replace(selection, cost=total, trees=trees, cost_of_trees=cost)
                return Candidate(bought, recipe)
        prices = [learner.price_trees(selection.costs, (kind,), 1) for kind in kinds]
        dropped = prices.index(max(prices))
        kinds = kinds[:dropped] + kinds[dropped + 1 :]
    return None


def _on_raw(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of heads without ``+scores``, for columns that are all raw or all scores."""
    return tuple(dict.fromkeys(map(kind_of_tree, kinds)))


def cost_of_fewest(learner: Learner, costs: Costs) -> float:
    """Return the price of one tree per bag of the cheapest tree head; 0 without tree heads."""
    with_trees = (kind for kind in learner.recipe.kinds if learner.recipe.trees_of(kind))
    return min((learner.price_trees(costs, (kind,), 1) for kind in with_trees), default=0.0)
