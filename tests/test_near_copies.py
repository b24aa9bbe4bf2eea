"""Rows of the fit that come back almost equal: BORE as printed loses their alerts, others do not.

docs/detector.md shows these figures.
"""

import numpy as np
import pytest

from boreod import BORE, Detector, OutlierRepresentation, Reference
from boreod.paper.datasets import load

WDBC = load("wdbc")
WITHOUT_ONE = OutlierRepresentation(ks=range(10, 101, 10))


@pytest.mark.parametrize(
    ("model", "same", "near"),
    [
        (BORE(random_state=0), 30, 2),
        (BORE(WITHOUT_ONE, random_state=0), 30, 1),
        (BORE(reference=Reference(outliers=False), random_state=0), 29, 28),
        (Detector(random_state=0), 30, 30),
    ],
    ids=["BORE", "without k = 1", "without outliers", "Detector"],
)
def test_alerts_of_near_copies(model, same, near):
    model.fit(WDBC.X, WDBC.y)
    rounded = WDBC.X.astype(np.float32)
    found = [int(model.predict(rows).sum()) for rows in (WDBC.X, rounded)]
    assert found == pytest.approx([same, near], abs=1)
