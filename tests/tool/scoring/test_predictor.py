"""What a model file gives back without scikit-learn says the same as the estimator."""

import numpy as np
import pandas as pd
import pytest
from payments import make_frauds, small_model

import boreod
from boreod import BORE, OutlierRepresentation
from boreod.predictor import Predictor, for_workers
from boreod.tool import load_predictor, score_table


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A detector of frames, and what its file gives back."""
    path = tmp_path_factory.mktemp("predictor") / "a.boreod"
    small_model().save(path)
    return boreod.load(path), load_predictor(path, n_jobs=1)


def test_the_same_bits(both):
    detector, predictor = both
    table = make_frauds(60, seed=2)
    assert not hasattr(predictor, "fit")
    assert type(predictor) is not type(detector)
    for method in ("predict_proba", "decision_function", "predict"):
        found, expected = (getattr(model, method)(table) for model in (predictor, detector))
        assert found.tobytes() == expected.tobytes()
    assert predictor.reason(table) == detector.reason(table)
    sent = for_workers(predictor, n_jobs=2)
    assert sent.predict_proba(table).tobytes() == detector.predict_proba(table).tobytes()


def test_frames_and_arrays_of_plain_numbers(labelled, tmp_path):
    X, y = labelled
    frame = pd.DataFrame(X, columns=list("abcd"))
    few = OutlierRepresentation(["knn"], [5])
    for table, path in ((frame, tmp_path / "a"), (X, tmp_path / "b")):
        model = BORE(few, n_estimators=20, random_state=0).fit(table, y)
        boreod.save(model, path)
        predictor = load_predictor(path)
        for rows in (table, table[:1]):
            assert predictor.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
        assert predictor.score(table, y) == model.score(table, y)
        with pytest.raises(ValueError, match=r"3 features|feature names"):
            predictor.predict(frame[["a", "b", "c"]] if table is frame else X[:, :3])
    with pytest.raises(TypeError, match="Copy its file"):
        boreod.save(predictor, tmp_path / "c")
    assert np.isfinite(predictor.novelty(X).distances).all()


def test_a_predictor_without_a_model(tmp_path):
    for use in ("predict", "explain", "reason", "novelty"):
        with pytest.raises(ValueError, match=r"Predictor holds no model .*load_predictor\("):
            getattr(Predictor(), use)(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="holds no model"):
        score_table(Predictor(), tmp_path / "a.csv", "-")
