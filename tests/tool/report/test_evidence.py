"""Which rows a page judges by which probabilities, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from boreod import ColumnSelection, Detector, Heads, OutlierRepresentation, load, save
from boreod.ensemble.members import KINDS
from boreod.tool.report.evidence import gather

from .conftest import make_page, small_model
from .reading import Page


def test_training_rows_are_judged_out_of_bag(wdbc):
    evidence = gather(wdbc.model, wdbc.rows, wdbc.codes)
    assert evidence.is_own
    assert evidence.kind == "out-of-bag"
    np.testing.assert_array_equal(evidence.probabilities, wdbc.model.oob_proba_)


@pytest.mark.parametrize("change", ["fewer", "shuffled", "relabelled"])
def test_training_rows_are_known_also_among_others(wdbc, change):
    rows, codes = wdbc.rows.copy(), wdbc.codes.copy()
    order = np.arange(len(rows))
    if change == "fewer":
        order = order[:-5]
    elif change == "shuffled":
        order = np.random.default_rng(0).permutation(len(rows))
    else:
        codes[3] = -1
    evidence = gather(wdbc.model, rows[order], codes[order])
    assert not evidence.is_own
    np.testing.assert_array_equal(evidence.probabilities, wdbc.model.oob_proba_[order])
    np.testing.assert_array_equal(
        evidence.novelty.novel, wdbc.model.fitted_.seen.novel_training_rows()[order]
    )


def test_rows_that_are_new_are_judged_by_predictions(wdbc):
    rows = wdbc.rows.copy()
    rows[7, 2] += 1.0
    evidence = gather(wdbc.model, rows, wdbc.codes)
    expected = wdbc.model.oob_proba_.copy()
    expected[7] = wdbc.model.predict_proba(rows[7:8])[0, 1]
    assert evidence.kind == "out-of-bag and predicted"
    np.testing.assert_array_equal(
        evidence.places, np.where(np.arange(len(rows)) == 7, -1, range(len(rows)))
    )
    np.testing.assert_allclose(evidence.probabilities, expected)


@pytest.fixture(scope="module")
def raw():
    """A model that bought raw columns only, so that it has no reference rows."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 3))
    codes = np.repeat([1, 0, -1], [20, 150, 30])
    rows[codes == 1] += 2.0
    model = (
        small_model(selection=ColumnSelection(costs="complexity:shared"))
        .fit(rows, codes)
        .within(4.0)
    )
    assert model.columns_ == ["x0", "x1", "x2"]
    return model, rows, codes


def test_rows_of_a_model_without_neighbors(raw):
    model, rows, codes = raw
    assert gather(model, rows, codes).is_own
    assert not gather(model, rows[np.random.default_rng(1).permutation(200)], codes).is_own


@pytest.mark.parametrize("labelled", [True, False])
def test_rows_of_a_detector_with_assumed_inliers(labelled):
    random = np.random.default_rng(0)
    rows, codes = random.normal(size=(200, 3)), np.repeat([1 if labelled else -1, -1], [20, 180])
    rows[:20] += 2.0
    grid = OutlierRepresentation(["knn_5"])
    model = Detector(grid, n_estimators=20, heads=Heads(n_trees=1), random_state=0)
    model.fit(rows, codes if labelled else None)
    evidence = gather(model, rows, codes)
    assert evidence.is_own
    np.testing.assert_array_equal(evidence.probabilities, model.oob_proba_)
    rows[150, 1] += 1.0
    assert gather(model, rows, codes).places[149:152].tolist() == [149, -1, 151]


@pytest.mark.parametrize(
    ("last", "moved", "texts"),
    [
        (199, 0.0, ["The model has learned from 199 of these 199 rows", "Out-of-bag means"]),
        (200, 0.01, ["The model has learned from none of these rows", "so one map is enough",
                     "judged by predicted probabilities"]),
    ],
)  # fmt: skip
def test_the_page_says_what_it_judged(raw, last, moved, texts):
    model, rows, codes = raw
    page = Page(make_page(model, rows[:last] + moved, codes[:last]))
    for text in texts:
        assert text in page.text
    assert ("Out-of-bag means" in page.text) == (moved == 0.0)


def test_a_page_without_labels_has_suspects_and_no_quality(raw):
    model, rows, _ = raw
    page = Page(make_page(model, rows, np.full(200, -1)))
    assert "0 outliers and 0 inliers have both" in page.text
    assert len(page.table(["row", "label", "probability"])) == 15
    assert page.figures == []


@pytest.mark.parametrize("named", [True, False])
def test_models_of_frames(raw, named):
    _, rows, codes = raw
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    model = small_model().fit(frame, codes)
    evidence = gather(model, frame if named else rows, codes)
    assert evidence.is_own
    assert evidence.names == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        gather(model, frame.rename(columns={"a": "z"}), codes)


def test_rows_without_numbers_are_refused(raw):
    model, rows, codes = raw
    with pytest.raises(ValueError, match="infinity"):
        gather(model, np.full_like(rows, np.inf), codes)


def test_other_models_are_refused(raw):
    with pytest.raises(TypeError, match="`model` must be a fitted Detector or BORE"):
        gather(object(), raw[1], raw[2])


def test_a_missing_extra_is_named(raw, monkeypatch, tmp_path):
    monkeypatch.setattr("boreod.tool.report.writing.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs matplotlib.*pip install boreod\[report\]"):
        raw[0].report(tmp_path / "a.html", raw[1], y=raw[2])


@pytest.fixture(scope="module")
def few_labels():
    """A detector that knows some outliers only, which are no reference rows."""
    random = np.random.default_rng(0)
    rows, codes = random.normal(size=(200, 3)), np.repeat([1, -1], [15, 185])
    rows[:20] += 3.0
    small = {"n_estimators": 60, "heads": Heads(n_trees=2), "n_jobs": 1, "random_state": 0}
    return Detector(**small).fit(rows, codes), rows, codes


@pytest.mark.parametrize("loaded", [False, True])
def test_training_rows_are_known_without_their_outliers(few_labels, tmp_path, loaded):
    model, rows, codes = few_labels
    save(model, tmp_path / "m.boreod")
    known = load(tmp_path / "m.boreod") if loaded else model
    evidence = gather(known, rows, codes)
    assert evidence.is_own
    np.testing.assert_array_equal(evidence.probabilities, model.oob_proba_)
    assert evidence.assumes
    assert evidence.judged.sum() == np.isfinite(model.oob_proba_).sum()
    altered = rows.copy()
    altered[100, 1] += 1e-9
    assert not gather(known, altered, codes).is_own


def test_assumed_inliers_count_in_the_page(few_labels):
    page = Page(make_page(*few_labels))
    assert "rows, unlabelled rows as inliers (15 outliers), judged by out-of-bag" in page.text
    assert "185 unlabelled rows count as inliers, too." in page.text
    assert "Precision is a lower bound" in page.text
    heads = page.table(["head", "weight", "trees"])
    assert {row[0] for row in heads} == set(KINDS)
    kinds = {row[0]: row[1] for row in page.table(["column", "kind"])}
    assert kinds["iforest"] == "iforest"
    assert kinds["x0"] == "raw"


def test_other_rows_with_labels_of_both_classes_count_as_labelled(few_labels):
    model, rows, codes = few_labels
    labels = np.where(np.arange(200) < 150, np.maximum(codes, 0), -1)
    evidence = gather(model, rows, labels)
    assert not evidence.is_own
    np.testing.assert_array_equal(evidence.probabilities, model.oob_proba_)
    assert not evidence.assumes
    assert evidence.judged.sum() == 150


def test_a_page_about_a_ranking(few_labels):
    rows = few_labels[1]
    model = Detector(n_estimators=10, heads=Heads(n_trees=2), n_jobs=1, random_state=0).fit(rows)
    page = Page(make_page(model, rows, np.full(200, -1)))
    assert "No row is labelled: rows are ranked by a consensus of scores." in page.text
    chosen = [row for row in page.table(["threshold"]) if row[0].endswith("(chosen)")]
    assert [len(row) for row in chosen] == [2]
    labels = np.repeat([1, 0], [20, 180])
    judged = Page(make_page(model, rows, labels))
    assert "not meant to come true" in judged.text
    assert "judged by out-of-bag probabilities, the AUC is" in judged.text
