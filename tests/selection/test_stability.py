"""Stability selection: the ranking, both rules, and the limits of a budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles.selection import path as slow_path
from oracles.selection import stable_order
from oracles.selection import stable_set as slow_set

from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.parallel import Threads
from boreod.selection.costs import Costs
from boreod.selection.pursuit import Paths, Rules, stable_set

M = 7
NAMES = [f"c{number}" for number in range(M)]


def table_and_bags():
    random = np.random.default_rng(0)
    codes = (np.arange(80) < 12).astype(int)
    table = random.uniform(size=(80, M)) + 0.4 * random.uniform(size=M) * codes[:, None]
    bags = draw_bags(
        np.flatnonzero(codes == 1), np.flatnonzero(codes == 0), 80, BagPlan(12, 0.7), 0
    )
    return table, bags


@st.composite
def any_costs(draw):
    amounts = st.sampled_from([0.5, 1.0, 2.0, 10.0, 50.0, 300.0])
    own = draw(st.lists(amounts, min_size=M, max_size=M))
    depths = draw(st.lists(st.sampled_from([0.0, 4.0, 20.0]), min_size=M, max_size=M))
    needs = {name: {"search": depth} for name, depth in zip(NAMES, depths, strict=True)}
    return Costs(dict(zip(NAMES, own, strict=True)), needs, draw(st.sampled_from([0.0, 3.0])))


@settings(max_examples=60)
@given(
    any_costs(), st.integers(1, 4000).map(lambda v: v / 8 + 1 / 32), st.booleans(), st.booleans()
)
def test_set_is_the_oracle_and_fits(costs, budget, cost_aware, fill):
    table, bags = table_and_bags()
    paths = Paths(table, list(range(M)), bags, costs, Rules(1e-4, cost_aware))
    order, shares = paths.rank(budget, Threads(1), fill)
    own, needs = list(costs.own.values()), [costs.needs[name] for name in NAMES]
    slow = [
        slow_path(table[rows], bags.targets, own, needs, costs.base, 1e-4, cost_aware, True)
        for rows in bags.rows
    ]
    expected, expected_shares = stable_order(
        [order for order, _ in slow], own, needs, costs.base, budget, printed=not fill
    )
    assert order.tolist() == expected
    assert_array_equal(shares, expected_shares)
    chosen = stable_set(order, costs, budget, fill)
    assert chosen == slow_set(expected, own, needs, costs.base, budget, fill)
    assert not chosen or costs.cost_of(chosen) <= budget
    if not fill:
        assert chosen == order.tolist()[: len(chosen)]


def test_an_earlier_larger_budget_changes_nothing():
    table, bags = table_and_bags()
    costs = Costs(dict(zip(NAMES, [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0], strict=True)))
    fresh = Paths(table, list(range(M)), bags, costs, Rules(1e-4)).rank(9.0, Threads(1), True)
    paths = Paths(table, list(range(M)), bags, costs, Rules(1e-4))
    paths.rank(50.0, Threads(2), True)
    for one, other in zip(fresh, paths.rank(9.0, Threads(2), True), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(n_jobs):
    table, bags = table_and_bags()
    costs = Costs(dict.fromkeys(NAMES, 1.0))
    paths, again = (Paths(table, list(range(M)), bags, costs, Rules()) for _ in range(2))
    paths.rank(np.inf, Threads(n_jobs), True)
    again.rank(np.inf, Threads(1), True)
    for one, other in zip(paths.paths, again.paths, strict=True):
        assert_array_equal(one.order, other.order)
        assert_array_equal(one.coefficients, other.coefficients)
