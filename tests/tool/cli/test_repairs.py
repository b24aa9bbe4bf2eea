"""`--rename`, `--scale`, kept repairs and `--strict`, as a user types them."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from payments import small_model

from tool.cli.runner import run

REPAIRS = ("--rename", "Amount=amount", "--scale", "amount=0.001")


@pytest.fixture
def place(folder, tmp_path):
    """A model, a table as in training, and one with another name, in another unit."""
    small_model(threshold="fpr:0.05").save(tmp_path / "a.boreod")
    # NA is a country here.
    table = pd.read_csv(folder / "new.csv", keep_default_na=False, na_values=[""])
    table.to_csv(tmp_path / "good.csv", index=False)
    table["amount"] *= 1000
    table.to_csv(tmp_path / "unit.csv", index=False)
    table.rename(columns={"amount": "Amount"}).to_csv(tmp_path / "bad.csv", index=False)
    return tmp_path


def scores(path):
    return pd.read_csv(path).round(9).to_csv()


def test_score_check_and_explain_repair_a_table(place):
    model = place / "a.boreod"
    run("score", model, place / "good.csv", "-o", place / "g.csv")
    run("score", model, place / "bad.csv", "-o", place / "b.csv", *REPAIRS)
    assert scores(place / "g.csv") == scores(place / "b.csv")
    assert "like the training rows" in run("check", model, place / "bad.csv", *REPAIRS).stdout
    shown = run("explain", model, place / "bad.csv", "--json", *REPAIRS).stdout
    assert len(json.loads(shown)) == 20
    error = run("score", model, place / "bad.csv", "-o", place / "x.csv", code=1).stderr
    assert "'Amount' is new: renamed?" in error
    assert "--rename Amount=amount" in error


def test_a_warning_is_the_first_line_of_the_result(place):
    model, output = place / "a.boreod", place / "s.csv"
    result = run("score", model, place / "unit.csv", "-o", output, "--alerts", 5)
    first, second = result.stdout.splitlines()[:2]
    assert first.startswith("This table is unlike the training table: ")
    assert (
        "5 (2.38%) are alerts: the most suspicious rows of this table (you asked for 5)." in second
    )
    assert result.stderr.startswith("Note: amount: values are about ")
    facts = json.loads(run("score", model, place / "unit.csv", "-o", output, "--json").stdout)
    assert facts["ranked_by"] == "probability"
    assert facts["findings"][0]["kind"] == "unit"
    assert facts["warning"] == first
    assert 0 < facts["novel"] < 210
    facts = json.loads(run("score", model, place / "good.csv", "-o", output, "--json").stdout)
    assert (facts["ranked_by"], facts["warning"]) == ("novelty", None)


def test_strict(place):
    model, output = place / "a.boreod", place / "s.csv"
    output.write_text("as it was")
    asked = ("score", model, place / "unit.csv", "-o", output, "--strict")
    found = run(*asked, code=3)
    assert "Note: amount: values are about" in found.stderr
    assert "nothing is written (--strict)" in found.stderr
    facts = json.loads(run(*asked, "--json", code=3).stderr)
    assert facts["written"] == 0
    assert facts["findings"][0]["kind"] == "unit"
    gone = run("score", model, place / "bad.csv", "-o", output, "--strict", code=3)
    assert "amount: the column is gone" in gone.stderr
    assert "'Amount' is new: renamed? (--rename Amount=amount)" in gone.stderr
    assert output.read_text() == "as it was"
    run(*asked, "--scale", "amount=0.001")
    assert len(pd.read_csv(output)) == 210


@pytest.mark.parametrize("more", [[], ["--all-columns"]])
def test_strict_names_missing_columns_after_renaming(more, place):
    table = pd.read_csv(place / "good.csv")
    table = table.drop(columns="country").rename(columns={"hour": "amount", "amount": "x"})
    table.to_csv(place / "chain.csv", index=False)
    chain = ("--rename", "x=amount", "--rename", "amount=hour")
    asked = ("score", place / "a.boreod", place / "chain.csv", "-o", place / "s.csv", "--strict")
    found = run(*asked, *chain, *more, code=3).stderr
    assert [line for line in found.splitlines() if "is gone" in line] == [
        "Note: country: the column is gone, and rows cannot be scored without it"
    ]


@pytest.mark.parametrize(("name", "code"), [("unit", 3), ("bad", 3), ("good", 0)])
@pytest.mark.parametrize("command", ["check", "score"])
def test_pipes(command, name, code, place):
    words = [command, place / "a.boreod", "-", *(["--strict"] if command == "score" else [])]
    with (place / f"{name}.csv").open("rb") as table:
        done = subprocess.run([sys.executable, "-m", "boreod", *map(str, words)], stdin=table,
                              capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == code
    assert ("amount: " in done.stdout + done.stderr) == (code == 3)


def test_kept_repairs(place):
    model, kept = place / "a.boreod", place / "a.boreod.repairs.json"
    run("check", model, place / "bad.csv", "--keep-repairs", code=2)
    found = run("check", model, place / "bad.csv", *REPAIRS, "--keep-repairs")
    assert f"use the repairs in {kept}" in found.stderr
    later = run("check", model, place / "bad.csv")
    assert "are used: --rename Amount=amount --scale amount=0.001." in later.stderr
    run("score", model, place / "bad.csv", "-o", place / "s.csv")
    run("score", model, place / "good.csv", "-o", place / "g.csv", code=1)
    # Repairs in a command replace all kept ones.
    run("check", model, place / "unit.csv", "--scale", "amount=0.001")
    kept.unlink()
    run("score", model, place / "good.csv", "-o", place / "g.csv")
    assert scores(place / "g.csv") == scores(place / "s.csv")


@pytest.mark.parametrize(("change", "words"), [
    (lambda text: text[:-9], "it is no JSON"),
    (lambda text: text.replace("0.001", "0"), "must be a number other than 0"),
    (lambda text: text.replace("0.001", "NaN"), "it is no JSON"),
    (lambda text: text.replace("0.001", '"0.001"'), "it.scale.amount must be a finite number"),
    (lambda text: text.replace('"scale"', '"sale"'), "it has"),
    (lambda text: text + " " * 1_000_001, "more than 1,000,000 bytes"),
    (lambda text: text.replace('"model": "', '"model": "0'), "kept for another model file"),
])  # fmt: skip
def test_kept_repairs_that_are_refused(change, words, place):
    model, kept = place / "a.boreod", place / "a.boreod.repairs.json"
    run("check", model, place / "bad.csv", *REPAIRS, "--keep-repairs")
    kept.write_text(change(kept.read_text()))
    error = run("score", model, place / "bad.csv", "-o", place / "s.csv", code=1).stderr
    assert words in error
    assert not (place / "s.csv").exists()


def test_kept_repairs_of_a_model_that_was_fitted_again(place):
    model = place / "a.boreod"
    run("check", model, place / "bad.csv", *REPAIRS, "--keep-repairs")
    small_model(threshold="fpr:0.06").save(model)
    assert "kept for another model file" in run("check", model, place / "bad.csv", code=1).stderr


@pytest.mark.parametrize("wrong", ["amount", "=amount", "amount=", "Amount=amount,a=amount=c="])
def test_options_that_are_refused(wrong, place):
    run("score", place / "a.boreod", place / "bad.csv", "--rename", wrong, code=2)
    run("score", place / "a.boreod", place / "bad.csv", "--scale", wrong, code=2)
    twice = ("--scale", "amount=2", "--scale", "amount=3")
    run("check", place / "a.boreod", place / "good.csv", *twice, code=2)


def test_repairs_that_do_not_help_are_not_kept(place):
    model, kept = place / "a.boreod", place / "a.boreod.repairs.json"
    wrong = [word.replace("0.001", "0.5") for word in REPAIRS]
    found = run("check", model, place / "bad.csv", *wrong, "--keep-repairs", code=3)
    assert "The repairs are not kept" in found.stderr
    assert not kept.exists()


def test_repairs_are_those_of_the_model_behind_a_link(place):
    (place / "link.boreod").symlink_to("a.boreod")
    run("check", place / "link.boreod", place / "bad.csv", *REPAIRS, "--keep-repairs")
    assert (place / "a.boreod.repairs.json").exists()
    for model in ("a.boreod", "link.boreod"):
        assert "are used" in run("check", place / model, place / "bad.csv").stderr
