"""What was saved predicts as before: all scores, views, scalings, budgets, other processes."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from boreod import (
    BORE,
    Bagging,
    ColumnSelection,
    Costs,
    Detector,
    Heads,
    OutlierRepresentation,
    Reference,
    View,
    save,
)
from boreod.ensemble.parameters import GROUPS
from boreod.parallel import Threads
from boreod.persistence import NotStoredError, load_predictor
from boreod.persistence.parameters import encode
from boreod.predictor import known_costs, prepare, settings_of
from boreod.scores import KDEOS, LDF, LOF, SCORES, LoOP

FEW = OutlierRepresentation(["knn", "lof", "odin", "cof"], ks=[5, 10])
EVERY_VIEW = (
    "full",
    "subspaces:3",
    "sample:64",
    "manhattan",
    "cosine",
    View("pair", columns=(2, 0), metric="manhattan", sample=50),
)
CONFIGURATIONS = {
    "every score": {"representation": OutlierRepresentation(ks=[3, 10])},
    "every view": {
        "representation": OutlierRepresentation(["knn", "lof", "inflo"], [5], views=EVERY_VIEW)
    },
    "samples only": {
        "representation": OutlierRepresentation(
            ["lof", "odin"], [4], views=["sample:40", "sample:60"]
        )
    },
    "tree": {"representation": OutlierRepresentation(["lof", "kdeos"], [5], neighbors="tree")},
    "scores only": {"representation": clone(FEW).set_params(passthrough=False)},
    "parameters of scores": {
        "representation": OutlierRepresentation(
            [LoOP(extent=2), ("mine", KDEOS(scale=0.7)), ("wide", LDF(bandwidth=2)), LOF, "knn_7"],
            ks=np.array([4, 8]),
        )
    },
    "rank": {"representation": FEW, "scaling": "rank"},
    "unscaled": {"representation": FEW, "reference": Reference(input_scaling=None)},
    "calibrated": {"representation": FEW, "calibration": "platt"},
    "alerts": {"representation": FEW, "threshold": "alerts:10"},
    "fpr": {"representation": FEW, "threshold": "fpr:0.05", "heads": Heads(penalty="auto")},
    "declared costs": {
        "representation": FEW,
        "selection": ColumnSelection(costs={"lof": 5, "knn_5": 2.5}),
        "budget": 9,
    },
    "ready-made costs": {
        "representation": FEW,
        "selection": ColumnSelection(costs=Costs({"x0": 1, "lof_5": 2})),
    },
    "time": {"representation": FEW, "budget": "200us"},
    "measured": {
        "representation": FEW,
        "selection": ColumnSelection(costs="measured:shared"),
        "budget": "500us",
    },
    "numpy parameters": {
        "representation": FEW,
        "bagging": Bagging(max_samples=np.float32(0.5)),
        "n_estimators": np.int64(7),
    },
}


@pytest.fixture(scope="module")
def data(labelled):
    """Training rows with copies and unlabelled rows; and rows that come later."""
    X, y = labelled[0].copy(), labelled[1].copy()
    X[250:262] = X[240]
    X[262:265] = 0.0
    y[200:230] = -1
    random = np.random.default_rng(5)
    far = np.array([[1e9, -1e9, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1e149, 1.0, 1.0, -1e149]])
    return X, y, np.vstack([random.normal(size=(60, 4)), X[::7], far])


def fit(options, X, y, preset=BORE):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns without a price
        return preset(**{"random_state": 0, "n_estimators": 20, **options}).fit(X, y)


def reloaded(model, folder):
    save(model, folder / "model.boreod")
    return load_predictor(folder / "model.boreod", kind=type(model))


def assert_same(loaded, model, *tables):
    for rows in tables:
        assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
        assert_array_equal(
            loaded.predict_proba(rows, raw=True), model.predict_proba(rows, raw=True)
        )
        assert_array_equal(loaded.predict(rows), model.predict(rows))
        for grouped in (False, True):
            before, after = model.explain(rows, grouped), loaded.explain(rows, grouped)
            assert after.columns == before.columns
            assert after.base == before.base
            assert_array_equal(after.contributions, before.contributions)
        assert_array_equal(loaded.novelty(rows).distances, model.novelty(rows).distances)
    assert type(loaded) is type(model)
    assert loaded.columns_ == model.columns_
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.threshold_ == model.threshold_
    assert loaded.n_features_in_ == model.n_features_in_
    penalties = [getattr(m.fitted_.logistic, "penalty", None) for m in (loaded, model)]
    assert penalties[0] == penalties[1]
    gradients = [getattr(m.fitted_.logistic, "gradients", None) for m in (loaded, model)]
    assert_array_equal(*gradients)
    assert_array_equal(loaded.oob_proba_, model.oob_proba_)
    assert loaded.oob_.summarize() == model.oob_.summarize()
    for threshold in (0.3, "alerts:10", "fpr:0.05"):
        assert loaded.choose_threshold(threshold) == model.choose_threshold(threshold)
    assert settings_of(loaded) == settings_of(model)
    plain = {
        name: value for name, value in model.get_params(deep=False).items() if name not in GROUPS
    }
    assert {name: encode(name, getattr(loaded, name)) for name in plain} == {
        name: encode(name, value) for name, value in plain.items()
    }
    assert loaded.costs_ == known_costs(model)
    assert loaded.cost_ == model.cost_
    assert str(loaded.selection_) == str(model.selection_)
    if model.budget is not None:
        assert loaded.costs_.names == model.costs_.names
        of_columns = loaded.costs_.total(loaded.columns_)
        assert loaded.cost_ == of_columns + loaded.selection_.cost_of_trees


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_configuration(name, data, tmp_path):
    X, y, new = data
    model = fit(CONFIGURATIONS[name], X, y)
    loaded = reloaded(model, tmp_path)
    assert_same(loaded, model, X, new)
    fit(clone(loaded).get_params(deep=False), X, y)
    save(loaded, tmp_path / "again.boreod")
    assert (tmp_path / "again.boreod").read_bytes() == (tmp_path / "model.boreod").read_bytes()


WITH_TREES = {
    "all heads": {"representation": FEW},
    "one head": {
        "representation": FEW,
        "heads": Heads(kinds="boosted", n_trees=3),
    },
    "raw columns": {"representation": OutlierRepresentation([]), "calibration": None},
    "scores alone": {
        "representation": clone(FEW).set_params(passthrough=False),
        "heads": Heads(n_trees=2),
    },
    "other scaling": {
        "representation": FEW,
        "scaling": "minmax",
        "heads": Heads(penalty=1e-2),
    },
    "labelled inliers": {
        "representation": FEW,
        "bagging": Bagging(inliers="labelled"),
        "prior": 0.01,
    },
    "few": {
        "representation": "few",
        "selection": ColumnSelection(costs={"tree": 0.5, "x0": 2, "knn": 3, "iforest": 3}),
    },
    "budget": {
        "representation": FEW,
        "budget": 300,
        "selection": ColumnSelection(costs="complexity:shared"),
    },
    "few trees": {
        "representation": FEW,
        "budget": 30,
        "selection": ColumnSelection(costs="complexity:shared"),
    },
    "forest not bought": {
        "representation": OutlierRepresentation(["knn_5", ("mine", "iforest")]),
        "budget": 25,
        "selection": ColumnSelection(costs={"mine": 1000, "knn": 3, "tree": 0.5}),
    },
}


@pytest.mark.parametrize("name", WITH_TREES)
def test_trees_and_several_heads(name, data, tmp_path):
    X, y, new = data
    options = {"heads": Heads(n_trees=4), "n_estimators": 12, **WITH_TREES[name]}
    model = fit(options, X, np.where(y == 1, 1, -1) if name == "one head" else y, Detector)
    loaded = reloaded(model, tmp_path)
    assert_same(loaded, model, X, new)
    assert [(m.kind, m.line, m.weight) for m in loaded.fitted_.members] == [
        (m.kind, m.line, m.weight) for m in model.fitted_.members
    ]
    save(loaded, tmp_path / "again.boreod")
    assert (tmp_path / "again.boreod").read_bytes() == (tmp_path / "model.boreod").read_bytes()


@pytest.mark.parametrize("scores", [["iforest"], ["knn_5", "lof_9", ("mine", "iforest")]])
@pytest.mark.parametrize("passthrough", [True, False])
def test_without_labels(scores, passthrough, data, tmp_path):
    X, _, new = data
    grid = OutlierRepresentation(scores, passthrough=passthrough)
    model = fit({"representation": grid, "n_estimators": 8}, X, None, Detector)
    loaded = reloaded(model, tmp_path)
    for rows in (X, new):
        assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
        before, after = model.explain(rows), loaded.explain(rows)
        assert_array_equal(after.contributions, before.contributions)
    assert loaded.threshold_ == model.threshold_
    assert loaded.choose_threshold("alerts:20") == model.choose_threshold("alerts:20")
    assert loaded.oob_.summarize() == model.oob_.summarize()
    save(loaded, tmp_path / "again.boreod")
    assert (tmp_path / "again.boreod").read_bytes() == (tmp_path / "model.boreod").read_bytes()


def test_trees_that_never_split(tmp_path):
    """All rows are the same: every tree is one leaf, and there is no threshold to store."""
    trees = Heads(kinds="trees")
    model = fit({"representation": OutlierRepresentation([]), "heads": trees, "n_estimators": 2},
                np.ones((60, 2)), np.repeat([1, 0], [5, 55]), Detector)  # fmt: skip
    assert model.fitted_.members[0].head.trees.n_nodes == 20
    loaded = reloaded(model, tmp_path)
    assert_array_equal(loaded.decision_function(np.eye(2)), model.decision_function(np.eye(2)))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("backend", ["brute", "tree"])
def test_every_score_alone(score, backend, data, tmp_path):
    X, y, new = data
    grid = OutlierRepresentation([score], [4, 12], passthrough=False, neighbors=backend)
    model = fit({"representation": grid}, X, y)
    loaded = reloaded(model, tmp_path)
    assert_same(loaded, model, X, new)
    training_scores = model.training_.table
    assert_array_equal(loaded.fitted_.represent(prepare(loaded, X), Threads(1)), training_scores)
    one, points = loaded.fitted_.columns.keep([f"{score}_12"]), loaded.fitted_.scale_input(new)
    both = model.fitted_.columns.compute(points, Threads(1))
    assert_array_equal(one.compute(points, Threads(1)), both[:, [1]])


@pytest.mark.parametrize("budget", [1, 8, 30, 60, 1e6])
@pytest.mark.parametrize("name", ["every score", "every view", "samples only", "rank"])
def test_models_within_a_budget(name, budget, data, tmp_path):
    X, y, new = data
    fast = fit(CONFIGURATIONS[name], X, y).within(budget, costs="complexity:shared")
    assert_same(reloaded(fast, tmp_path), fast, X, new)


def test_words_and_named_columns(data, tmp_path):
    X, y, new = data
    frame = pd.DataFrame(X, columns=["V1", "V2", "naïve \u4e2d", "lof"])
    words = np.array(["ok", "fraud", None], dtype=object)[y]
    grid = OutlierRepresentation([("score", "lof"), "knn"], [5])
    model = fit({"representation": grid, "outlier_label": "fraud"}, frame, words)
    loaded = reloaded(model, tmp_path)
    later = pd.DataFrame(new, columns=frame.columns)
    assert_same(loaded, model, frame, later)
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(later[["V2", "V1", "lof", "naïve \u4e2d"]])


@pytest.mark.parametrize("labels", [(1.0, 2.0), (False, True), (3, 7), ("a", 4)])
def test_labels_of_every_kind(labels, data, tmp_path):
    X, y, new = data
    named = np.array([*labels], dtype=object if "a" in labels else None)[(y == 1).astype(int)]
    model = fit({"representation": FEW, "outlier_label": labels[1]}, X, named)
    assert_same(reloaded(model, tmp_path), model, new)


def test_times_taken_again_after_the_choice(data, tmp_path):
    X, y, _ = data
    fast = fit({"representation": FEW}, X, y).within("30us")
    fast.measure_costs()
    loaded = reloaded(fast, tmp_path)
    assert loaded.cost_ == fast.cost_
    assert loaded.selection_.costs == fast.selection_.costs != fast.costs_
    assert loaded.costs_ == fast.costs_


def test_another_number_of_threads_and_another_process(data, tmp_path):
    X, y, new = data
    model = fit(CONFIGURATIONS["every score"], X, y)
    save(model, tmp_path / "model.boreod")
    np.save(tmp_path / "rows.npy", np.vstack([X, new]))
    script = (
        "import numpy as np; from boreod import BORE\n"
        "from boreod.persistence import load_predictor\n"
        "model = load_predictor('model.boreod', kind=BORE); model.set_params(n_jobs=3); "
        "np.save('odds.npy', model.decision_function(np.load('rows.npy')))"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    before = fit({**CONFIGURATIONS["every score"], "n_jobs": 1}, X, y)
    rows = np.vstack([X, new])
    there = np.load(tmp_path / "odds.npy")
    np.testing.assert_allclose(there, model.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there, before.decision_function(rows), rtol=1e-12, atol=1e-12)


def test_a_loaded_model_says_what_it_cannot_do(data, tmp_path):
    X, y, new = data
    loaded = reloaded(fit({"representation": FEW}, X, y), tmp_path)
    for ask in (
        lambda: loaded.within("20us"),
        lambda: loaded.within(30, costs="complexity:shared"),
        loaded.budget_curve,
        lambda: loaded.budget_curve([10], costs="complexity:shared"),
        loaded.measure_costs,
    ):
        with pytest.raises(NotStoredError, match="loaded from a file, which holds no bags"):
            ask()
    for twin in (copy.copy(loaded), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert_array_equal(twin.predict_proba(new), loaded.predict_proba(new))


def test_a_loaded_model_can_be_fitted_again(data, tmp_path):
    X, y, new = data
    save(fit({"representation": FEW}, X, y), tmp_path / "a.boreod", extra={"a": 1})
    loaded = load_predictor(tmp_path / "a.boreod", kind=BORE).fit(X[:240], y[:240])
    assert loaded.within("40us").oob_proba_.shape == (240,)
    again = reloaded(loaded, tmp_path)
    assert again.oob_.summarize().rows == 240
    assert again.stored_.extra == {}
    assert_array_equal(again.predict_proba(new), loaded.predict_proba(new))


def test_what_the_file_says_of_the_training(data, tmp_path):
    X, y, _ = data
    model = fit({"representation": FEW}, X, y)
    extra = {"fill": {"V1": 0.5}, "words": ["naïve", None, True], "nested": [[1, 2], {}]}
    save(model, tmp_path / "a.boreod", extra=extra)
    loaded = load_predictor(tmp_path / "a.boreod", kind=BORE)
    save(loaded, tmp_path / "b.boreod")
    for again in (loaded, load_predictor(tmp_path / "b.boreod", kind=BORE)):
        stored, facts = again.stored_, again.oob_.summarize()
        assert stored.extra == extra
        assert stored.format == 9
        assert set(stored.versions) == {"boreod", "python", "numpy", "scikit-learn"}
        assert (facts.rows, facts.outliers, facts.inliers, facts.unlabelled) == (300, 30, 240, 30)
        assert facts.judged == 270
        assert 0.5 < facts.auc <= 1.0
        assert 0.1 < facts.average_precision <= 1.0


def test_prices_of_very_many_columns_are_left_out(labelled, tmp_path):
    """A manifest must stay small: then only columns in use keep their prices."""
    model = BORE(OutlierRepresentation(["knn"], [5]), random_state=0).fit(*labelled)
    own = {f"knn_{k}@s{view:03d}": 1e-6 for k in range(1, 101) for view in range(100)}
    model._costs = Costs({**dict.fromkeys(model.columns_, 1e-6), **own}, unit="s")
    save(model, tmp_path / "a.boreod")
    assert load_predictor(tmp_path / "a.boreod", kind=BORE).costs_.names == model.columns_
