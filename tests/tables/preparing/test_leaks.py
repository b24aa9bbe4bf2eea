"""Columns that know the label are told, and results of an earlier scoring are left out."""

import numpy as np
import pyarrow as pa
import pytest

from boreod.tables import Preparation

RANDOM = np.random.default_rng(0)
CODES = RANDOM.permutation(np.repeat([1, 0], [20, 180]))
NOISE = RANDOM.normal(size=200)
WORDS = np.where(CODES == 1, "bad", "fine")


def notes(columns, codes=CODES, **roles):
    return Preparation().fit(pa.table({"x": NOISE, **columns}), codes, **roles).notes_


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (CODES * 2.0 + 1.0, "'c' is a copy of the label"),
        (WORDS, "'c' is a copy of the label"),
        (WORDS == "fine", "'c' is a copy of the label"),
        (CODES * 9.0 + NOISE, "'c' alone tells all outliers from other rows (AUC 1.000)"),
        (pa.array(NOISE, mask=CODES == 0), "Whether column 'c' is missing is a copy"),
    ],
)
def test_columns_that_know_the_label(column, words):
    (note,) = notes({"c": column})
    assert words in note
    assert "--drop c" in note
    assert notes({"c": column}, drop="c") == []


def test_good_columns_and_few_labels_are_no_leaks():
    assert notes({"c": CODES * 3.0 + NOISE}) == []
    assert notes({"c": CODES}, np.where(np.cumsum(CODES) <= 9, CODES, 0)) == []
    shops = RANDOM.integers(0, 60, 200)
    frequent = pa.array([f"shop {shop}" for shop in shops])
    assert notes({"c": frequent}) == []


def test_unlabelled_rows_count_as_others_only_if_they_are_assumed_inliers():
    partly = np.where(CODES == 1, 1, -1)
    assert "copy of the label" in notes({"c": CODES}, partly)[0]
    assert notes({"c": CODES}, partly, assume=False) == []


def test_results_of_an_earlier_scoring_are_left_out():
    scored = {
        "probability": NOISE,
        "rank": np.arange(200)[::-1] % 70,
        "outlier": WORDS,
        "reason_1": WORDS,
    }
    table = pa.table({"x": NOISE, **scored, "fraud": CODES})
    prepared = Preparation().fit(table, CODES, label="fraud")
    assert prepared.names_ == ["x"]
    assert "'probability', 'rank', 'outlier', 'reason_1' are results" in prepared.notes_[0]
    assert {row.done for row in prepared.summary_[1:5]} == {"left out: a result of scoring"}
    told = Preparation().fit(table, CODES, label="outlier", drop="fraud").notes_
    assert "called like a result of scoring" in told[1]
    kept = Preparation().fit(table, CODES, label="fraud", keep=["x", "probability"])
    assert kept.names_ == ["x", "probability"]
    assert Preparation().fit(pa.table({"rank": NOISE, "outlier": CODES}), CODES).names_ == [
        "rank",
        "outlier",
    ]


@pytest.mark.parametrize("form", ["{}", "p{:05d}", "0{}"])
def test_ids_that_order_by_label(form):
    order = np.argsort(-CODES, kind="stable")
    number = np.empty(200, int)
    number[order] = np.arange(200)
    ids = [form.format(value) for value in number] if form != "{}" else number
    (note,) = notes({"id": ids}, ids="id")
    assert "Values of 'id' are ordered by label" in note
    assert notes({"id": RANDOM.permutation(200)}, ids="id") == []
    (note,) = notes({"x": NOISE}, np.sort(CODES)[::-1])
    assert note.startswith("Rows are ordered by label")


MANY = np.random.default_rng(1).permutation(np.repeat([1, 0], [60, 2940]))
# A label is known for 36 of the 60 outliers, and for 100 of the other rows.
SOME = MANY.copy()
SOME[np.flatnonzero(MANY).reshape(12, 5)[:, :2]] = 0
REVIEWED = np.isin(np.arange(3000), np.flatnonzero(MANY == 0)[:2900:29])
POSITIVES = np.where(SOME == 1, 1, -1)
BOTH = np.where((SOME == 1) | REVIEWED, MANY, -1)


def leaks_of(column, codes, seed=2):
    random = np.random.default_rng(seed)
    good = random.normal(size=3000) + 2.0 * MANY
    table = pa.table({"good": good, "x": random.normal(size=3000), "c": column})
    return Preparation().fit(table, codes).notes_


def numbers_of_cases(random):
    high = random.integers(900_000, 999_999, 3000)
    return np.where(MANY == 1, high, random.integers(0, 899_999, 3000)) / 10


@pytest.mark.parametrize("codes", [POSITIVES, BOTH], ids=["positives", "both"])
@pytest.mark.parametrize("sign", [1, -1])
def test_columns_that_know_outliers_without_a_label(codes, sign):
    assert (codes == 1).sum() == 36
    (note,) = leaks_of(sign * numbers_of_cases(np.random.default_rng(3)), codes)
    assert note.startswith("Column 'c' alone tells all labelled outliers, and 2")
    assert "rows like them, from the others" in note
    (note,) = leaks_of(MANY, codes)
    assert "Column 'c' alone tells all labelled outliers, and 24 rows like them" in note


def test_these_leaks_are_seldom_missed_and_good_columns_seldom_suspected():
    """The AUC of the good column is 0.99; 5 % of leaks may be missed by chance."""
    draws = [np.random.default_rng(seed) for seed in range(40)]
    told = [leaks_of(numbers_of_cases(draw), POSITIVES, seed) for seed, draw in enumerate(draws)]
    assert sum(map(bool, told)) >= 36
    good = [draw.normal(size=3000) + 3.3 * MANY for draw in draws]
    told = [leaks_of(column, POSITIVES, seed) for seed, column in enumerate(good)]
    assert sum(map(bool, told)) <= 2


def test_labelled_inliers_beyond_the_cut_show_that_a_column_is_no_leak():
    column = MANY.copy()
    column[REVIEWED.nonzero()[0][:3]] = 1
    assert "27 rows like them" in leaks_of(column, POSITIVES)[0]
    assert leaks_of(column, BOTH) == []


def test_other_columns_show_that_rows_beyond_the_cut_are_ordinary():
    column = MANY.copy()
    column[np.flatnonzero(MANY == 0)[::60]] = 1
    random = np.random.default_rng(4)
    table = pa.table({"c": column, "x": random.normal(size=3000)})
    assert "73 rows like them" in Preparation().fit(table, POSITIVES).notes_[0]
    table = table.append_column("good", pa.array(random.normal(size=3000) + 2.0 * MANY))
    assert Preparation().fit(table, POSITIVES).notes_ == []


IS_CLOSED = (SOME == 1) & (np.cumsum(SOME == 1) % 4 > 0)
ODD_ROWS = np.isin(np.arange(3000), np.flatnonzero(MANY == 0)[-2:])


@pytest.mark.parametrize("codes", [POSITIVES, BOTH, SOME], ids=["positives", "both", "complete"])
def test_values_that_only_reviewed_outliers_have(codes):
    """Three quarters of the outliers with a label have it, and two other rows."""
    random = np.random.default_rng(5)
    is_closed = IS_CLOSED | ODD_ROWS
    if_open = random.choice(["open", "new", "sent"], 3000)
    status = np.where(is_closed, "closed by investigator", if_open)
    refunds = np.where(is_closed, random.lognormal(3, 1, 3000), 0.0)
    own = f"{IS_CLOSED.sum()} of {(codes == 1).sum()} labelled outliers and 2 other rows"
    for column in (status, refunds, pa.array(refunds, mask=~is_closed)):
        (note,) = leaks_of(column, codes)
        assert f"'c' is unusual for {own}" in note.replace(" is missing", "")
    more = np.where(is_closed | (np.arange(3000) < 10), "closed", if_open)
    assert leaks_of(more, codes) == []


def test_times_of_a_review():
    days = [f"2024-03-{day % 30 + 1:02d}" for day in range(3000)]
    when = pa.array(days, mask=BOTH == -1)
    (note,) = leaks_of(when, BOTH)
    assert "Whether column 'c' is missing alone tells labelled rows from unlabelled ones" in note
    assert leaks_of(pa.array(days), BOTH) == []


def test_many_labelled_inliers_are_enough_to_judge_by():
    """All rows without a label are outliers, too."""
    codes = np.repeat([1, 0, -1], [20, 1000, 1980])
    random = np.random.default_rng(6)
    order = random.permutation(3000)
    column = np.where(codes == 0, 0.0, 5.0) + random.uniform(size=3000)
    table = pa.table({"c": column[order], "x": random.normal(size=3000)})
    (note,) = Preparation().fit(table, codes[order]).notes_
    assert "Column 'c' alone tells all outliers from other rows (AUC 1.000)" in note
