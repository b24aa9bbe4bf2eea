"""Detectors on a budget, as users meet them."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest

from boreod import (
    BORE,
    ColumnSelection,
    ColumnsLeftOutWarning,
    Costs,
    Heads,
    OutlierRepresentation,
    Reference,
)
from boreod.neighbors import NeighborGraph
from boreod.scores import LOF

SMALL = OutlierRepresentation(["knn", "lof", "odin", "cof", "ldof"], ks=[5, 10, 20])


@pytest.fixture(scope="module")
def data(labelled):
    return labelled


@pytest.fixture(scope="module")
def model(data):
    return BORE(SMALL, random_state=0).fit(*data)


def prices(model):
    return {name: 10.0 + 7.0 * (place % 5) for place, name in enumerate(model.columns_[4:])}


@pytest.mark.parametrize("budget", [1, 2.5, 4, 15, 60, 200, 1e9])
@pytest.mark.parametrize(
    ("selection", "fill"),
    [("budget", True), ("budget", False), ("omp", True), ("omp", False), ("random", True)],
)
def test_a_budget_is_kept_and_never_empty(model, data, budget, selection, fill):
    fast = model.within(budget, costs=prices(model), method=selection, skip_unaffordable=fill)
    assert fast.cost_ == fast.costs_.total(fast.columns_) <= budget
    assert sorted(fast.columns_) == sorted(fast.selection_.columns)
    assert fast.predict_proba(data[0]).shape == (300, 2)


@pytest.mark.parametrize("budget", [100, 200])
@pytest.mark.parametrize("selection", ["budget", "omp"])
def test_without_filling_the_most_frequent_columns_are_taken(model, budget, selection):
    fast = model.within(budget, costs=prices(model), method=selection, skip_unaffordable=False)
    ranked = list(fast.selection_.frequencies)
    assert 1 < len(fast.columns_) < len(ranked)
    assert fast.selection_.columns == ranked[: len(fast.columns_)]
    assert fast.costs_.total(ranked[: len(fast.columns_) + 1]) > budget


@pytest.mark.parametrize("budget", [1, 4, 15, 60])
def test_a_first_column_that_does_not_fit_ends_the_printed_choice(model, budget):
    how = {"costs": dict.fromkeys(model.columns_, budget + 1.0) | {"x3": 1.0}, "method": "random"}
    with pytest.raises(ValueError, match=r"first column, '\w+', ends .* `skip_unaffordable=True`"):
        model.within(budget, **how, skip_unaffordable=False)
    assert model.within(budget, **how, skip_unaffordable=True).columns_ == ["x3"]


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_time_budgets_buy_what_fits(model, share):
    whole = model.costs_.total()
    assert model.costs_.unit == "s"
    fast = model.within(f"{share * whole}s")
    assert fast.cost_ <= share * whole
    assert 0 < len(fast.columns_) < len(model.columns_)


def test_within_is_the_fit_with_that_budget(data, model):
    X, y = data
    options = {
        "selection": ColumnSelection(costs=prices(model), method="omp", skip_unaffordable=False),
        "budget": 60,
    }
    fitted = BORE(SMALL, random_state=0, **options).fit(X, y)
    fast = BORE(SMALL, random_state=0, selection=ColumnSelection(costs=prices(model))).fit(X, y)
    fast = fast.within(60, method="omp", skip_unaffordable=False)
    assert fast.columns_ == fitted.columns_
    assert fast.get_params()["budget"] == 60
    assert_array_equal(fast.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(clone(fast).fit(X, y).predict_proba(X), fitted.predict_proba(X))


def test_nothing_is_searched_again_and_nothing_else_computed(model, data, monkeypatch):
    def refuse(*_):
        raise AssertionError("a search")

    monkeypatch.setattr(NeighborGraph, "build", refuse)
    before = model.predict_proba(data[0])
    fast = model.within(25, costs=prices(model))
    raw = model.within(4, costs=prices(model))
    assert_array_equal(model.predict_proba(data[0]), before)
    assert raw.fitted_.columns.views == []
    computed = fast.fitted_.columns
    of_views = [name for view in computed.views for name in view.column_names]
    assert sorted(of_views) == sorted(set(fast.columns_) - {"x0", "x1", "x2", "x3"})
    monkeypatch.setattr(NeighborGraph, "new_block", refuse)
    assert raw.predict_proba(data[0]).shape == (300, 2)


@pytest.mark.parametrize("budget", [23, 31])
def test_a_budget_that_was_asked_before_is_not_learned_again(model, data, monkeypatch, budget):
    before = model.within(budget)
    learn = "boreod.ensemble.training.Training.learn"
    monkeypatch.setattr(learn, lambda *_: pytest.fail("it was learned again"))
    again = model.within(budget)
    assert again.columns_ == before.columns_
    assert_array_equal(again.predict_proba(data[0]), before.predict_proba(data[0]))


def test_the_chosen_columns_alone_give_the_same_model(model, data):
    """The stable set is solved as a model of its own columns would be."""
    X, y = data
    fast = model.within(60, costs=prices(model))
    columns = [name for name in fast.columns_ if "_" in name]
    only = BORE(OutlierRepresentation(columns), random_state=0).fit(X, y)
    costs = Costs(dict.fromkeys(only.columns_, 1e6) | dict.fromkeys(fast.columns_, 1.0))
    only = only.within(1e5, costs=costs)
    assert only.columns_ == fast.columns_
    assert_allclose(fast.predict_proba(X), only.predict_proba(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("budget", ["1s", 1e9])
def test_beyond_the_total_is_the_full_model(model, data, budget):
    everything = model.within(3).within(budget)
    assert everything.columns_ == model.columns_
    assert_array_equal(everything.predict_proba(data[0]), model.predict_proba(data[0]))
    assert everything.cost_ <= everything.selection_.budget


def test_too_small_a_budget_names_the_cheapest_column(model):
    with pytest.raises(ValueError, match=r"`budget` is 0.5, but the cheapest column, 'x0', costs"):
        model.within(0.5, costs=prices(model))
    with pytest.raises(ValueError, match=r"`budget` is 1ns, but the cheapest .* costs [\d.]+"):
        model.within("1ns")


def test_one_dear_column_can_be_worth_it():
    """Spending by worth per price alone would buy the cheap column and lose the expensive one."""
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [60, 300])
    cheap = random.uniform(size=360) < 0.1 + 0.1 * y
    expensive = random.normal(size=360) + 4 * y
    X = np.column_stack([cheap, expensive]).astype(float)
    raw = OutlierRepresentation([], views=[])
    greedy = BORE(
        raw,
        random_state=0,
        selection=ColumnSelection(costs={"x0": 1, "x1": 100}, skip_unaffordable=True),
        budget=100,
        heads=Heads(fit_intercept=True),
    )
    assert greedy.fit(X, y).columns_ == ["x1"]
    printed = greedy.set_params(selection__skip_unaffordable="preset")
    assert printed.fit(X, y).columns_ == ["x0"]


def test_declared_costs(model, data):
    fast = model.within(50, costs={"lof": 20, "lof_5": 3, "knn": 500, "odin": 500, "cof": 500,
                                   "ldof": 500, "x3": 30})  # fmt: skip
    assert fast.costs_.own["lof_10"] == 20.0
    assert fast.costs_.own["lof_5"] == 3.0
    assert fast.costs_.own["x0"] == 1.0
    assert fast.costs_.own["x3"] == 30.0
    with pytest.warns(UserWarning, match=r"no price for 14 columns, .* knn_5, knn_10"):
        fast = model.within(1e6, costs={"lof_10": 5})
    assert fast.columns_ == ["x0", "x1", "x2", "x3", "lof_10"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lov_10": 5}, "'lov_10', which is neither .* Did you mean lof_10"),
        ({"lof_10": -1}, "from 0 to 1e\\+100; got -1 for 'lof_10'"),
        ({"lof_10": "cheap"}, "got 'cheap'"),
        ({"lof_10": np.nan}, "got nan"),
        ("measured", "must be one of"),
        ("measured:additive", "must be one of"),
        ("fresh", "must be one of"),
        (5, "a dict of prices"),
        (Costs({"lov_10": 5.0}), "neither a column nor a score"),
    ],
)
def test_wrong_costs(model, wrong, message):
    with pytest.raises(ValueError, match=message):
        model.within(50, costs=wrong)


def test_times_and_units_are_not_mixed(model, data):
    with pytest.raises(ValueError, match="`budget` is a time, but `costs` are units"):
        model.within("20us", costs=prices(model))
    with pytest.raises(ValueError, match="a number of units, but `costs` are seconds"):
        model.within(20, costs="measured:shared")
    declared = BORE(SMALL, selection=ColumnSelection(costs=prices(model)), random_state=0).fit(
        *data
    )
    assert declared.within("1ms", costs="measured:shared").cost_ <= 1e-3
    assert model.within(3).budget_curve().unit == ""


def test_measured_costs_know_what_is_shared(model):
    costs = model.costs_
    alone = costs.total(["cof_20"]) - costs.base
    assert 0 < costs.marginal("ldof_20", ["cof_20"]) < costs.total(["ldof_20"]) - costs.base
    assert costs.marginal("knn_5", ["cof_20"]) < 0.5 * alone
    assert costs.total() < costs.additive().total() / 2
    assert all(amount > 0 for amount in costs.own.values())
    needs = costs.needs["odin_10"]
    assert {"search@", "reverse@", "odin scores@"} == set(needs)
    assert 0 < needs["search@"] <= costs.needs["odin_20"]["search@"]
    other = copy.copy(model)
    again = other.measure_costs()
    assert again is other.costs_ is not costs
    assert again.names == costs.names
    assert model.costs_ is costs


def test_complexity_costs_are_the_papers_units(model, data):
    costs = model.within(1e6, costs="complexity:shared").costs_
    assert costs.total(["x0"]) == 1.0
    assert costs.total(["knn_5"]) == pytest.approx(10.0, rel=0.02)
    assert costs.marginal("knn_10", ["knn_5"]) < 0.2
    assert costs.total(["cof_20"]) > costs.total(["cof_10"]) > costs.total(["knn_20"])
    sampled = BORE(clone(SMALL).set_params(views=["full", "sample:60"]), random_state=0).fit(*data)
    costs = sampled.within(1e6, costs="complexity:additive").costs_
    assert costs.total(["lof_5@r60"]) < 0.3 * costs.total(["lof_5"])


def test_cheap_views_are_bought_when_the_budget_is_tight():
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [80, 1920])
    X = random.normal(size=(2000, 30))
    X[y == 1] *= 1.4
    few = OutlierRepresentation(["knn", "lof"], ks=[5, 10], views=["full", "sample:256"])
    model = BORE(few, random_state=0, selection=ColumnSelection(costs="complexity:shared")).fit(
        X, y
    )
    scores = [name for name in model.within(8).columns_ if "_" in name]
    assert scores
    assert all(name.endswith("@r256") for name in scores)


def test_large_tables_get_cheap_views_with_a_budget(data, monkeypatch):
    monkeypatch.setattr("boreod.representation.transformer.LARGE_TABLE", 299)
    monkeypatch.setattr(
        "boreod.representation.transformer.CHEAP_VIEWS", ("sample:50", "sample:100")
    )
    with pytest.warns(ColumnsLeftOutWarning):
        fast = BORE(budget=1e6, random_state=0).fit(*data)
    assert {"lof_10", "lof_10@r50", "lof_10@r100"} <= set(fast.columns_)
    assert "lof_10@r50" not in BORE(random_state=0).fit(*data).columns_


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": ExtraTreesClassifier(5)},
        {"heads": Heads(penalty="auto")},
        {"scaling": "rank", "calibration": "platt"},
        {"reference": Reference(input_scaling=None), "threshold": "alerts:10"},
    ],
)
def test_other_heads_scalings_and_detectors(data, options):
    X, y = data
    few = OutlierRepresentation(["knn", ("trees", IsolationForest(n_estimators=10))], ks=[5, 10])
    model = BORE(few, random_state=0, n_estimators=20, **options).fit(X, y)
    fast = model.within(12)
    assert fast.cost_ <= 12
    assert model.costs_.total(["trees"]) > model.costs_.total(["x0"])
    assert_allclose(fast.predict_proba(X).sum(axis=1), 1.0)
    assert_array_equal(pickle.loads(pickle.dumps(fast)).predict_proba(X), fast.predict_proba(X))
    again = pickle.loads(pickle.dumps(model)).within(12)
    assert_array_equal(again.predict_proba(X), fast.predict_proba(X))


def test_the_same_seed_gives_the_same_set(data):
    X, y = data
    sets = [
        BORE(SMALL, budget=60, random_state=3, n_jobs=n_jobs).fit(X, y).columns_
        for n_jobs in (1, 2, 2)
    ]
    assert sets[0] == sets[1] == sets[2]


def test_explanations_thresholds_and_labels_of_a_narrow_model(data):
    X, y = data
    partly = np.where(np.arange(300) % 3 == 0, -1, y)
    fast = BORE(SMALL, budget=40, random_state=0, threshold="alerts:20").fit(X, partly)
    explanation = fast.explain(X[:5])
    assert explanation.columns == fast.columns_
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert_allclose(total, fast.decision_function(X[:5]))
    assert (fast.oob_proba_ > fast.threshold_).sum() == 20


def test_a_failed_budget_leaves_everything_as_it_was(data):
    X, y = data
    model = BORE(SMALL, random_state=0, budget=0.1)
    with pytest.raises(ValueError, match="cheapest column"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", "best"), ("skip_unaffordable", "yes"), ("costs", "x"), ("batch_size", 0)],
)
def test_wrong_parameters(data, name, value):
    with pytest.raises(ValueError, match=name):
        BORE(SMALL, selection=ColumnSelection(**{name: value})).fit(*data)


def test_a_wrong_budget(data):
    with pytest.raises(ValueError, match="budget"):
        BORE(SMALL, budget="2 weeks").fit(*data)


@pytest.mark.parametrize("selection", ["omp", "budget"])
def test_a_column_that_is_too_dear_does_not_end_the_purchase(selection):
    """The expensive column comes first on every path; a bag must not stop there."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], [300, 20])
    X = random.normal(size=(320, 6)) + 0.8 * y[:, None]
    heavy = np.exp(random.normal(size=320))
    heavy[5] = 1e6
    raw = OutlierRepresentation([], views=[])
    model = BORE(raw, random_state=0, n_estimators=30).fit(np.column_stack([X, heavy]), y)
    fast = model.within(6, costs={"x6": 7}, method=selection)
    assert fast.columns_ == ["x0", "x1", "x2", "x3", "x4", "x5"]


def test_random_selection_looks_at_no_label(data):
    X, y = data
    model = BORE(SMALL, random_state=0).fit(X, y)
    costs = {**prices(model), "x0": 1, "x1": 1, "x2": 50, "x3": 50}
    chosen = set()
    for seed in range(12):
        drawn = BORE(
            SMALL,
            random_state=seed,
            selection=ColumnSelection(method="random", skip_unaffordable=True, costs=costs),
        )
        chosen.add(tuple(drawn.set_params(budget=1).fit(X, y).columns_))
    assert chosen == {("x0",), ("x1",)}


def test_measuring_on_a_narrow_model_is_its_own_affair(data):
    X, y = data
    model = BORE(SMALL, random_state=0, selection=ColumnSelection(costs="complexity:additive")).fit(
        X, y
    )
    narrow = model.within(3)
    again = narrow.measure_costs()
    assert again.names == model.columns_
    assert model._selector.prices.measured is None
    assert narrow.within("1s", costs="measured:shared").columns_ == model.columns_
    model.within(1e6).columns_.append("nonsense")
    assert model.within(1e6).predict_proba(X).shape == (300, 2)


def test_a_score_may_be_called_search(data):
    named = BORE(OutlierRepresentation([("search", LOF())], ks=[10]), random_state=0).fit(*data)
    assert named.costs_.total(["search_10"]) > 5 * named.costs_.base / 4


def test_parameters_set_after_fit_wait_for_the_next_fit(model, data):
    changed = clone(model).fit(*data)
    expected = changed.within(25, costs=prices(model)).predict_proba(data[0])
    changed.set_params(estimator=ExtraTreesClassifier(5), heads__penalty=1.0)
    assert_array_equal(changed.within(25, costs=prices(model)).predict_proba(data[0]), expected)


def test_a_raw_column_called_like_a_score(data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data[0], columns=["lof", "b", "c", "d"])
    model = BORE(SMALL, random_state=0).fit(frame, data[1])
    with pytest.raises(ValueError, match="'lof', which is a raw column and a score"):
        model.within(20, costs={"lof": 5, "knn": 5, "odin": 5, "cof": 5, "ldof": 5})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"own": {}}, "at least one column"),
        ({"own": None}, "`own` of costs must be a dict"),
        ({"own": {"x0": -1.0}}, "got -1.0 for 'x0'"),
        ({"own": {"x0": np.nan}}, "got nan for 'x0'"),
        ({"own": {"x0": np.inf}}, "got inf for 'x0'"),
        ({"own": {"x0": 10**400}}, r"numbers from 0 to 1e\+100"),
        ({"own": {"x0": 1.0}, "base": -1.0}, "got -1.0 for 'base'"),
        ({"own": {"x0": 1.0}, "unit": "ms"}, "unit of costs must be"),
        ({"own": {"x0": 1.0}, "needs": {"x1": {"search": 1.0}}}, "needs of 'x1'"),
        ({"own": {"x0": 1.0}, "needs": {"x0": 5.0}}, "`x0` of costs must be a dict"),
        ({"own": {"x0": 1.0}, "needs": {"x0": {"search": "5"}}}, "got '5' for 'x0, search'"),
    ],
)
def test_costs_that_are_none(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Costs(**arguments)


def test_costs_answer_for_priced_columns_only(model):
    with pytest.raises(ValueError, match="no price for 'nope'"):
        model.costs_.total(["nope"])
    with pytest.raises(TypeError, match="must be a list of column names; got 'x0'"):
        model.costs_.total("x0")
    with pytest.raises(ValueError, match="no price for 'nope'"):
        model.costs_.marginal("nope", ["x0"])


def test_threads_share_a_model(model, data):
    expected = {b: model.within(b, costs=prices(model)).columns_ for b in (5, 20, 60, 150)}
    fresh = BORE(SMALL, random_state=0).fit(*data)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda b: (b, fresh.within(b, costs=prices(model)).columns_),
                              [150, 5, 60, 20] * 3))  # fmt: skip
    assert all(columns == expected[budget] for budget, columns in found)


def test_selection_reads_well(model):
    text = str(model.within(25, costs=prices(model)).selection_)
    first, *rows = text.splitlines()
    chosen = model.within(25, costs=prices(model)).selection_
    assert (
        first == f"The budget of 25 bought {len(chosen.columns)} columns at a total cost of "
        f"{chosen.cost:g}. Percentages say how many bags bought a column."
    )
    assert [row.split()[1] for row in rows] == chosen.columns
    assert rows[0].split()[0] == f"{chosen.frequencies[chosen.columns[0]]:.0%}"
