"""What computes the columns of a loaded model stands alone."""

import subprocess
import sys

import pytest

CODE = """
import sys
import numpy as np
from boreod.neighbors import KnownRows
from boreod.parallel import Threads
from boreod.representation.columns import FittedColumns
from boreod.representation.plan import make_plan, read_scores
from boreod.representation.scaling import SCALERS, fit_scaler
from boreod.representation.scored_view import ScoredView
from boreod.representation.views import resolve_views

rows = np.random.default_rng(0).normal(size=(200, 2))
space = resolve_views("full", 200, ["a", "b"], np.random.RandomState(0))[0]
plan, _ = make_plan(read_scores("all")[0], (5, 10), 200, "")
view, *_ = ScoredView.fit(KnownRows(rows), space, plan, "auto", Threads(1))
table = FittedColumns(view.column_names, [], [view], []).compute(rows + 0.1, Threads(1))
for kind in SCALERS:
    fit_scaler(kind, table).transform(table)
print([name for name in ("sklearn", "scipy.stats", "joblib") if name in sys.modules])
"""


@pytest.mark.other_parts
def test_scoring_needs_neither_scikit_learn_nor_scipy_stats():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
