"""The most suspicious rows and their reasons."""

import json

import numpy as np
import pytest

from boreod.tables import TableError
from boreod.tables.reading.blocks import ROWS
from boreod.tool import explain_rows, explain_top
from boreod.tool.scoring.judging import alert_threshold


def batches(table, rows):
    return table.to_batches(max_chunksize=rows)


@pytest.mark.parametrize("rows", [17, 1000])
def test_top_rows(rows, model, new):
    found = explain_top(model, batches(new, rows), 12)
    odds = model.decision_function(new)
    assert [item.row for item in found] == (np.argsort(-odds)[:12] + 1).tolist()
    assert [item.ids["id"] for item in found] == [f"p{item.row - 1:06d}" for item in found]
    chances = 1 / (1 + np.exp(-odds))
    for item in found:
        assert item.probability == pytest.approx(chances[item.row - 1], rel=1e-12)
        assert item.outlier == (item.probability > alert_threshold(model))
        sizes = [abs(value) for _, value in item.reasons]
        assert sizes == sorted(sizes, reverse=True)
        assert 1 <= len(sizes) <= 5
    assert any(reason[0] == "amount" for reason in found[0].reasons)


def test_single_rows(model, new):
    found = explain_rows(model, batches(new, 50), rows=[3, 150], cases=["p000120"], reasons=2)
    assert [item.row for item in found] == [3, 121, 150]
    assert all(len(item.reasons) <= 2 for item in found)
    top = {item.row: item for item in explain_top(model, batches(new, 50), 210, reasons=2)}
    for item in found:
        assert item.probability == pytest.approx(top[item.row].probability, rel=1e-12)


def test_plain_data(model, new):
    text = json.dumps([item.to_dict() for item in explain_top(model, batches(new, 50), 2)])
    first = json.loads(text)[0]
    assert set(first) == {
        "row",
        "ids",
        "probability",
        "outlier",
        "reasons",
        "words",
        "novelty",
        "novel",
        "outside",
    }
    assert set(first["reasons"][0]) == {"name", "contribution"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"rows": [3, 211]}, "rows 1 to 210; there is no row 211"),
        ({"cases": ["q", "p000001"]}, "No row of the table has the id 'q'"),
    ],
    ids=["number", "case"],
)
def test_rows_that_are_not_there(wanted, message, model, new):
    with pytest.raises(TableError, match=message):
        explain_rows(model, batches(new, 50), **wanted)


def test_rows_that_were_left_out(model, new):
    some = new.slice(0, 3).replace_schema_metadata({ROWS: np.array([1, 2, 4]).tobytes()})
    assert [found.row for found in explain_rows(model, batches(some, 3), rows=[4])] == [4]
    with pytest.raises(TableError, match="Row 3 is not there, or was left out"):
        explain_rows(model, batches(some, 3), rows=[3, 4])
    with pytest.raises(TableError, match="no rows to explain"):
        explain_top(model, [])
