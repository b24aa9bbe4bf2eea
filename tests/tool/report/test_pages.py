"""What a page says is what the metrics say, and it needs nothing but itself."""

import re

import numpy as np
import pytest

from boreod.metrics import auc, average_precision

from .conftest import make_page
from .reading import Page

SECTIONS = [
    "In short",
    "How well it ranks",
    "Alerts and thresholds",
    "Do the probabilities come true?",
    "The most suspicious rows",
    "Rows unlike the training rows",
    "A map of the rows",
    "The data at a glance",
    "The columns in use",
    "Quality over cost",
    "How to read this page",
]


def judged(case):
    known = np.isfinite(case.model.oob_proba_) & (case.codes >= 0)
    return case.model.oob_proba_[known], case.codes[known] == 1


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_a_page_is_small_and_stands_alone(case):
    assert len(case.page.encode()) < 2_000_000
    page = Page(case.page)
    more = {"Beside the previous model", "Over time"}
    assert [title for title in page.headings if title not in more] == SECTIONS
    assert all(reference.startswith("#") for reference in page.references)
    assert not re.search(r"@import|<script|<link|url\((?!#)", case.page)
    outside = set(re.findall(r"https?://[^\"'\s<]+", case.page))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_names_in_a_page_are_unique_and_references_lead_somewhere(case):
    page = Page(case.page)
    assert len(page.ids) == len(set(page.ids))
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    used = re.findall(r"url\(#([^)]+)\)", case.page)
    assert set(used) <= set(page.ids)


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_a_page_can_be_heard(case):
    page = Page(case.page)
    assert '<html lang="en">' in case.page
    assert all(figure["role"] == "img" and figure["aria-label"] for figure in page.figures)
    assert case.page.count('scope="col"') == sum(len(table[0]) for table in page.tables)


def test_titles_are_escaped(wdbc):
    assert "<h1>Cells &lt;A&amp;B&gt;</h1>" in wdbc.page


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_numbers_are_those_of_the_metrics(case):
    scores, outliers = judged(case)
    text = Page(case.page).text
    assert f"the AUC is {float(auc(outliers, scores)):.3f} (95 % interval" in text
    assert f"average precision is {average_precision(outliers, scores):.3f} (95 %" in text
    assert f"On {len(scores):,} labelled rows ({outliers.sum()} outliers)" in text
    counts = [f"{(case.codes == code).sum():,}" for code in (1, 0, -1)]
    assert f"labelled outliers {counts[0]} labelled inliers {counts[1]}" in text
    assert f"unlabelled rows {counts[2]}" in text


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_thresholds_count_alerts(case):
    rows = Page(case.page).table(["threshold"])
    chosen = [row for row in rows if row[0].endswith("(chosen)")]
    assert len(chosen) == 1
    scores, outliers = judged(case)
    alert = scores > case.model.threshold_
    assert chosen[0][2] == f"{(alert & outliers).sum()} of {outliers.sum()}"
    assert chosen[0][5] == str((alert & ~outliers).sum())
    alerts = [float(row[1].replace(",", "")) for row in rows]
    assert alerts == sorted(alerts)


def test_alerts_a_day(payments):
    known = payments.model.oob_proba_[np.isfinite(payments.model.oob_proba_)]
    share = np.mean(known > payments.model.threshold_)
    chosen = [r for r in Page(payments.page).table(["threshold", "alerts a day"]) if "(" in r[0]]
    assert chosen[0][1] == f"{share * 10_000:.0f}"


def test_suspects_come_by_rank_with_their_reasons(payments):
    rows = Page(payments.page).table(["id", "label", "probability"])
    order = np.argsort(-np.nan_to_num(payments.model.oob_proba_, nan=-1.0), kind="stable")
    assert [row[0] for row in rows] == [f"p{place:06d}" for place in order[: len(rows)]]
    words = {1: "outlier", 0: "inlier", -1: "unlabelled"}
    assert [row[1] for row in rows] == [words[payments.codes[p]] for p in order[: len(rows)]]
    reasons = payments.model.explain(payments.rows.take(order[:1]), grouped=True).top(1)[0][0]
    shown = f"{abs(reasons[1]):.1f}"
    assert re.match(rf".*[+\N{{MINUS SIGN}}]{re.escape(shown)}", rows[0][3])


def test_columns_have_costs_and_stability(payments):
    header = ["column", "kind", "cost alone", "saved without it"]
    page = Page(payments.page)
    rows = page.table(header)
    assert len(rows) == len(payments.model.columns_)
    assert f"bought {len(rows)} column" in page.text
    assert "amount" in [row[0] for row in rows]


def test_missing_values_and_what_was_done(payments):
    page = Page(payments.page)
    rows = page.table(["column", "holds", "done"])
    assert [row[0] for row in rows] == ["id", "amount", "hour", "country", "fraud"]
    assert "Values were missing in hour, country when the model was fitted" in page.text
    assert "Column 'hour' is a copy of the label." in page.text


@pytest.mark.parametrize(
    ("case", "figures", "curve"), [("wdbc", 6, False), ("payments", 8, True)], indirect=["case"]
)
def test_figures_are_there(case, figures, curve):
    page = Page(case.page)
    assert len(page.figures) == figures
    assert ("came without a budget curve" not in page.text) == curve


def test_the_same_page_twice(wdbc):
    again = make_page(wdbc.model, wdbc.rows, wdbc.codes, "Cells <A&B>")
    assert again == wdbc.page
