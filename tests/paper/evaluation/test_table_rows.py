"""A comparison prepares the columns of a table within every split, from rows to learn from only."""

import numpy as np
import pyarrow as pa
import pytest

from boreod.paper.evaluation import Journal, Plan, TableRows, compare_methods
from boreod.paper.evaluation.splits import prepare_split, split_rows

RANDOM = np.random.default_rng(0)
SHOPS = RANDOM.integers(0, 40, 400)
CODES = (RANDOM.random(400) < 0.15).astype(int)
CODES[:20] = -1
TABLE = pa.table(
    {
        "shop": [f"shop {shop}" for shop in SHOPS],
        "x": pa.array(RANDOM.normal(size=400), mask=np.arange(400) == 7),
        "id": [f"i{n}" for n in range(400)],
    }
)
ROWS = TableRows(TABLE, {"ids": ("id",)})


@pytest.mark.parametrize("protocol", ["unseen", "transductive"])
def test_only_rows_to_learn_from_are_counted(protocol):
    split = split_rows(CODES, 0, protocol)
    fitted, judged = prepare_split(ROWS, split)
    assert (len(fitted), len(judged)) == (len(split.fitted), len(split.test))
    counts = np.bincount(SHOPS[split.fitted], minlength=40)[SHOPS[split.test]]
    counts -= protocol == "transductive"  # rows to learn from do not count themselves
    np.testing.assert_allclose(judged[:, 0], np.log10(np.maximum(counts, 1) / len(split.fitted)))


def test_tables_are_compared_as_arrays_are():
    numbers = pa.table({"a": RANDOM.normal(size=400), "b": RANDOM.normal(size=400)})
    matrix = np.column_stack([numbers["a"], numbers["b"]])
    plan = Plan(["be"], [], repetitions=2)
    found = compare_methods(TableRows(numbers), CODES, plan, n_jobs=1)
    expected = compare_methods(matrix, CODES, plan, n_jobs=1)
    assert [run["auc"] for run in found.runs] == [run["auc"] for run in expected.runs]


def test_other_rows_or_options_are_other_runs(tmp_path):
    journal = Journal(tmp_path / "runs.jsonl")
    for rows in (ROWS, ROWS, TableRows(TABLE, {"ids": ("id",), "drop": ("shop",)})):
        plan = Plan(["be"], [], repetitions=1)
        compare_methods(rows, CODES, plan, n_jobs=1, journal=journal)
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 2
