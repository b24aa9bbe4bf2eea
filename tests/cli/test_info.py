"""`boreod info` and `boreod explain` as a user types them."""

import json

import pyarrow as pa
from payments import make_frauds, write

from cli.runner import run


def test_info(fitted, folder):
    facts, path = fitted
    found = json.loads(run("info", path, "--json").stdout)
    assert found == facts
    text = run("info", path).stdout
    known = ("format 6", "AUC", "Label: fraud. Ids: id.", "of 15us", "alerts:30", "voucher")
    for words in (*known, "all values are 'EUR'", *(c["name"] for c in facts["columns"])):
        assert words in text


def test_explain(folder):
    model, table = folder / "small.boreod", folder / "new.csv"
    result = run("explain", model, table, "--top", 4)
    assert len(result.stdout.splitlines()) == 5
    assert "amount +" in result.stdout
    rows = json.loads(run("explain", model, table, "--top", 4, "--json").stdout)
    assert [row["outlier"] for row in rows] == [True] * 4
    again = run("explain", model, table, "--row", rows[2]["row"], "--id", rows[0]["ids"]["id"],
                "--json")  # fmt: skip
    assert {row["row"] for row in json.loads(again.stdout)} == {rows[2]["row"], rows[0]["row"]}
    assert "no row 999" in run("explain", model, table, "--row", 999, code=1).stderr
    assert "has the id 'x'" in run("explain", model, table, "--id", "x", code=1).stderr


def test_cells_cannot_steer_the_terminal(folder, tmp_path):
    new = make_frauds(50, seed=1)
    names = pa.array([f"\x1b[2J[red]{number}" for number in range(50)])
    path = write(new.set_column(0, "id", names), tmp_path / "new.parquet")
    output = run("explain", folder / "small.boreod", path).stdout
    assert "\x1b" not in output
    assert "?[2J[red]" in output
