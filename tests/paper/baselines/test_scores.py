"""Baselines on scores: the greedy ensemble against ELKI, all of them as estimators."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDENS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from boreod import BORE, OutlierRepresentation
from boreod.paper.baselines import BestScore, GreedyEnsemble, MeanScore
from boreod.paper.baselines.scores import balance, choose_members, distance, union_of_top

SMALL = OutlierRepresentation(["knn", "lof", "ldof"], ks=[5, 10])
SHARED = Path(os.environ.get("BOREOD_GOLDENS", GOLDENS))


@pytest.fixture(params=["wine", "breast_cancer"])
def golden(request):
    path = next(
        (folder / f"greedy_{request.param}.npz" for folder in (GOLDENS, SHARED)
         if (folder / f"greedy_{request.param}.npz").exists()), None)  # fmt: skip
    if path is None:
        pytest.skip("BOREOD_GOLDENS names no folder with these figures")
    return request.param, np.load(path)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [12, 188])
    X = random.normal(size=(200, 3))
    X[y == 1] *= 4
    return X, y


def test_target_and_distances_are_elkis(golden):
    _, elki = golden
    scores, wanted = elki["S"], int(elki["rate"] * elki["S"].shape[1])
    target = union_of_top(scores, wanted)
    assert_array_equal(target, elki["target"])
    assert_allclose(balance(target), elki["weights"], rtol=1e-15)
    distances = [distance(row, target, balance(target)) for row in scores]
    assert_allclose(distances, elki["initial_distance"], atol=1e-12, rtol=0)


def test_members_are_those_of_the_papers_rule(golden):
    dataset, elki = golden
    scores, names = elki["S"], elki["names"]
    members = choose_members(scores, int(elki["rate"] * scores.shape[1]))
    assert [names[place] for place in members] == elki["members_paper"].tolist()
    assert_allclose(scores[members].mean(axis=0), elki["ensemble_paper"], atol=1e-12)
    if (SHARED / "greedy.json").exists():
        by_rate = json.loads((SHARED / "greedy.json").read_text())
        for rate in (0.01, 0.05, 0.1):
            members = choose_members(scores, max(1, int(rate * scores.shape[1])))
            expected = by_rate[f"{dataset}_{rate:g}"]["members_paper_order"]
            assert [str(names[place]) for place in members] == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (np.ones(4), np.full(4, 2.0), 0.0),
        (np.ones(4), np.arange(4.0), 1.0),
        (np.arange(4.0), 5 * np.arange(4.0) + 1, pytest.approx(0.0)),
        (np.arange(4.0), -np.arange(4.0), pytest.approx(2.0)),
    ],
    ids=["constants", "one constant", "same order", "reverse order"],
)
def test_distances_of_constants_and_others(one, other, expected):
    assert distance(one, other, np.full(4, 0.25)) == expected


def test_every_row_may_be_in_the_target():
    scores = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
    assert union_of_top(scores, 3).tolist() == [1.0, 1.0, 1.0]
    assert choose_members(scores, 3) == [0, 1]  # their mean is constant, as the target is


@pytest.mark.parametrize("kind", [MeanScore, GreedyEnsemble, BestScore])
def test_estimators(kind, data):
    X, y = data
    model = kind(SMALL, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert roc_auc_score(y, scores) > 0.85
    assert set(model.columns_) <= set(clone(SMALL).set_params(passthrough=False).fit(X).columns_)
    assert_array_equal(clone(model).fit(X, y).decision_function(X), scores)
    assert_array_equal(model.decision_function(X[3:4]), scores[3:4])
    words = kind(SMALL, outlier_label="bad").fit(X, np.where(y == 1, "bad", "good"))
    assert_array_equal(words.decision_function(X), scores)
    with pytest.raises(NotFittedError):
        kind().decision_function(X)
    with pytest.raises(ValueError, match="contains NaN"):
        kind(SMALL).fit(np.where(X > 3, np.nan, X), y)


def test_what_they_use(data):
    X, y = data
    everything = MeanScore(SMALL).fit(X, y)
    assert len(everything.columns_) == 6
    best = BestScore(SMALL).fit(X, y)
    assert len(best.columns_) == 1
    table = clone(SMALL).set_params(passthrough=False).fit(everything._input_scaler.transform(X))
    of_columns = [
        roc_auc_score(y, column)
        for column in table.transform(everything._input_scaler.transform(X)).T
    ]
    assert roc_auc_score(y, best.decision_function(X)) == pytest.approx(max(of_columns))
    partly = np.where(np.arange(200) % 2, y, -1)
    assert len(GreedyEnsemble(SMALL).fit(X, partly).columns_) >= 1


def test_the_greedy_ensemble_answers_with_the_scores_by_which_it_chose(data):
    X, y = data
    model = GreedyEnsemble(SMALL).fit(X, y)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    columns = clone(SMALL).set_params(passthrough=False).fit(scaled)
    table = columns.transform(scaled)
    standard = ((table - table.mean(axis=0)) / table.std(axis=0)).T
    members = choose_members(standard, int(y.sum()))
    assert set(model.columns_) == {columns.columns_[place] for place in members}
    assert_allclose(model.decision_function(X), standard[members].mean(axis=0), atol=1e-9)


def test_raw_columns_only_is_the_bagged_ensemble(data):
    X, y = data
    model = BORE(OutlierRepresentation([], views=[]), random_state=0).fit(X, y)
    assert model.columns_ == ["x0", "x1", "x2"]
