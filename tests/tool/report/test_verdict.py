"""The verdict of a page: what it says with labels, without, in money, over time, beside another."""

import re
from dataclasses import replace

import numpy as np
import pytest

from boreod import Heads, Reference
from boreod.metrics import average_precision
from boreod.tool.report.alerts import (
    Workload,
    choose_point,
    cost_of,
    count_alerts,
    give_verdict,
    tabulate_thresholds,
)
from boreod.tool.report.evidence import Times, gather
from boreod.tool.report.quality import (
    compare_previous,
    describe_ranking,
    draw_curves,
    draw_over_time,
)

from .conftest import small_model
from .reading import Page


@pytest.fixture(scope="module")
def evidence(wdbc):
    return gather(wdbc.model, wdbc.rows, wdbc.codes)


def verdict(evidence, **asked):
    return [block.text for block in give_verdict(evidence, Workload(**asked))]


def test_three_sentences(evidence, wdbc):
    text = verdict(evidence, rows_per_day=1000, alerts=60)[0]
    assert text.count(". ") == 2
    point = choose_point(evidence, Workload(1000, 60))
    assert point.share == pytest.approx(0.06, abs=0.01)
    assert text.startswith("With ")
    assert f" alerts a day you catch {point.caught} of the 30 known outliers, " in text
    assert re.search(r"About \d+ of 10 alerts are right, while rows drawn at random would be", text)
    assert text.endswith(" would catch no more.") or re.search(r"would catch \d+\.$", text)
    assert verdict(evidence)[0].startswith("With ")
    assert "alerts in 1,000 rows you catch" in verdict(evidence)[0]


def test_few_alerts_and_few_outliers_are_not_more_than_they_are(tmp_path):
    random = np.random.default_rng(0)
    rows, codes = random.normal(size=(200, 2)), (np.arange(200) < 4).astype(int)
    rows[:4] += 4.0
    few = gather(small_model().fit(rows, codes), rows, codes)
    assert re.search(r"About \d of \d alerts are right", verdict(few, alerts=3)[0])
    figures, curves = draw_curves(few, tmp_path, 0)
    assert [curve.interval for curve in curves] == [None, None]
    assert "too few outliers for an interval" in str(describe_ranking(few, figures, curves))


def test_alerts_without_rows_of_a_day_are_those_of_the_table(evidence):
    point = choose_point(evidence, Workload(alerts=20))
    assert round(point.share * np.isfinite(evidence.probabilities).sum()) == 20


def test_chance_is_called_chance():
    random = np.random.default_rng(0)
    rows, codes = random.normal(size=(200, 2)), (np.arange(200) < 10).astype(int)
    model = small_model().fit(rows, codes)
    text = verdict(gather(model, rows, codes), alerts=20)[0]
    assert "That may be chance: do not rely on this model" in text


def test_without_alerts_another_threshold_is_shown(wdbc, evidence):
    model = small_model(threshold=1.0).fit(wdbc.rows, wdbc.codes)
    text = verdict(replace(evidence, model=model))[0]
    assert text.startswith("At the threshold of 1 no row with a label is an alert, so here is what")
    assert "you catch" in text


def test_assumed_inliers_and_no_labels_at_all(wdbc):
    from boreod import Detector

    few = Detector(
        model_parts(), random_state=0, n_estimators=40, heads=Heads(n_trees=2, kinds=["trees"])
    )
    codes = np.where(wdbc.codes == 1, 1, -1)
    some = gather(few.fit(wdbc.rows, codes), wdbc.rows, codes)
    assert "At least" in verdict(some)[0]
    assert "rows that nobody labelled count as wrong" in verdict(some)[0]
    none = np.full(len(codes), -1)
    blind = gather(few.fit(wdbc.rows), wdbc.rows, none)
    text = verdict(blind, rows_per_day=5000)[0]
    assert text.startswith("No row is labelled, so nobody knows how many alerts are right. ")
    assert "alerts a day: the rows that look least like the others" in text


def model_parts():
    return small_model().representation


def test_rows_of_a_sample_count_for_those_that_they_stand_for(tmp_path):
    random = np.random.default_rng(0)
    codes = (np.arange(600) < 20).astype(int)
    rows = random.normal(size=(600, 2)) + 2.0 * codes[:, np.newaxis]
    model = small_model(reference=Reference(size=120)).fit(rows, codes)
    kept = model.reference_rows_
    sample = gather(model, rows[kept], codes[kept])
    assert sample.is_own
    assert sample.weights.sum() == pytest.approx(600)
    line = count_alerts(sample, 0.2)
    false = (sample.scores > 0.2) & ~sample.outliers
    assert line.weight == pytest.approx(580 / (len(kept) - 20))
    assert line.false == false.sum() > 0
    assert line.right == pytest.approx(line.caught / (line.caught + line.weight * line.false))
    assert line.share == pytest.approx((line.caught + line.weight * line.false) / sample.n_known)
    asked = Workload(1000, cost_miss=500, cost_alert=10)
    missed = 500 * (20 - line.caught) / sample.n_known
    assert cost_of(sample, asked, line) == pytest.approx(1000 * (10 * line.share + missed))
    judged = sample.weights[sample.judged]
    expected = average_precision(sample.outliers, sample.scores, judged)
    assert expected < average_precision(sample.outliers, sample.scores) - 0.05
    assert model.oob_.summarize().average_precision == pytest.approx(expected)
    assert draw_curves(sample, tmp_path, 0)[1][1].quality == pytest.approx(expected)


def test_rows_without_a_label_cost_nothing_and_the_page_says_so(wdbc):
    codes = np.where(np.arange(len(wdbc.codes)) % 2, -1, wdbc.codes)
    evidence = gather(wdbc.model, wdbc.rows, codes)
    asked = Workload(1000, 60, cost_miss=500, cost_alert=10)
    money = give_verdict(evidence, asked)[1].text
    assert re.search(r"costs at least [\d,]+ with the model and at least [\d,]+ without it", money)
    assert f"among the {(codes == -1).sum()} rows without a label are unknown" in money
    point, judged = choose_point(evidence, asked), int(evidence.judged.sum())
    saved = 1000 * (500 * point.caught / judged - 10 * point.share)
    assert f"as often as rows with a label, the model saves {saved:,.0f}." in money
    assert "cost a day, at least" in str(tabulate_thresholds(evidence, asked))


def test_money(evidence):
    asked = Workload(1000, 60, cost_miss=500, cost_alert=10)
    point = choose_point(evidence, asked)
    n_rows = np.isfinite(evidence.probabilities).sum()
    expected = 1000 * (10 * point.share + 500 * (30 - point.caught) / n_rows)
    assert cost_of(evidence, asked, point) == pytest.approx(expected)
    _, money = give_verdict(evidence, asked)
    nothing = 1000 * 500 * 30 / n_rows
    assert f"costs {expected:,.0f} with the model and {nothing:,.0f} without it" in money.text
    assert f"so the model saves {nothing - expected:,.0f}" in money.text
    assert "probability is above 0.02 (boreod fit --threshold 0.02)" in money.text
    cheapest = re.search(r"cheapest threshold on these rows is \S+ \(.*\), which costs ([\d,]+)",
                         money.text)  # fmt: skip
    lines = [count_alerts(evidence, t) for t in np.unique(evidence.scores)]
    least = min(cost_of(evidence, asked, line) for line in lines)
    assert float(cheapest[1].replace(",", "")) == pytest.approx(least, abs=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows_per_day": 0}, "`rows_per_day` must be a number above 0; got 0"),
        ({"cost_miss": 5}, "belong together"),
        ({"cost_miss": 5, "cost_alert": -1}, "`cost_alert` must be a number above 0"),
        ({"rows_per_day": 10, "alerts": 11}, "at most the 10 rows of a day"),
        ({"alerts": "many"}, "`alerts` must be a number above 0"),
    ],
)
def test_workloads_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        Workload(**given)


def test_time_and_the_previous_model_are_on_the_page(payments):
    read = Page(payments.page)
    assert read.headings[:5] == ["In short", "How well it ranks", "Beside the previous model",
                                 "Alerts and thresholds", "Over time"]  # fmt: skip
    rows = read.table(["", "this model", "old"])
    assert [row[0] for row in rows[:2]] == ["AUC", "average precision"]
    assert float(rows[0][1]) > float(rows[0][2])
    assert "50 days from 2026-01-01 on" in read.text
    assert "1 row without a date" in read.text
    assert "cost a day" in payments.page


@pytest.mark.parametrize("days", [["2026-01-01"], ["NaT"], ["1026-01-01", "2026-01-01"]])
def test_one_day_or_a_thousand_years_are_no_picture_over_time(evidence, tmp_path, days):
    n_rows = len(evidence.rows)
    times = Times("day", np.resize(np.array(days, "datetime64[s]"), n_rows))
    dated = replace(evidence, times=times)
    assert draw_over_time(dated, Workload(), tmp_path) is None
    assert draw_over_time(evidence, Workload(), tmp_path) is None  # without dates


def test_the_previous_model_is_not_judged_by_what_it_knows(wdbc, evidence):
    """The same model of fewer rows: of those that it knows, it is no better than of others."""
    half = np.arange(len(wdbc.codes)) % 2 == 0
    old = small_model().fit(wdbc.rows[half], wdbc.codes[half])
    seen = gather(old, wdbc.rows, wdbc.codes)
    np.testing.assert_array_equal(seen.probabilities[half], old.oob_proba_)
    other = old.predict_proba(wdbc.rows[~half])[:, 1]
    np.testing.assert_allclose(seen.probabilities[~half], other)
    text = str(compare_previous(evidence, replace(seen, name="old"), Workload()))
    assert "by its predictions on other rows" in text
