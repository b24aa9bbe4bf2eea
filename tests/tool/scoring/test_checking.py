"""Whether a later table is like that of the training: every kind of difference, and chance."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from payments import FEW, make_frauds, write

from boreod import Detector, Heads, load
from boreod.ensemble.profile import FEW_SHARES, TrainingProfile
from boreod.predictor import prepare
from boreod.tables import TableError, open_table
from boreod.tables.number_formats import NumberFormat
from boreod.tables.preparing.dates import DateStep
from boreod.tables.preparing.steps import NumberStep
from boreod.tool import (
    CheckedTable,
    Limits,
    check_table,
)
from boreod.tool.scoring.checking import Tally, _find_missing, _keys, find_changes, shift_difference
from boreod.tool.scoring.judging import alert_threshold
from boreod.tool.scoring.scoring import ScoreOptions, Scoring

from .payment_folders import make_folder, score


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model with a threshold that gives alerts, through a file."""
    path = tmp_path_factory.mktemp("checked") / "a.boreod"
    options = {"n_estimators": 20, "heads": Heads(kinds=["logistic"]), "threshold": "alerts:20"}
    model = Detector(FEW, random_state=0, **options).fit(make_frauds(), label="fraud", ids="id")
    model.save(path)
    return load(path)


def change(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def find(trained, table, tmp_path, suffix="parquet", **options):
    path = write(table, tmp_path / f"new.{suffix}")
    return {finding.kind: finding for finding in check_table(trained, path, **options).findings}


def test_rows_like_those_of_the_training(trained, new, tmp_path):
    for suffix in ("parquet", "csv"):
        assert find(trained, new, tmp_path, suffix) == {}
    (tmp_path / "a.csv").write_text(",".join(new.column_names) + "\n")
    assert check_table(trained, tmp_path / "a.csv") == CheckedTable(0, [])


@pytest.mark.parametrize(
    ("factor", "words"), [(100, "times those of training"), (0.001, " of those of training")]
)
def test_units(factor, words, trained, new, tmp_path):
    amounts = new["amount"].to_numpy()
    found = find(trained, change(new, "amount", factor * amounts), tmp_path)
    assert found["unit"].column == "amount"
    assert words in found["unit"].text
    assert "range" not in found


def test_many_more_alerts(trained, new, tmp_path):
    found = find(trained, change(new, "amount", 100 * new["amount"].to_numpy()), tmp_path)
    assert found["alerts"].is_alarm


def test_missing_values_and_words(trained, new, tmp_path):
    hours = [None if place % 3 else 5.0 for place in range(210)]
    countries = ["XX" if place % 7 == 0 else "DE" for place in range(210)]
    table = change(change(new, "hour", hours), "country", countries)
    found = find(trained, table, tmp_path)
    assert found["missing"].text.startswith("hour: 66.7 % missing, was ")
    assert found["unseen"].text.endswith("values that training never had: 'XX'")
    assert found["share"].text.startswith("country: DE in 85.7 % of the rows, was ")
    limits = Limits(missing=0.9, unseen=0.5, shift=0.9)
    assert set(find(trained, table, tmp_path, limits=limits)) <= {"alerts", "novel"}


def test_missing_values_of_written_numbers_and_dates():
    money = pa.array(["$ 1,200.50", "NA", "", None])
    rule = NumberFormat(thousands=",", unit="$")
    step = NumberStep("a", "text", 1.0, rule, marked=True)
    assert _find_missing(money, step).sum() == 3
    assert _find_missing(pa.array(["2024-01-31", "NA", None]), DateStep("day", "text")).sum() == 2


@pytest.mark.parametrize("few_quantiles", [False, True])
def test_many_equal_values_are_no_shift(few_quantiles):
    random = np.random.default_rng(0)
    rows = np.where(random.random(2000) < 0.6, 0.0, random.lognormal(size=2000))[:, np.newaxis]
    profile = TrainingProfile.learn(rows, np.zeros(2000, int))
    few = replace(profile, quantiles=[np.quantile(rows, FEW_SHARES).tolist()], means=[0.5] * 2500)
    known = few if few_quantiles else profile
    assert shift_difference(known, 0, np.sort(rows[:, 0]), 0.05) is None
    assert "values have moved" in shift_difference(known, 0, np.sort(rows[:, 0] + 9), 0.25)


def test_what_is_within_chance_is_no_finding(trained, new, tmp_path):
    countries = ["XX", *new["country"].to_pylist()[1:30]]
    table = change(new.slice(0, 30), "country", countries)
    assert "unseen" in find(trained, table, tmp_path)  # of 30 rows one is new, never seen before
    hours = [None, *new["hour"].to_pylist()[1:30]]
    assert "missing" not in find(trained, change(new.slice(0, 30), "hour", hours), tmp_path)


def test_faults_of_columns_that_are_not_used(trained, new, tmp_path):
    nested = pa.array([{"a": [1]}] * new.num_rows)
    assert set(find(trained, new.append_column("more", nested), tmp_path)) <= {"new columns"}
    bad = pa.array(["1.5"] * 209 + ["ERR"])
    reading = {"bad_cells": "error", "types": {"more": "number"}}
    found = find(trained, new.append_column("more", bad), tmp_path, "csv", reading=reading)
    assert set(found) == {"new columns"}


def test_columns(trained, new, tmp_path):
    found = find(trained, new.rename_columns([n.upper() if n == "amount" else n
                                              for n in new.column_names]), tmp_path)  # fmt: skip
    assert "amount: the column is gone" in found["column"].text
    assert "'AMOUNT' is new: renamed?" in found["column"].text
    other = new.rename_columns(["amounts" if n == "amount" else n for n in new.column_names])
    path = write(other, tmp_path / "b.csv")
    for use in (lambda: score(trained, path, "-"), lambda: trained.predict(other)):
        with pytest.raises(TableError, match=r"no column 'amount', which .*'amounts' is new: ren"):
            use()
    turned = new.select(new.column_names[::-1]).append_column("more", pa.array([1] * 210))
    found = find(trained, turned, tmp_path)
    assert not found["order"].is_alarm
    assert "'more'" in found["new columns"].text


@pytest.mark.parametrize(
    ("source", "output", "rows"),
    [("a.parquet", "s.csv", 7), ("a.parquet", "s.csv", 1000), ("many", "out", 20_000)],
)
def test_scoring_notes_the_same_however_it_is_split(source, output, rows, trained, new, tmp_path):
    table = change(new, "amount", 100 * new["amount"].to_numpy())
    path = write(table, tmp_path / "a.parquet")
    make_folder(table, tmp_path / "many")
    expected = [finding.text for finding in check_table(trained, path).findings]
    summary = score(trained, tmp_path / source, tmp_path / output, batch_rows=rows)
    assert list(summary.notes) == expected


def test_tallies_add_up(trained, new):
    rows = prepare(trained, new)
    whole, parts = Tally(), Tally()
    whole.add(trained, new.to_batches()[0], rows, 1)
    for start in range(0, 210, 40):
        part = new.slice(start, 40).combine_chunks().to_batches()[0]
        parts.add(trained, part, rows[start : start + 40], start + 1)
    assert parts.rows == 210
    assert parts.missing == whole.missing
    np.testing.assert_allclose(parts.sums, whole.sums)
    np.testing.assert_array_equal(parts.sample, whole.sample)
    assert len(np.unique(_keys(1, 10_000))) == 10_000


def test_a_model_of_plain_numbers(labelled, tmp_path):
    X, y = labelled
    model = Detector(FEW, random_state=0, n_estimators=30, heads=Heads(kinds=["logistic"])).fit(
        X, y
    )
    table = pa.table({f"x{place}": X[:, place] * (50 if place == 2 else 1) for place in range(4)})
    found = check_table(model, write(table, tmp_path / "a.parquet")).findings
    assert {finding.column for finding in found} >= {"x2"}


def test_training_rows_are_known_and_their_alerts_are_those_out_of_bag(trained, tmp_path):
    path = write(make_frauds(), tmp_path / "payments.csv")
    checked = check_table(trained, path)
    assert [finding.kind for finding in checked.findings] == ["training rows"]
    assert "300 of the 300 rows are training rows" in checked.findings[0].text
    assert not checked.findings[0].is_alarm
    scoring, tally = Scoring.plan(trained, ScoreOptions(())), Tally()
    with open_table(path, **scoring.reading(None)) as reader:
        list(scoring.score_all(reader, tally=tally))
    chances = trained.oob_proba_[np.isfinite(trained.oob_proba_)]
    assert (tally.known, tally.judged) == (300, len(chances))
    limit, novel = alert_threshold(trained), trained.fitted_.seen.novel_training_rows()
    assert tally.alerts == ((trained.oob_proba_ > limit) | novel).sum()
    assert (trained.predict_proba(make_frauds())[:, 1] > limit).sum() != tally.alerts


def test_missing_cells_are_no_values():
    """Medians that fill them are none either: a column that is half empty has not moved."""
    random = np.random.default_rng(0)
    amounts = random.normal(100.0, 1.0, 600)
    amounts[300:] = np.nan
    labels = (np.arange(600) % 20 == 0).astype(int)
    table = pd.DataFrame({"amount": amounts, "hour": random.normal(size=600)})
    model = Detector(
        FEW, n_estimators=30, heads=Heads(kinds=["logistic"]), n_jobs=1, random_state=0
    ).fit(table, labels)
    normal = np.sort(amounts[(labels == 0) & ~np.isnan(amounts)])
    assert model.record_.profile.typical(0) == pytest.approx(
        np.quantile(normal, [0.05, 0.95]), abs=0.05
    )
    tally = Tally()
    later = pa.table({"amount": [None] * 380 + [10_000.0] * 20, "hour": np.zeros(400)})
    tally.add(model, later.to_batches()[0], prepare(model, later), 1)
    assert tally.missing["amount"] == np.isnan(tally.sample[:, 0]).sum() == 380
    found = {finding.kind for finding in find_changes(model, tally, Limits())}
    assert {"missing", "unit"} <= found


def test_rows_of_few_values_are_not_called_training_rows(tmp_path):
    random = np.random.default_rng(0)
    words = {name: random.choice(["a", "b", "c"], 200) for name in ("one", "two")}
    table = pa.table({**words, "fraud": (np.arange(200) % 8 == 0).astype(int)})
    model = Detector(
        FEW, n_estimators=30, heads=Heads(kinds=["logistic"]), n_jobs=1, random_state=0
    )
    with pytest.warns(UserWarning, match="copies"):
        model.fit(table, label="fraud")
    later = table.take(pa.array(random.permutation(200)[:90]))
    assert check_table(model, write(later, tmp_path / "later.csv")).findings == []
