"""What a fitted detector needs to predict, apart from its training."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod import BORE, OutlierRepresentation
from boreod.parallel import Threads

SCRIPT = """
import pickle, sys
sys.modules["sklearn"] = sys.modules["scipy.stats"] = None  # importing either fails
import numpy as np
from boreod.parallel import Threads
with open("fitted.pickle", "rb") as file:
    fitted = pickle.load(file)
rows = np.load("rows.npy")
found = fitted.assess(rows, Threads(1), explain=True)
np.savez("found.npz", odds=fitted.log_odds(rows, Threads(1)),
         contributions=found.explanation.contributions, p=found.novelty.p_values)
"""


@pytest.mark.other_parts
@pytest.mark.parametrize("scaling", ["minmax", "rank"])
def test_scores_without_scikit_learn(scaling, labelled, tmp_path):
    grid = OutlierRepresentation("all", [4, 12], ["full", "sample:60"])
    model = BORE(grid, scaling=scaling, random_state=0).fit(*labelled)
    new = labelled[0][:40] * 1.5
    (tmp_path / "fitted.pickle").write_bytes(pickle.dumps(model.fitted_))
    np.save(tmp_path / "rows.npy", new)
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=True)
    found = np.load(tmp_path / "found.npz")
    assert_array_equal(found["odds"], model.decision_function(new))
    assert_array_equal(found["contributions"], model.explain(new, grouped=True).contributions)
    assert_array_equal(found["p"], model.novelty(new).p_values)


def test_very_many_rows_are_scored_in_parts(labelled, monkeypatch):
    X, y = labelled
    model = BORE(OutlierRepresentation(["knn", "lof"], [5]), random_state=0).fit(X, y)
    rows = np.vstack([X, X[:50] + 0.1, X[:7]])
    whole = model.fitted_.assess(rows, Threads(1))
    monkeypatch.setattr("boreod.ensemble.fitted.MAX_ROWS_AT_ONCE", 64)
    parts = model.fitted_.assess(rows, Threads(1))
    assert_array_equal(parts.log_odds, whole.log_odds)
    assert_array_equal(parts.novelty.p_values, whole.novelty.p_values)
