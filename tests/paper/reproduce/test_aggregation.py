"""Other aggregations of bags, and other classifiers in them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from boreod.ensemble.heads import LogisticHead
from boreod.paper.datasets import load
from boreod.paper.evaluation.splits import run_method, split_rows
from boreod.paper.reproduce import Settings
from boreod.paper.reproduce.aggregation import (
    CLASSIFIERS,
    SCHEMES,
    chosen_penalties,
    draw_again,
    fit_weights,
    learn_bags,
    run_schemes,
    stack,
    weigh_by_maximin,
)
from boreod.paper.reproduce.budgets import train
from boreod.parallel import Threads

pytestmark = pytest.mark.filterwarnings("ignore")  # few rows: some k are left out, and said so


@pytest.fixture(scope="module")
def training():
    wine = load("wine")
    return train(wine.X, split_rows(wine.y.astype(int), 0, "transductive").labels, 0)


def test_the_mean_is_the_run_of_table_2(tmp_path):
    wine = load("wine")
    runs = run_schemes(Settings(tmp_path, ("wine",), quick=True, n_jobs=1, verbose=False))
    assert [run["method"] for run in runs] == list(SCHEMES)
    expected = run_method(wine.X, wine.y.astype(int), "bore", 0, "transductive")
    assert runs[0]["auc"] == expected["auc"]
    assert runs[0]["early_auc"] == expected["early_auc"]
    assert all(run["auc"] > 0.7 for run in runs)
    assert sum(chosen_penalties(runs).values()) == 1
    assert not hasattr(CLASSIFIERS["svm"], "predict_proba")
    assert isinstance(CLASSIFIERS["svm"], LinearSVC)


def test_bags_are_learned_as_by_bore(training):
    recipe = training.options.recipe
    head = LogisticHead.fit(training.table, training.bags, recipe.penalty, Threads(1), False)
    found = learn_bags(training, list(training.bags.rows))
    assert_allclose(found, head.log_odds(training.table), rtol=1e-9, atol=1e-9)


def test_bags_with_replacement_have_the_size_of_the_others(training):
    bags = draw_again(training)
    assert len(bags) == len(training.bags.rows)
    sizes = {(len(rows), int((training.codes[rows] == 1).sum())) for rows in bags}
    assert sizes == {(training.bags.rows.shape[1], training.bags.n_outliers)}
    assert any(len(np.unique(rows)) < len(rows) for rows in bags)
    assert all(np.isin(training.codes[rows], (0, 1)).all() for rows in bags)


def test_stacking_weighs_bags_by_rows_that_they_have_not_seen(training):
    weights = stack(training, 0)
    assert weights.shape == (50,)
    assert (weights >= 0.0).all()
    assert 0 < np.count_nonzero(weights) < 50


def test_weights_fit_balanced_labels_best():
    random = np.random.default_rng(0)
    outlying = np.arange(60) < 6
    level_one = np.clip(outlying[:, None] + random.normal(0, 0.4, (60, 4)), 0, 1)

    def loss(weights):
        errors = (level_one @ weights - outlying) ** 2
        return errors[outlying].mean() + errors[~outlying].mean()

    found = fit_weights(level_one, outlying)
    slow = minimize(loss, np.full(4, 0.25), bounds=[(0, None)] * 4, tol=1e-12)
    assert_allclose(found, slow.x, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_maximin_weights_are_the_smallest_convex_combination(seed):
    random = np.random.default_rng(seed)
    odds = random.normal(size=(40, 5)) * random.uniform(0.5, 3.0, 5) + random.normal(size=(40, 1))

    def loss(weights):
        return np.mean((odds @ weights) ** 2)

    found = weigh_by_maximin(odds)
    assert found.sum() == pytest.approx(1.0)
    slow = minimize(
        loss,
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1.0},
        tol=1e-14,
    )
    assert loss(found) == pytest.approx(loss(slow.x), rel=1e-4)
