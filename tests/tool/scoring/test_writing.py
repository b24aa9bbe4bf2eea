"""Files of scores: the same whatever the format, the batches and the way."""

import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from payments import SUFFIXES, write
from scipy.stats import rankdata

from boreod.predictor import assess, prepare
from boreod.tables import TableError, open_table, read_table
from boreod.tool import map_in_arrow, score_frame
from boreod.tool.scoring import parts
from boreod.tool.scoring import scoring as scoring_module
from boreod.tool.scoring.parts import count_batches
from tool.scoring.payment_folders import score


def scored(model, source, folder, **options):
    summary = score(model, source, folder / "scored.parquet", **options)
    return summary, pq.read_table(folder / "scored.parquet")


@pytest.fixture
def path(new, tmp_path):
    return write(new, tmp_path / "new.parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_in(suffix, model, new, tmp_path):
    source = write(new, tmp_path / f"new.{suffix}")
    summary, table = scored(model, source, tmp_path, reasons=2)
    odds = model.decision_function(new)
    assert_allclose(table["probability"].to_numpy(), 1 / (1 + np.exp(-odds)), rtol=1e-12)
    assert table["id"].to_pylist() == new["id"].to_pylist()
    assert_array_equal(table["rank"].to_numpy(), rankdata(-odds, "min"))
    decisions = model.predict(new) == 1
    assert_array_equal(table["outlier"].to_numpy(), decisions)
    assert (summary.rows, summary.written, summary.outliers) == (210, 210, decisions.sum())
    assert sorted(os.listdir(tmp_path)) == sorted([source.name, "scored.parquet"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_out(suffix, model, new, path, tmp_path):
    score(model, path, tmp_path / f"scored.{suffix}", reasons=1)
    table = read_table(tmp_path / f"scored.{suffix}")
    names = ["id", "probability", "rank", "outlier", "novelty", "outside", "reason_1"]
    assert table.column_names == names
    expected = scored(model, path, tmp_path)[1]["probability"].to_numpy()
    assert_allclose(table["probability"].to_numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_small_batches(rows, model, new, path, tmp_path):
    few = write(new.slice(0, 60), tmp_path / "few.parquet")
    summary, at_once = scored(model, few, tmp_path, reasons=3)
    again, in_batches = scored(model, few, tmp_path, reasons=3, batch_rows=rows)
    assert summary == again
    assert_allclose(in_batches["probability"], at_once["probability"], rtol=1e-12)
    names = [name for name in at_once.column_names if name != "probability"]
    assert in_batches.select(names).equals(at_once.select(names))


def test_the_most_suspicious_rows(model, path, tmp_path):
    whole = scored(model, path, tmp_path)[1]
    summary, table = scored(model, path, tmp_path, top=10, batch_rows=33)
    assert (summary.rows, summary.written) == (210, 10)
    assert table["rank"].to_pylist() == list(range(1, 11))
    order = np.argsort(whole["rank"].to_numpy())[:10]
    assert table["id"].to_pylist() == whole.take(order)["id"].to_pylist()
    assert scored(model, path, tmp_path, top=1000)[1].num_rows == 210


def test_copies_share_a_rank(model, new, tmp_path):
    twice = write(pa.concat_tables([new, new]), tmp_path / "new.parquet")
    table = scored(model, twice, tmp_path, batch_rows=50)[1]
    ranks = table["rank"].to_numpy()
    assert_array_equal(ranks[:210], ranks[210:])
    assert ranks.min() == 1
    top = scored(model, twice, tmp_path, top=3)[1]
    assert top["rank"].to_pylist() == [1, 1, 3]


@pytest.mark.parametrize(
    "options",
    [{"carry": ()}, {"carry": ("hour", "country")}, {"all_columns": True}],
    ids=["row numbers", "some", "all"],
)
def test_what_is_carried_through(options, model, new, path, tmp_path):
    table = scored(model, path, tmp_path, batch_rows=40, **options)[1]
    numbered = new.append_column("row", pa.array(range(1, 211)))
    carried = options.get("carry", new.column_names) or ["row"]
    added = ["probability", "rank", "outlier", "novelty", "outside"]
    assert table.column_names == [*carried, *added]
    for name in carried:
        assert table[name].to_pylist() == numbered[name].to_pylist()


def test_ids_of_text_come_out_as_they_went_in(model, new, tmp_path):
    codes = pa.array([f"{number:04}" for number in range(new.num_rows)])
    source = write(new.set_column(0, "id", codes), tmp_path / "new.csv")
    score(model, source, tmp_path / "scored.csv")
    lines = (tmp_path / "scored.csv").read_text().splitlines()
    assert lines[8].startswith('"0007",')


def test_a_label_is_not_needed(model, new, tmp_path):
    bare = new.drop_columns(["fraud", "currency"])
    source = write(bare, tmp_path / "bare.csv")
    assert scored(model, source, tmp_path)[0].rows == 210
    odd = bare.append_column("fraud", pa.array(["who knows"] * 210))
    assert scored(model, write(odd, tmp_path / "odd.csv"), tmp_path)[0].rows == 210


@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.0])
def test_thresholds(threshold, model, path, tmp_path):
    summary, table = scored(model, path, tmp_path, threshold=threshold)
    assert summary.outliers == (table["probability"].to_numpy() > threshold).sum()


def test_rates_of_alerts(model, path, tmp_path):
    summary, _ = scored(model, path, tmp_path, threshold="alerts:20/300")
    assert summary.threshold == model.choose_threshold("alerts:20/300", novelty=True)


@pytest.mark.parametrize("number", [1, 20, 209, 210, 1000])
def test_alerts_are_so_many_rows_of_this_table(number, model, path, tmp_path):
    summary, table = scored(model, path, tmp_path, threshold=f"alerts:{number}")
    alerts = table["outlier"].to_numpy()
    assert summary.outliers == alerts.sum() == min(number, 210)
    assert summary.asked == number
    assert table["rank"].to_numpy()[alerts].max() <= number


def test_of_equal_rows_the_first_are_alerts(model, new, tmp_path):
    path = write(pa.concat_tables([new.slice(0, 1)] * 7), tmp_path / "same.parquet")
    summary = score(model, path, tmp_path / "a.parquet", threshold="alerts:3", batch_rows=2)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["outlier"].to_pylist() == [True] * 3 + [False] * 4
    assert any("7 rows with the same score" in note for note in summary.notes)
    frame = score_frame(model, pq.read_table(path), threshold="alerts:3")
    assert frame["outlier"].to_pylist() == table["outlier"].to_pylist()
    with pytest.raises(TableError, match="'alerts:3/5000'"):
        map_in_arrow(model, threshold="alerts:3")


REFUSED = {
    "input": ({"output": "new.parquet"}, "being read"),
    "folder": ({"output": "nowhere/a.csv"}, "no folder"),
    "format": ({"output": "a.xlsx"}, "does not tell in which format"),
    "no such id": ({"carry": ("it",)}, "no column 'it'"),
    "threshold": ({"threshold": "often"}, "`threshold` must be"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, model, path, tmp_path):
    options, message = REFUSED[name]
    output = tmp_path / options.get("output", "a.csv")
    rest = {key: value for key, value in options.items() if key != "output"}
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        score(model, path, output, **rest)
    assert os.listdir(tmp_path) == ["new.parquet"]
    assert path.read_bytes() == before


def test_columns_called_like_results(model, new, tmp_path):
    source = write(new.append_column("rank", new["amount"]), tmp_path / "new.parquet")
    with pytest.raises(TableError, match="called like results: 'rank'"):
        score(model, source, tmp_path / "a.csv", all_columns=True)
    assert score(model, source, tmp_path / "a.csv").rows == 210


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("place", ["score", "temporary file", "write"])
def test_what_goes_wrong_leaves_nothing(place, failure, model, path, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b"before")
    calls = []

    def fail_later(*_, **__):
        calls.append(1)
        if len(calls) > 2:
            raise failure
        return original(*_, **__)

    class Failing(io.BytesIO):
        def write(self, content):
            return fail_later(self, content)

    original = {
        "score": scoring_module.assess,
        "temporary file": io.BytesIO.write,
        "write": scoring_module.ranked_schema,
    }[place]
    owner, method, changed = {
        "score": (scoring_module, "assess", fail_later),
        "temporary file": (parts.tempfile, "TemporaryFile", lambda **_: Failing()),
        "write": (scoring_module, "ranked_schema", fail_later),
    }[place]
    monkeypatch.setattr(owner, method, changed)
    with pytest.raises((KeyboardInterrupt, TableError, OSError)) as caught:
        score(model, path, tmp_path / "a.csv", batch_rows=50)
    assert len(calls) >= 3
    assert isinstance(caught.value, KeyboardInterrupt) == (failure is KeyboardInterrupt)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "new.parquet"]
    assert (tmp_path / "a.csv").read_bytes() == b"before"


def test_a_full_disk_of_the_temporary_file(model, path, tmp_path, monkeypatch):
    class Full:
        def __init__(self, **_):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts.tempfile, "TemporaryFile", Full)
    with pytest.raises(TableError, match=r"temporary file of scores .*the disk is full"):
        score(model, path, tmp_path / "a.csv")
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_batches_for_python(model, new, path):
    in_arrow = map_in_arrow(model, reasons=1, threshold=0.1)
    with open_table(path, batch_rows=64) as reader:
        batches = list(in_arrow(reader))
    table = pa.Table.from_batches(batches)
    assert table.column_names == ["id", "probability", "outlier", "novelty", "outside", "reason_1"]
    assert len(batches) == 4
    odds = model.decision_function(new)
    assert_allclose(table["probability"].to_numpy(), 1 / (1 + np.exp(-odds)), rtol=1e-12)


def test_reasons_add_up(model, new, path, tmp_path):
    table = scored(model, path, tmp_path, reasons=30, numbers=True)[1]
    explanation = assess(model, prepare(model, new), explain=True).explanation
    first = [table[f"reason_{number}"][0].as_py() for number in range(1, 31)]
    texts = [text for text in first if text is not None]
    assert len(texts) <= len(explanation.columns) < 30
    total = sum(float(text.rpartition(" ")[2]) for text in texts)
    assert total == pytest.approx(explanation.log_odds[0] - explanation.base, abs=0.05 * 30)
    names = {text.rpartition(" ")[0] for text in texts}
    assert {"amount", "lof"} & names
    assert names <= set(explanation.columns)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("a.parquet", (5,)),
        ("a.csv", (4, 5)),
        ("a.arrow", (None,)),
        ("a.csv.gz", (None,)),
    ],
)
def test_row_counts(name, counts, new, tmp_path):
    assert count_batches(str(write(new, tmp_path / name)), None, 50) in counts


def test_row_counts_that_are_unknown(tmp_path):
    assert count_batches("-", None, 50) is None
    (tmp_path / "b.parquet").write_bytes(b"no")
    assert count_batches(str(tmp_path / "b.parquet"), None, 50) is None
