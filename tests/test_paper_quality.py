"""Two repetitions on the paper's data: the floors of ten repetitions, with room for noise.

The full measurement is `benchmarks/bench_quality.py`.
"""

import numpy as np
import pytest
from paper_data import FLOORS, aucs, folder

from boreod import BORE

TOLERANCES = {"wilt": 1.0, "cardio": 2.5, "letter": 2.0, "ionosphere": 2.0, "pageblocks": 1.5}


@pytest.mark.skipif(folder() is None, reason="BOREOD_DATA names no folder")
@pytest.mark.parametrize("name", TOLERANCES)
def test_auc(name):
    results = [
        aucs(lambda seed: BORE(random_state=seed), name, repetition) for repetition in (0, 1)
    ]
    known, unseen = np.mean(results, axis=0)
    assert known >= FLOORS[name] - TOLERANCES[name]
    assert abs(known - unseen) <= 1.5 + TOLERANCES[name] / 2
