"""The budget curve."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from boreod import BORE, Bagging, Costs, OutlierRepresentation
from boreod.selection.budgets import read_budget


@pytest.fixture(scope="module")
def model(labelled):
    X, y = labelled
    X = np.vstack([X, X[:20]])
    return BORE(OutlierRepresentation(["knn", "lof"], ks=[5, 10]), random_state=0).fit(
        X, np.append(y, np.full(20, -1))
    )


def test_curve_over_all_budgets(model):
    curve = model.budget_curve()
    assert curve.unit == "s"
    assert (np.diff(curve.budgets) >= 0).all()
    assert (curve.costs <= curve.budgets).all()
    assert curve.costs[-1] == model.costs_.total() <= curve.budgets[-1]
    assert curve.n_columns[-1] == len(model.columns_)
    judged = np.arange(320) < 300
    codes = model.training_.codes
    assert curve.auc[-1] == pytest.approx(roc_auc_score(codes[judged], model.oob_proba_[judged]))
    again = model.budget_curve([curve.cheapest(loss=0.0)])  # what it says can be bought
    assert again.auc[0] == curve.auc.max()
    assert read_budget(curve.cheapest(loss=1.0))[0] == curve.budgets[0]
    for shown in [row.split()[0] for row in str(curve).splitlines()[1:]]:
        assert read_budget(shown)[0] in curve.budgets  # printed budgets can be typed in
    assert str(curve).splitlines()[0].split() == ["budget", "cost", "columns", "AUC", "AP"]
    assert len(str(curve).splitlines()) == 21 == 1 + len(curve.budgets)


def test_curve_of_chosen_budgets(model):
    curve = model.budget_curve([30, 3], method="omp", skip_unaffordable=False)
    assert curve.budgets.tolist() == [3.0, 30.0]
    assert curve.unit == ""
    assert model.budget_curve(costs="complexity:shared").unit == ""
    with pytest.raises(ValueError, match="`costs` must be one of"):
        model.budget_curve(costs="free")
    assert len(model.budget_curve(iter([3, 4])).budgets) == 2


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ([], "`budgets` must be a list"),
        ("20us", "`budgets` must be a list"),
        (5, "`budgets` must be a list"),
        (np.array(30), "`budgets` must be a list"),
        ({}, "`budgets` must be a list"),
        ([30, "30us"], "all times or all numbers"),
    ],
)
def test_wrong_budgets(model, budgets, words):
    with pytest.raises(ValueError, match=words):
        model.budget_curve(budgets)


@pytest.mark.parametrize("loss", [-1, np.nan, "much", None])
def test_wrong_losses(model, loss):
    curve = model.budget_curve([30, 3])
    with pytest.raises(ValueError, match="`loss` must be"):
        curve.cheapest(loss)


def test_odd_prices(model):
    free = model.budget_curve(costs=dict.fromkeys(model.columns_, 0))
    assert free.n_columns.tolist() == [len(model.columns_)]
    for price in np.random.default_rng(0).uniform(1, 9, 20).tolist():
        with pytest.warns(UserWarning, match="no price"):
            curve = model.budget_curve(costs=Costs({"lof_10": price}))
        assert curve.n_columns.tolist() == [1]


def test_no_thresholds_and_no_rows_to_judge():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), np.repeat([1, 0], [6, 54])
    few = OutlierRepresentation(["knn"], ks=[5])
    with pytest.raises(ValueError, match="Lower it"):
        BORE(few, random_state=0, threshold="precision:1.0").fit(X, y)
    with pytest.warns(UserWarning, match="in every bag"):
        alone = BORE(few, random_state=0, bagging=Bagging(max_samples=1.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"needs out-of-bag scores .* lower `max_samples`"):
        alone.budget_curve()
