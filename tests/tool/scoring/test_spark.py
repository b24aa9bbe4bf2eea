"""A function for Spark: with plain iterators, in another process, and in Spark where it is."""

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from payments import small_model

from boreod import Bagging, Heads, OutlierRepresentation, load
from boreod.ensemble.members import KINDS
from boreod.tables import TableError
from boreod.tool import map_in_arrow, score_frame


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "fraud.boreod"
    small_model().save(path)
    return path


def as_table(batches):
    return pa.Table.from_batches(list(batches))


@pytest.mark.parametrize("kind", ["path", "model", "fitted"])
def test_batches_in_and_out(kind, path, new):
    given = {"path": path, "model": load(path), "fitted": small_model()}[kind]
    score = map_in_arrow(given, reasons=1, threshold=0.2)
    whole = new.combine_chunks().to_batches()[0]
    found = as_table(score(iter([whole.slice(0, 0), whole.slice(0, 110), whole.slice(110)])))
    options = {"reasons": 1, "threshold": 0.2}
    expected = score_frame(load(path), new, **options).drop("rank")
    assert found.column_names == ["id", "probability", "outlier", "novelty", "outside", "reason_1"]
    assert found.schema.equals(score.schema(new.schema))
    assert_allclose(found["probability"], expected["probability"], rtol=1e-12)
    assert found.drop("probability").equals(expected.drop("probability"))
    assert list(score(iter([]))) == []


def test_trees_travel(new, tmp_path):
    """A fitted detector of all heads, one from a file, and one that was pickled."""
    options = {
        "heads": Heads(kinds=KINDS, n_trees=2),
        "scaling": "both",
        "bagging": Bagging(inliers="assumed"),
    }
    grid = OutlierRepresentation(["knn_5", "iforest"])
    model = small_model(representation=grid, selection=None, **options)
    model.save(tmp_path / "trees.boreod")
    expected = score_frame(model, new, reasons=2).drop("rank")
    pickled = pickle.loads(pickle.dumps(map_in_arrow(model, reasons=2)))
    for score in (map_in_arrow(tmp_path / "trees.boreod", reasons=2), pickled):
        found = as_table(score(new.to_batches()))
        assert_allclose(found["probability"], expected["probability"], rtol=1e-12)
        assert found.drop("probability").equals(expected.drop("probability"))


ELSEWHERE = """
import pickle, sys
scores, batch = pickle.loads(sys.stdin.buffer.read())
found = [next(score([batch])) for score in scores for _ in range(2)]
sys.stdout.buffer.write(pickle.dumps(found))
"""


def test_in_another_process(path, new):
    """The model travels: nobody there reads its file."""
    cloudpickle = pytest.importorskip("cloudpickle")
    copy = path.with_name("gone.boreod")
    copy.write_bytes(path.read_bytes())
    scores = [map_in_arrow(given, carry=["hour"]) for given in (copy, small_model())]
    copy.unlink()
    batch = new.to_batches()[0]
    content = cloudpickle.dumps((scores, batch))
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, input=content, capture_output=True, check=True)
    found = pickle.loads(done.stdout)
    expected = next(scores[0]([batch]))
    assert expected.schema.names == ["hour", "probability", "outlier", "novelty", "outside"]
    assert len(found) == 4
    for scored in found:
        assert_allclose(scored.column("probability"), expected.column("probability"), rtol=1e-12)


def test_no_model_file(tmp_path):
    with pytest.raises(OSError, match="no such file"):
        map_in_arrow(tmp_path / "none.boreod")


def test_without_ids_all_columns_come_through(new):
    score = map_in_arrow(small_model(ids=(), drop=["id"]))
    names = [*new.column_names, "probability", "outlier", "novelty", "outside"]
    assert as_table(score(new.to_batches())).column_names == names
    assert score.schema(new.schema).names == names


def test_tables_that_do_not_fit(path, new):
    score = map_in_arrow(path)
    for call in (lambda t: list(score(t.to_batches())), lambda t: score.schema(t.schema)):
        with pytest.raises(TableError, match="The table has no column 'amount'"):
            call(new.drop("amount"))
        with pytest.raises(TableError, match="The table has no column 'id'"):
            call(new.drop("id"))
    with pytest.raises(TableError, match="called like results"):
        map_in_arrow(path, carry=["rank"]).schema(new.append_column("rank", new["hour"]).schema)


@pytest.fixture(scope="module")
def session():
    """A Spark session of this machine."""
    sql = pytest.importorskip("pyspark.sql")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "40",
    }
    builder = sql.SparkSession.builder.master("local[1]").appName("boreod")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers have what this process has
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_path", [True, False])
def test_spark(by_path, session, path, new, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(new, tmp_path / "new.parquet")
    frame = session.read.parquet(str(tmp_path / "new.parquet")).repartition(3)
    score = map_in_arrow(path if by_path else load(path), reasons=2)
    schema = score.schema(frame.schema)
    assert schema.simpleString() == (
        "struct<id:string,probability:double,outlier:boolean,novelty:double,outside:string,reason_1:string,reason_2:string>"
    )
    rows = {row["id"]: row.asDict() for row in frame.mapInArrow(score, schema).collect()}
    expected = as_table(score(new.to_batches())).to_pylist()
    assert len(rows) == len(expected) == 210
    for row in expected:
        found = rows[row["id"]]
        assert found.pop("probability") == pytest.approx(row.pop("probability"), rel=1e-12)
        assert found == row
