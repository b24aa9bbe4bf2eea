"""Two pages that all tests look at: numbers without a budget, and payments with one."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from payments import make_frauds

from boreod import BORE, ColumnSelection, Heads, OutlierRepresentation
from boreod.paper.datasets import load
from boreod.tables import read_label_column
from boreod.tool.report.alerts import Workload
from boreod.tool.report.evidence import Times, gather
from boreod.tool.report.writing import make_report


def small_model(**parameters):
    few = OutlierRepresentation(["knn", "lof", "loop"], [5, 10, 20])
    heads = Heads(fit_intercept=True)
    return BORE(few, n_estimators=20, heads=heads, random_state=0, n_jobs=1, **parameters)


def make_page(model, rows, codes, title="A page"):
    return make_report(gather(model, rows, codes), title, Workload())


@pytest.fixture(scope="session")
def wdbc():
    data = load("wdbc")
    codes = data.y.astype(int)
    model = small_model().fit(data.X, codes)
    page = make_page(model, data.X, codes, "Cells <A&B>")
    return SimpleNamespace(model=model, rows=data.X, codes=codes, page=page)


@pytest.fixture(scope="session")
def payments():
    table = make_frauds(500).select(["id", "amount", "hour", "country", "fraud"])
    codes = read_label_column(table["fraud"])
    model = small_model(
        selection=ColumnSelection(costs="complexity:shared"), threshold="alerts:20"
    ).fit(table, label="fraud", ids=["id"])
    curve = model.budget_curve()
    model = model.within(curve.budgets[len(curve.budgets) // 2])
    model.preparation_.notes_ = ["Column 'hour' is a copy of the label."]
    model.record_.curve = curve
    days = (np.datetime64("2026-01-01") + np.arange(500) // 10).astype("datetime64[s]")
    days[0] = np.datetime64("NaT")
    evidence = gather(model, table, codes, table["id"].to_pylist(), Times("day", days))
    old = small_model().fit(evidence.rows[:, 1:], codes)
    previous = replace(gather(old, evidence.rows[:, 1:], codes), name="old")
    workload = Workload(10_000, cost_miss=500, cost_alert=10)
    page = make_report(evidence, "Payments", workload, previous)
    return SimpleNamespace(model=model, rows=table, codes=codes, curve=curve, page=page)


@pytest.fixture
def case(request):
    """One of both pages, by name."""
    return request.getfixturevalue(request.param)
