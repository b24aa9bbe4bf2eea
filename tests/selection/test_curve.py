"""The budget curve and its picture."""

import sys

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from boreod import BORE, Costs, OutlierRepresentation
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
    curve = model.budget_curve([30, 3], selection="omp", fill=False)
    assert curve.budgets.tolist() == [3.0, 30.0]
    assert curve.unit == ""
    assert model.budget_curve(costs="complexity:shared").unit == ""
    with pytest.raises(ValueError, match="`costs` must be one of"):
        model.budget_curve(costs="free")
    for wrong in ([], "20us", 5, np.array(30), {}):
        with pytest.raises(ValueError, match="`budgets` must be a list"):
            model.budget_curve(wrong)
    with pytest.raises(ValueError, match="all times or all numbers"):
        model.budget_curve([30, "30us"])
    for wrong in (-1, np.nan, "much", None):
        with pytest.raises(ValueError, match="`loss` must be"):
            curve.cheapest(wrong)
    assert len(model.budget_curve(iter([3, 4])).budgets) == 2


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
        alone = BORE(few, random_state=0, share=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"needs labels .* lower `share`"):
        alone.budget_curve()


def test_picture(model, tmp_path):
    curve = model.budget_curve()
    axes = curve.plot()
    assert axes.get_xscale() == "log"
    assert "per row" in axes.get_xlabel()
    axes.figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert curve.plot(axes) is axes


def test_picture_without_matplotlib(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install boreod\[report\]"):
        model.budget_curve([5]).plot()
