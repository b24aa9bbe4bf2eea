"""Messy tables come out as they should: amounts, labels and notes, or one sentence."""

import re
import warnings

import numpy as np
import pytest

from boreod.tables import Preparation, TableError, read_label_column, read_table
from boreod.tables.preparing.labels import LabelSource
from boreod.tables.training import Roles, reading_options
from messy.tables import CASES


def come_out(case, folder):
    """Read a table as ``boreod fit`` does; return its prepared rows, labels and notes."""
    reading = dict(case.reading)
    if "labels" in reading:
        outlier, inlier = reading["labels"]
        source = LabelSource("fraud", outlier_label=outlier, inlier_label=inlier)
        reading["labels"] = source
    reading = reading_options(Roles("fraud", ["id"], **case.roles), reading)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(case.write(folder), **reading)
        codes = read_label_column(table["fraud"], case.outlier_label, name="fraud", assume=True)
        prepared = Preparation()
        keep = case.roles.get("keep")
        decimal = reading.get("decimal")
        rows = prepared.fit_transform(
            table, codes, label="fraud", ids=["id"], keep=keep, decimal=decimal
        )
    return prepared, rows, codes, [*map(str, (w.message for w in caught)), *prepared.notes_]


def each_of(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@each_of([case for case in CASES if case.error is not None])
def test_messy_table_is_refused(case, tmp_path):
    with pytest.raises(TableError) as caught:
        come_out(case, tmp_path)
    assert re.search(case.error, str(caught.value))


GOOD = [case for case in CASES if case.error is None]


@each_of(GOOD)
def test_messy_table(case, tmp_path):
    prepared, rows, codes, _ = come_out(case, tmp_path)
    column = prepared.names_.index("amount")
    is_missing = np.isnan(case.amounts)
    np.testing.assert_allclose(rows[~is_missing, column], case.amounts[~is_missing], rtol=1e-12)
    marks = rows[:, np.array(prepared.names_) == "amount is missing"]
    assert marks.shape[1] == is_missing.any()
    assert marks.sum(axis=1).tolist() == is_missing.tolist()
    assert codes.tolist() == case.codes.tolist()
    assert set(case.outputs) <= set(prepared.names_)
    assert np.isfinite(rows).all()


@each_of([case for case in GOOD if case.like is not None])
def test_how_amounts_are_written_is_told(case, tmp_path):
    prepared, *_ = come_out(case, tmp_path)
    (done,) = [row.done for row in prepared.summary_ if row.column == "amount"]
    assert f"written like {case.like}" in done


@each_of([case for case in GOOD if case.note is not None])
def test_notes_of_messy_tables(case, tmp_path):
    *_, notes = come_out(case, tmp_path)
    assert [note for note in notes if re.search(case.note, note)]


@each_of([case for case in GOOD if case.note is None])
def test_no_cell_of_these_tables_is_bad(case, tmp_path):
    *_, notes = come_out(case, tmp_path)
    assert [note for note in notes if "bad cell" in note] == []


def test_there_are_enough():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
