"""What model files hold besides columns and bags: samples, prices."""

import numpy as np

from boreod import BORE, ColumnSelection, OutlierRepresentation, Reference, save
from boreod.persistence import load_predictor


def clusters(n, d=4, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(0, 5, (6, d))
    X = centers[random.integers(6, size=n)] + random.normal(size=(n, d))
    y = np.where(np.arange(n) < n // 50, 1, 0)
    X[y == 1] += random.normal(0, 4, (y.sum(), d))
    return X, y


def test_a_sample_is_remembered(tmp_path):
    X, y = clusters(1200)
    y[600:] = -1
    few = OutlierRepresentation(["knn"], [5])
    model = BORE(few, reference=Reference(size=300), n_estimators=20, random_state=0).fit(X, y)
    save(model, tmp_path / "sample.boreod")
    loaded = load_predictor(tmp_path / "sample.boreod", kind=BORE)
    said = loaded.oob_.summarize()
    assert (said.rows, said.table_rows, said.outliers) == (300, 1200, 24)
    assert loaded.reference.size == 300
    for threshold in ("alerts:30", "precision:0.5", "fpr:0.05"):
        assert loaded.choose_threshold(threshold) == model.choose_threshold(threshold)


def test_prices_of_columns_that_were_not_bought(tmp_path):
    X, y = clusters(600)
    few = OutlierRepresentation(["knn", "lof"], [5, 10], ["full", "sample:50"])
    model = BORE(
        few, selection=ColumnSelection(costs="complexity:shared"), n_estimators=20, random_state=0
    ).fit(X, y)
    narrow = model.within(7)
    assert set(narrow.columns_) < set(model.columns_)
    save(narrow, tmp_path / "narrow.boreod")
    loaded = load_predictor(tmp_path / "narrow.boreod", kind=BORE)
    assert loaded.costs_ == loaded.selection_.costs == model.costs_
    assert loaded.costs_.names == model.columns_
    assert loaded.costs_.marginal("lof_10", ["knn_5"]) == model.costs_.marginal("lof_10", ["knn_5"])
    assert loaded.cost_ == loaded.costs_.total(loaded.columns_)
