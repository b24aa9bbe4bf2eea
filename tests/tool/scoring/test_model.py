"""A detector with its preparation: through a file, from Python alone, and from forged files."""

import copy
import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz.model_cases import forge, take_apart
from numpy.testing import assert_array_equal
from payments import FEW, make_frauds, small_model
from sklearn.exceptions import NotFittedError

from boreod import BORE, ColumnSelection, Detector, Heads, ModelFileError, load, save
from boreod.predictor import prepare
from boreod.representation.array_rows import ArrayRows
from boreod.tables import TableError
from boreod.tool import describe, fit_table, score_frame
from boreod.tool.scoring.judging import alert_threshold
from boreod.tool.scoring.scoring import columns_to_read


@pytest.fixture(scope="module")
def fitted():
    return small_model(budget=12, threshold="alerts:12")


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fraud.boreod"
    fitted.save(path)
    return path


def test_through_a_file(fitted, saved, new, tmp_path):
    loaded = load(saved)
    assert_array_equal(loaded.decision_function(new), fitted.decision_function(new))
    label = loaded.preparation_.label_
    assert (label, loaded.preparation_.ids_, loaded.record_.source) == (
        "fraud",
        ("id",),
        "payments.parquet",
    )
    assert_array_equal(loaded.oob_.codes, fitted.oob_.codes)
    assert_array_equal(loaded.record_.curve.auc, fitted.record_.curve.auc)
    assert loaded.record_.curve.cheapest() == fitted.record_.curve.cheapest()
    assert (
        alert_threshold(loaded) == alert_threshold(fitted) == alert_threshold(loaded, "alerts:12")
    )
    assert (loaded.oob_proba_ > alert_threshold(loaded)).sum() == 12
    loaded.save(tmp_path / "again.boreod")
    assert (tmp_path / "again.boreod").read_bytes() == saved.read_bytes()


def test_a_file_keeps_the_trees_of_a_curve(fitted, tmp_path):
    numbers = np.arange(len(fitted.record_.curve.budgets))
    with_trees = copy.copy(fitted)
    curve = replace(fitted.record_.curve, n_trees=numbers, tree_costs=0.5 * numbers)
    with_trees.record_ = replace(fitted.record_, curve=curve)
    with_trees.save(tmp_path / "trees.boreod")
    loaded = load(tmp_path / "trees.boreod").record_.curve
    assert_array_equal(loaded.n_trees, numbers)
    assert_array_equal(loaded.tree_costs, 0.5 * numbers)
    assert fitted.record_.curve.n_trees is None


def test_what_a_file_holds_of_its_table(fitted, saved):
    manifest, _ = take_apart(saved.read_bytes())
    table = manifest["table"]
    assert set(table) == {"is_named", "middle", "preparation", "profile", "source", "curve"}
    assert table["middle"] is None
    assert table["is_named"] is True
    assert table["source"] == fitted.record_.source
    assert load(saved).stored_.extra == {}
    assert "amount" in load(saved).columns_


def test_threads_do_not_matter(fitted, saved, new):
    one = load(saved, n_jobs=1)
    assert one.n_jobs == 1
    np.testing.assert_allclose(
        one.decision_function(new), fitted.decision_function(new), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_frames_of_all_kinds(kind, model, new):
    frame = new if kind is pa.Table else pl.from_arrow(new)
    frame = frame.to_pandas() if kind is pd.DataFrame else frame
    scored = score_frame(model, frame, reasons=2)
    assert type(scored) is kind
    table = pa.table(scored)
    names = ["id", "probability", "rank", "outlier", "novelty", "outside", "reason_1", "reason_2"]
    assert table.column_names == names
    expected = score_frame(model, new)["probability"].to_numpy()
    np.testing.assert_allclose(table["probability"].to_numpy(), expected, rtol=1e-12)
    assert table["rank"].to_numpy().argmin() == model.decision_function(new).argmax()


def test_fit_takes_frames_and_words():
    table = make_frauds()
    words = pa.array([{1: "fraud", 0: "ok", None: ""}[v] for v in table["fraud"].to_pylist()])
    frame = table.set_column(table.column_names.index("fraud"), "fraud", words)
    model = fit_table(
        pl.from_arrow(frame), label="fraud", outlier_label="fraud", ids="id", representation=FEW,
        random_state=0, n_estimators=20, method="bore", heads=Heads(fit_intercept=True),
        selection=ColumnSelection(costs="complexity:shared"),
    )  # fmt: skip
    assert_array_equal(model.decision_function(table), small_model().decision_function(table))
    assert (model.oob_.codes == -1).sum() == table["fraud"].null_count > 0


def test_unseen_levels_and_missing_values(model, new):
    strange = new.slice(0, 3)
    for name, values in {"country": ["XX", None, "DE"], "amount": [None, 1.0, 2.0]}.items():
        strange = strange.set_column(strange.column_names.index(name), name, pa.array(values))
    assert np.isfinite(model.decision_function(strange)).all()


def test_columns_in_any_order_and_more_of_them(model, new):
    turned = new.select(new.column_names[::-1]).drop_columns(["fraud", "currency"])
    assert_array_equal(model.decision_function(turned), model.decision_function(new))
    with pytest.raises(TableError, match=r"no column 'amount', which the model was fitted with"):
        model.decision_function(new.drop_columns(["amount"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "frud"}, "Did you mean 'fraud'"),
        ({"outlier_label": "yes"}, "No row of column 'fraud' has the value 'yes'"),
        ({"drop": ["amonut"]}, "Did you mean 'amount'"),
        ({"ids": ["fraud"]}, "one role"),
        ({"reading": {"drop": ["hour"]}}, "pass them as `keep`"),
        ({"threshold": "often"}, "`threshold` must be"),
        ({"budget": "20 parsecs"}, "unit 'parsecs'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small_model(**options)


def test_before_a_fit(new):
    for ask in (lambda: Detector().reason(new), lambda: prepare(Detector(), new)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()


@pytest.mark.filterwarnings("ignore:.*in every bag")
def test_the_name_of_a_table_has_no_folders(tmp_path):
    table = pa.table({"x": np.arange(60.0) ** 1.5, "fraud": np.arange(60) > 50})
    options = {"method": "bore", "representation": FEW, "n_estimators": 2, "random_state": 0}
    model = fit_table(table, label="fraud", name="payments/2024", **options)
    model.save(tmp_path / "a.boreod")
    assert load(tmp_path / "a.boreod").record_.source == "2024"


def test_only_one_class():
    table = pa.table({"a": [1.0, 2.0, 3.0], "fraud": [0, 0, None]})
    with pytest.raises(TableError, match="marks 0 outliers and 2 inliers in 3 rows"):
        fit_table(table, label="fraud")


def test_a_curve_is_traced_for_those_who_ask():
    assert small_model().record_.curve is None
    assert small_model(budget=12).record_.curve is not None
    curve = small_model(curve=True).record_.curve
    assert len(curve.budgets) == len(curve.auc) > 1


def test_too_few_rows_for_a_curve():
    table = pa.table({"a": np.arange(30.0) ** 2, "fraud": np.arange(30) == 29})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        few = {"representation": FEW, "random_state": 0, "method": "bore"}
        model = fit_table(table, label="fraud", **few, curve=True)
    assert model.record_.curve is None


class TestDetectorsWithoutPreparation:
    @pytest.fixture
    def numbers(self, labelled):
        return pa.table(list(labelled[0].T), names=["a", "b", "c", "d"])

    def test_named_columns(self, labelled, numbers, tmp_path):
        detector = BORE(FEW, random_state=0).fit(numbers.to_pandas(), labelled[1])
        save(detector, tmp_path / "a")
        model = load(tmp_path / "a")
        assert isinstance(model.preparation_, ArrayRows)
        assert (model.preparation_.ids_, model.record_.curve) == ((), None)
        turned = numbers.select(["d", "b", "a", "c"])
        assert_array_equal(
            model.decision_function(turned), detector.decision_function(numbers.to_pandas())
        )
        with pytest.raises(TableError, match="no column 'd'"):
            model.decision_function(numbers.drop_columns(["d"]))
        model.save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert describe(model)["preparation"][0]["column"] == "a"

    @pytest.mark.parametrize("names", ["xxxx", "cccc"])
    def test_numbered_columns(self, names, labelled, numbers, tmp_path):
        detector = BORE(FEW, random_state=0).fit(*labelled)
        save(detector, tmp_path / "a")
        model = load(tmp_path / "a")
        numbers = numbers.rename_columns([f"{n}{place}" for place, n in enumerate(names)])
        assert_array_equal(
            model.decision_function(numbers), detector.decision_function(labelled[0])
        )
        assert columns_to_read(model.preparation_) is None

    def test_arrow_tables_are_frames(self, labelled, numbers):
        model = BORE(FEW, random_state=0).fit(numbers, labelled[1])
        assert model.columns_[:4] == ["a", "b", "c", "d"]
        frame = numbers.to_pandas()
        assert_array_equal(model.decision_function(numbers), model.decision_function(frame))
        with pytest.raises(ValueError, match="'a' is there more than once"):
            BORE(FEW).fit(numbers.rename_columns(["a", "b", "c", "a"]), labelled[1])
        words = numbers.set_column(1, "b", pa.array(["x", "y"] * 150))
        assert "b=x" in BORE(FEW, random_state=0).fit(words, labelled[1]).columns_

    def test_missing_values(self, labelled, numbers, tmp_path):
        save(BORE(FEW, random_state=0).fit(numbers, labelled[1]), tmp_path / "a")
        gap = pa.array([1.0, None, 2.0])
        table = numbers.slice(0, 3).set_column(2, "c", gap)
        middle = np.quantile(labelled[0][:, 2], 0.5, method="lower")
        assert prepare(load(tmp_path / "a"), table)[:, 2].tolist() == [1.0, middle, 2.0]


FORGED = {
    "no dict": {"preparation": []},
    "steps": {"preparation": {"version": 1, "steps": []}},
    "folder": {"source": "/etc/passwd"},
    "source": {"source": 3},
    "named": {"is_named": False},
    "no names": {"is_named": None},
    "both": {"middle": [1.0]},
    "neither": {"preparation": None},
    "curve": {"curve": [1]},
    "lengths": {"curve": "lengths"},
    "words": {"curve": "words"},
    "negative": {"curve": "negative"},
    "half of the trees": {"curve": "half"},
    "unit": {"curve": "unit"},
    "other columns": {"preparation": "other"},
    "profile": {"profile": [1]},
    "profile of others": {"profile": "short"},
    "known cases": {"profile": "cases"},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_tables(name, saved, tmp_path):
    manifest, arrays = take_apart(saved.read_bytes())
    table = manifest["table"]
    curve = table["curve"]
    changes = {
        "lengths": {**curve, "auc": curve["auc"][1:]},
        "words": {**curve, "auc": ["x"] * len(curve["auc"])},
        "negative": {**curve, "auc": [-1.0] * len(curve["auc"])},
        "half": {**curve, "n_trees": [1] * len(curve["auc"])},
        "unit": {**curve, "unit": "h"},
        "short": {**table["profile"], "means": table["profile"]["means"][1:]},
        "cases": {**table["profile"], "cases": {"names": ["a"], "rows": [[0.0]], "near": 1.0}},
        "other": {**table["preparation"], "steps": table["preparation"]["steps"][1:]},
    }
    for key, value in FORGED[name].items():
        table[key] = changes[value] if value in list(changes) else value
    forge(tmp_path / "a", manifest, arrays)
    with pytest.raises(ModelFileError, match=r"The model file '.*' cannot be used: [^\n]*\.$"):
        load(tmp_path / "a")


def test_reasons_of_frames_and_arrays(fitted, saved, new, labelled):
    loaded = load(saved)
    frame = new.to_pandas()[:5]
    words = [[reason.shown for reason in row] for row in loaded.reason(frame, 2)]
    assert words == [[reason.shown for reason in row] for row in fitted.reason(new.slice(0, 5), 2)]
    assert all(1 <= len(row) <= 2 for row in words)
    plain = Detector(FEW, random_state=0, n_estimators=30, heads=Heads(kinds=["logistic"])).fit(
        *labelled
    )
    assert any("x0" in reason.text for row in plain.reason(labelled[0][:30]) for reason in row)


def test_facts(saved):
    facts = describe(load(saved))
    json.dumps(facts, allow_nan=False)
    assert facts["training"]["rows"] == 300
    assert facts["budget"] == 12
    assert facts["cost"] <= 12
    assert facts["threshold_rule"] == "alerts:12"
    assert facts["training_rows_above"] == 12
    assert {row["column"] for row in facts["preparation"]} == set(make_frauds().column_names)
    assert all(column["cost"] >= 0 for column in facts["columns"])
    assert facts["columns"][0]["stability"] >= facts["columns"][-1]["stability"]


TINY = {"representation": FEW, "heads": Heads(kinds="logistic"), "n_estimators": 30, "n_jobs": 1,
        "random_state": 0}  # fmt: skip


def test_labels_the_wrong_way_round_are_told():
    """As scikit-learn's detectors have them: -1 is an outlier there and unlabelled here."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 2)), np.where(np.arange(120) % 10, 1, -1)
    X[y == -1] += 5.0
    with pytest.warns(UserWarning, match=r"outliers \(108\) than not \(12\).*outlier_label=-1"):
        Detector(**TINY).fit(X, y)
    model = Detector(**TINY, outlier_label=-1).fit(X, y)  # the advice
    assert model.predict(X[:2]).tolist() == [-1, 1]
    with pytest.warns(UserWarning, match="than not"):
        Detector(**TINY).fit(pd.DataFrame(X).assign(y=y), label="y")


def test_training_rows_are_within_their_ranges():
    """Frequencies of training rows do not count the row itself; those of the same rows later do."""
    random = np.random.default_rng(0)
    shops = [f"s{number}" for number in random.geometric(0.05, 300)]
    frame = pd.DataFrame({"amount": random.normal(size=300), "shop": shops})
    y = (np.arange(300) % 10 == 0).astype(int)
    model = Detector(**TINY).fit(frame, y)
    assert "shop frequency" in model.preparation_.names_
    assert set(model.novelty(frame).outside()) == {None}
    assert model.record_.learned_rows.find(prepare(model, frame)).tolist() == list(range(300))


def test_what_is_missing_in_a_plain_array_is_told_so():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), np.repeat([1, 0], [20, 60])
    X[:20] += 3.0
    model = Detector(**TINY).fit(X, y)
    row = np.array([[np.nan, 4.0]])
    assert "x0 is missing, as in no training row" in str(model.reason(row, 5))
