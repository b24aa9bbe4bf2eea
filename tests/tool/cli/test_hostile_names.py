"""Names of columns, ids, levels and files are text, whatever they look like."""

import csv
import re

import numpy as np
import pyarrow as pa
import pytest
from payments import write

from tool.cli.runner import run

NAMES = [
    "amount_$_net_$",
    "a_{b}^$",
    "[red]x[/red]",
    "<script>alert(1)</script>",
    "=cmd|'/c calc'!A1",
    "line\nbreak",
    "\x1b[31mred",
    "naïve 价格 ü",
    '"quoted", comma',
    "../../etc/passwd",
    " ",
    "long" * 1250,
    "[/]",
    "\t@x;=cmd",
    "nul\0name",
]
LABEL = "fraud <b>$_$</b>"
IDS = "=id\n[x]$"
TIME = "when \x1b[1m$_$"
FORMULA = re.compile(r"(^|; )\s*[-=+@\t\r]")


def make_table(names):
    random = np.random.default_rng(0)
    outliers = np.arange(300) % 15 == 0
    columns = {}
    for place, name in enumerate(names):
        if place % 4 == 3:
            columns[name] = np.where(random.random(300) < 0.1 + 0.4 * outliers, "=1+1", "<b>$a$[/]")
        else:
            times = 12.0 if place in (0, 1, 4) else 3.0
            columns[name] = random.lognormal(2, 1, 300) * np.where(outliers, times, 1.0)
    hours = np.datetime64("2024-01-01", "s") + 3600 * np.arange(300)
    ids = [f"=A{number}" for number in range(300)]
    return pa.table(columns | {TIME: hours, IDS: ids, LABEL: outliers.astype(int).astype(str)})


def shown(result):
    """Return what a command printed; no character in it may control the terminal."""
    text = result.stdout + result.stderr
    assert [letter for letter in text if not letter.isprintable() and letter != "\n"] == []
    assert "unforeseen" not in text
    assert "overflow" not in text
    return text


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_names_of_columns_are_text_everywhere(suffix, tmp_path):
    # CSV cannot hold a zero byte, and calls a blank name by its place.
    unfit = {"nul\0name", " "} if suffix == "csv" else set()
    names = [name for name in NAMES if name not in unfit]
    table, model = tmp_path / f"t.{suffix}", tmp_path / "m.boreod"
    write(make_table(names), table)
    printed = shown(run("fit", table, "--label", LABEL, "--id", IDS, "-o", model))
    assert "amount_$_net_$" in printed
    assert "[red]x[/red]" in printed
    assert "long" * 30 not in printed.replace("\n", "").replace(" ", "")
    shown(run("info", model))
    for options in ([], ["--numbers"]):
        scores = tmp_path / "scores.csv"
        shown(run("score", model, table, "-o", scores, "--reasons", 9, *options))
        with scores.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        told = [row[key] for row in rows for key in row if key.startswith(("reason", "outside"))]
        assert [text for text in told if FORMULA.search(text)] == []
        assert any(text.startswith("column =cmd|") for text in told)
        assert any(text.startswith("amount_$_net_$ ") for text in told)
        assert [row[IDS] for row in rows[:2]] == ["=A0", "=A1"]
    assert "amount_$_net_$" in shown(run("explain", model, table, "--top", 9))
    shown(run("check", model, table))
    shown(run("compare", model, model, table))
    page = tmp_path / "page.html"
    shown(run("report", model, table, "-o", page, "--time", TIME))
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "<b>$" not in html
    assert {letter for letter in html if not letter.isprintable()} <= {"\n", "\xa0"}
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", html)
    assert {"amount_$_net_$", "a_{b}^$", "=cmd|'/c calc'!A1"} <= set(drawn)


@pytest.mark.parametrize("odd", ["a\nb", "[red]x[]", "$_$", "\x1b[31m", "a*[b]?", "-x", "价格 ü"])
def test_names_of_files_are_text_everywhere(odd, tmp_path):
    paths = [tmp_path / f"{odd}{number}.parquet" for number in (1, 2)]
    half = make_table(NAMES[:3]).slice(0, 150)
    for path in paths:
        write(half, path)
    model, page, scores = (tmp_path / f"{odd}.{end}" for end in ("boreod", "html", "csv"))
    shown(run("fit", *paths, "--label", LABEL, "--id", IDS, "-o", model))
    shown(run("info", model))
    shown(run("score", model, *paths, "-o", scores))
    shown(run("score", model, paths[0], "-o", scores))
    shown(run("report", model, *paths, "-o", page, "--previous", model))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        path.name for path in (*paths, model, page, scores)
    )


def test_several_files_have_no_folder_of_scores(folder, tmp_path):
    table = folder / "new.parquet"
    result = run("score", folder / "small.boreod", table, table, "-o", tmp_path / "scores/", code=1)
    assert "and not 2 names" in result.stderr
