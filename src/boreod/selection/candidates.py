"""What a budget buys where there are tree heads: some columns, and trees of every bag for the rest.

Neither can be judged without the other, so a few candidates are learned and compared by how well
they agree, out of bag, with the whole detector. Labels alone would be poor judges where there are
few of them; the whole detector has learned from the same labels, and ranks all rows. Candidates:

- all columns and all heads;
- raw columns, and all tree heads on them, or those of one kind;
- raw columns and the scores that pursuit finds for half of the budget, or the score that most bags
  find best: the logistic head reads both, tree heads read raw columns;
- unless all columns fit: the better of these two sets, and tree heads that read both;
- where no tree fits, the logistic head alone, with the columns that pursuit finds.

Each spends what its columns leave on trees, the same number for every bag, so that every row keeps
its bags that did not hold it. Heads share in proportion to their trees in the whole detector; one
of which no tree fits is dropped. Trees are what a fit spends its time on, so those of the whole
detector are cut rather than others fitted, and heads that were not fitted to these columns get few.
With labels, candidates are compared by a few bags, if these judge every outlier; the best is then
learned from all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.members import CONSENSUS, Recipe
from boreod.ensemble.stacking import FOLDS
from boreod.ensemble.training import Training
from boreod.ensemble.tree_heads import BOOSTED_BAGS, TreeHead
from boreod.metrics import average_precision, average_ranks
from boreod.parallel import Engine
from boreod.selection.budgets import Selection, round_up, show_cost
from boreod.selection.costs import Costs, kind_of_tree
from boreod.validation import OUTLIER

FEW_BAGS = BOOSTED_BAGS  # tell which candidate is best, and which columns pursuit finds for it
FOR_COLUMNS = 0.5  # share of the budget, beyond what every prediction costs
LOGISTIC = "logistic"
MANY = 4  # scores, of which not all sets are tried
MAX_HEADS = 16  # of candidates, that are kept for other budgets
MAX_MADE = 16  # candidates, and how good they are
NEW_TREES = 0.2  # of those of the whole detector, if they have to be fitted

Learned = tuple[Fitted, OutOfBag]
Reads = tuple[str, tuple[str, ...]]  # kind of a head, and the columns that it reads


@dataclass(frozen=True)
class Candidate:
    """Columns, heads and trees that fit into a budget."""

    selection: Selection
    recipe: Recipe


class Judged(NamedTuple):
    """A candidate that was learned, and how good it is."""

    quality: float
    candidate: Candidate
    learned: Learned


@dataclass
class Learner:
    """Learns candidates; knows heads that were fitted already, which are cut to fewer trees.

    The first trees of a head are those that a fit of fewer would give, so a choice does not depend
    on what was asked before.
    """

    training: Training
    whole: Learned  # from all columns and all heads
    n_folds: int = FOLDS  # that weights of heads are learned in; none to compare candidates
    heads: dict[Reads, TreeHead | LogisticHead] = field(default_factory=dict, repr=False)
    made: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def recipe(self) -> Recipe:
        """Heads of the whole detector, under the names that they have there."""
        kinds = tuple(member.kind for member in self.whole[0].members)
        return replace(self.training.options.recipe, kinds=kinds)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.training.bags.rows)

    @cached_property
    def given(self) -> dict[Reads, TreeHead | LogisticHead]:
        """Heads of the whole detector."""
        everything, members = self.training.columns.names, self.whole[0].members
        return {self._reads(m.kind, everything): m.head for m in members
                if isinstance(m.head, TreeHead | LogisticHead)}  # fmt: skip

    @cached_property
    def draft(self) -> "Learner":
        """The same with few bags: the first ones of every head. All, if some outlier is in each."""
        bags, (fitted, oob) = self.training.bags.first(FEW_BAGS), self.whole
        if self.n_bags <= FEW_BAGS or bags.holds[self.training.codes == OUTLIER].all(axis=1).any():
            return self
        members = [
            replace(m, head=m.head.first(FEW_BAGS))
            if isinstance(m.head, TreeHead | LogisticHead)
            else m
            for m in fitted.members
        ]
        # the ranking of the whole detector judges, not labels, so that weights flatter nothing
        few = replace(self.training, bags=bags)
        return Learner(few, (replace(fitted, members=members), oob), n_folds=0)

    @property
    def boosted(self) -> dict[Reads, TreeHead | LogisticHead]:
        """The heads of boosted trees that were fitted here."""
        kept = self.heads.items()
        return {key: of for key, of in kept if isinstance(of, TreeHead) and of.boosted}

    def compare(self, candidate: Candidate, engine: Engine) -> Judged:
        """Learn a candidate and judge it, unless that was done before."""
        recipe = candidate.recipe

        def make() -> Judged:
            learned = self.learn(candidate, engine)
            return Judged(self.judge(learned[1]), candidate, learned)

        key = frozenset(candidate.selection.columns), recipe.kinds, recipe.n_trees
        known: Judged = self.once(key, make)
        return known._replace(candidate=candidate)  # for another budget it has another selection

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made for a key, which is kept for a while."""
        if key not in self.made:
            kept = list(self.made.items())[1 - MAX_MADE :]
            self.made = dict([*kept, (key, make())])
        return self.made[key]

    def learn(self, candidate: Candidate, engine: Engine) -> Learned:
        """Fit what is not known yet."""
        names, recipe = candidate.selection.columns, candidate.recipe
        if len(names) == len(self.training.columns.names) and recipe == self.recipe:
            return self.whole
        reads = {kind: self._reads(kind, names) for kind in recipe.kinds}
        found = {kind: self.heads.get(key, self.given.get(key)) for kind, key in reads.items()}
        known = {
            kind: head
            for kind, head in found.items()
            if isinstance(head, LogisticHead)
            or (head is not None and head.n_trees >= recipe.trees_of(kind))
        }
        learned = self.training.learn(names, engine, recipe, known, self.n_folds)
        for member in learned[0].members:
            if isinstance(member.head, TreeHead | LogisticHead) and member.kind not in known:
                self.heads[reads[member.kind]] = member.head
        self.heads = dict(list(self.heads.items())[-MAX_HEADS:])
        return learned

    def must_fit(self, kinds: Iterable[str], names: list[str]) -> bool:
        """Whether some tree heads on these columns are none of the whole detector's."""
        trees = [kind for kind in kinds if self.recipe.trees_of(kind)]
        return not {self._reads(kind, names) for kind in trees} <= set(self.given)

    def judge(self, oob: OutOfBag) -> float:
        """Return how well rows out of bag agree with the ranking of the whole detector.

        With labels it is the average precision where the outliers are the highest rows of the whole
        detector, as many as are known and were left out of the bags; without labels the rank
        correlation of both.
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
        columns, wanted = self.training.columns, set(names)
        used = [name for name in columns.names if name in wanted]
        raw = set(columns.raw)
        return [name for name in used if name in raw], [name for name in used if name not in raw]

    def _reads(self, kind: str, names: Iterable[str]) -> Reads:
        raw, scores = self.split(names)
        everything = kind == LOGISTIC or kind.endswith("+scores") or not raw
        return kind_of_tree(kind), tuple(raw + scores if everything else raw)


def best_of(judged: Iterable[Judged]) -> Judged:
    """Return the best candidate, of equally good ones the cheapest."""
    return max(judged, key=lambda one: (one.quality, -one.candidate.selection.cost))


@dataclass(frozen=True)
class Offer:
    """A budget, prices, and how columns are chosen for a part of it."""

    learner: Learner
    budget: float
    costs: Costs
    choose: Callable[[float, Costs], Selection]  # columns for an amount
    best_single: Callable[[Costs, float], tuple[str, float]] | None  # and how good it is

    def buy(self, engine: Engine) -> tuple[Selection, Learned]:
        """Return what is worth the budget."""
        learner, kinds, costs = self.learner, self.learner.recipe.kinds, self.costs
        everything = Selection(costs.names, {}, costs.total(), self.budget, costs)
        whole = spend(learner, everything, kinds)
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
            _refuse(learner, self.budget, costs)
        best = best_of(judged).candidate
        learner.heads |= learner.draft.boosted  # which have no more bags in the whole detector
        return best.selection, learner.compare(best, engine).learned

    def _sets(self) -> tuple[Selection | None, list[Selection]]:
        """Return raw columns, None if there are none, and sets of columns with scores."""
        learner, costs = self.learner, self.costs
        least, names = float(costs.alone.min()), learner.split(costs.names)
        part = max(costs.base + FOR_COLUMNS * (self.budget - costs.base), least)
        part = min(part, self.budget - cost_of_fewest(learner, costs))
        of_raw, of_all = self._buy(part, names[0]), self._buy(part, costs.names)
        raw = [] if of_raw is None else of_raw.columns
        found = []
        if of_all is not None and (scores := learner.split(of_all.columns)[1]):
            found.append(self._select(raw + scores, of_all))
        best = self._best_score(names[1])
        if best is not None and not any(best in some.columns for some in found):
            left = self.budget - costs.total([best])
            beside = self._buy(costs.base + FOR_COLUMNS * left, names[0])
            found += [] if beside is None else [self._select([*beside.columns, best], beside)]
        return None if of_raw is None else self._select(raw, of_raw), found

    def _best_score(self, scores: list[str]) -> str | None:
        """Return the score that bags find best, however dear."""
        if self.best_single is None or not scores:
            return None
        prices = self.costs.only(scores)
        dear = prices.alone.min() > self.budget
        return None if dear else self.best_single(prices, self.budget)[0]

    def _on_raw_columns(self, raw: Selection | None) -> list[Candidate | None]:
        """Return raw columns with all tree heads, and with those of one kind."""
        if raw is None:
            return []
        plain = _on_raw(self.learner.recipe.kinds)
        trees = [kind for kind in plain if kind != LOGISTIC]
        some = [tuple(kind for kind in plain if kind in (LOGISTIC, one)) for one in trees]
        return [spend(self.learner, raw, of) for of in (plain, *(some if len(trees) > 1 else ()))]

    def _beside_scores(self, sets: list[Selection]) -> list[Candidate | None]:
        """Return scores that the logistic head reads, with tree heads on raw columns."""
        kinds = tuple(k for k in self.learner.recipe.kinds if not k.endswith("+scores"))
        with_trees = LOGISTIC in kinds and len(kinds) > 1
        return [self._spend_few(some, kinds) for some in sets if with_trees]

    def _on_both(self, sets: list[Selection], judged: list[Judged]) -> list[Candidate | None]:
        """Return the better of some columns, as far as they were judged, with heads on both."""
        heads = _on_both(self.learner.recipe.kinds)
        quality = {tuple(one.candidate.selection.columns): one.quality for one in judged}
        known = [some for some in sets if tuple(some.columns) in quality]
        if not known:
            return [spend(self.learner, some, heads) for some in sets]
        best = max(known, key=lambda some: quality[tuple(some.columns)])
        return [self._spend_few(best, heads)]

    def _spend_few(self, some: Selection, kinds: tuple[str, ...]) -> Candidate | None:
        """Spend what columns leave on trees, few if they have to be fitted."""
        most = self.learner.recipe.n_trees
        if self.learner.must_fit(kinds, some.columns):
            most = max(1, round(NEW_TREES * most))
        return spend(self.learner, some, kinds, most)

    def _buy(self, amount: float, names: list[str]) -> Selection | None:
        prices = self.costs.only(names) if names else self.costs
        affordable = bool(names) and prices.alone.min() <= amount
        return self.choose(amount, prices) if affordable else None

    def _select(self, columns: list[str], found: Selection) -> Selection:
        wanted = {name: share for name, share in found.frequencies.items() if name in columns}
        return Selection(columns, wanted, self.costs.total(columns), self.budget, self.costs)


def make_untaught(learner: Learner, budget: float, costs: Costs) -> list[Candidate]:
    """Return what may be worth a budget without labels: some scores, and trees for the rest.

    All sets of few scores are candidates, of many scores those that agree most with the ranking of
    the whole detector, one after the other; with trees on the raw columns, and without.
    """
    raw, scores = learner.split(costs.names)
    if not scores:
        raise ValueError(
            "Without labels rows are ranked by scores, and `costs` has no price for any of them. "
            "Name some, for example {'iforest': 5, 'knn': 40}."
        )
    fitting = []
    for some in _subsets(_by_agreement(learner, scores)):
        for columns, kinds in (some, (CONSENSUS,)), (raw + some, (CONSENSUS, "trees")):
            chosen = Selection(columns, {}, costs.total(columns), budget, costs)
            fitting.append(spend(learner, chosen, kinds))
    found = [candidate for candidate in fitting if candidate is not None]
    if not found:
        cheapest = min(costs.total([name]) for name in scores)
        raise ValueError(
            f"`budget` is {show_cost(budget, costs.unit)}, but the cheapest score costs "
            f"{show_cost(round_up(cheapest, costs.unit), costs.unit)}, and without labels rows "
            "are ranked by scores. Raise it."
        )
    return found


def _by_agreement(learner: Learner, scores: list[str]) -> list[str]:
    """Sort scores by the rank correlation with the whole detector, the highest first."""
    places = learner.training.place_of(scores)
    table = np.column_stack([learner.whole[1].probabilities, learner.training.table[:, places]])
    order = np.argsort(-_rank_correlations(table), kind="stable")
    return [scores[place] for place in order]


def _rank_correlations(table: NDArray) -> NDArray:
    """Return the rank correlation of the first column with each of the others, 0 if one is flat."""
    ranks = average_ranks(table)
    ranks = ranks - ranks.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=0))
    products, sizes = (ranks[:, 1:] * ranks[:, :1]).sum(axis=0), size[1:] * size[0]
    return np.divide(products, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)


def _subsets(scores: list[str]) -> list[list[str]]:
    """Return all sets of few, the first ones of many, in their order."""
    if len(scores) > MANY:
        return [scores[: number + 1] for number in range(len(scores))]
    sizes = range(1, len(scores) + 1)
    return [list(some) for size in sizes for some in combinations(scores, size)]


def spend(
    learner: Learner, selection: Selection, kinds: tuple[str, ...], most: int | None = None
) -> Candidate | None:
    """Spend what columns leave on trees of some heads; None if it is not enough for any head.

    Where no tree of all heads fits, the head with the dearest trees is dropped. ``most`` is the
    largest number of trees of a bag.
    """
    costs, left = selection.costs, selection.budget - selection.cost
    kinds = kinds if all(learner.split(selection.columns)) else _on_raw(kinds)
    while kinds and left >= 0.0:
        for n_trees in range(most or learner.recipe.n_trees, 0, -1):
            recipe = replace(learner.recipe, kinds=kinds, n_trees=n_trees)
            trees = {kind: number for kind in kinds if (number := recipe.trees_of(kind))}
            cost = costs.cost_of_trees({k: recipe.count_trees(k, learner.n_bags) for k in trees})
            if cost <= left:
                bought = replace(
                    selection, cost=selection.cost + cost, trees=trees, cost_of_trees=cost
                )
                return Candidate(bought, recipe)
        of_head = {kind: costs.cost_of_trees({kind: recipe.count_trees(kind, learner.n_bags)})
                   for kind in trees}  # fmt: skip
        dearest = max(of_head, key=lambda kind: of_head[kind])
        kinds = tuple(kind for kind in kinds if kind != dearest)
    return None


def _on_raw(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the heads that are left where all columns are of one sort."""
    return tuple(dict.fromkeys(kind.partition("+")[0] for kind in kinds))


def _on_both(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return heads that read raw columns and scores, if there are any."""
    some = tuple(kind for kind in kinds if kind == LOGISTIC or kind.endswith("+scores"))
    return some if len(some) > 1 or LOGISTIC not in some else kinds


def cost_of_fewest(learner: Learner, costs: Costs) -> float:
    """Return what the fewest trees cost that every bag can have, of the cheapest head."""
    single = replace(learner.recipe, n_trees=1)
    return min(
        costs.cost_of_trees({kind: single.count_trees(kind, learner.n_bags)})
        for kind in single.kinds
        if single.trees_of(kind)
    )


def _refuse(learner: Learner, budget: float, costs: Costs) -> NoReturn:
    """Say what the least would cost: without a logistic head every bag needs a tree."""
    least = float(costs.alone.min()) + cost_of_fewest(learner, costs)
    shown = show_cost(round_up(least, costs.unit), costs.unit)
    raise ValueError(
        f"`budget` is {show_cost(budget, costs.unit)}, but the cheapest column and one tree for "
        f"every bag cost {shown}. Raise it, or add 'logistic' to `heads`."
    )
