"""Costs of sets of columns, and budgets as users write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.selection import total_cost

from boreod.selection.budgets import read_budget, round_up, show_cost, write_budget
from boreod.selection.costs import Costs, marginal_cost, pay

NAMES = [f"c{number}" for number in range(6)]
amounts = st.integers(0, 1000).map(lambda number: number / 8)


@st.composite
def any_costs(draw):
    own = draw(st.lists(amounts, min_size=6, max_size=6))
    parts = st.dictionaries(st.sampled_from(["search", "reverse", "geometry"]), amounts)
    needs = draw(st.lists(parts, min_size=6, max_size=6))
    return Costs(
        dict(zip(NAMES, own, strict=True)), dict(zip(NAMES, needs, strict=True)), draw(amounts)
    )


def slow_total(costs, columns):
    own, needs = list(costs.own.values()), [costs.needs.get(name, {}) for name in costs.own]
    return total_cost([costs.names.index(c) for c in columns], own, needs, costs.base)


@given(any_costs(), st.lists(st.sampled_from(NAMES), unique=True))
def test_total_is_the_oracle_whatever_the_order(costs, columns):
    assert costs.total(columns) == slow_total(costs, columns) == costs.total(columns[::-1])


@given(any_costs(), st.permutations(NAMES))
def test_marginals_of_a_path_add_up(costs, columns):
    spent = costs.total([])
    work = costs.arrays
    levels = np.zeros(work.needs.shape[1])
    for place, column in enumerate(columns):
        step = costs.marginal(column, columns[:place])
        assert step >= 0.0
        spent += step
        fast = marginal_cost(work, levels, costs.names.index(column))
        assert fast == pytest.approx(step, abs=1e-9)
        pay(work, levels, costs.names.index(column))
    assert spent == pytest.approx(costs.total())


@given(any_costs(), st.lists(st.sampled_from(NAMES), unique=True))
def test_sharing_never_costs_more(costs, columns):
    alone = costs.additive()
    assert costs.total(columns) <= alone.total(columns) + 1e-9
    for name in NAMES:
        assert alone.total([name]) == pytest.approx(costs.total([name]))
        assert costs.alone[costs.names.index(name)] == costs.total([name])


def test_only_some_columns():
    costs = Costs({"a": 1.0, "b": 2.0}, {"b": {"search": 5.0}}, base=1.0, unit="s")
    some = costs.only(["b"])
    assert (some.names, some.total(), some.unit) == (["b"], 8.0, "s")


@pytest.mark.parametrize(
    ("written", "amount", "unit"),
    [
        ("200us", 200e-6, "s"),
        ("200 µs", 200e-6, "s"),
        ("200\u03bcs", 200e-6, "s"),  # the Greek letter
        ("2ms", 2e-3, "s"),
        ("0.5ms", 5e-4, "s"),
        ("1s", 1.0, "s"),
        ("80ns", 80e-9, "s"),
        ("1e-05s", 1e-5, "s"),
        ("1E3us", 1e-3, "s"),
        (300, 300.0, ""),
        (np.float32(0.5), 0.5, ""),
        (np.int64(7), 7.0, ""),
    ],
)
def test_budgets(written, amount, unit):
    assert read_budget(written) == (pytest.approx(amount, rel=1e-12), unit)


@pytest.mark.parametrize("wrong", ["200", "us", "", "-5us", "0ms", "1.2.3ms", 0, -1, np.nan, np.inf,
                                   True, None, [5], "1e999s", 10**400])  # fmt: skip
def test_wrong_budgets(wrong):
    with pytest.raises(ValueError, match=r"`budget` must be .* ns, us, ms, s such as '200us'; got"):
        read_budget(wrong)


@pytest.mark.parametrize("wrong", ["200usec", "3 minutes", "5 h", "2m", "2MS"])
def test_wrong_units_list_the_right_ones(wrong):
    with pytest.raises(ValueError, match="units of time are ns, us, ms, s"):
        read_budget(wrong)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (5e-10, "0.5ns"),
        (2.04e-5, "20.4us"),
        (9.999e-4, "1ms"),
        (0.002, "2ms"),
        (3.0, "3s"),
        (2000.0, "2e+03s"),
    ],
)
def test_costs_are_shown_as_they_are_written(amount, shown):
    assert show_cost(amount, "s") == shown


@given(st.floats(1e-9, 1e6), st.sampled_from(["s", ""]))
def test_rounded_budgets_can_be_shown_and_typed(amount, unit):
    rounded = round_up(amount, unit)
    assert amount <= rounded <= amount * 1.0101
    assert read_budget(write_budget(rounded, unit)) == (rounded, unit)
    assert read_budget(write_budget(amount, unit)) == (amount, unit)
