"""Budgets of detectors with tree heads: columns, and trees of every bag for the rest."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod import BORE, Bagging, Costs, Detector, Heads, OutlierRepresentation, load, save
from boreod.ensemble.heads import TreeHead, combine
from boreod.parallel import Threads
from boreod.predictor import prepare
from boreod.selection.candidates import FEW_BAGS, Learner
from boreod.selection.pursuit import Rules, pursue

SMALL = OutlierRepresentation(["knn_5", "knn_20", "lof_20"])
PRICES = {"knn": 30, "lof": 45, "tree": 0.5}


def detector(**options):
    usual = {"bagging": Bagging(max_samples=0.5), "heads": Heads(n_trees=5), "random_state": 0}
    return Detector(**{"representation": SMALL, "n_estimators": 12, **usual, **options})


@pytest.fixture(scope="module")
def model(labelled):
    return detector().fit(*labelled)


def trees_of(model):
    heads = {m.kind: m.head for m in model.fitted_.members}
    return {kind: head for kind, head in heads.items() if isinstance(head, TreeHead)}


@pytest.mark.parametrize("budget", [1, 6, 30, 80, 150, 300, 420])
def test_a_budget_pays_for_columns_and_trees(model, labelled, budget):
    fast = model.within(budget, costs=PRICES)
    heads, bought = trees_of(fast), fast.selection_
    assert bought.trees == {kind: head.n_trees for kind, head in heads.items()}
    of_trees = 0.5 * sum(head.trees.n_trees for head in heads.values())
    assert bought.cost_of_trees == of_trees
    assert fast.cost_ == fast.costs_.total(fast.columns_) + of_trees <= budget
    assert np.isfinite(fast.oob_proba_).all()  # every bag has its trees
    assert fast.predict_proba(labelled[0]).shape == (300, 2)


def test_what_is_left_is_spent_on_trees(model):
    """One tree more of every bag would not have fitted, where none has to be grown."""
    fast = model.within(220, costs=PRICES)
    recipe = model.training_.options.recipe
    per_bag = fast.selection_.trees
    assert per_bag
    step = replace(recipe, n_trees=1)
    one_more = sum(step.count_trees(kind, 12) for kind in per_bag)
    all_there = all(number == recipe.trees_of(kind) for kind, number in per_bag.items())
    assert not model._selector.learner.must_fit(per_bag, fast.columns_)
    assert all_there or fast.cost_ + 0.5 * one_more > 220


@pytest.mark.parametrize(
    ("budget", "costs"), [(1e6, PRICES), ("1s", "measured:shared"), (1e6, "complexity:shared")]
)
def test_a_tiny_budget_buys_no_trees_and_a_large_one_everything(model, labelled, budget, costs):
    tiny = model.within(2, costs=PRICES)
    assert trees_of(tiny) == {}
    everything = tiny.within(budget, costs=costs)
    assert everything.columns_ == model.columns_
    assert everything.selection_.trees == {k: h.n_trees for k, h in trees_of(model).items()}
    assert_array_equal(everything.predict_proba(labelled[0]), model.predict_proba(labelled[0]))


def test_trees_that_cost_more_are_fewer(model):
    numbers = []
    for price in (0.0, 0.2, 0.5, 2.0, 1e6):
        fast = model.within(150, costs={**PRICES, "tree": price})
        numbers.append(sum(head.trees.n_trees for head in trees_of(fast).values()))
    assert numbers[-1] == 0
    assert numbers[0] > numbers[-2] >= numbers[-1]


@pytest.mark.parametrize(
    "costs", [{"knn": 1, "lof": 1}, "Costs of all columns", "complexity:additive"]
)
def test_a_tree_costs_a_unit_by_default(model, costs):
    if costs == "Costs of all columns":
        costs = Costs(dict.fromkeys(model.columns_, 1.0))
    assert model.within(50, costs=costs).costs_.trees == {"trees": 1.0, "boosted": 1.0}


def test_wrong_prices_of_trees(model):
    with pytest.raises(ValueError, match="no price for a tree of trees, boosted"):
        model.within("1ms", costs=Costs(dict.fromkeys(model.columns_, 1e-6), unit="s"))
    with pytest.raises(ValueError, match=r"got -1 for 'tree'"):
        model.within(50, costs={"tree": -1})
    with pytest.raises(ValueError, match=r"got -1 for 'trees, boosted'"):
        Costs({"a": 1.0}, trees={"boosted": -1})


def test_a_column_may_be_called_tree(labelled):
    X, y = labelled
    rows = np.rec.fromarrays(X.T, names="tree,b,c,d")
    import pandas as pd

    frame = pd.DataFrame(rows)
    fast = detector(heads=Heads(kinds=("logistic", "trees"))).fit(frame, y)
    fast = fast.within(30, costs={"tree": 25, "knn": 1, "lof": 1})
    assert fast.costs_.own["tree"] == 25.0
    assert fast.costs_.trees == {"trees": 1.0}


def test_detectors_without_trees_know_no_price_for_them(labelled):
    bore = BORE(SMALL, n_estimators=12, bagging=Bagging(max_samples=0.5), random_state=0).fit(
        *labelled
    )
    assert bore.costs_.trees == {}
    assert bore.within(5, costs={"knn": 3, "lof": 3}).selection_.trees == {}
    assert "trees" not in str(bore.budget_curve([5, 50], costs={"knn": 3, "lof": 3}))
    with pytest.raises(ValueError, match="'tree', which is neither a column nor a score"):
        bore.within(5, costs={"tree": 1})


@pytest.mark.parametrize("budget", [40, 90, 250])
def test_cut_heads_are_those_of_a_fit_with_fewer_trees(model, labelled, budget):
    """Nor does a choice depend on what was asked before."""
    fast = model.within(budget, costs=PRICES)
    kinds = tuple(member.kind for member in fast.fitted_.members)
    recipe = model.training_.options.recipe
    for n_trees in range(1, recipe.n_trees + 1):
        smaller = replace(recipe, kinds=kinds, n_trees=n_trees)
        if {k: smaller.trees_of(k) for k in fast.selection_.trees} == fast.selection_.trees:
            break
    again, oob = model.training_.learn(fast.columns_, Threads(1, False), smaller)
    X = labelled[0]
    assert_array_equal(again.log_odds(X, Threads(1, False)), fast.decision_function(X))
    assert_array_equal(oob.probabilities, fast.oob_proba_)


def test_trees_need_a_budget_where_there_is_no_other_head(labelled):
    only = detector(heads=Heads(kinds=("trees",), n_trees=2)).fit(*labelled)
    with pytest.raises(ValueError, match=r"one tree for every bag cost 13\. Raise the budget"):
        only.within(12.5, costs={"knn": 1, "lof": 1})
    fast = only.within(14, costs={"knn": 1, "lof": 1})
    assert fast.selection_.trees == {"trees": 1}
    assert len(fast.columns_) <= 2


def test_scores_only(labelled):
    """Heads read what there is."""
    table = OutlierRepresentation(["knn_5", "lof_20"], passthrough=False)
    fast = detector(representation=table).fit(*labelled).within(100, costs={"knn": 9, "lof": 9})
    assert set(fast.columns_) <= {"knn_5", "lof_20"}
    assert fast.cost_ <= 100


def test_prices_of_trees_are_measured_and_remembered(labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path))
    options = {
        "heads": Heads(kinds=("logistic", "trees", "boosted"), n_trees=2),
        "n_estimators": 10,
    }
    first = detector(**options).fit(*labelled)
    prices = first.costs_
    assert set(prices.trees) == {"trees", "boosted"}
    assert all(0.0 < price < 1e-3 for price in prices.trees.values())
    assert detector(**options).fit(*labelled).costs_ == prices
    assert detector(**{**options, "heads": Heads(n_trees=3)}).fit(*labelled).costs_ != prices
    amount = prices.total() + 0.5 * prices.cost_of_trees({"trees": 20, "boosted": 200})
    fast = first.within(f"{amount!r}s")
    assert fast.cost_ <= amount
    narrow = first.within(f"{1.01 * prices.alone.min()}s")  # has no tree that could be timed
    assert set(narrow.measure_costs().trees) == {"trees", "boosted"}


def spy_on_candidates(model, monkeypatch):
    """Forget all candidates; return lists of those tried from now on, and of those learned."""
    learn, seen, kept = Learner.learn, [], []
    draft = model._selector.learner.draft

    def spy(learner, candidate, engine):
        (seen if learner is draft else kept).append(candidate)
        return learn(learner, candidate, engine)

    for learner in (draft, model._selector.learner):
        monkeypatch.setattr(learner, "made", {})
    monkeypatch.setattr(Learner, "learn", spy)
    return seen, kept


def test_what_was_learned_is_learned_once(model, labelled, monkeypatch):
    seen, kept = spy_on_candidates(model, monkeypatch)
    first = model.within(150, costs=PRICES)
    keys = [(frozenset(of.selection.columns), of.recipe.kinds, of.recipe.n_trees) for of in seen]
    assert len(keys) == len(set(keys)) > 3
    again = model.within(150, costs=PRICES)
    assert len(seen) == len(keys)
    assert [of.selection for of in kept] == [first.selection_]
    assert_array_equal(again.predict_proba(labelled[0]), first.predict_proba(labelled[0]))


def test_trees_that_must_be_fitted_are_few(model, monkeypatch):
    """Heads on raw columns and some scores are fitted, once; others are cut from the whole."""
    seen, _ = spy_on_candidates(model, monkeypatch)
    model.within(105, costs={**PRICES, "tree": 0.3})
    learner = model._selector.learner
    new = [of for of in seen if learner.must_fit(of.recipe.kinds, of.selection.columns)]
    assert [of.recipe.n_trees for of in new] == [1]
    assert "trees+scores" in new[0].recipe.kinds
    beside = [of for of in seen if of.recipe.kinds == ("logistic", "trees", "boosted")]
    assert any(learner.split(of.selection.columns)[1] for of in beside)
    assert max(of.recipe.n_trees for of in beside) > 1


def test_the_cheapest_of_equally_good_candidates(model, monkeypatch):
    monkeypatch.setattr(Learner, "judge", lambda *_: 0.5)
    candidates, _ = spy_on_candidates(model, monkeypatch)
    cheapest = model.within(150, costs=PRICES, skip_unaffordable=False)
    prices = [one.selection.cost for one in candidates]
    assert cheapest.cost_ == min(prices) < max(prices)
    judged, compare = [], Learner.compare

    def spy(learner, candidate, engine):
        judged.append(compare(learner, candidate, engine)._replace(quality=len(judged)))
        return judged[-1]

    monkeypatch.setattr(Learner, "compare", spy)
    last = model.within(150, costs=PRICES, skip_unaffordable=False)
    *tried, best = judged  # which is asked for once more, to be learned from all bags
    assert 3 <= len(tried) <= 8
    assert last.selection_ == best.candidate.selection == tried[-1].candidate.selection


def test_candidates_are_tried_on_few_bags_and_the_best_learned_from_all(model, labelled):
    learner = model._selector.learner
    assert len(learner.training.bags.rows) == 12
    assert len(learner.draft.training.bags.rows) == FEW_BAGS
    assert learner.draft is learner.draft
    assert learner.draft.draft is learner.draft
    table = learner.training.table
    for whole, few in zip(
        learner.whole[0].members, learner.draft.whole[0].members, strict=True
    ):  # boosted trees have ten bags in any case
        odds, of_few = (m.head.log_odds(m.read(table)) for m in (whole, few))
        assert_array_equal(odds[:, :FEW_BAGS], of_few)
    fast = model.within(150, costs=PRICES)
    table = fast.fitted_.represent(prepare(fast, labelled[0]), Threads(1))
    bags = {m.kind: m.head.log_odds(m.read(table)).shape[1] for m in fast.fitted_.members}
    assert bags == {kind: 10 if kind.startswith("boosted") else 12 for kind in bags}
    with pytest.warns(UserWarning, match="in every bag"):
        sure = detector(bagging=Bagging(max_samples=1.0)).fit(*labelled)._known_selector.learner
    assert sure.draft is sure  # all outliers are in every bag: none could judge


def test_candidates_are_judged_by_their_agreement_with_the_whole(model, labelled):
    learner, oob = model._selector.learner, model.oob_
    n_outliers = int((oob.labels == 1).sum()) + oob.left_out
    assert learner.judge(oob) == pytest.approx(1.0)
    reverse = replace(oob, probabilities=1.0 - oob.probabilities)
    flat = replace(oob, probabilities=np.full(300, 0.5))
    assert learner.judge(reverse) < learner.judge(flat) == pytest.approx(n_outliers / 300)
    swapped = replace(oob, labels=np.roll(oob.labels, 150))
    assert learner.judge(swapped) == learner.judge(oob)  # labels do not judge
    untaught = detector().fit(labelled[0])
    same = untaught.oob_
    learner = untaught._known_selector.learner
    assert learner.judge(same) == pytest.approx(1.0)
    reverse = replace(same, probabilities=1.0 - same.probabilities)
    assert learner.judge(reverse) == pytest.approx(-1.0)
    assert learner.judge(replace(same, probabilities=np.full(300, 0.5))) == 0.0


def test_the_curve_and_the_choice_tell_the_trees(model):
    curve = model.budget_curve([2, 60, 200], costs=PRICES)
    assert curve.n_trees.tolist()[0] == 0
    bought = [model.within(budget, costs=PRICES).selection_ for budget in (2, 60, 200)]
    assert curve.n_trees.tolist() == [sum(choice.trees.values()) for choice in bought]
    assert curve.tree_costs.tolist() == [choice.cost_of_trees for choice in bought]
    assert "columns  trees    AUC" in str(curve)
    assert "Trees of every bag cost " in str(bought[-1])
    whole = model.budget_curve(costs=PRICES).budgets[-1]
    assert (
        whole >= bought[0].costs.cost_of_trees(model.fitted_.tree_counts) + bought[0].costs.total()
    )


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_trees_are_averaged_without_a_detour(model, share):
    head, table = trees_of(model)["trees"], model.fitted_.represent(np.zeros((1, 4)), Threads(1))
    table = np.random.default_rng(0).uniform(size=(50, table.shape[1]))[:, :4]
    use = np.random.default_rng(1).uniform(size=(50, 12)) < share
    use[:3] = False
    assert_allclose(head.combined(table), combine(head.log_odds(table)), rtol=1e-9)
    expected = combine(head.log_odds(table), use)
    assert_allclose(head.combined(table, use), expected, rtol=1e-9)
    assert np.isnan(expected[:3]).all()


def test_weights_stand_for_copies_in_pursuit():
    random = np.random.default_rng(0)
    targets = np.repeat([1.0, 0.0], [20, 80])
    columns = random.uniform(size=(100, 6)) + 0.1 * targets[:, np.newaxis] * np.arange(6)
    costs = Costs({f"c{place}": 1.0 for place in range(6)})
    copies = np.repeat(np.arange(100), np.where(targets > 0, 4, 1))
    weights = np.where(targets > 0, 4.0, 1.0)
    ours = pursue(columns, targets, costs, rules=Rules(1e-9), weights=weights)
    theirs = pursue(columns[copies], targets[copies], costs, rules=Rules(1e-9))
    assert ours.order.tolist() == theirs.order.tolist()


def test_files_keep_the_trees(model, tmp_path):
    fast = model.within(150, costs=PRICES)
    assert fast.selection_.trees
    save(fast, tmp_path / "fast.boreod")
    loaded = load(tmp_path / "fast.boreod")
    assert loaded.costs_ == fast.costs_
    assert loaded.selection_.trees == fast.selection_.trees
    assert loaded.selection_.cost_of_trees == fast.selection_.cost_of_trees
    assert loaded.cost_ == fast.cost_
