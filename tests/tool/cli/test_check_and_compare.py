"""`boreod check`, `boreod compare`, and alerts by number, as a user types them."""

import json

import pandas as pd
from payments import make_frauds, worse_model, write

from tool.cli.runner import run


def test_check_has_exit_codes_for_machines(folder, tmp_path):
    model = folder / "small.boreod"
    assert "210 rows are like the training rows" in run("check", model, folder / "new.csv").stdout
    table = pd.read_csv(folder / "new.csv")
    table["amount"] *= 100
    table.to_csv(tmp_path / "cents.csv", index=False)
    found = run("check", model, tmp_path / "cents.csv", code=3)
    assert "amount: values are about " in found.stdout
    facts = json.loads(run("check", model, tmp_path / "cents.csv", "--json", code=3).stdout)
    assert {"unit", "alerts"} <= {finding["kind"] for finding in facts["findings"]}
    scored = run("score", model, tmp_path / "cents.csv", "-o", tmp_path / "s.csv")
    assert "Note: amount: values are about" in scored.stderr
    assert "There is no file" in run("check", model, tmp_path / "no.csv", code=1).stderr
    run("check", model, folder / "new.csv", "--max-missing", "2", code=2)


def test_compare(folder, tmp_path):
    worse_model().save(tmp_path / "old.boreod")
    labelled = write(make_frauds(210, seed=1), tmp_path / "labelled.csv")
    asked = ("compare", tmp_path / "old.boreod", folder / "small.boreod", labelled)
    text = run(*asked, "--changes", 2).stdout
    assert "average precision" in text
    assert "The new model is better by average precision, by more than chance." in text
    assert "more (--changes" in text
    table = pd.read_csv(labelled)
    table[["id", "fraud"]].dropna().head(100).to_csv(tmp_path / "review.csv", index=False)
    table.drop(columns="fraud").to_csv(tmp_path / "blind.csv", index=False)
    reviewed = (*asked[:3], tmp_path / "blind.csv", "--labels", tmp_path / "review.csv", "--json")
    facts = json.loads(run(*reviewed).stdout)
    assert facts["outliers"] + facts["inliers"] == 100
    facts = json.loads(run(*asked, "--alerts", 10, "--json").stdout)
    assert facts["alerts"] == [10, 10]


def test_alerts_by_number(folder, tmp_path):
    model, table = folder / "small.boreod", folder / "new.csv"
    result = run("score", model, table, "-o", tmp_path / "s.csv", "--alerts", 7, "--reasons", 2)
    assert (
        "7 (3.33%) are alerts: the most suspicious rows of this table (you asked" in result.stdout
    )
    scored = pd.read_csv(tmp_path / "s.csv")
    assert scored["outlier"].sum() == 7
    assert scored.loc[scored["outlier"], "rank"].max() <= 7
    assert scored["reason_1"].str.contains("normal rows").mean() > 0.9
    run("score", model, table, "--alerts", 7, "--threshold", "0.5", code=2)
    run("fit", table, "--label", "fraud", "--rows-per-day", 500, code=2)
