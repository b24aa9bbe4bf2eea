"""Matching pursuit against its oracle, a planted support, and by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.selection import path as slow_path
from scipy.special import expit

from boreod.ensemble.logistic import fit_standardized, standardization
from boreod.selection.costs import Costs
from boreod.selection.pursuit import Path, Rules, pursue


def bag(seed, n=40, m=9, noise=1.0):
    random = np.random.default_rng(seed)
    targets = np.repeat([1.0, 0.0], n // 2)
    columns = random.uniform(size=(n, m)) ** 2 + noise * random.uniform(size=m) * targets[:, None]
    return columns, targets


def prices(seed, m=9, shared=True):
    random = np.random.default_rng(seed)
    names = [f"c{number}" for number in range(m)]
    own = dict(zip(names, random.choice([1.0, 4.0, 16.0], m).tolist(), strict=True))
    depth = random.choice([8.0, 16.0, 32.0], m).tolist()
    needs = {name: {"search": depth[j]} for j, name in enumerate(names) if j % 3} if shared else {}
    return Costs(own, needs, base=2.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cost_aware", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_path_is_the_oracle(seed, cost_aware, intercept):
    columns, targets = bag(seed, noise=[0.2, 2.0][seed % 2])
    costs = prices(seed, shared=seed % 3 > 0)
    penalty = [1e-6, 1e-2][seed // 3]
    own, needs = list(costs.own.values()), [costs.needs.get(name, {}) for name in costs.own]
    order, spent = slow_path(columns, targets, own, needs, 2.0, penalty, cost_aware, intercept)
    path = pursue(columns, targets, costs, rules=Rules(penalty, cost_aware, intercept))
    assert path.order.tolist() == order
    assert costs.cost_of(path.order[:4]) == pytest.approx(spent[3])


@pytest.mark.parametrize("n", [4, 12])
def test_more_columns_than_rows(n):
    columns, targets = bag(3, n=n, m=15)
    costs = prices(3, m=15)
    own, needs = list(costs.own.values()), [costs.needs.get(name, {}) for name in costs.own]
    order, _ = slow_path(columns, targets, own, needs, 2.0, 1e-3, True, True)
    assert pursue(columns, targets, costs, rules=Rules(1e-3)).order.tolist() == order


@pytest.mark.parametrize("noise", [0.02, 1.0])
@pytest.mark.parametrize("penalty", [1e-6, 1e-2])
def test_models_on_a_path_are_those_of_fits_from_zero(noise, penalty):
    """With more rows than columns and the reverse: Hessians of earlier steps are used again."""
    columns, targets = bag(7, n=50, m=80, noise=noise)
    costs = Costs({f"c{number}": 1.0 for number in range(80)})
    for budget in (5.0, 20.0, 45.0, 52.0, 70.0):
        path = pursue(columns, targets, costs, budget, Rules(penalty))
        before = columns[:, path.order[:-1]]  # the last model has not seen the last column
        beta, _ = fit_standardized(before, targets, penalty, np.ones(50))
        center, inverse = standardization(before)
        odds = path.coefficients[0] + ((before - center) * inverse) @ path.coefficients[1:]
        expected = beta[0] + before @ beta[1:]
        assert_allclose(expit(odds), expit(expected), rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_equal_costs_do_not_matter(seed):
    columns, targets = bag(seed)
    costs = Costs({f"c{number}": 7.0 for number in range(9)})
    aware = pursue(columns, targets, costs)
    blind = pursue(columns, targets, costs, rules=Rules(cost_aware=False))
    assert_array_equal(aware.order, blind.order)


def test_orthogonal_design_gives_up_its_support():
    wave = np.array([[1, 1], [1, -1]])
    design = np.kron(np.kron(np.kron(wave, wave), np.kron(wave, wave)), wave).astype(float)  # 32
    support = [5, 11, 22]
    signal = design[:, support] @ [3.0, -2.0, 1.5]
    targets = (np.argsort(np.argsort(signal + 0.01 * design[:, 30])) >= 16).astype(float)
    order = pursue(design[:, 1:], targets, Costs({f"c{j}": 1.0 for j in range(31)})).order
    assert sorted((order[:3] + 1).tolist()) == support


def test_criterion_by_hand():
    """The squared norm is in the denominator, not the norm.

    Residuals are +-1/2. Column a: |a'r| = 1, a'a = 2, so 1/2; with the norm 1/sqrt(2) = 0.71.
    Column b: |b'r| = 0.2, b'b = 0.16, so 1.25; with the norm 0.5. Twice the cost halves it.
    """
    columns = np.array([[1.0, 0.4], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    targets = np.array([1.0, 1.0, 0.0, 0.0])

    def first(a, b):
        return pursue(columns, targets, Costs({"a": a, "b": b})).order[0]

    assert first(1.0, 1.0) == 1
    assert first(1.0, 2.0) == 1  # 0.5 against 0.625
    assert first(1.0, 3.0) == 0  # 0.5 against 0.417
    assert first(10.0, 24.0) == 1
    assert first(10.0, 26.0) == 0


def test_residual_of_the_printed_algorithm_starts_at_the_targets():
    """Without an intercept column b is best: |b'y| / b'b = 1.8 / 1.78 against 2 / 2 of a."""
    columns = np.array([[1.0, 0.9], [1.0, 0.9], [0.0, 0.0], [0.0, 0.4]])
    targets = np.array([1.0, 1.0, 0.0, 0.0])
    costs = Costs({"a": 1.0, "b": 1.0})
    assert pursue(columns, targets, costs, rules=Rules(intercept=False)).order[0] == 1
    # with one, |b'(y - 1/2)| / b'b = 0.7 / 1.78 is less than 1 / 2
    assert pursue(columns, targets, costs).order[0] == 0


@pytest.mark.parametrize("budget", [3.0, 20.0, 60.0, np.inf])
def test_a_path_goes_on_where_it_ended(budget):
    columns, targets = bag(1)
    costs = prices(1)
    whole = pursue(columns, targets, costs)
    part = pursue(columns, targets, costs, 3.0)
    part = pursue(columns, targets, costs, budget, path=part)
    assert_array_equal(part.order, whole.order[: len(part.order)])
    bought, is_all = part.buy(costs, budget)
    assert is_all
    assert_array_equal(bought, whole.buy(costs, budget)[0])
    assert costs.cost_of(bought) <= budget
    if budget == np.inf:
        assert_array_equal(part.coefficients, whole.coefficients)


@pytest.mark.parametrize("seed", range(3))
def test_a_path_in_parts_is_the_same_to_the_bit(seed):
    """With more columns than rows in the end, and bags that are separable."""
    columns, targets = bag(seed, n=30, m=60, noise=0.3)
    costs = prices(seed, m=60)
    whole, part = pursue(columns, targets, costs), Path()
    for budget in np.geomspace(5.0, costs.total(), 12):
        part = pursue(columns, targets, costs, float(budget), path=part)
    part = pursue(columns, targets, costs, path=part)
    assert_array_equal(part.order, whole.order)
    assert_array_equal(part.coefficients, whole.coefficients)


def test_what_fits_exactly_is_bought():
    costs = Costs(dict.fromkeys("abcdefgh", 0.7))
    path = Path(np.arange(8), np.cumsum(np.full(8, 0.7)))
    assert path.spent[-1] > 5.6
    assert len(path.buy(costs, 5.6)[0]) == 8


def test_free_columns_come_first_and_useless_ones_last():
    columns, targets = bag(2, m=4)
    columns[:, 3] = 0.0
    path = pursue(columns, targets, Costs({"a": 5.0, "b": 0.0, "c": 5.0, "zeros": 0.0}))
    assert path.order[0] == 1
    assert path.order[-1] == 3
    assert np.isfinite(path.coefficients).all()


def test_an_empty_path_buys_nothing():
    bought, is_all = Path().buy(Costs({"a": 1.0}), 5.0)
    assert bought.tolist() == []
    assert not is_all
