"""Predictions for more rows than are represented at once."""

import numpy as np

from boreod import BORE, OutlierRepresentation


def test_very_many_rows_are_scored_in_parts(labelled, monkeypatch):
    X, y = labelled
    model = BORE(OutlierRepresentation(["knn", "lof"], [5]), random_state=0).fit(X, y)
    rows = np.vstack([X, X[::2]])
    expected = model.decision_function(rows)
    monkeypatch.setattr("boreod.ensemble.fitted.MAX_ROWS_AT_ONCE", 100)
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        model.decision_function(rows)[:300:2], model.decision_function(rows)[300:]
    )
