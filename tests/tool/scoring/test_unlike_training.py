"""Files with a fault in a whole column: what ranks their rows, says so, and repairs it."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from payments import write
from sklearn.metrics import average_precision_score

from boreod import Detector, Heads, load
from boreod.parallel import dask
from boreod.tables import TableError, read_table
from boreod.tables.arrow import MissingColumnsError
from boreod.tool import (
    UnlikeTrainingError,
    check_table,
    explain_top,
    map_in_arrow,
    score_frame,
    score_table,
)
from boreod.tool.scoring.judging import MAX_NOVEL, MIN_ROWS, is_unlike_training

from .payment_folders import joined, make_folder, score


def patients(rows, seed):
    """Return patients; a few of them are ill: light, warm and expensive."""
    random = np.random.default_rng(seed)
    ill = random.random(rows) < 0.05
    return pa.table(
        {
            "id": [f"p{number}" for number in range(rows)],
            "weight": random.normal(70.0, 9.0, rows) - 14.0 * ill,
            "height": random.normal(172.0, 8.0, rows),
            "temperature": random.normal(97.9, 0.7, rows) + 1.6 * ill,
            "amount": random.lognormal(3.0 + 1.2 * ill, 0.8, rows),
            "ward": random.choice(["A", "B"], rows),
            "ill": ill.astype(int),
        }
    )


def change(table, **columns):
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


FAULTS = {  # what happened to the file, how it is repaired, and what check finds
    "grams": (lambda t: change(t, weight=1000 * t["weight"].to_numpy()),
              {"scale": {"weight": 0.001}}, "unit"),
    "cents": (lambda t: change(t, amount=100 * t["amount"].to_numpy()),
              {"scale": {"amount": 0.01}}, "unit"),
    "celsius": (lambda t: change(t, temperature=(t["temperature"].to_numpy() - 32) / 1.8),
                None, "shift"),
    "swapped": (lambda t: change(t, weight=t["height"], height=t["weight"]),
                {"rename": {"weight": "height", "height": "weight"}}, "shift"),
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("patients") / "ill.boreod"
    options = {"n_estimators": 20, "heads": Heads(kinds=["logistic"]), "random_state": 0}
    Detector(**options).fit(patients(600, 0), label="ill", ids="id").save(path)
    return load(path)


@pytest.fixture(scope="module")
def later():
    return patients(400, 1)


def quality(table, suspicion):
    return average_precision_score(table["ill"].to_numpy(), suspicion)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_whole_column(fault, trained, later, tmp_path):
    spoil, _, kind = FAULTS[fault]
    path = write(spoil(later), tmp_path / "new.csv")
    summary = score(trained, path, tmp_path / "s.parquet", threshold="alerts:20")
    scored = read_table(tmp_path / "s.parquet")
    assert summary.ranked_by == "probability"
    assert summary.novel > MAX_NOVEL * 400
    assert "--scale" in summary.warning
    assert summary.findings[0].kind == kind
    assert [finding.text for finding in summary.findings] == list(summary.notes)
    chances = scored["probability"].to_numpy()
    by_rank = quality(later, -scored["rank"].to_numpy())
    # Ranks also tell rows apart whose probability is rounded to 0 or 1.
    assert by_rank >= quality(later, chances) - 1e-9
    # Formerly, novel rows ranked first, and the distance ranked them.
    distances = trained.novelty(spoil(later)).times_usual
    assert by_rank > quality(later, distances)
    alerts = scored["outlier"].to_numpy()
    assert alerts.sum() == summary.outliers == 20
    assert chances[alerts].min() >= chances[~alerts].max()


@pytest.mark.parametrize("fault", ["grams", "cents", "swapped"])
def test_a_repaired_file_is_scored_like_a_good_one(fault, trained, later, tmp_path):
    spoil, repair, _ = FAULTS[fault]
    path = write(spoil(later), tmp_path / "new.csv")
    score(trained, path, tmp_path / "r.parquet", reading=repair)
    score(trained, write(later, tmp_path / "good.csv"), tmp_path / "g.parquet")
    repaired, good = read_table(tmp_path / "r.parquet"), read_table(tmp_path / "g.parquet")
    np.testing.assert_allclose(repaired["probability"], good["probability"], rtol=1e-9)
    assert repaired["outlier"].equals(good["outlier"])
    kinds = {finding.kind for finding in check_table(trained, path, reading=repair).findings}
    assert kinds <= {"new columns", "order"}


def test_novel_rows_are_no_alerts_by_that_alone(trained, later, tmp_path):
    grams = FAULTS["grams"][0](later)
    summary = score(trained, write(grams, tmp_path / "a.csv"), tmp_path / "s.parquet")
    scored = read_table(tmp_path / "s.parquet")
    above = scored["probability"].to_numpy() > trained.threshold_
    np.testing.assert_array_equal(scored["outlier"].to_numpy(), above)
    assert summary.outliers == above.sum() < 400 == summary.novel
    alerts = [finding.text for finding in summary.findings if finding.kind == "alerts"]
    assert all(f"({above.sum():,})" in text for text in alerts)


@pytest.mark.parametrize("source", ["a.parquet", "many"])
@pytest.mark.parametrize("asked", [{}, {"threshold": "alerts:20"}])
def test_folders_in_chunks_are_ranked_as_one_table(source, asked, trained, later, tmp_path):
    grams = FAULTS["grams"][0](later.slice(0, 210))
    write(grams, tmp_path / "a.parquet")
    make_folder(grams, tmp_path / "many")
    repairs = {"rename": {"height": "height"}, "scale": {"weight": 1e-3}}
    for reading in (None, repairs):
        whole = score(trained, tmp_path / "a.parquet", tmp_path / "w.parquet", reading, **asked)
        parts = score(trained, tmp_path / source, tmp_path / "out", reading, **asked)
        names = ("a.parquet",) if source == "a.parquet" else None
        found = joined(tmp_path / "out", *([names] if names else []))
        expected = read_table(tmp_path / "w.parquet")
        for name in ("rank", "outlier"):
            assert found[name].to_pylist() == expected[name].to_pylist()
        assert parts.ranked_by == whole.ranked_by
        assert parts.findings == whole.findings
        for path in sorted((tmp_path / "out").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    assert whole.ranked_by == "novelty"


def test_a_cluster_ranks_by_probability(trained, later, tmp_path):
    pytest.importorskip("distributed")
    grams = write(FAULTS["grams"][0](later), tmp_path / "a.parquet")
    with dask(n_workers=1):
        summary = score(trained, grams, tmp_path / "s.parquet", top=9)
    scored = read_table(tmp_path / "s.parquet")
    assert summary.ranked_by == "probability"
    assert scored["probability"].to_pylist() == sorted(scored["probability"].to_pylist())[::-1]
    assert scored["rank"].to_pylist() == list(range(1, 10))


def test_frames_and_explanations_say_so_and_parts_do_not(trained, later):
    grams = FAULTS["grams"][0](later)
    with pytest.warns(UserWarning, match="unlike the training table"):
        scored = score_frame(trained, grams)
    order = np.argsort(scored["rank"].to_numpy(), kind="stable")
    assert (np.diff(scored["probability"].to_numpy()[order]) <= 0.0).all()
    with pytest.warns(UserWarning, match="unlike the training table"):
        shown = explain_top(trained, grams.to_batches(), 3)
    assert [row.probability for row in shown] == scored["probability"].to_numpy()[
        order[:3]
    ].tolist()
    parts = [batch["outlier"].to_pylist() for batch in map_in_arrow(trained)(grams.to_batches())]
    assert parts == [[True] * 400]


@pytest.mark.parametrize(("novel", "rows", "unlike"), [
    (1, 2, False), (2, 2, False), (29, 29, False), (30, 30, True), (2, 30, False),
    (300, 6000, False), (310, 6000, False), (400, 6000, True),
])  # fmt: skip
def test_from_how_many_novel_rows_on(novel, rows, unlike, trained):
    assert is_unlike_training(trained, novel, rows) == unlike
    assert MIN_ROWS == 30


def test_one_novel_row_of_two_comes_first(trained, later, tmp_path):
    two = change(later.slice(0, 2), weight=[70_000.0, 70.0])
    summary = score(trained, write(two, tmp_path / "a.csv"), tmp_path / "s.parquet")
    assert (summary.ranked_by, summary.novel, summary.warning) == ("novelty", 1, None)
    assert read_table(tmp_path / "s.parquet")["outlier"].to_pylist()[0]


@pytest.mark.parametrize("output", ["s.csv", "out"])
def test_strict_writes_nothing(output, trained, later, tmp_path):
    make_folder(FAULTS["grams"][0](later.slice(0, 210)), tmp_path / "many")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UnlikeTrainingError, match="weight: values are about") as refused:
        score_table(trained, tmp_path / "many", tmp_path / output, strict=True)
    assert refused.value.findings[0].kind == "unit"
    assert sorted(tmp_path.iterdir()) == before
    scale = {"scale": {"weight": 0.001}}
    found = score_table(trained, tmp_path / "many", tmp_path / output, reading=scale, strict=True)
    assert found.written == 210


def test_check_goes_on_after_missing_columns(trained, later, tmp_path):
    table = change(later, amount=100 * later["amount"].to_numpy(), ward=["C"] * 400)
    renamed = {"weight": "Weight", "height": "HEIGHT"}
    table = table.rename_columns([renamed.get(name, name) for name in table.column_names])
    path = write(table, tmp_path / "new.csv")
    checked = check_table(trained, path)
    assert checked.rows == 400
    found = [(finding.kind, finding.column) for finding in checked.findings]
    assert found[:4] == [("column", "weight"), ("column", "height"), ("unit", "amount"),
                         ("unseen", "ward")]  # fmt: skip
    assert found[-1] == ("not scored", None)
    assert {kind for kind, _ in found}.isdisjoint({"novel", "alerts", "missing"})
    with pytest.raises(TableError, match=r"'Weight' is new: renamed\?; 'HEIGHT' is new"):
        score(trained, path, tmp_path / "s.csv")
    old = {new: name for name, new in renamed.items()}
    kinds = [f.kind for f in check_table(trained, path, reading={"rename": old}).findings]
    assert "column" not in kinds
    upper = table.rename_columns([name.upper() for name in table.column_names])
    checked = check_table(trained, write(upper, tmp_path / "upper.csv"))
    assert [finding.kind for finding in checked.findings][:5] == ["column"] * 5


def test_errors_of_workers_keep_what_they_know(trained, later, tmp_path):
    gone = later.rename_columns(["Weight" if n == "weight" else n for n in later.column_names])
    with pytest.raises(MissingColumnsError) as missing:
        score(trained, write(gone, tmp_path / "a.parquet"), tmp_path / "s.csv")
    grams = write(FAULTS["grams"][0](later), tmp_path / "b.parquet")
    with pytest.raises(UnlikeTrainingError) as unlike:
        score_table(trained, grams, tmp_path / "s.csv", strict=True)
    for found in (missing.value, unlike.value):
        again = pickle.loads(pickle.dumps(found))
        assert vars(again) == vars(found)
        assert str(again) == str(found)
    assert "Weight" in missing.value.known
