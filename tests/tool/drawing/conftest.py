"""What tests of pictures share."""

import matplotlib as mpl
import numpy as np
import pytest

from boreod.tool.drawing.style import new_panels


@pytest.fixture(autouse=True)
def no_windows():
    """Draw into memory, and close every figure."""
    from matplotlib import pyplot as plt

    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture
def ax():
    return new_panels(1, 1, (4.3, 4.2))[1][0]


@pytest.fixture
def ranked():
    """600 rows, 36 of them outliers, and seven rankings that crowd near the top left."""
    random = np.random.default_rng(0)
    outliers = np.arange(600) < 36
    shared = random.normal(size=600)
    names = ["BORE", "SSAD", "Greedy", "LOF", "kNN", "XGBOD", "IForest"]
    scores = {
        name: outliers * strength + 0.5 * shared + 0.5 * random.normal(size=600)
        for name, strength in zip(names, [2.2, 2.0, 1.9, 1.8, 1.7, 2.05, 1.5], strict=True)
    }
    return outliers, scores
