"""Detector as the one object: frames of all kinds, arrays with gaps, scikit-learn's tools."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from payments import make_frauds
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boreod import (
    BORE,
    ColumnSelection,
    Detector,
    Heads,
    OutlierRepresentation,
    auc_scorer,
    average_precision_scorer,
    load,
)
from boreod.predictor import assess, for_workers, prepare
from boreod.tables import TableError
from boreod.tool import score_frame

SMALL = OutlierRepresentation(["knn"], [5])
QUICK = {
    "representation": OutlierRepresentation(["knn"], [5]),
    "heads": Heads(kinds=("logistic",)),
    "n_estimators": 30,
    "random_state": 0,
}


def payments(rows=160):
    """Return a frame with words and gaps, its labels in a column of yes, no and nothing."""
    frame = make_frauds(rows).drop_columns(["currency"]).to_pandas()
    words = frame["fraud"].map({1.0: "yes", 0.0: "no"})
    return frame.assign(fraud=words.astype(object).where(words.notna(), None))


@pytest.fixture(scope="module")
def frame():
    return payments()


@pytest.fixture(scope="module")
def codes(frame):
    return frame["fraud"].map({"yes": 1, "no": 0}).fillna(-1).to_numpy().astype(int)


@pytest.fixture(scope="module")
def model(frame):
    return Detector(**QUICK).fit(frame, label="fraud", ids="id")


KINDS = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_all_kinds_in_and_out(kind, frame, codes, model):
    table = KINDS[kind](frame)
    by_label = Detector(**QUICK).fit(table, label="fraud", ids=["id"])
    rows = KINDS[kind](frame.drop(columns=["fraud", "id"]))
    expected = model.predict_proba(frame)
    assert_array_equal(by_label.predict_proba(table), expected)
    assert_array_equal(Detector(**QUICK).fit(rows, codes).predict_proba(rows), expected)
    assert by_label.classes_.tolist() == [0, 1]
    assert set(by_label.predict(table)) <= {0, 1}
    assert by_label.feature_names_in_.tolist() == list(frame.columns.drop(["fraud", "id"]))
    assert by_label.explain(table).contributions.shape == (160, len(by_label.columns_))
    assert_array_equal(by_label.novelty(table).novel, model.novelty(frame).novel)
    assert len(prepare(by_label, table)) == 160


def test_without_labels_rows_are_ranked(frame):
    ranking = Detector(**QUICK).fit(frame.drop(columns="fraud"), ids="id")
    assert (ranking.oob_.labels == -1).all()
    assert np.isfinite(ranking.predict_proba(frame)).all()


def test_within_a_budget_a_frame_is_a_frame(frame, model):
    fast = Detector(**QUICK, selection=ColumnSelection(costs="complexity:shared")).fit(
        frame, label="fraud", ids="id"
    )
    fast = fast.within(8)
    assert fast.predict_proba(frame).shape == (160, 2)
    assert len(fast.columns_) < len(model.columns_)


def test_through_a_file_with_something_of_ones_own(frame, model, tmp_path):
    model.save(tmp_path / "a.boreod", extra={"owner": "fraud team"})
    loaded = load(tmp_path / "a.boreod")
    assert loaded.stored_.extra == {"owner": "fraud team"}
    assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    loaded.save(tmp_path / "b.boreod")
    assert (tmp_path / "a.boreod").read_bytes() == (tmp_path / "b.boreod").read_bytes()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    sent = pickle.loads(pickle.dumps(for_workers(model, 1)))
    assert_array_equal(sent.predict_proba(frame), model.predict_proba(frame))


def test_a_report_of_the_rows_of_the_fit(frame, codes, model, tmp_path, monkeypatch):
    written = []

    def write(found, *options):
        written.append((found.is_own, found.rows, found.codes, found.ids))
        return "page"

    monkeypatch.setattr("boreod.tool.report.writing.make_report", write)
    model.report(tmp_path / "own.html")
    assert (tmp_path / "own.html").read_text() == "page"
    model.save(tmp_path / "a.boreod")
    loaded = load(tmp_path / "a.boreod")
    loaded.report(tmp_path / "given.html", frame)
    loaded.report(tmp_path / "given.html", frame.drop(columns="fraud"), y=codes)
    for is_own, rows, labels, ids in written:
        assert is_own
        assert_array_equal(rows, written[0][1])
        assert_array_equal(labels, codes)
        assert ids == frame["id"].tolist()
    with pytest.raises(ValueError, match=r"Pass the table that the model was fitted to: report"):
        loaded.report(tmp_path / "none.html")
    with pytest.raises(ValueError, match="no column 'fraud' of labels"):
        loaded.report(tmp_path / "none.html", frame.drop(columns="fraud"))
    assert not (tmp_path / "none.html").exists()


class TestArrays:
    @pytest.fixture
    def rows(self, labelled):
        return labelled[0][:120].copy(), labelled[1][:120]

    def test_numbers_are_taken_as_they_are(self, rows):
        X, y = rows
        X[:, 2] = 7.0
        mine, numeric = Detector(**QUICK).fit(X, y), Detector(**QUICK).fit(X, y)
        assert_array_equal(mine.predict_proba(X), numeric.predict_proba(X))
        assert mine.columns_ == numeric.columns_
        assert not hasattr(mine, "feature_names_in_")

    def test_gaps_in_new_rows_get_medians(self, rows, tmp_path):
        X, y = rows
        model = Detector(**QUICK).fit(X, y)
        gaps, filled = X[:5].copy(), X[:5].copy()
        gaps[:, 1] = np.nan
        filled[:, 1] = np.sort(X[:, 1])[(len(X) - 1) // 2]
        assert_array_equal(model.predict_proba(gaps), model.predict_proba(filled))
        model.save(tmp_path / "a")
        assert_array_equal(load(tmp_path / "a").predict_proba(gaps), model.predict_proba(filled))
        with pytest.raises(ValueError, match="contains infinity"):
            model.predict_proba(np.full((1, 4), np.inf))

    def test_gaps_in_the_fit_are_prepared(self, rows, tmp_path):
        X, y = rows
        X[::7, 1], X[:, 2] = np.nan, 3.0
        model = Detector(**QUICK).fit(X, y)
        assert model.preparation_.names_ == ["x0", "x1", "x1 is missing", "x3"]
        assert model.n_features_in_ == 4
        lists = Detector(**QUICK).fit(np.where(np.isnan(X), None, X).tolist(), y)
        assert_array_equal(lists.predict_proba(X), model.predict_proba(X))
        model.save(tmp_path / "a")
        loaded = load(tmp_path / "a")
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        numbered = pa.table(list(X.T), names=["c0", "c1", "c2", "c3"])
        assert_array_equal(loaded.predict_proba(numbered), model.predict_proba(X))
        with pytest.raises(ValueError, match="3 features, but Detector is expecting 4"):
            loaded.predict_proba(X[:, :3])

    def test_words_in_an_array(self, rows):
        X, y = rows
        words = X.astype(object)
        words[:, 3] = np.where(np.arange(120) % 3, "DE", "FR")
        model = Detector(**QUICK).fit(words, y)
        assert model.preparation_.names_[-2:] == ["x3=DE", "x3=FR"]
        assert model.predict_proba(words.tolist()).shape == (120, 2)

    def test_an_array_for_a_frame(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = Detector(**QUICK).fit(frame, y)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            assert_array_equal(model.predict_proba(X), model.predict_proba(frame))

    def test_bore_prepares_gaps_and_words_too(self, rows):
        X, y = rows
        X[3, 1] = np.nan
        gaps = BORE(SMALL, n_estimators=40, random_state=0).fit(X, y)
        assert "x1 is missing" in gaps.preparation_.names_
        frame = pd.DataFrame({"a": X[:, 0], "b": ["x", "y"] * 60})
        words = BORE(SMALL, n_estimators=40, random_state=0).fit(frame, y)
        assert words.preparation_.names_ == ["a", "b=x", "b=y"]
        assert np.isfinite(words.predict_proba(frame)).all()

    def test_bore_takes_frames_of_numbers_as_they_are(self, rows):
        X, y = rows
        X[:, 2] = 1.0
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = BORE(SMALL, n_estimators=40, random_state=0).fit(frame, y)
        assert model.preparation_.names_ == list("abcd")
        plain = BORE(SMALL, n_estimators=40, random_state=0).fit(X, y)
        assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "fraud", "y": True}, "Labels come as `y` or in the column `label`, not both"),
        ({"label": "fruad"}, "Did you mean 'fraud'"),
        ({"y": True, "drop": "amonut"}, "Did you mean 'amount'"),
        ({"label": "fraud", "sample_weight": 1}, "does not take sample_weight. Rows have no"),
        ({"label": "fraud", "rows": 0}, "The table has no rows to learn from."),
        ({"y": True, "rows": 0}, "The table has no rows to learn from."),
        ({"labl": "fraud"}, "Detector.fit does not take labl. Did you mean 'label'"),
    ],
)
def test_wrong_options(options, message, frame, codes):
    options, rows = dict(options), options.get("rows", len(frame))
    options.pop("rows", None)
    given = {**options, "y": codes[:rows]} if "y" in options else options
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        Detector(**QUICK).fit(frame[:rows], **given)


def test_parameters_are_stored_as_they_are():
    given = {name: object() for name in BORE().get_params(deep=False)}
    assert BORE(**given).get_params(deep=False) == given


@pytest.mark.parametrize("kind", [BORE, Detector])
def test_a_parameter_that_there_is_not(kind):
    with pytest.raises(TypeError, match="unexpected keyword argument 'treshold'"):
        kind(treshold=0.5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bagging__share", r"Bagging has no parameter 'share'"),
        ("treshold", "for estimator Detector"),
    ],
)
def test_a_parameter_that_cannot_be_set(name, message):
    with pytest.raises(ValueError, match=message):
        Detector().set_params(**{name: 0.5})


STRANGE = {
    "file.csv": (TypeError, "score_table"),
    3: (ValueError, "must be a table of rows and columns; got a int"),
    "row": (ValueError, "got a Series. Pass a frame"),
    "dicts": (ValueError, "got a list. Pass a frame"),
    "empty": (TableError, "no rows to score"),
    "lazy": (TableError, "lazy frame"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_table(kind, frame, model):
    made = {
        "row": lambda: frame.iloc[0],
        "dicts": lambda: frame.head(3).to_dict("records"),
        "empty": lambda: frame.head(0),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
    }
    error, message = STRANGE[kind]
    with pytest.raises(error, match=re.escape(message)):
        model.predict_proba(made[kind]() if kind in made else kind)


def test_columns_that_nobody_asks_for_may_hold_anything(frame, model):
    odd = frame.assign(parts=[[1, 2]] * len(frame))
    twice = pd.concat([odd, frame[["fraud"]]], axis=1)
    for table in (odd, twice, pl.from_pandas(odd)):
        assert_array_equal(model.predict_proba(table), model.predict_proba(frame))
    roles = {"label": "fraud", "ids": "id"}
    for table in (odd, pl.from_pandas(odd), pa.Table.from_pandas(odd)):
        again = Detector(**QUICK).fit(table, drop="parts", **roles)
        assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        kept = Detector(**QUICK).fit(table, keep=["amount"], **roles)
        assert kept.preparation_.inputs_ == ["amount"]
    with pytest.raises(TableError, match="nested values"):
        Detector(**QUICK).fit(odd, **roles)


def test_missing_labels_are_unlabelled(frame, codes):
    rows, known = frame[["amount", "country", "voucher"]], np.where(codes == -1, np.nan, codes)
    expected = Detector(**QUICK).fit(rows, codes)
    for y in (known, pd.Series(known), np.where(np.isnan(known), None, known)):
        found = Detector(**QUICK).fit(rows, y)
        assert_array_equal(found.oob_.labels, codes)
        assert_array_equal(found.predict_proba(rows), expected.predict_proba(rows))
    only = Detector(**QUICK).fit(rows, np.where(codes == 1, 1.0, np.nan))
    assert_array_equal(only.oob_.labels, np.where(codes == 1, 1, -1))
    with pytest.raises(ValueError, match="infinity"):
        Detector(**QUICK).fit(rows, np.where(codes == 1, np.inf, 0.0))


def test_labels_of_a_second_frame(frame, codes, model):
    words = np.array(["?", "good", "bad"], object)[codes + 1]
    review = pd.DataFrame({"id": frame["id"], "fraud": words})
    roles = {"label": "fraud", "ids": "id", "labels": review}
    roles["reading"] = {"inlier_label": "good"}
    unknown = frame.assign(fraud="?")
    for table in (frame.drop(columns="fraud"), unknown, pl.from_pandas(unknown)):
        with pytest.warns(UserWarning, match="160 ids of the table have an answer in `labels`"):
            found = Detector(**QUICK, outlier_label="bad").fit(table, **roles)
        assert_array_equal(found.oob_.labels, codes)
        assert_array_equal(found.predict_proba(frame), model.predict_proba(frame))
    for wrong, told in (({"ids": None}, "--id"), ({"label": None}, "--label")):
        with pytest.raises(TableError, match=told):
            Detector(**QUICK, outlier_label="bad").fit(frame, **roles | wrong)


def test_labels_and_their_name_are_not_mixed_up(frame, codes):
    for given in ({"y": "fraud"}, {"label": codes}):
        with pytest.raises(TypeError, match="`label` must be the name of a column"):
            Detector(**QUICK).fit(frame, **given)


def test_an_array_has_no_columns_to_name(labelled):
    gaps = np.where(labelled[0] > 2, np.nan, labelled[0])
    for rows in (labelled[0], gaps):
        with pytest.raises(TypeError, match="`label` is an option for frames and files"):
            Detector(**QUICK).fit(rows, label="fraud")


def test_a_failed_fit_leaves_the_old_one(frame, codes):
    model = Detector(**QUICK).fit(frame, label="fraud", ids="id")
    before = model.predict_proba(frame)
    with pytest.raises(TableError):
        model.fit(frame, label="nothing")
    assert_array_equal(model.predict_proba(frame), before)
    assert_array_equal(model.reference_rows_, np.arange(160))
    fresh = Detector(**QUICK)
    with pytest.raises(TableError):
        fresh.fit(frame, label="nothing")
    assert not hasattr(fresh, "preparation_")


def test_a_row_alone(frame, model):
    whole = model.decision_function(frame)
    single = [model.decision_function(frame.iloc[[place]])[0] for place in range(5)]
    np.testing.assert_allclose(single, whole[:5], rtol=1e-12)
    assert list(score_frame(model, frame.head(2)).columns[:2]) == ["id", "probability"]


class TestScikitLearn:
    @pytest.fixture
    def table(self, frame):
        return frame.drop(columns=["fraud", "id"])

    def test_cross_validation_of_frames_with_unlabelled_rows(self, table, codes):
        assert (codes == -1).any()
        for scoring, chance in (average_precision_scorer, 0.1), (auc_scorer, 0.5), (None, 0.5):
            scores = cross_val_score(Detector(**QUICK), table, codes, cv=2, scoring=scoring)
            assert scores.min() > chance

    def test_grid_search_of_frames(self, table, codes):
        search = GridSearchCV(
            Detector(**QUICK),
            {"representation__ks": [[3], [9]]},
            scoring={"ap": average_precision_scorer, "auc": auc_scorer},
            refit="ap",
            cv=2,
        ).fit(table, codes)
        assert set(search.best_params_) == {"representation__ks"}
        assert search.predict_proba(table).shape == (160, 2)
        assert search.best_estimator_.preparation_.names_

    def test_pipelines(self, table, codes):
        numbers = make_column_transformer(
            (StandardScaler(), ["amount"]),
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
        pipeline = make_pipeline(numbers, Detector(**QUICK))
        found = cross_val_predict(pipeline.fit(table, codes), table, codes, cv=2)
        assert set(found) <= {0, 1}
        assert average_precision_scorer(pipeline, table, codes) > 0.2

    def test_clones_have_no_table(self, model):
        again = clone(model)
        assert repr(again.get_params()) == repr(model.get_params())
        assert not hasattr(again, "preparation_")

    def test_accuracy_is_that_of_labelled_rows(self, frame, codes, model):
        known = codes >= 0
        expected = np.mean(model.predict(frame)[known] == codes[known])
        assert model.score(frame, codes) == pytest.approx(expected)


def test_threads_of_other_classifiers_leave_warning_filters_alone(labelled):
    class Noisy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            warnings.simplefilter("ignore")  # and never undone
            return super().fit(X, y, sample_weight)

        def predict_proba(self, X):
            warnings.simplefilter("ignore")
            return super().predict_proba(X)

    X, y = labelled
    before = list(warnings.filters)
    few = OutlierRepresentation(["knn"], [5])
    model = Detector(few, n_estimators=20, estimator=Noisy(), random_state=0).fit(X, y)
    assert warnings.filters == before
    model.predict_proba(X[:5])
    assess(model, prepare(model, X[:5]))
    assert warnings.filters == before
