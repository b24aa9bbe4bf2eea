"""The transformer: names, frames, narrowing, threads, foreign detectors, randomness."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyod_like import HighIsOutlying
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from boreod import OutlierRepresentation
from boreod.scores import SCORES, LoOP


def test_the_papers_grid_has_129_score_columns(rows):
    model = OutlierRepresentation()
    table = model.fit_transform(rows)
    assert table.shape == (len(rows), 4 + 129)
    assert_array_equal(table[:, :4], rows)
    assert model.columns_[:6] == ["x0", "x1", "x2", "x3", "knn_1", "knn_10"]
    assert model.left_out_ == ["ldof_1", "kdeos_1", "abod_1"]
    assert np.isfinite(table).all()


def test_grid_equals_columns_one_by_one(rows, column):
    model = OutlierRepresentation(passthrough=False)
    table = model.fit_transform(rows)
    for name in ("knnw_50", "odin_20", "lof_10", "cof_30", "inflo_100", "kdeos_10", "abod_100"):
        score, k = name.split("_")
        assert_array_equal(table[:, model.columns_.index(name)], column(rows, score, int(k)))


@pytest.mark.parametrize("threads", [2, 5, -1])
@pytest.mark.parametrize("backend", ["brute", "tree", "auto"])
def test_threads_and_backends_change_nothing(threads, backend, rows):
    expected = OutlierRepresentation(n_jobs=1).fit(rows)
    other = OutlierRepresentation(n_jobs=threads, neighbors=backend)
    assert_array_equal(other.fit_transform(rows), expected.transform(rows))
    assert_array_equal(other.transform(rows + 0.1), expected.transform(rows + 0.1))


@pytest.mark.parametrize("bytes_of_a_block", [1, 10**9])
def test_size_of_blocks_changes_nothing(bytes_of_a_block, rows, monkeypatch):
    expected = OutlierRepresentation().fit(rows)
    monkeypatch.setattr("boreod.representation.scored_view.GEOMETRY_BYTES", bytes_of_a_block)
    other = OutlierRepresentation()
    assert_array_equal(other.fit_transform(rows), expected.transform(rows))
    assert_array_equal(other.transform(rows + 0.1), expected.transform(rows + 0.1))


def test_keep_computes_the_same_and_only_that(rows):
    model = OutlierRepresentation(views=["full", "subspaces:3", "sample:80"], random_state=0)
    with pytest.warns(match="left out"):
        table = model.fit_transform(rows)
    wanted = ["inflo_20@s01", "x2", "lof_10", "kdeos_50", "knn_10@r80"]
    narrow = model.keep(wanted)
    assert narrow.columns_ == wanted
    assert narrow.get_feature_names_out().tolist() == wanted
    places = [model.columns_.index(name) for name in wanted]
    assert_array_equal(narrow.transform(rows), table[:, places])
    new = rows[:20] + 0.3
    assert_array_equal(narrow.transform(new), model.transform(new)[:, places])
    views = {view.space.name: view for view in narrow.fitted_columns_.views}
    assert set(views) == {"", "s01", "r80"}
    assert views[""].graph.ks[-1] == 50
    assert views[""].graph.reverse_k == 50
    assert views["r80"].graph.ks[-1] == 10
    assert views["r80"].graph.reverse_k == 0
    assert model.columns_ != wanted  # the wide one is untouched
    assert narrow.keep(["lof_10"]).transform(new).shape == (20, 1)
    assert narrow.keep("x2").transform(new).tolist() == new[:, [2]].tolist()


def test_new_rows_do_not_depend_on_each_other(rows):
    model = OutlierRepresentation(views=["full", "cosine"]).fit(rows)
    new = np.random.default_rng(0).normal(2, 4, (300, 4))
    together = model.transform(new)
    assert_array_equal(model.transform(new[::-1])[::-1], together)
    assert_array_equal(model.transform(new[7:8]), together[7:8])


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda rows: np.asarray(rows, dtype=np.float32),
        lambda rows: rows.tolist(),
        lambda rows: np.asarray(rows, dtype=object),
        lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    ],
    ids=["fortran", "float32", "lists", "objects", "strided"],
)
def test_kinds_of_arrays(convert, rows):
    rows = rows.astype(np.float32).astype(np.float64)
    model = OutlierRepresentation(["lof", "abod", "odin"], [10])
    expected = model.fit_transform(rows)
    assert_array_equal(model.transform(convert(rows)), expected)
    assert_array_equal(clone(model).fit_transform(convert(rows)), expected)


def test_read_only_rows(rows):
    expected = OutlierRepresentation(["lof"], [10]).fit_transform(rows)
    rows.setflags(write=False)
    model = OutlierRepresentation(["lof"], [10])
    assert_array_equal(model.fit_transform(rows), expected)
    assert_array_equal(model.transform(rows), expected)


def test_later_changes_of_the_table_do_not_matter(rows):
    model = OutlierRepresentation(["lof", "cof"], [10]).fit(rows)
    new = rows + 0.2
    expected = model.transform(new)
    before, known = rows.copy(), model.transform(rows)
    rows[:] = 0
    assert_array_equal(model.transform(new), expected)
    assert_array_equal(model.transform(before), known)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_names(frame, rows):
    table = frame(dict(zip("abcd", rows.T, strict=True)))
    model = OutlierRepresentation(["lof"], [10]).fit(table)
    assert model.columns_ == ["a", "b", "c", "d", "lof_10"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    expected = OutlierRepresentation(["lof"], [10]).fit_transform(rows)
    assert_array_equal(model.transform(table), expected)


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(library, kind, rows):
    model = OutlierRepresentation(["lof"], [10]).set_output(transform=library)
    table = model.fit_transform(rows)
    assert isinstance(table, kind)
    assert list(table.columns) == ["x0", "x1", "x2", "x3", "lof_10"]
    assert list(model.keep(["lof_10"]).transform(rows).columns) == ["lof_10"]


def test_pipeline_and_pickle(rows):
    pipeline = make_pipeline(StandardScaler(), OutlierRepresentation(["lof", "kdeos"], [10]))
    expected = pipeline.fit_transform(rows)
    again = pickle.loads(pickle.dumps(pipeline))
    assert_array_equal(again.transform(rows), expected)
    assert pipeline.get_feature_names_out().tolist()[-2:] == ["lof_10", "kdeos_10"]


def test_parameters_are_never_changed(rows):
    model = OutlierRepresentation(["lof", LoOP(extent=2.0)], [5, 3], views=["full"], n_jobs=2)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(rows)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


def test_single_columns_and_named_scores(rows):
    model = OutlierRepresentation(
        ["lof_7", "lof_20", "knn_3", ("cautious", LoOP(extent=3.0)), SCORES["cof"]],
        [5],
        passthrough=False,
    ).fit(rows)
    assert model.columns_ == ["lof_7", "lof_20", "knn_3", "cautious_5", "cof_5"]


def test_detectors_of_scikit_learn(rows, column):
    forest = IsolationForest(n_estimators=30)
    model = OutlierRepresentation(
        ["lof", forest, ("svm", OneClassSVM()), LocalOutlierFactor(10, novelty=True)],
        [10],
        passthrough=False,
        random_state=0,
    )
    table = model.fit_transform(rows)
    assert model.columns_ == ["lof_10", "isolationforest", "svm", "localoutlierfactor"]
    assert_array_equal(model.transform(rows), table)
    far = model.transform([[60.0, -60.0, 60.0, -60.0]])[0]
    assert (far >= np.quantile(table, 0.99, axis=0)).all()
    assert not hasattr(forest, "estimators_")
    again = clone(model).fit_transform(rows)
    assert_array_equal(again, table)
    narrow = model.keep(["svm"])
    assert_array_equal(narrow.transform(rows), table[:, [2]])
    assert narrow.fitted_columns_.views == []
    # scikit-learn's LOF adds 1e-10 to densities; otherwise it is ours
    new = rows[:10] + 0.5
    ours = OutlierRepresentation(["lof"], [10], passthrough=False).fit(rows).transform(new)
    assert_allclose(model.transform(new)[:, 3], ours[:, 0], rtol=1e-6)


def test_detectors_with_high_scores_for_outliers(rows):
    model = OutlierRepresentation([HighIsOutlying()], passthrough=False)
    table = model.fit_transform(rows)
    assert model.columns_ == ["highisoutlying"]
    assert model.transform([[1e3] * 4])[0, 0] > table.max()


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: make_pipeline(StandardScaler(), d)])
def test_detectors_of_pyod(wrap, rows):
    hbos = pytest.importorskip("pyod.models.hbos")
    model = OutlierRepresentation([("hbos", wrap(hbos.HBOS()))], passthrough=False)
    table = model.fit_transform(rows)
    assert model.transform([[1e3] * 4])[0, 0] >= table.max()
    assert table[np.argmax(np.abs(rows - rows.mean(axis=0)).sum(axis=1)), 0] > np.median(table)


def test_nested_detectors_get_seeds(rows):
    detector = make_pipeline(StandardScaler(), IsolationForest(n_estimators=10))
    model = OutlierRepresentation([detector], passthrough=False, random_state=0)
    assert_array_equal(model.fit_transform(rows), model.fit_transform(rows))


def test_detector_that_cannot_score_new_rows(rows):
    with pytest.raises(TypeError, match="novelty=True"):
        OutlierRepresentation([LocalOutlierFactor()]).fit(rows)


def test_raw_column_named_like_a_score(rows):
    table = pd.DataFrame(rows, columns=["a", "b", "c", "lof_10"])
    scores = OutlierRepresentation(["lof"], [10], passthrough=False).fit_transform(table)
    expected = OutlierRepresentation(["lof"], [10], passthrough=False).fit_transform(rows)
    assert_array_equal(scores, expected)


@pytest.mark.parametrize("columns", [3, 8, 12, 40])
@pytest.mark.parametrize("view", ["full", "cosine", "manhattan"])
def test_training_rows_again_with_many_columns(columns, view):
    points = np.random.default_rng(0).normal(size=(150, columns))
    model = OutlierRepresentation(ks=[5, 20], views=[view], passthrough=False)
    assert_array_equal(model.fit_transform(points), model.transform(points))


def test_names_in_pairs(rows):
    model = OutlierRepresentation([("mine", "lof"), ("far", "knn_7")], [5], passthrough=False)
    assert model.fit(rows).columns_ == ["mine_5", "far_7"]


def test_copies_are_scored_once(rows):
    """A table that is nearly all copies is no slower than its distinct rows."""
    points = np.vstack([rows, np.zeros((4000, 4))])
    model = OutlierRepresentation(["odin", "inflo", "kdeos", "lof"], [10], passthrough=False)
    table = model.fit_transform(points)
    assert_allclose(model.transform(points), table, rtol=1e-12)
    assert (table[len(rows) :] == table[-1]).all()


def test_seeds(rows):
    options = {"scores": ["knn"], "ks": [5], "views": ["subspaces:4", "sample:60"]}
    first = OutlierRepresentation(**options, random_state=3).fit_transform(rows)
    assert_array_equal(OutlierRepresentation(**options, random_state=3).fit_transform(rows), first)
    other = OutlierRepresentation(**options, random_state=4).fit_transform(rows)
    assert not np.array_equal(other, first)
