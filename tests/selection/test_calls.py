"""Budgets for rows that come alone or few at once: prices of calls, what they buy, what is said."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod import BORE, ColumnSelection, Costs, Detector, Heads, OutlierRepresentation, load, save
from boreod.predictor import price_of_rows
from boreod.selection import prices
from boreod.selection.costs import FEW_ROWS
from boreod.selection.measured import Clock, cut

SMALL = OutlierRepresentation(["knn", "lof", "cof"], ks=[5, 10])
MORE = {"n_estimators": 30}  # bags, so that every row is out of some
FAST = {"n_estimators": 12, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def model(labelled):
    return BORE(SMALL, **FAST).fit(*labelled)


@pytest.fixture(scope="module")
def detector(labelled):
    return Detector(
        OutlierRepresentation(["knn"], ks=[5]), heads=Heads(n_trees=2), **FAST | MORE
    ).fit(*labelled)


def test_prices_between_one_row_and_many():
    """A row pays its own price and its share of a call; calls of 2 to 10 rows lie between."""
    one, few = Costs({"a": 1e-6}, base=9e-6, unit="s"), Costs({"a": 4e-6}, base=18e-6, unit="s")
    trees = {"trees": {"trees": 2e-8}, "heads": {"trees": 1e-5}}
    costs = Costs({"a": 1e-6}, base=1e-6, unit="s", trees={"trees": 1e-8},
                  call=Costs(one.own, base=one.base, unit="s", **trees),
                  few=Costs(few.own, base=few.base, unit="s", **trees))  # fmt: skip
    assert costs.in_batches(None) is costs
    assert costs.in_batches(1).total(["a"]) == pytest.approx(2e-6 + 10e-6)
    assert costs.in_batches(10).total(["a"]) == pytest.approx(2e-6 + 22e-6 / 10)
    assert costs.in_batches(100).total(["a"]) == pytest.approx(2e-6 + 22e-6 / 100)
    middle = 10e-6 + (22e-6 - 10e-6) * 2 / 9
    assert costs.in_batches(3).total(["a"]) == pytest.approx(2e-6 + middle / 3)
    assert costs.in_batches(10**400).total(["a"]) == pytest.approx(2e-6)
    assert costs.in_batches(1).cost_of_trees({"trees": 100}) == pytest.approx(300e-8 + 1e-5)
    assert costs.cost_of_trees({"trees": 100, "trees+scores": 100}) == pytest.approx(200e-8)
    assert costs.only(["a"]) == costs
    assert costs.additive().in_batches(1).total() == pytest.approx(costs.in_batches(1).total())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"call": {"a": 1.0}}, "must be Costs without a call"),
        ({"call": Costs({"a": 1.0})}, "Only costs in seconds"),
        ({"call": Costs({"b": 1.0}, unit="s")}, "must price the same columns"),
        ({"few": Costs({"a": 1.0}, unit="s")}, "`few` of costs needs a `call`"),
        ({"heads": {"trees": -1.0}}, "Costs must be numbers"),
        ({"heads": 3}, "must be a dict"),
    ],
)
def test_what_is_no_price_of_a_call(parts, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Costs({"a": 1e-6}, unit="s", **parts)


@pytest.mark.parametrize("name", ["model", "detector"])
def test_a_row_alone_costs_more_than_in_batches(name, request):
    fitted = request.getfixturevalue(name)
    costs = fitted.within("1s", batch_size=1).costs_
    assert set(costs.call.own) == set(costs.few.own) == set(costs.own)
    assert fitted.costs_ == costs.of_rows() != costs
    of_sizes = [price_of_rows(fitted, size) for size in (2, 10, 100, None)]
    assert of_sizes == sorted(of_sizes, reverse=True)
    assert of_sizes[0] > 2 * of_sizes[-1] > 0.0
    assert price_of_rows(fitted, 1) > of_sizes[-1]  # timed on its own, so not above all others


def test_heads_of_trees_have_prices_of_calls(detector):
    costs = detector.within("1s", batch_size=1).costs_
    assert set(costs.call.heads) == {"trees", "boosted"}
    assert min(costs.call.heads.values()) > 1e-6


def test_calls_are_timed_when_somebody_asks(labelled, tmp_path, monkeypatch):
    """Their prices join those of rows in one file; a row alone is timed once per model."""
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path))
    seen = []
    for name in ("with_calls", "time_whole"):
        work = getattr(prices, name)
        monkeypatch.setattr(prices, name, lambda *a, w=work, n=name: seen.append(n) or w(*a))
    model = BORE(SMALL, **FAST).fit(*labelled)
    fast = model.within("30us")
    assert seen == []
    assert price_of_rows(fast, 1) == price_of_rows(fast, 1) > fast.cost_ == price_of_rows(fast)
    save(fast, tmp_path / "fast.boreod")
    assert price_of_rows(load(tmp_path / "fast.boreod"), 1) == price_of_rows(fast, 1)
    assert price_of_rows(load(tmp_path / "fast.boreod"), 7) is None
    assert seen == ["time_whole"]
    single = model.within("1ms", batch_size=1)
    again = BORE(SMALL, budget="1ms", selection=ColumnSelection(batch_size=1), **FAST).fit(
        *labelled
    )
    assert again.costs_ == single.costs_
    assert price_of_rows(again.within("30us", batch_size=None), 1) == price_of_rows(fast, 1)
    assert seen == ["time_whole", "with_calls"]
    assert len(list((tmp_path / "prices").iterdir())) == 2


@pytest.mark.parametrize("size", [1, 3, 10, np.int64(10), 10**9])
def test_budgets_are_kept_in_batches(model, labelled, size):
    whole = model.within("1s", batch_size=1).costs_.in_batches(size).total()
    fast = model.within(f"{0.7 * whole!r}s", batch_size=size)
    assert 0 < len(fast.columns_) < len(model.columns_)
    priced = fast.costs_.in_batches(size).total(fast.columns_)
    assert fast.cost_ == priced == price_of_rows(fast, size) <= 0.7 * whole
    assert fast.selection.batch_size == fast.selection_.batch_size == size
    words = "for a row alone" if size == 1 else f"in batches of {size}"
    assert words in str(fast.selection_)
    again = model.within(f"{0.7 * whole!r}s", batch_size=size)
    assert_array_equal(again.predict_proba(labelled[0]), fast.predict_proba(labelled[0]))


def test_trees_pay_for_their_heads(detector):
    single = detector.within("1s", batch_size=1)
    one, whole = single.costs_.in_batches(1), single.cost_
    fast = detector.within(f"{0.8 * whole!r}s", batch_size=1)
    n_bags = len(detector.training_.bags.rows)
    counts = {kind: n * min(n_bags, 10 if "boosted" in kind else n_bags)
              for kind, n in fast.selection_.trees.items()}  # fmt: skip
    assert fast.cost_ == pytest.approx(one.total(fast.columns_) + one.cost_of_trees(counts))
    assert fast.cost_ <= fast.selection_.budget


def test_batches_are_kept_by_models_and_left_by_units(model):
    fast = model.within("1ms", batch_size=1)
    assert fast.within("2ms").selection.batch_size == 1
    assert fast.within("2ms", batch_size=50).selection.batch_size == 50
    many = fast.within("30us", batch_size=None)
    assert many.selection.batch_size is many.selection_.batch_size is None
    assert many.columns_ == model.within("30us").columns_
    assert fast.budget_curve(["30us"], batch_size=None).costs[0] == many.cost_
    assert fast.within(300).selection.batch_size is None
    assert model.within("2ms").within(None, batch_size=7).selection_.batch_size == 7
    whole = model.within("1s", batch_size=1).cost_
    assert fast.budget_curve().costs.max() == pytest.approx(whole)
    assert model.budget_curve(batch_size=1).costs.max() == pytest.approx(whole)
    _ = model.costs_  # measures prices, which nobody may have asked for before
    assert model.budget_curve().costs.max() == pytest.approx(price_of_rows(model))
    assert fast.budget_curve([300]).unit == ""


@pytest.mark.parametrize("size", [True, False, 0, -1, 1.5, 1.0, "1", np.nan, [1], np.True_])
def test_what_is_no_number_of_rows(model, size):
    for ask in (model.within, lambda b, batch_size: model.budget_curve([b], batch_size=batch_size)):
        with pytest.raises(ValueError, match="must be a number of rows, 1 or more"):
            ask("1ms", batch_size=size)
    single = model.within("1ms", batch_size=1)
    for ask in (partial(price_of_rows, single), model.budget_curve):
        with pytest.raises(ValueError, match="must be a number of rows, 1 or more"):
            ask(batch_size=size)


UNITS = "a number of units, which are the same in every batch"
NO_BUDGET = "is 1, but there is no `budget`"
NO_CALL = "`costs` have no prices of a call"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda model: model.within(300, batch_size=1), UNITS),
        (lambda model: model.within(None, batch_size=1), NO_BUDGET),
        (lambda model: model.budget_curve([300, 400], batch_size=1), UNITS),
        (lambda model: model.within("1ms", batch_size=1, costs=times_of(model)), NO_CALL),
    ],
)
def test_batches_need_a_budget_in_time(model, ask, words):
    with pytest.raises(ValueError, match=words):
        ask(model)


def times_of(model):
    return Costs(dict.fromkeys(model.columns_, 1e-6), unit="s")


def test_a_fit_for_batches_needs_a_budget(labelled):
    with pytest.raises(ValueError, match=NO_BUDGET):
        BORE(SMALL, selection=ColumnSelection(batch_size=1), **FAST).fit(*labelled)


@pytest.fixture(scope="module")
def unlabelled(labelled):
    detector = Detector(
        OutlierRepresentation(["knn"], ks=[5]), heads=Heads(n_trees=2), **FAST | MORE
    )
    return detector.fit(labelled[0][:100])


@pytest.mark.parametrize("name", ["model", "detector", "unlabelled"])
def test_a_budget_below_any_call_names_its_price(name, request):
    fitted = request.getfixturevalue(name)
    with pytest.raises(ValueError, match=r"alone costs at least .*larger `batch_size`") as raised:
        fitted.within("1us", batch_size=1)
    least = str(raised.value).partition("at least ")[2].partition(",")[0]
    assert fitted.within(least, batch_size=1).cost_ <= 1e-3


@pytest.mark.parametrize("name", ["model", "detector"])
def test_files_keep_prices_of_calls(name, request, labelled, tmp_path):
    fast = request.getfixturevalue(name).within("2ms", batch_size=1)
    save(fast, tmp_path / "fast.boreod")
    loaded = load(tmp_path / "fast.boreod")
    assert loaded.costs_ == fast.costs_
    assert loaded.selection_.batch_size == loaded.selection.batch_size == 1
    assert loaded.selection_.costs == fast.selection_.costs
    assert price_of_rows(loaded, 1) == pytest.approx(fast.cost_)
    assert_array_equal(loaded.predict_proba(labelled[0]), fast.predict_proba(labelled[0]))
    with pytest.raises(AttributeError, match="`within`"):
        loaded.within("1ms", batch_size=1)


def test_calls_are_cut_to_their_size():
    assert [part.tolist() for part in cut(np.arange(5), 2)] == [[0, 1], [2, 3]]
    seen = []
    rows = np.zeros((2 * FEW_ROWS, 3))
    Clock(FEW_ROWS).time(lambda part: seen.append(part.shape), rows)
    assert set(seen) == {(FEW_ROWS, 3)}
