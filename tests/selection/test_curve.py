"""The budget curve and its picture."""

import sys

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from boreod import BORE, OutlierRepresentation


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [30, 270])
    X = random.normal(size=(300, 4))
    X[y == 1] += random.normal(0, 2.0, size=(30, 4))
    X = np.vstack([X, X[:20]])
    return BORE(OutlierRepresentation(["knn", "lof"], ks=[5, 10]), random_state=0).fit(
        X, np.append(y, np.full(20, -1))
    )


def test_curve_over_all_budgets(model):
    curve = model.budget_curve()
    assert curve.unit == "s"
    assert (np.diff(curve.budgets) >= 0).all()
    assert (curve.costs <= curve.budgets).all()
    assert curve.costs[-1] == curve.budgets[-1] == model.costs_.total()
    assert curve.n_columns[-1] == len(model.columns_)
    judged = np.arange(320) < 300
    codes = model._training.codes
    assert curve.auc[-1] == pytest.approx(roc_auc_score(codes[judged], model.oob_proba_[judged]))
    best = curve.cheapest(loss=0.0)
    assert curve.auc[curve.costs == best].max() == curve.auc.max()
    assert curve.cheapest(loss=1.0) == curve.costs.min()
    assert str(curve).splitlines()[0].split() == ["budget", "cost", "columns", "AUC", "AP"]
    assert len(str(curve).splitlines()) == 21


def test_curve_of_chosen_budgets(model):
    curve = model.budget_curve([30, 3], selection="omp", fill=False)
    assert curve.budgets.tolist() == [3.0, 30.0]
    assert curve.unit == ""
    assert model.budget_curve(costs="complexity:shared").unit == ""
    with pytest.raises(ValueError, match="`costs` must be one of"):
        model.budget_curve(costs="free")
    with pytest.raises(ValueError, match="`budgets` must be a list"):
        model.budget_curve([])
    with pytest.raises(ValueError, match="`budgets` must be a list"):
        model.budget_curve("20us")


def test_picture(model, tmp_path):
    curve = model.budget_curve(["5us", "20us", "1s"])
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
