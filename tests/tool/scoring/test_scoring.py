"""Rows unlike all training rows in scored tables: alerts, ranks, reasons, and all turned off."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from payments import make_frauds, small_model, write

from boreod import OutlierRepresentation, load
from boreod.predictor import assess, prepare
from boreod.tables import TableError, read_table
from boreod.tool import (
    explain_top,
    map_in_arrow,
    score_frame,
)
from boreod.tool.models import describe
from boreod.tool.scoring.judging import alert_threshold
from tool.scoring.payment_folders import score

PHONE = 4915112345678.0


@pytest.fixture(scope="module")
def odd(new):
    """Payments of which every twentieth has a phone number as its amount."""
    amounts = new["amount"].to_numpy().copy()
    amounts[::20] = PHONE
    place = new.column_names.index("amount")
    return new.set_column(place, "amount", pa.array(amounts))


def scored(model, table, folder, **options):
    write(table, folder / "new.parquet")
    summary = score(model, folder / "new.parquet", folder / "scored.parquet", **options)
    return summary, pq.read_table(folder / "scored.parquet")


def test_novel_rows_are_alerts_and_come_first(model, odd, tmp_path):
    summary, table = scored(model, odd, tmp_path, reasons=2)
    number = len(range(0, len(odd), 20))
    is_phone = np.arange(len(odd)) % 20 == 0
    assert summary.novel == number
    assert summary.outliers == table["outlier"].to_numpy().sum()
    assert table["outlier"].to_numpy()[is_phone].all()
    assert set(table["rank"].to_numpy()[is_phone]) <= set(range(1, number + 1))
    outside, reasons = table["outside"].to_pylist(), table["reason_1"].to_pylist()
    assert all(outside[place].startswith("amount ") for place in np.flatnonzero(is_phone))
    assert all(reasons[place].startswith("novel: ") for place in np.flatnonzero(is_phone))
    novelty = table["novelty"].to_numpy()
    assert novelty[is_phone].min() == novelty.max() < 1.0
    assert novelty.min() >= 0.0
    known = assess(model, prepare(model, odd)).novelty
    np.testing.assert_allclose(novelty, 1 - known.p_values)


def test_without_novelty(model, odd, tmp_path):
    summary, table = scored(model, odd, tmp_path, novelty=False, reasons=1)
    assert summary.novel is None
    assert table.column_names == ["id", "probability", "rank", "outlier", "reason_1"]
    chances = table["probability"].to_numpy()
    np.testing.assert_array_equal(table["outlier"].to_numpy(), chances > summary.threshold)
    assert not any(reason.startswith("novel") for reason in table["reason_1"].to_pylist())


def test_everywhere_the_same(model, odd, tmp_path):
    expected = scored(model, odd, tmp_path)[1]
    frame = pa.Table.from_pandas(score_frame(model, odd.to_pandas()), preserve_index=False)
    (tmp_path / "rows").mkdir()
    write(odd, tmp_path / "rows" / "a.parquet")
    score(model, tmp_path / "rows", tmp_path / "out")
    in_folder = pq.read_table(tmp_path / "out" / "a.parquet")
    in_spark = pa.Table.from_batches(list(map_in_arrow(model)(odd.to_batches())))
    for found in (frame, in_folder, in_spark):
        for name in ("outlier", "novelty", "outside"):
            assert found[name].to_pylist() == expected[name].to_pylist()
    assert in_folder["rank"].equals(expected["rank"])
    for batch in map_in_arrow(model, novelty=False)(odd.to_batches()):
        assert "novelty" not in batch.schema.names


def test_thresholds_count_both_kinds_of_alerts(odd, tmp_path):
    fitted = small_model(threshold="alerts:40")
    fitted.save(tmp_path / "a.boreod")
    loaded = load(tmp_path / "a.boreod")
    assert alert_threshold(loaded) == loaded.choose_threshold("alerts:40", novelty=True)
    assert alert_threshold(loaded, novelty=False) == loaded.threshold_
    assert alert_threshold(loaded, "fpr:0.1") == loaded.choose_threshold("fpr:0.1", novelty=True)


def test_raw_columns_only_tell_ranges(odd, tmp_path):
    model = small_model(budget=4)
    assert not model.fitted_.searches
    summary, table = scored(model, odd, tmp_path)
    assert summary.novel is None
    assert any("novel rows are not known" in note for note in summary.notes)
    assert table.column_names == ["id", "probability", "rank", "outlier", "outside"]
    assert table["outside"].to_pylist()[0].startswith("amount ")


def test_a_view_of_ranks_alone_tells_ranges(odd, tmp_path):
    """Ranks are bounded, so no row is far from all others in such a view."""
    model = small_model(representation=OutlierRepresentation(["knn_5"], views=["ranked"]))
    summary, table = scored(model, odd, tmp_path)
    assert summary.novel is None
    assert table.column_names == ["id", "probability", "rank", "outlier", "outside"]
    assert describe(model)["novelty"] is None


def test_explanations_name_novel_rows_first(model, odd):
    found = explain_top(model, odd.to_batches(), 5)
    assert all(item.novel.startswith("novel: ") and item.outlier for item in found)
    assert all(item.outside.startswith("amount ") for item in found)
    assert found[0].novelty == pytest.approx(1 - 1 / (np.sum(model.oob_.codes != 1) + 1))
    plain = explain_top(model, odd.to_batches(), 5, novelty=False)
    assert all(item.novel is item.outside is item.novelty is None for item in plain)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_values_that_cannot_be_squared_are_bad_cells(suffix, model, new, tmp_path):
    amounts = new["amount"].to_numpy().copy()
    amounts[122] = -1e151
    table = new.set_column(new.column_names.index("amount"), "amount", pa.array(amounts))
    path, output = write(table, tmp_path / f"new.{suffix}"), tmp_path / "scored.parquet"
    told = r"1 bad cell \('amount' 1; .*-1e\+?151.*Numbers beyond 1e\+150 are too large to compute"
    with pytest.warns(UserWarning, match=told):
        score(model, path, output, batch_rows=50)
    with pytest.warns(UserWarning, match=r"row 123: -1e\+151\) counts as missing\. Numbers beyond"):
        expected = model.predict_proba(table)[:, 1]
    assert pq.read_table(output)["probability"].to_pylist() == expected.tolist()
    with pytest.warns(UserWarning, match=r"1 row left out because of 1 bad cell .* too large"):
        score(model, path, output, reading={"bad_cells": "drop"})
    assert pq.read_table(output).num_rows == 209
    where = r"Line 124" if suffix == "csv" else "Row 123"
    with pytest.raises(TableError, match=rf"^{where}, column 'amount': .* is too large\..*1e\+150"):
        score(model, path, output, reading={"bad_cells": "error"})


@pytest.mark.parametrize("from_file", [False, True])
def test_values_that_cannot_be_squared_in_training(from_file, tmp_path):
    table = make_frauds(100)
    amounts = table["amount"].to_numpy().copy()
    amounts[5] = 1e200
    table = table.set_column(1, "amount", pa.array(amounts))
    path = write(table, tmp_path / "a.parquet")
    assert read_table(path)["amount"][5].as_py() == 1e200  # a reader keeps it
    with pytest.warns(UserWarning, match=r"row 6: 1e\+200\) counts as missing.*too large"):
        found = small_model(str(path) if from_file else table)
    assert "amount is missing" in found.preparation_.names_
    assert found.fitted_.seen.high.max() < 1e9


def test_whatever_the_threshold(model, odd, tmp_path):
    summary, table = scored(model, odd, tmp_path, threshold=1.0)
    assert summary.outliers == summary.novel == table["outlier"].to_numpy().sum() > 0
