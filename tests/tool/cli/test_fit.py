"""`boreod fit` as a user types it: to Python and back, from text, and nothing done twice."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from payments import make_frauds, write

import boreod
from boreod import load
from boreod.metrics import auc
from boreod.tables import TableReader
from boreod.tool import fit_table
from boreod.tool.models import list_assumptions
from tool.cli.runner import run


def test_from_the_command_line_to_python(fitted, folder):
    facts, path = fitted
    new = pq.read_table(folder / "new.parquet")
    run("score", path, folder / "new.parquet", "-o", folder / "scored.parquet", "--quiet")
    detector = load(path)
    found = pq.read_table(folder / "scored.parquet")["probability"].to_numpy()
    assert_allclose(found, detector.predict_proba(new.to_pandas())[:, 1], rtol=1e-12, atol=1e-12)
    assert facts["cost"] <= 15e-6
    assert [c["name"] for c in facts["columns"]] == detector.selection_.columns
    assert facts["bytes"] == path.stat().st_size
    assert facts["training"]["auc"] > 0.6
    assert facts["source"] == "payments.parquet"
    assert facts["threshold"] == detector.threshold_
    assert facts["training_rows_above"] == 30


def test_the_same_fit_in_python(fitted, folder):
    table = make_frauds()
    again = fit_table(
        folder / "payments.parquet", label="fraud", ids=["id"], method="bore", random_state=0,
        n_jobs=1,
    )  # fmt: skip
    assert again.record_.source == "payments.parquet"
    model = load(fitted[1])
    assert again.preparation_.to_dict() == model.preparation_.to_dict()
    run("fit", folder / "payments.parquet", "--label=fraud", "--id=id", "--method=bore",
        "-o", folder / "all.boreod")  # fmt: skip
    assert_allclose(
        load(folder / "all.boreod").decision_function(table),
        again.decision_function(table),
        rtol=1e-12,
        atol=1e-12,
    )


def test_fit_to_and_from_text(folder, tmp_path):
    """Semicolons, decimal commas, words as labels, another encoding, names with commas."""
    lines = ["id;amount, net;kind;state"]
    random = np.random.default_rng(0)
    for number in range(80):
        fraud = number % 8 == 0
        amount = f"{random.normal(9 * fraud, 1):.4f}".replace(".", ",")
        state = "" if number % 9 == 1 else "böse" if fraud else "gut"
        lines.append(f"{number:03};{amount};{'ab'[number % 2]};{state}")
    (tmp_path / "t.csv").write_bytes("\n".join([*lines, ""]).encode("cp1252"))
    reading = ["--encoding", "cp1252", "--decimal", ",", "--separator", ";"]
    result = run(
        "fit", tmp_path / "t.csv", "--label", "state", "--outlier-label", "böse", "--id", "id",
        "--keep", "amount, net", "--keep", "kind", *reading, "-o", tmp_path / "m.boreod",
        "--method", "bore",
    )  # fmt: skip
    assert "80 rows, 9 outliers, 62 inliers, 9 unlabelled" in result.stdout
    assert "amount, net" in result.stdout
    assert "boreod score" in result.stdout
    assert "Note: With this method, new rows that almost equal a labelled outlier" in result.stderr
    run("score", tmp_path / "m.boreod", tmp_path / "t.csv", *reading, "-o", tmp_path / "s.csv")
    first = (tmp_path / "s.csv").read_text().splitlines()[1]
    assert first.startswith('"000",0.')


@pytest.mark.parametrize(("sample", "opened"), [([], 1), (["--reference-size", "100"], 2)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_table_is_opened_once(sample, opened, suffix, tmp_path, monkeypatch):
    path = write(make_frauds(), tmp_path / f"payments.{suffix}")
    paths = []
    start = TableReader.__init__

    def count(self, path, *arguments):
        paths.append(path)
        start(self, path, *arguments)

    monkeypatch.setattr(TableReader, "__init__", count)
    columns = ["--label", "fraud", "--id", "id", "--keep", "amount,abroad", "--method", "bore"]
    run("fit", path, *columns, *sample, "-o", tmp_path / "m.boreod")
    assert paths == [str(path)] * opened


def fit_few(folder, tmp_path, monkeypatch, *options):
    """Fit three columns with an empty cache and without a way to load a model."""
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delattr("boreod.persistence.load")
    columns = ["--label", "fraud", "--id", "id", "--keep", "amount,hour", "--method", "bore"]
    table, output = folder / "payments.parquet", tmp_path / "m.boreod"
    result = run("fit", table, *columns, *options, "-o", output)
    monkeypatch.undo()
    return result.stdout, sorted((tmp_path / "cache").rglob("*")), run("info", output).stdout


def test_nobody_asked_for_prices(folder, tmp_path, monkeypatch):
    shown, cache, told = fit_few(folder, tmp_path, monkeypatch)
    assert cache == []
    for text in (shown, told):
        assert "Out of bag: AUC" in text
        assert "Threshold: 0.5. The out-of-bag" in text
        assert "Novelty: a row is novel if its 10th nearest training row" in text
        assert "Costs:" not in text
        assert "--budget" not in text
    facts = json.loads(run("info", tmp_path / "m.boreod", "--json").stdout)
    assert (facts["prices"], facts["budget_curve"], facts["cheapest_budget"]) == (None, None, None)
    assert {column["cost"] for column in facts["columns"]} == {None}


def test_a_curve_without_a_budget(folder, tmp_path, monkeypatch):
    shown, cache, told = fit_few(folder, tmp_path, monkeypatch, "--curve")
    assert {path.parent.name for path in cache if path.is_file()} == {"prices"}
    for text in (shown, told):
        assert "Costs: measured:shared; prices of" in text
        assert re.search(r"From a --budget of \S+s on, the AUC is within 0.01 of the best", text)
        assert "\nBudget:" not in text


@pytest.fixture(scope="module")
def few_labels(tmp_path_factory):
    """A folder with payments of which some frauds are known and nothing else is."""
    path = tmp_path_factory.mktemp("few")
    table = make_frauds()
    known = [
        1 if label == 1 and row % 2 else -1 for row, label in enumerate(table["fraud"].to_pylist())
    ]
    table = table.set_column(table.column_names.index("fraud"), "fraud", pa.array(known))
    write(table, path / "payments.csv")
    return path


def test_a_detector_says_what_it_assumes(few_labels):
    table, model = few_labels / "payments.csv", few_labels / "fraud.boreod"
    asked = ["--label", "fraud", "--id", "id", "--prior", "0.02"]
    shown = run("fit", table, *asked, "-o", model).stdout
    known = load(model)
    assert type(known) is boreod.Detector
    labels = known.oob_.labels
    count = int((labels == -1).sum())
    assert set(labels) == {1, -1}
    told = run("info", model).stdout
    facts = json.loads(run("info", model, "--json").stdout)
    assert sum(head["weight"] for head in facts["heads"]) == pytest.approx(1.0)
    trees = sum(head["trees"] for head in facts["heads"])
    assert trees == sum(
        member.head.trees.n_trees for member in known.fitted_.members if member.kind != "logistic"
    )
    for text in (shown, told):
        assert "Method: Detector; heads by weight: " in text
        assert f"; {trees} trees." in text
        assert f"{count} unlabelled rows count as inliers, too." in text
        assert 'A probability means "would be labelled an outlier".' in text
        assert "Precision is a lower bound" in text
        assert "Probabilities are those of tables with 2 % outliers (prior)." in text
        assert "300 rows, unlabelled rows as inliers." in text
    assert facts["assumptions"] == list_assumptions(known)
    result = run("report", model, table, "-o", few_labels / "report.html")
    page = (few_labels / "report.html").read_text(encoding="utf-8")
    assert "judged by out-of-bag probabilities" in page
    assert "Precision is a lower bound" in page
    assert result.exit_code == 0


def test_no_label_at_all(few_labels):
    table, model = few_labels / "payments.csv", few_labels / "ranked.boreod"
    shown = run("fit", table, "--id", "id", "--keep", "amount,hour", "-o", model).stdout
    assert "300 rows, 0 outliers, 0 inliers, 300 unlabelled." in shown
    assert "No row is labelled: rows are ranked by a consensus of scores." in shown
    assert "Threshold: " in shown
    assert "(one alert in a hundred rows). The out-of-bag probability of 3 training rows" in shown
    run("score", model, table, "-o", few_labels / "s.csv", "--reasons", "2", "--quiet")
    scored = pd.read_csv(few_labels / "s.csv")
    frauds = np.arange(300) % 12 == 3
    assert auc(frauds, scored["probability"].to_numpy()) > 0.7
    run("report", model, table, "-o", few_labels / "ranked.html")
    page = (few_labels / "ranked.html").read_text(encoding="utf-8")
    assert "rows are ranked by a consensus of scores" in page


def test_the_default_threshold_fits_rare_outliers_and_that_of_bore_is_printed(folder, tmp_path):
    asked = ("fit", folder / "payments.parquet", "--label", "fraud", "--id", "id", "-o")
    rows = json.loads(run(*asked, tmp_path / "a.boreod", "--json").stdout)
    text = run("info", tmp_path / "a.boreod").stdout
    assert 0.0 < rows["threshold"] < 0.5
    assert f"Threshold: {rows['threshold']:.4g} (the largest expected F1)" in text
    number = f"{rows['expected']['alerts']:,.0f} alerts in 10,000 such rows, of which"
    assert number in text
    assert 0 < rows["expected"]["outliers"] <= rows["expected"]["alerts"]
    bore = run(*asked, tmp_path / "b.boreod", "--method", "bore", "--json")
    assert json.loads(bore.stdout)["threshold"] == 0.5
