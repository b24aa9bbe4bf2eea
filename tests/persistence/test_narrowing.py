"""A loaded model narrows as the fitted one does, to the bit, if its file holds what this needs."""

import numpy as np
import pytest
from fuzz.model_cases import forge, take_apart
from numpy.testing import assert_array_equal

from boreod import BORE, Detector, Heads, OutlierRepresentation, Reference, load
from boreod.persistence import ModelFileError, NotStoredError, load_predictor

from .refusals import assert_refused

FEW = OutlierRepresentation(["knn_5", "lof_10", "iforest"], random_state=0)
VIEWS = OutlierRepresentation(["knn", "kdeos"], [5], ["sample:40", "ranked", "sample:60"])
QUICK = {"n_estimators": 12, "random_state": 0}
MORE = {"n_estimators": 40, "random_state": 0}
MODELS = {
    "Detector": Detector(FEW, **QUICK),
    "few trees": Detector(FEW, heads=Heads(["logistic", "trees"], n_trees=2), **QUICK),
    "minmax": Detector(FEW, scaling="minmax", **QUICK),
    "views": Detector(VIEWS, **QUICK),
    "a sample": Detector(FEW, reference=Reference(size=200), **MORE),
    "every score": Detector(OutlierRepresentation("all", [3, 7], random_state=0), **QUICK),
    "BORE": BORE(FEW, **MORE),
    "unscaled": BORE(FEW, reference=Reference(input_scaling=None), **MORE),
    "no raw columns": BORE(OutlierRepresentation(["knn", "lof"], [5], passthrough=False), **MORE),
}
BUDGETS = ("20us", "60us")


def fitted(name, labelled):
    X, y = labelled
    return MODELS[name].fit(X, np.where(np.arange(len(y)) % 3 == 1, -1, y))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_it_narrows_as_the_fitted_model(name, budget, labelled, tmp_path):
    model = fitted(name, labelled)
    model.save(tmp_path / "a", narrowable=True)
    loaded = load(tmp_path / "a")
    fast = model.within(budget)
    again = loaded.within(budget)
    new = np.random.default_rng(3).normal(size=(50, 4))
    assert again.columns_ == fast.columns_
    assert again.threshold_ == fast.threshold_
    assert_array_equal(again.predict_proba(new), fast.predict_proba(new))
    assert_array_equal(again.oob_proba_, fast.oob_proba_)
    assert_array_equal(again.novelty(new).novel, fast.novelty(new).novel)
    again.save(tmp_path / "b")
    fast.save(tmp_path / "c")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_a_model_without_labels(labelled, tmp_path):
    model = Detector(**QUICK).fit(labelled[0])
    model.save(tmp_path / "a", narrowable=True)
    again = load(tmp_path / "a").within("60us")
    assert_array_equal(
        again.predict_proba(labelled[0]), model.within("60us").predict_proba(labelled[0])
    )


def test_curves_and_costs_are_known_again(labelled, tmp_path):
    model = fitted("Detector", labelled)
    model.save(tmp_path / "a", narrowable=True)
    budgets = {"budgets": [2, 30], "costs": "complexity:shared"}
    found = load(tmp_path / "a").budget_curve(**budgets)
    assert_array_equal(found.auc, model.budget_curve(**budgets).auc)


def test_saving_again_gives_the_same_bytes(labelled, tmp_path):
    fitted("views", labelled).save(tmp_path / "a", narrowable=True)
    loaded = load(tmp_path / "a")
    loaded.within("60us")
    loaded.save(tmp_path / "b", narrowable=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("name", ["Detector", "views", "every score"])
def test_another_machine_measures_prices_anew(name, labelled, tmp_path, monkeypatch):
    fitted(name, labelled).save(tmp_path / "a", narrowable=True)
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path / "cache"))
    fast = load(tmp_path / "a").within("100us")
    assert 0.0 < fast.cost_ <= 100e-6
    assert list((tmp_path / "cache" / "prices").iterdir())


def test_what_is_small_is_stored(labelled, tmp_path):
    model = fitted("Detector", labelled)
    sizes = []
    for narrowable in (False, None, True):
        model.save(tmp_path / "a", narrowable=narrowable)
        sizes.append((tmp_path / "a").stat().st_size)
    assert sizes[0] < sizes[1] == sizes[2] <= sizes[0] / 0.8


def test_what_is_large_is_not_stored(labelled, tmp_path):
    scores = OutlierRepresentation("all", [3, 5, 7])
    model = BORE(scores, **MORE).fit(*labelled)
    model.save(tmp_path / "a")
    with pytest.raises(NotStoredError, match="save with narrowable=True"):
        load(tmp_path / "a").within("20us")
    with pytest.raises(ModelFileError, match="Save the model that `fit` returned"):
        load(tmp_path / "a").save(tmp_path / "b", narrowable=True)
    with pytest.raises(ModelFileError, match="this model has a budget"):
        model.within("20us").save(tmp_path / "b", narrowable=True)
    assert not (tmp_path / "b").exists()


def test_predictors_take_such_files(labelled, tmp_path):
    model = fitted("Detector", labelled)
    model.save(tmp_path / "a", narrowable=True)
    found = load_predictor(tmp_path / "a").predict_proba(labelled[0])
    assert_array_equal(found, model.predict_proba(labelled[0]))


HOSTILE = {
    "one seed": ({"seeds": [1]}, {}),
    "a negative seed": ({"seeds": [1, -1]}, {}),
    "too many other rows": ({"others": 299}, {}),
    "an unknown search": ({"neighbors": "cells"}, {}),
    "a place twice": ({}, {"lessons.places": lambda places: places.__setitem__(0, places[1])}),
    "a place too far": ({}, {"lessons.places": lambda places: places.__setitem__(0, 300)}),
    "infinite scores": ({}, {"lessons.scores": lambda scores: scores.fill(np.inf)}),
    "NaN": ({}, {"lessons.others": lambda others: others.fill(np.nan)}),
    "negative isolation": ({}, {"lessons.isolation": lambda values: values.fill(-1.0)}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_lessons_are_refused(name, labelled, tmp_path):
    fitted("Detector", labelled).save(tmp_path / "a", narrowable=True)
    manifest, arrays = take_apart((tmp_path / "a").read_bytes())
    facts, changes = HOSTILE[name]
    manifest["lessons"] |= facts
    arrays = {place: values.copy() for place, values in arrays.items()}
    for place, change in changes.items():
        change(arrays[place])
    assert "lessons" in assert_refused(forge(tmp_path / "b", manifest, arrays))
