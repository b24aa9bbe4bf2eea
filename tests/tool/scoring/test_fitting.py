"""Fitting files that need not fit into memory: the same rows as if they were read at once."""

import os
import threading
import tracemalloc
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from payments import FEW, make_frauds, write

from boreod import ColumnSelection, Detector, Heads, Reference
from boreod.ensemble.bags import draw_reference
from boreod.parallel import Progress
from boreod.tables import TableError, open_table
from boreod.tables.training import Roles, Wishes, read_training_rows
from boreod.tool import fit_table

OPTIONS = {
    "label": "fraud",
    "ids": ["id"],
    "method": "bore",
    "representation": FEW,
    "n_estimators": 20,
    "selection": ColumnSelection(costs="complexity:shared"),
    "random_state": 0,
    "reference": Reference(size=150),
}


def as_folder(table, folder, parts=4):
    folder.mkdir()
    cuts = np.linspace(0, table.num_rows, parts + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        pq.write_table(table.slice(start, stop - start), folder / f"part-{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def frauds():
    return make_frauds(600)


@pytest.fixture(scope="module")
def expected(frauds):
    return fit_table(frauds, **OPTIONS)


def assert_same_model(model, expected, table):
    assert model.preparation_.names_ == expected.preparation_.names_
    for batch in table.to_batches():
        assert_array_equal(model.decision_function(batch), expected.decision_function(batch))


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_a_file_is_sampled_as_a_table_is(suffix, frauds, expected, tmp_path):
    path = write(frauds, tmp_path / f"frauds.{suffix}")
    assert_same_model(fit_table(path, **OPTIONS), expected, frauds)


def test_a_folder_is_sampled_as_a_table_is(frauds, expected, tmp_path):
    model = fit_table(as_folder(frauds, tmp_path / "frauds"), **OPTIONS)
    assert_same_model(model, expected, frauds)
    assert model.record_.source == "frauds"


def test_a_pipe_is_read_once(frauds, expected, tmp_path):
    path = write(frauds, tmp_path / "frauds.csv")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = path.read_bytes()
    feeder = threading.Thread(target=pipe.write_bytes, args=(content,))
    feeder.start()
    model = fit_table(pipe, reading={"format": "csv"}, **OPTIONS)
    feeder.join()
    assert_same_model(model, expected, frauds)


def test_labels_in_words(tmp_path):
    table = make_frauds(600)
    words = pa.array(
        [
            "fraud" if value == 1 else "fine" if value == 0 else None
            for value in table["fraud"].to_pylist()
        ]
    )
    table = table.set_column(table.column_names.index("fraud"), "fraud", words)
    folder = as_folder(table, tmp_path / "words")
    model = fit_table(folder, outlier_label="fraud", **OPTIONS)
    assert_same_model(model, fit_table(table, outlier_label="fraud", **OPTIONS), table)
    with pytest.raises(TableError, match="Say which value marks an outlier"):
        fit_table(folder, **OPTIONS)


def test_no_such_label_column(frauds, tmp_path):
    folder = as_folder(frauds, tmp_path / "frauds")
    for source, words in ((folder, "has no column 'frau'"), (frauds, "no column 'frau' of labels")):
        with pytest.raises(TableError, match=f"{words}. Did you mean 'fraud'"):
            fit_table(source, **{**OPTIONS, "label": "frau"})


def test_a_table_that_grows_meanwhile(frauds, tmp_path, monkeypatch):
    folder = as_folder(frauds, tmp_path / "frauds")
    opened = []

    def open_and_add(*args, **options):
        opened.append(args)
        if len(opened) == 2:  # labels have been read
            pq.write_table(frauds.slice(0, 20), folder / "part-9.parquet")
        return open_table(*args, **options)

    monkeypatch.setattr("boreod.tables.training.open_table", open_and_add)
    with pytest.raises(TableError, match="had 600 rows when its labels were read and has 620 now"):
        fit_table(folder, **OPTIONS)


def test_memory_holds_the_sample_and_not_the_table(tmp_path):
    """40 MB on disk give 400 kB of sample."""
    folder = tmp_path / "large"
    folder.mkdir()
    random = np.random.default_rng(0)
    rows, parts = 25_000, 10
    for number in range(parts):
        columns = {f"V{place}": random.normal(size=rows) for place in range(20)}
        fraud = (random.random(rows) < 0.0005).astype(int)
        pq.write_table(pa.table({**columns, "fraud": fraud}), folder / f"{number}.parquet")
    wishes = Wishes(
        check_memory=lambda rows, size: None,
        progress=partial(Progress, total=None, wanted=False),
        assume=False,
        sample=lambda codes: draw_reference(codes, 2000, "stratified", 0)[0],
    )
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    found = read_training_rows(folder, None, Roles("fraud"), wishes, {"batch_rows": 5000})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.table.num_rows == len(found.codes) == len(found.positions) == 2000
    assert found.n_all == rows * parts
    assert peak < 10_000_000
    assert pa.total_allocated_bytes() - before < 2_000_000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [None, 60])
def test_known_cases_have_the_numbers_of_their_rows(size, tmp_path):
    """Also after a row that is left out."""
    lines = [f"{9 + i % 3 if i > 150 else i % 7}.{i:03d},{int(i > 150)}" for i in range(160)]
    lines[2] = "ERR,0"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,fraud", *lines]) + "\n")
    model = Detector(
        FEW,
        random_state=0,
        n_estimators=2,
        heads=Heads(kinds=["logistic"]),
        reference=Reference(size=size),
    )
    with pytest.warns(UserWarning, match="left out"):
        model.fit(path, label="fraud", reading={"bad_cells": "drop"})
    assert model.record_.profile.cases.names[0] == "row 152"


def test_rows_that_are_left_out_keep_the_numbers_of_the_others(tmp_path):
    cells = [f"{n * 7 % 11}.{n:02d}" if n != 60 else "ERR" for n in range(80)]
    rows = "".join(f"{cell},{int(place > 70)}\n" for place, cell in enumerate(cells))
    (tmp_path / "a.csv").write_text("amount,fraud\n" + rows)
    options = {"label": "fraud", "reading": {"bad_cells": "drop"}, "random_state": 0}
    small = {"representation": FEW, "heads": Heads(kinds=("logistic",)), "n_estimators": 40}
    with pytest.warns(UserWarning, match="1 row left out"):
        model = fit_table(tmp_path / "a.csv", **options, **small)
    assert model.reference_rows_.tolist() == [*range(60), *range(61, 80)]


def test_copies_are_counted_before_ids_are_told_from_the_labels_of_others():
    random = np.random.default_rng(0)
    shops = random.integers(0, 60, 200)
    shop = [f"s{n}" for n in (*shops, *shops)]
    amount = np.tile(random.normal(size=200), 2)
    table = pa.table({"amount": amount, "shop": shop, "fraud": np.tile(np.arange(200) < 20, 2)})
    small = {"representation": FEW, "heads": Heads(kinds=("logistic",)), "n_estimators": 40}
    with pytest.warns(UserWarning, match="200 of 400 rows are copies"):
        model = fit_table(table, label="fraud", random_state=0, **small)
    assert "shop outlier odds" in model.preparation_.names_


def test_more_alerts_than_rows_are_refused(frauds):
    with pytest.raises(ValueError, match=r"5,000 alerts, and the table has 600 rows.*alerts:5000/"):
        fit_table(frauds, **OPTIONS, threshold="alerts:5000")
