"""Two pages that all tests look at: numbers without a budget, and payments with one."""

from types import SimpleNamespace

import numpy as np
import pytest
from payments import make_frauds

from boreod import BORE, OutlierRepresentation
from boreod.paper.datasets import load
from boreod.tables import Preparation, read_label_column
from boreod.tool.report import Previous, Times, Workload, gather, make_report


def small_model(**parameters):
    few = OutlierRepresentation(["knn", "lof", "loop"], [5, 10, 20])
    return BORE(few, n_estimators=20, random_state=0, n_jobs=1, **parameters)


@pytest.fixture(scope="session")
def wdbc():
    data = load("wdbc")
    codes = data.y.astype(int)
    model = small_model().fit(data.X, codes)
    page = make_report(model, data.X, codes, title="Cells <A&B>", names=data.feature_names)
    return SimpleNamespace(model=model, rows=data.X, codes=codes, page=page)


@pytest.fixture(scope="session")
def payments():
    table = make_frauds(500).select(["id", "amount", "hour", "country", "fraud"])
    preparation = Preparation().fit(table, label="fraud", ids=["id"])
    rows, codes = preparation.transform(table), read_label_column(table["fraud"])
    model = small_model(costs="complexity:shared", threshold="alerts:20").fit(rows, codes)
    curve = model.budget_curve()
    model = model.within(curve.budgets[len(curve.budgets) // 2])
    days = (np.datetime64("2026-01-01") + np.arange(500) // 10).astype("datetime64[s]")
    days[0] = np.datetime64("NaT")
    old = gather(small_model().fit(rows[:, 1:], codes), rows[:, 1:], codes)
    page = make_report(
        model,
        rows,
        codes,
        title="Payments",
        names=preparation.names_,
        ids=table["id"].to_pylist(),
        prepared=preparation.summary_,
        notes=["Column 'hour' is a copy of the label."],
        budget_curve=curve,
        workload=Workload(10_000, cost_miss=500, cost_alert=10),
        times=Times("day", days),
        previous=Previous("old", old),
    )
    return SimpleNamespace(model=model, rows=rows, codes=codes, curve=curve, page=page)
