"""Budgets in time and in units on the command line, with prices from everywhere."""

import json
import os
import shutil
from pathlib import Path

import pytest
from payments import make_frauds, write
from sklearn.base import clone

from boreod import OutlierRepresentation, load
from boreod.selection import prices
from tool.cli.runner import run

DECLARED = {"lof": 50, "knn": 8, "knn_10": 2.5, "amount": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and files of prices, good and bad."""
    path = tmp_path_factory.mktemp("budgets")
    write(make_frauds(150), path / "payments.csv")
    for name, text in {
        "prices.json": json.dumps(DECLARED),
        "text.json": "lof: 50",
        "half.json": '{"lof": 5',
        "list.json": "[1, 2]",
        "empty.json": "{}",
        "words.json": '{"lof": "a lot"}',
        "true.json": '{"lof": true}',
        "nan.json": '{"lof": NaN}',
        "negative.json": '{"lof": -2}',
        "nested.json": '{"lof": {"lof_5": 3}}',
        "twice.json": '{"lof": 3, "lof": 4}',
        "typo.json": '{"lov_10": 3}',
    }.items():
        (path / name).write_text(text)
    (path / "bytes.json").write_bytes(b"\xff\xfe{")
    return path


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    """Be in the folder, and fit few scores only."""
    monkeypatch.chdir(folder)
    few = OutlierRepresentation(["knn", "lof", "ldof"], ks=[5, 10, 20])
    monkeypatch.setattr(
        "boreod.representation.transformer.OutlierRepresentation", lambda: clone(few)
    )


def fit(*options, code=0):
    table = ("payments.csv", "--label", "fraud", "--id", "id", "--method", "bore")
    return run("fit", *table, *options, code=code)


def test_units_of_complexity():
    shown = fit("--budget", "14", "-o", "units.boreod").stdout
    model = detector = load("units.boreod")
    assert detector.budget == 14.0
    assert detector.costs_.unit == model.record_.curve.unit == ""
    assert 0 < detector.cost_ <= 14.0
    spent = f"the model spends {detector.cost_:.6g} of 14 units."
    told = run("info", "units.boreod").stdout
    for text in (shown, told):
        assert f"Budget: {spent}" in text
        assert f"From a --budget of {model.record_.curve.cheapest():.6g} units on, " in text
        assert "Costs: complexity:additive; prices of" in text
        assert "us " not in text
    facts = json.loads(run("info", "units.boreod", "--json").stdout)
    assert (facts["unit"], facts["budget"], facts["costs"]) == ("", 14.0, "complexity:additive")
    assert facts["budget_curve"]["unit"] == ""
    assert facts["cheapest_budget"] == model.record_.curve.cheapest()
    own = facts["prices"]["own"]
    assert own == dict(detector.costs_.own)
    assert len(own) > len(facts["columns"]) == len(detector.columns_)
    assert own["lof_10"] > own["amount"] == 1.0
    for column in facts["columns"]:
        assert column["cost"] == pytest.approx(own[column["name"]])
    run("report", "units.boreod", "payments.csv", "-o", "units.html")
    page = Path("units.html").read_text(encoding="utf-8")
    assert "The budget of 14 a row bought" in page
    assert "µs" not in page


def test_prices_in_a_file():
    result = fit("--budget", "9", "--costs", "prices.json", "--json", "-o", "own.boreod")
    facts = json.loads(result.stdout)
    assert "no price for" in result.stderr
    assert facts["costs"] == "declared"
    assert facts["cost"] <= 9.0
    own = facts["prices"]["own"]
    assert (own["lof_20"], own["knn_20"], own["knn_10"], own["amount"]) == (50.0, 8.0, 2.5, 3.0)
    assert "ldof_20" not in own
    assert set(own) >= {column["name"] for column in facts["columns"]}
    detector = load("own.boreod")
    assert detector.selection.costs == DECLARED
    assert detector.costs_.own == own
    assert "Costs: declared; prices of" in run("info", "own.boreod").stdout


def test_times_are_remembered_and_taken_again(tmp_path, monkeypatch):
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path))
    calls = []
    measure = prices.measured_costs
    monkeypatch.setattr(prices, "measured_costs", lambda *a: calls.append(a) or measure(*a))
    chosen = ("--budget", "1ms", "--json", "-o", "time.boreod")
    first, second = (json.loads(fit(*chosen).stdout) for _ in range(2))
    assert len(calls) == 1
    assert first == second
    assert first["costs"] == "measured:shared"
    assert first["prices"]["unit"] == "s"
    before = Path("time.boreod").read_bytes()
    shutil.rmtree(tmp_path / "prices")
    fresh = json.loads(fit(*chosen).stdout)
    assert len(calls) == 2
    assert fresh["prices"] != first["prices"]
    assert json.loads(fit(*chosen).stdout)["prices"] == fresh["prices"]
    assert len(calls) == 2
    assert Path("time.boreod").read_bytes() != before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--budget", "300", "--costs", "measured:shared"],
            "a number of units, but `costs` are seconds. Pass a time per row such as '200us'",
        ),
        (["--budget", "9us", "--costs", "fresh"], "--costs must be one of measured:shared, "),
        (["--budget", "9us", "--costs", "complexity:shared"], "is a time, but `costs` are units"),
        (["--budget", "9us", "--costs", "prices.json"], "is a time, but `costs` are units"),
        (["--budget", "300", "--batch", "1"], "units, which are the same in every batch"),
        (["--batch", "1"], "`batch_size` (--batch) is 1, but there is no `budget` (--budget)"),
        (["--budget", "1us", "--batch", "1"], "but a row alone costs at least"),
        (["--budget", "0"], "`budget` must be a positive number of units"),
        (["--budget=-5"], "`budget` must be a positive number of units"),
        (["--budget", "nan"], "`budget` must be a positive number of units"),
        (["--budget", "much"], "`budget` must be"),
        (["--budget", "9 weeks"], "`budget` has the unit 'weeks'"),
        (["--costs", "complexity"], "--costs must be one of measured:shared, "),
        (["--costs", "none.json"], "There is no file 'none.json' of prices (--costs)"),
        (["--costs", "payments.csv"], "must hold a JSON object of prices"),
        (["--costs", "text.json"], "'text.json' must hold a JSON object of prices"),
        (["--costs", "half.json"], "'half.json' must hold a JSON object of prices"),
        (["--costs", "bytes.json"], "'bytes.json' must hold a JSON object of prices"),
        (["--costs", "list.json"], "got [1, 2]"),
        (["--costs", "empty.json"], "got {}"),
        (["--costs", "words.json"], "got 'a lot' for 'lof'"),
        (["--costs", "true.json"], "got True for 'lof'"),
        (["--costs", "nan.json"], "got nan for 'lof'"),
        (["--costs", "negative.json"], "got -2 for 'lof'"),
        (["--costs", "nested.json"], "got {'lof_5': 3} for 'lof'"),
        (["--costs", "twice.json"], "'lof' is there twice"),
        (["--costs", "typo.json"], "'lov_10', which is neither a column nor a score of this model. "
         "Did you mean lof_10"),
        (["--budget", "0.5"], "the cheapest column"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_refused(options, words, folder):
    before = sorted(os.listdir(folder))
    result = fit(*options, "-o", "refused.boreod", "--quiet", code=1)
    assert words in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert sorted(os.listdir(folder)) == before
