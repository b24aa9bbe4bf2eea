"""What all tests share."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from boreod import OutlierRepresentation

GOLDENS = Path(__file__).parent / "goldens"

settings.register_profile("kernels", deadline=None)  # the first example may compile
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("kernels")


def pytest_configure(config):
    """Give a session, with all its processes, a cache of its own: no test knows older prices."""
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit it
        os.environ["BOREOD_CACHE"] = config.cache_of_session = tempfile.mkdtemp(prefix="boreod-")


def pytest_unconfigure(config):
    """Remove it."""
    if hasattr(config, "cache_of_session"):
        shutil.rmtree(config.cache_of_session, ignore_errors=True)


@pytest.fixture
def rows():
    """Two clusters of different density and some scattered rows; no ties."""
    random = np.random.default_rng(7)
    dense = random.normal(0, 0.3, (90, 4))
    loose = random.normal(4, 1.5, (50, 4))
    scattered = random.uniform(-6, 10, (10, 4))
    return np.vstack([dense, loose, scattered])


@pytest.fixture(scope="session")
def labelled():
    """270 inliers and 30 outliers that scatter more widely, with labels."""
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [30, 270])
    X = random.normal(size=(300, 4))
    X[y == 1] += random.normal(0, 2.0, size=(30, 4))
    return X, y


@pytest.fixture
def grid():
    """Integer points, many of them tied or copied."""
    return np.load(GOLDENS / "grid.npz")["X"]


@pytest.fixture
def column():
    """Return one score column of training rows, as the library computes it."""

    def compute(points, score, k, **options):
        model = OutlierRepresentation([score], [k], passthrough=False, **options)
        return model.fit_transform(points)[:, 0]

    return compute
