"""Explanations add up, and mean what they say where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from boreod import BORE, Bagging, Heads, OutlierRepresentation
from boreod.parallel import Threads
from boreod.predictor import prepare


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = np.repeat([1, 0], [30, 270])
    X[:30, 1] += 4
    return X, y


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_contributions_add_up(calibration, data):
    model = BORE(calibration=calibration, random_state=0).fit(*data)
    new = np.random.default_rng(1).normal(0, 3, (50, 5))
    explanation = model.explain(new)
    assert explanation.columns == model.columns_
    assert_allclose(explanation.log_odds, model.decision_function(new))
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert_allclose(total, explanation.log_odds, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 300.0])
def test_weights_of_bags_are_exact(scale):
    """Without any remainder to spread, also where probabilities are all but 0 or 1."""
    from boreod.ensemble.heads import combine, weigh_bags

    random = np.random.default_rng(0)
    start, way = random.normal(0, scale, 20), random.normal(0, scale, (100, 20))
    way[:, 3] = 0.0
    difference = combine(start + way) - combine(start[None])
    weighed = (weigh_bags(start, way) * way).sum(axis=1)
    assert_allclose(weighed, difference, rtol=1e-9, atol=1e-9 * scale)


def test_one_bag_is_plain_products(data):
    model = BORE(
        OutlierRepresentation(["knn"], [5]),
        n_estimators=1,
        bagging=Bagging(max_samples=0.9),
        random_state=0,
    )
    with pytest.warns(UserWarning, match="in every bag"):
        model.fit(*data)
    table = model.fitted_.represent(prepare(model, data[0]), Threads(1))
    expected = (table - model.fitted_.base) * model.fitted_.logistic.coefficients[0]
    assert_allclose(model.explain(data[0]).contributions, expected, rtol=1e-9, atol=1e-9)


def test_the_column_that_matters_is_named(data):
    model = BORE(
        OutlierRepresentation(["knn"], [5]), heads=Heads(penalty=1e-2), random_state=0
    ).fit(*data)
    for reasons in model.explain([[0, 4.0, 0, 0, 0], [0, 5.0, 0, 0, 0]]).top(2):
        assert reasons[0][0] == "x1"
        assert reasons[0][1] > 0


def test_raw_column_named_like_a_family(data):
    import pandas as pd

    X = pd.DataFrame(data[0], columns=["knn", "a", "b", "c", "d"])
    model = BORE(OutlierRepresentation(["knn"], [5]), random_state=0).fit(X, data[1])
    assert model.explain(X, grouped=True).columns == ["knn", "a", "b", "c", "d", "knn scores"]


def test_groups(data):
    model = BORE(
        OutlierRepresentation(["knn", "lof"], [5, 10], ["full", "subspaces:2"]), random_state=0
    ).fit(*data)
    explanation, grouped = model.explain(data[0]), model.explain(data[0], grouped=True)
    assert grouped.columns == ["x0", "x1", "x2", "x3", "x4", "knn", "lof"]
    lof = [name.startswith("lof") for name in explanation.columns]
    assert sum(lof) == 6
    assert_allclose(grouped.contributions[:, 6], explanation.contributions[:, lof].sum(axis=1))
