"""`boreod info` and `boreod explain` as a user types them."""

import json
import re

import pyarrow as pa
from payments import make_frauds, write

from boreod.tool.cli.app import print_notes
from boreod.tool.cli.models import print_columns, print_preparation
from tool.cli.runner import run


def test_info(fitted, folder):
    facts, path = fitted
    found = json.loads(run("info", path, "--json").stdout)
    assert found == facts
    text = run("info", path).stdout
    known = ("format 9", "AUC", "Label: fraud. Ids: id.", "of 15us", "alerts:30", "voucher")
    names = [column["name"] for column in facts["columns"]]
    for words in (*known, "all values are 'EUR'", f"Columns in use: {len(names)}.", names[0]):
        assert words in text


def test_columns_without_prices_are_names_only(folder, capsys):
    facts = {"unit": "", "columns": [{"name": "amount", "cost": None, "stability": None}]}
    print_columns(facts)
    assert capsys.readouterr().out.split() == ["Columns", "in", "use:", "1.", "column", "amount"]
    facts["columns"][0]["cost"] = 3.0
    print_columns(facts)
    shown = capsys.readouterr().out
    assert "The cost is what a column adds to the cost of the other columns.\n" in shown


def test_explain(folder):
    model, table = folder / "small.boreod", folder / "new.csv"
    result = run("explain", model, table, "--top", 4)
    assert re.search(r"amount [\d,]+ is higher than [\d.]+ % of normal\s+rows", result.stdout)
    result = run("explain", model, table, "--top", 4, "--numbers")
    assert len(result.stdout.splitlines()) == 5
    assert "amount +" in result.stdout
    rows = json.loads(run("explain", model, table, "--top", 4, "--json").stdout)
    assert [row["outlier"] for row in rows] == [True] * 4
    again = run("explain", model, table, "--row", rows[2]["row"], "--case", rows[0]["ids"]["id"],
                "--json")  # fmt: skip
    assert {row["row"] for row in json.loads(again.stdout)} == {rows[2]["row"], rows[0]["row"]}
    assert "no row 999" in run("explain", model, table, "--row", 999, code=1).stderr
    assert "has the id 'x'" in run("explain", model, table, "--case", "x", code=1).stderr
    given = ("explain", model, table, "--id", "country,hour")
    countries = json.loads(run(*given, "--case", "DE", "--json").stdout)
    assert {row["ids"]["country"] for row in countries} == {"DE"}
    assert list(countries[0]["ids"]) == ["country", "hour"]


def test_what_is_true_of_many_columns_is_one_line(capsys):
    alike = [{"column": f"V{n}", "holds": "number", "done": "as it is", "outputs": 1}
             for n in range(1500)]  # fmt: skip
    odd = [{**alike[0], "column": f"W{n}", "done": f"{n} missing"} for n in range(60)]
    print_preparation(alike + odd)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == [
        "V0,",
        "V1",
        "...",
        "V1499",
        "(1,500",
        "columns,",
        "each)",
        "number",
        "as",
        "it",
        "is",
        "1",
    ]
    assert lines[-2:] == ["... and 21 more lines (--json lists all)", ""]
    assert len(lines) == 43
    print_preparation(alike[:5])
    assert len(capsys.readouterr().out.splitlines()) == 7
    columns = [{"name": f"V{n}", "cost": 4.69e-9, "stability": None} for n in range(40)]
    print_columns({"unit": "s", "columns": columns})
    assert capsys.readouterr().out.count("4.69ns") == 1
    print_notes([f"Column 'V{n}' is left out: all values are 0." for n in range(50)] + ["Odd."])
    notes = capsys.readouterr().err.splitlines()
    assert notes[0].startswith(
        "Note: Column 'V0' is left out: all values are 0. The same holds for 49"
    )
    assert notes[1:] == ["Note: Odd."]
    print_notes([f"Column 'V{n}' is {n}." for n in range(50)])
    assert capsys.readouterr().err.splitlines()[-1].startswith("Note: There are 30 more")


def test_cells_cannot_steer_the_terminal(folder, tmp_path):
    new = make_frauds(50, seed=1)
    names = pa.array([f"\x1b[2J[red]{number}" for number in range(50)])
    path = write(new.set_column(0, "id", names), tmp_path / "new.parquet")
    output = run("explain", folder / "small.boreod", path).stdout
    assert "\x1b" not in output
    assert "?[2J[red]" in output
