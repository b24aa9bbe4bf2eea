"""A score depends on its row only: not on the batch, its order, copies or near-copies beside it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesClassifier

from boreod import BORE, OutlierRepresentation, Reference, validation
from boreod.predictor import assess, prepare

RANDOM = np.random.default_rng(3)
VALUES = np.array([0, 1e-300, 1, 1e7, 1e9, 1e18, 1e150])


def training_rows():
    rows = RANDOM.normal(size=(700, 3))
    rows[:, 0] = RANDOM.lognormal(0, 3, 700)
    rows[:150] = np.round(rows[:150])
    rows[RANDOM.integers(150, 700, 150)] = rows[3]
    return rows


def new_rows(training):
    """Ordinary, far, hostile and known rows, with copies and near-copies, in any order."""
    rows = np.vstack([training[::9], training[::9] + 1e-9, RANDOM.normal(size=(60, 3))])
    far = rows[:40].copy()
    far[:, 0] = 4915112345678.0
    near = far[:1] + 1e-9 * RANDOM.normal(size=(40, 3))
    hostile = RANDOM.choice(VALUES, (80, 3)) * RANDOM.choice([-1, 1], (80, 3))
    rows = np.vstack([rows, far, near, hostile])
    return RANDOM.permutation(np.vstack([rows, rows[::5]]))


TRAINING = training_rows()
ROWS = new_rows(TRAINING)
LABELS = (np.arange(700) % 20 == 0).astype(int)
SCORES = {"all": "all", "knn": ["knn_1"], "reverse": ["odin_10"], "geometry": ["cof_10", "abod_10"]}


def in_other_batches(compute, rows):
    """Give the same rows alone, shuffled, and beside copies."""
    places = np.random.default_rng(0).permutation(len(rows))
    yield places, compute(rows[places])
    alone = places[:25]
    yield alone, np.concatenate([compute(rows[place : place + 1]) for place in alone])
    yield alone, compute(np.vstack([rows[alone], rows[alone] * (1 - 1e-9)]))[: len(alone)]
    yield places[:130], compute(rows[places[:130]])


@pytest.mark.parametrize("view", ["full", "manhattan", "cosine", "subspaces:2", "sample:64"])
@pytest.mark.parametrize("neighbors", ["brute", "tree"])
@pytest.mark.parametrize("scores", SCORES)
def test_columns(scores, neighbors, view):
    model = OutlierRepresentation(
        SCORES[scores], [3, 10, 40], views=[view], neighbors=neighbors, random_state=0
    ).fit(TRAINING)
    whole = model.transform(ROWS)
    assert np.isfinite(whole).all()
    for places, found in in_other_batches(model.transform, ROWS):
        assert found.tobytes() == whole[places].tobytes()


MODELS = {
    "default": {},
    "rank": {"scaling": "rank"},
    "platt": {"calibration": "platt"},
    "raw": {"budget": 3},
    "some": {"budget": 60},
    "many": {"budget": 600},
    "time": {"budget": "30us"},
    "unscaled": {"reference": Reference(input_scaling=None)},
    "trees": {"estimator": ExtraTreesClassifier(3, random_state=0), "n_estimators": 12},
}


@pytest.mark.parametrize("name", MODELS)
def test_log_odds(name):
    model = BORE(random_state=0, **MODELS[name]).fit(TRAINING, LABELS)
    whole = model.decision_function(ROWS)
    assert np.isfinite(whole).all()
    for places, found in in_other_batches(model.decision_function, ROWS):
        assert_allclose(found, whole[places], rtol=1e-12, atol=1e-12)
    novelty = model.novelty(ROWS)
    assert_array_equal(assess(model, prepare(model, ROWS)).log_odds, whole)
    if model.fitted_.searches:
        for places, found in in_other_batches(lambda rows: model.novelty(rows).distances, ROWS):
            assert_array_equal(found, novelty.distances[places])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, -1e151])
def test_a_row_alone_is_refused_in_a_sentence(value):
    """Without a warning before it, which pytest would raise."""
    model = OutlierRepresentation(["knn"], [5]).fit(TRAINING)
    with pytest.raises(ValueError, match=r"NaN|infinity|beyond"):
        model.transform(np.array([[1.0, value, 1.0]]))


def test_a_row_from_another_process_takes_the_short_way(monkeypatch):
    """Its type is equal to that of other rows, but not the same object."""
    model = OutlierRepresentation(["knn"], [5]).fit(TRAINING)
    row = pickle.loads(pickle.dumps(ROWS[:1]))
    monkeypatch.setattr(validation, "_validate", None)
    assert_array_equal(model.transform(row), model.transform(ROWS[:1]))
