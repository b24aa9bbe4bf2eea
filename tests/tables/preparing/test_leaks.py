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
