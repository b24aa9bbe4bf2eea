"""Figure 4: its light fits are those of the detector, and its numbers those of their names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from boreod import BORE
from boreod.paper.datasets import load
from boreod.paper.evaluation.splits import judge, run_method, split_rows
from boreod.paper.reproduce.budgets import (
    _one_draw,
    average_bags,
    choose,
    compare_with_bags,
    curve_of,
    draw_costs,
    falls_of,
    follow,
    learn_odds,
    train,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # few rows: some k are left out, and said so


@pytest.fixture(scope="module")
def wine():
    return load("wine")


@pytest.fixture(scope="module")
def split(wine):
    return split_rows(wine.y.astype(int), 0, "transductive")


@pytest.fixture(scope="module")
def training(wine, split):
    return train(wine.X, split.labels, 0)


@pytest.mark.parametrize("method", ["budget", "omp"])
@pytest.mark.parametrize("budget", [10.0, 100.0, 1000.0, 10000.0])
def test_columns_are_those_of_the_detector(wine, split, training, method, budget):
    costs = draw_costs(training, 3)
    model = BORE(n_jobs=1, random_state=0).fit(wine.X, split.labels)
    chosen = choose(follow(training, training.bags, costs, method == "budget"), budget)
    fast = model.within(budget, costs=costs, method=method)
    assert [training.columns.names[place] for place in chosen] == fast.selection_.columns
    expected = fast.decision_function(wine.X[split.test])
    found = average_bags(learn_odds(training, chosen, training.bags)[split.test])
    assert_allclose(np.diff(found), np.diff(expected), rtol=1e-6, atol=1e-6)


def test_all_columns_are_the_run_of_table_2(wine, split, training):
    everything = list(range(len(training.columns.names)))
    scores = average_bags(learn_odds(training, everything, training.bags))[split.test]
    run = run_method(wine.X, wine.y.astype(int), "bore", 0, "transductive")
    assert judge(wine.y[split.test] == 1, scores)["auc"] == run["auc"]


def test_without_columns_all_rows_are_equal(training):
    assert not average_bags(learn_odds(training, [], training.bags)).any()


def test_every_curve_ends_with_all_columns():
    found = _one_draw("wine", 0, 0, None, 3, 2)
    ends = {key: curve[-1] for key, curve in found["curves"].items()}
    ends.pop("one_bag")
    assert all(end == found["everything"] for end in ends.values())
    assert found["budgets"][0] == pytest.approx(10.0)
    assert all(len(curve) == 3 for curve in found["curves"].values())


@pytest.mark.parametrize("weights", [None, np.zeros(3), np.array([0.5, 0.0, 2.0])])
def test_bags_are_averaged_by_their_weights(weights):
    odds = np.random.default_rng(0).normal(size=(5, 3))
    usable = weights if weights is not None and weights.any() else None
    expected = logit(np.average(expit(odds), axis=1, weights=usable))
    assert_allclose(average_bags(odds, weights), expected, rtol=1e-12)


def test_similarity_is_that_of_sets(training):
    paths = follow(training, training.bags, draw_costs(training, 0), True)
    chosen = choose(paths, 300.0)
    first = set(paths.paths[0].buy(paths.costs, 300.0)[0].tolist())
    found = compare_with_bags(paths, 300.0, chosen)
    assert found[0] == len(first & set(chosen)) / len(first | set(chosen))
    assert len(found) == 50


def test_costs_are_those_of_the_paper(training):
    costs = draw_costs(training, 1)
    raw = [costs.own[f"x{place}"] for place in range(13)]
    assert set(raw) == {1.0}
    assert set(costs.own.values()) == {1, 10, 20, 50, 100, 200, 300, 1000, 2000}


def test_falls_are_summed_along_a_curve():
    aucs = [[0.5, 0.8, 0.7, 0.9, 0.85], [0.5, 0.6, 0.7, 0.8, 0.9]]
    draws = [{"curves": {"omp": [[auc, 0.0] for auc in curve]}} for curve in aucs]
    assert_allclose(falls_of(draws, "omp"), [0.15, 0.0])
    assert curve_of(draws, "omp").shape == (2, 5)
