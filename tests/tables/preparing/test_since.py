"""The time since the last row of an id: batches, sorted tables, what is stored and refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from boreod import BORE, Detector, OutlierRepresentation, load
from boreod.tables import Preparation, TableError, open_table, read_table, write_batches
from boreod.tool import ScoreOptions, explain_rows, map_in_arrow, score_frame, score_table

RANDOM = np.random.default_rng(0)
ROWS = 200
CARDS = [None if number == 7 else f"card {number}" for number in RANDOM.integers(0, 25, ROWS)]
HOURS = np.sort(RANDOM.integers(0, 500, ROWS))
WHEN = pd.Timestamp("2024-01-01") + pd.to_timedelta(HOURS, "h")
TABLE = pa.table(
    {
        "card": pa.array(CARDS, pa.string()),
        "when": pa.array(WHEN),
        "amount": RANDOM.normal(size=ROWS),
        "fraud": np.arange(ROWS) % 9 == 4,
    }
)
NAME = "time since last card"


def expected():
    last, result = {}, []
    for card, hour in zip(CARDS, HOURS, strict=True):
        result.append(hour - last[card] if card in last else None)
        if card is not None:
            last[card] = hour
    return result


@pytest.mark.parametrize("since", ["card", "card:when", ["card:when"]])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_batches_of_any_size_give_the_same(tmp_path, name, since):
    write_batches(tmp_path / name, TABLE.to_batches())
    for rows in (7, 64, 1000):
        with open_table(tmp_path / name, since=since, batch_rows=rows) as reader:
            assert reader.read_all()[NAME].to_pylist() == expected()


def test_numbers_have_their_own_unit(tmp_path):
    table = TABLE.set_column(1, "when", pa.array(HOURS * 2.0))
    write_batches(tmp_path / "t.parquet", table.to_batches())
    found = read_table(tmp_path / "t.parquet", since="card:when")[NAME].to_pylist()
    assert found == [None if hours is None else 2.0 * hours for hours in expected()]


@pytest.mark.parametrize(
    ("table", "since", "words"),
    [
        (TABLE.take(list(range(ROWS))[::-1]), "card", "sorted by 'when'; row "),
        (TABLE, "crad", "Did you mean 'card'?"),
        (TABLE, "card:wen", "Did you mean 'when'?"),
        (TABLE, "when:card", "holds words"),
        (TABLE.drop_columns("when"), "card", "none of its columns holds dates"),
        (TABLE.append_column("day", TABLE["when"]), "card", "card:COLUMN"),
    ],
)
def test_what_is_refused(tmp_path, table, since, words):
    write_batches(tmp_path / "t.csv", table.to_batches())
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "t.csv", since=since)


def test_it_is_stored_and_needs_whole_tables(tmp_path):
    write_batches(tmp_path / "t.csv", TABLE.to_batches())
    table = read_table(tmp_path / "t.csv", since="card")
    prepared = Preparation().fit(table, label="fraud")
    assert NAME in prepared.names_
    assert {"card", "when"} <= set(prepared.inputs_)
    assert NAME not in prepared.inputs_
    again = Preparation.from_dict(prepared.to_dict())
    whole = again.transform(TABLE)
    assert whole.tobytes() == prepared.transform(table).tobytes()
    for part in (TABLE.slice(0, 1), TABLE.to_batches()[0]):
        with pytest.raises(TableError, match="a single row or a part of a table"):
            again.transform(part)
    damaged = prepared.to_dict()
    damaged["since"][0]["form"] = "eval"
    with pytest.raises(TableError, match="damaged"):
        Preparation.from_dict(damaged)


@pytest.fixture(scope="module")
def model():
    few = {"representation": OutlierRepresentation(["knn"], [5]), "random_state": 0}
    parameters = {**BORE().get_params(deep=False), **few, "n_estimators": 20}
    return Detector(**parameters).fit(TABLE.to_pandas(), label="fraud", reading={"since": "card"})


def test_files_are_scored_as_they_are_read(tmp_path, model):
    model.save(tmp_path / "m.boreod")
    write_batches(tmp_path / "t.csv", TABLE.to_batches())
    loaded = load(tmp_path / "m.boreod")
    in_batches = ScoreOptions(batch_rows=64)
    score_table(loaded, tmp_path / "t.csv", tmp_path / "out.parquet", in_batches)
    scores = read_table(tmp_path / "out.parquet")["probability"].to_numpy()
    np.testing.assert_allclose(scores, model.predict_proba(TABLE.to_pandas())[:, 1])
    np.testing.assert_allclose(scores, score_frame(model, TABLE.to_pandas())["probability"])
    with open_table(tmp_path / "t.csv", since=loaded.preparation_.since_, batch_rows=64) as reader:
        (row,) = explain_rows(loaded, reader, rows=[150])
    assert row.probability == pytest.approx(scores[149])


def test_rows_in_parts_are_refused(tmp_path, model):
    write_batches(tmp_path / "t.parquet", TABLE.to_batches())
    with pytest.raises(TableError, match="not in chunks"):
        score_table(model, tmp_path / "t.parquet", tmp_path / "out")
    with pytest.raises(TableError, match="a single row or a part of a table"):
        list(map_in_arrow(model)(TABLE.to_batches()))
    with pytest.raises(TableError, match="a single row or a part of a table"):
        model.predict(TABLE.to_pandas()[:1])
    with pytest.raises(TableError, match="a single row or a part of a table"):
        score_frame(model, TABLE.to_pandas()[:1])
    frames = pytest.importorskip("dask.dataframe")
    parts = frames.from_pandas(TABLE.to_pandas()[["amount", "fraud"]], npartitions=2)
    with pytest.raises(TypeError, match="in parts"):
        model.predict(parts)
    with pytest.raises(TableError, match="in parts"):
        Detector().fit(parts, label="fraud", reading={"since": "amount"})
