"""``boreod report`` as a user types it."""

import json

import pyarrow.csv
import pytest
from payments import make_frauds
from typer.testing import CliRunner

from boreod import ColumnSelection
from boreod.tool import fit_table
from boreod.tool.cli import app

from .conftest import small_model
from .reading import Page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    table = make_frauds(200)
    pyarrow.csv.write_csv(table, folder / "payments.csv")
    pyarrow.csv.write_csv(make_frauds(100, seed=9), folder / "new.csv")
    pyarrow.csv.write_csv(table.drop_columns(["fraud"]), folder / "blind.csv")
    parameters = small_model(selection=ColumnSelection(costs="complexity:shared")).get_params(
        deep=False
    )
    asked = {"label": "fraud", "ids": ["id"], "curve": True, "method": "bore"}
    model = fit_table(folder / "payments.csv", **asked, **parameters)
    model.save(folder / "fraud.boreod")
    return folder


def run(folder, *arguments):
    return CliRunner().invoke(app, ["report", *(a.format(folder) for a in arguments)])


def test_a_report_of_the_training_table(folder):
    result = run(folder, "{}/fraud.boreod", "{}/payments.csv", "-o", "{}/report.html", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Report: {folder / 'report.html'} (")
    page = Page((folder / "report.html").read_text())
    assert "judged by out-of-bag probabilities" in page.text
    assert page.table(["id", "label"])[0][0].startswith("p")
    assert "The best AUC on the curve" in page.text
    assert [p for p in folder.iterdir() if p.name.endswith(".part")] == []


def test_a_report_of_new_rows(folder):
    result = run(
        folder, "{}/fraud.boreod", "{}/new.csv", "-o", "{}/new.html", "--rows-per-day", "500",
        "--title", "Monday", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    size = (folder / "new.html").stat().st_size
    assert json.loads(result.stdout) == {"file": str(folder / "new.html"), "bytes": size}
    page = Page((folder / "new.html").read_text())
    assert "The model has learned from none of these rows" in page.text
    assert "a day with 500 rows" in page.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/fraud.boreod", "{}/blind.csv"], "has no column 'fraud' of labels"),
        (["{}/fraud.boreod", "{}/nothing.csv"], "There is no file"),
        (["{}/nothing.boreod", "{}/payments.csv"], "nothing.boreod"),
        (["{}/fraud.boreod", "{}/payments.csv", "--outlier-label", "x"], "has the value 'x'"),
        (["{}/fraud.boreod", "{}/payments.csv", "--rows-per-day", "-1"], "above 0"),
        (["{}/fraud.boreod", "{}/payments.csv", "-o", "{}/payments.csv"], "is being read"),
        (["{}/fraud.boreod", "{}/payments.csv", "-o", "{}/no/page.html"], "There is no folder"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(folder, arguments, message):
    output = [] if "-o" in arguments else ["-o", "{}/failed.html"]
    result = run(folder, *arguments, *output)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.strip().count("\n") == 0
    assert not (folder / "failed.html").exists()
