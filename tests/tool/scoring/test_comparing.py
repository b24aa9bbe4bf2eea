"""Two models on the same rows."""

import json

import numpy as np
import pyarrow as pa
import pytest
from payments import make_frauds, small_model, worse_model, write

from boreod.metrics import compare_rankings
from boreod.tables import TableError, read_label_column
from boreod.tool import CompareOptions, compare_models


@pytest.fixture(scope="module")
def models():
    return worse_model(), small_model()


@pytest.fixture(scope="module")
def labelled_file(tmp_path_factory):
    return write(make_frauds(210, seed=1), tmp_path_factory.mktemp("compared") / "labelled.csv")


def test_figures_are_those_of_the_metrics(models, new, labelled_file):
    old, better = models
    found = compare_models(old, better, labelled_file, CompareOptions(novelty=False))
    codes = read_label_column(new["fraud"])
    judged = codes >= 0
    scores = [model.predict_proba(new)[judged, 1] for model in (better, old)]
    expected = compare_rankings(codes[judged] == 1, *scores)
    for name, of in expected.items():
        assert found.measures[name] == pytest.approx(of, abs=1e-9)
    assert found.measures["average precision"].low > 0
    assert found.verdict == "The new model is better by average precision, by more than chance."
    assert (found.rows, found.outliers + found.inliers) == (210, judged.sum())
    assert found.notes == []
    alerts = found.alerts
    assert found.changed >= abs(alerts[1] - alerts[0])
    first = found.changes[0]
    assert first.ids == {"id": new["id"][first.row - 1].as_py()}
    assert first.new == pytest.approx(better.predict_proba(new)[first.row - 1, 1], abs=1e-9)
    assert json.loads(json.dumps(found.to_dict()))["changes"][0]["row"] == first.row


def test_novel_rows_rank_first(models, new, labelled_file, tmp_path):
    labels = read_label_column(new["fraud"])
    place = int(np.flatnonzero(labels == 0)[0])
    hours = new["hour"].to_pylist()
    hours[place] = 1e6
    table = new.set_column(new.column_names.index("hour"), "hour", pa.array(hours))
    found = compare_models(*models, write(table, tmp_path / "far.csv"))
    plain = CompareOptions(novelty=False)
    without = compare_models(*models, write(table, tmp_path / "far.csv"), plain)
    ap = "average precision"
    assert found.measures[ap][0] < without.measures[ap][0]


def test_as_many_alerts_of_each(models, labelled_file):
    found = compare_models(*models, labelled_file, CompareOptions(alerts=10, most=2))
    assert found.alerts == (10, 10)
    assert len(found.changes) == 2 < found.changed
    same = compare_models(models[1], models[1], labelled_file)
    assert (same.changed, same.changes) == (0, [])


def test_without_inliers_unlabelled_rows_count_as_such(models, new, tmp_path):
    codes = read_label_column(new["fraud"])
    labels = pa.array(np.where(codes == 1, 1, 0), mask=codes != 1)
    table = new.set_column(new.column_names.index("fraud"), "fraud", labels)
    found = compare_models(*models, write(table, tmp_path / "few.csv"))
    assert found.assumed
    assert found.outliers + found.inliers == 210


def test_rows_that_a_model_has_learned_from_are_judged_out_of_bag(models, tmp_path):
    """A model is surer of its training rows: that is no reason to prefer it."""
    old, new = models
    table = make_frauds()
    path = write(table, tmp_path / "payments.parquet")
    found = compare_models(old, new, path, CompareOptions(novelty=False, alerts=10))
    assert found.learned == (1, 300)  # one row has its own amount by chance
    assert "the new model has learned from 300" in found.notes[0]
    judged = (new.oob_.labels >= 0) & np.isfinite(new.oob_proba_)
    own = new.oob_proba_[judged], old.predict_proba(table)[judged, 1]
    expected = compare_rankings(new.oob_.labels[judged] == 1, *own)
    assert found.measures["AUC"] == pytest.approx(expected["AUC"], abs=1e-3)
    in_sample = new.predict_proba(table)[judged, 1]
    flattered = compare_rankings(new.oob_.labels[judged] == 1, in_sample, own[1])
    assert flattered["AUC"].first > found.measures["AUC"].first + 0.001
    assert found.alerts == (10, 10)
    assert found.verdict == "The models cannot be told apart by average precision."


@pytest.mark.parametrize(
    ("missing", "name", "reading", "message"),
    [
        ("fraud", "new.csv", {}, r"no column 'fraud'.* Name the column of labels: --label"),
        ("hour", "new.csv", {}, r"no column 'hour'.* The new model needs it"),
        ("voucher", "-", {}, "not a pipe"),
        ("voucher", "new.csv", {"bad_cells": "drop"}, "would leave out other rows"),
    ],
    ids=["label", "column", "pipe", "bad cells"],
)
def test_what_cannot_be_compared(
    missing, name, reading, message, models, new, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write(new.drop_columns([missing]), tmp_path / "new.csv")
    with pytest.raises(TableError, match=message):
        compare_models(*models, name, reading=reading)
