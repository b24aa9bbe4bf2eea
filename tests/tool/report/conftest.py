"""Two pages that all tests look at: numbers without a budget, and payments with one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from payments import make_frauds

from boreod import BORE, ColumnSelection, OutlierRepresentation
from boreod.paper.datasets import load
from boreod.tables import Preparation, read_label_column
from boreod.tool.report.alerts import Workload
from boreod.tool.report.evidence import Details, Times, gather
from boreod.tool.report.page import make_report
from boreod.tool.report.quality import Previous


def small_model(**parameters):
    few = OutlierRepresentation(["knn", "lof", "loop"], [5, 10, 20])
    return BORE(few, n_estimators=20, random_state=0, n_jobs=1, **parameters)


@pytest.fixture(scope="session")
def wdbc():
    data = load("wdbc")
    codes = data.y.astype(int)
    model = small_model().fit(data.X, codes)
    page = make_report(model, data.X, codes, Details("Cells <A&B>"))
    return SimpleNamespace(model=model, rows=data.X, codes=codes, page=page)


@pytest.fixture(scope="session")
def payments():
    table = make_frauds(500).select(["id", "amount", "hour", "country", "fraud"])
    preparation = Preparation().fit(table, label="fraud", ids=["id"])
    rows, codes = preparation.transform(table), read_label_column(table["fraud"])
    frame = pd.DataFrame(rows, columns=preparation.names_)
    model = small_model(
        selection=ColumnSelection(costs="complexity:shared"), threshold="alerts:20"
    ).fit(frame, codes)
    curve = model.budget_curve()
    model = model.within(curve.budgets[len(curve.budgets) // 2])
    days = (np.datetime64("2026-01-01") + np.arange(500) // 10).astype("datetime64[s]")
    days[0] = np.datetime64("NaT")
    old = gather(small_model().fit(rows[:, 1:], codes), rows[:, 1:], codes)
    details = Details(
        title="Payments",
        ids=table["id"].to_pylist(),
        prepared=preparation.summary_,
        notes=["Column 'hour' is a copy of the label."],
        curve=curve,
        times=Times("day", days),
    )
    workload = Workload(10_000, cost_miss=500, cost_alert=10)
    previous = Previous("old", old)
    page = make_report(model, frame, codes, details, workload=workload, previous=previous)
    return SimpleNamespace(model=model, rows=frame, codes=codes, curve=curve, page=page)


@pytest.fixture
def case(request):
    """One of both pages, by name."""
    return request.getfixturevalue(request.param)
