"""Built-in sets load anywhere."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from boreod.datasets import available, catalogue, load
from boreod.datasets.builtin import RARE

SOURCES = {"digits": load_digits, "wdbc": load_breast_cancer, "wine": load_wine}


@pytest.fixture(autouse=True)
def _nothing_at_hand(cache, monkeypatch):
    """No folder, no cache, no network."""
    monkeypatch.setenv("BOREOD_MIRROR", "http://127.0.0.1:9")


@pytest.mark.parametrize("name", SOURCES)
def test_loads(name, cache):
    data = load(name)
    assert data.info.group == "builtin"
    assert data.X.shape == (data.info.n, data.info.d)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int8)
    assert np.isfinite(data.X).all()
    assert np.bincount(data.y).tolist() == [data.info.n - data.info.outliers, data.info.outliers]
    assert not cache.exists()


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_those_of_scikit_learn(name):
    data, source = load(name), SOURCES[name]()
    rare, kept = RARE[name]
    assert data.feature_names == list(source.feature_names)
    assert data.info.source == f"sklearn.datasets.{SOURCES[name].__name__}"
    np.testing.assert_array_equal(data.X[data.y == 0], source.data[source.target != rare])
    np.testing.assert_array_equal(data.X[data.y == 1], source.data[source.target == rare][:kept])


def test_the_catalogue_lists_them_all():
    assert [info.name for info in catalogue() if info.group == "builtin"] == list(RARE)
    assert available() == {name: [1] for name in RARE}


def test_callers_own_their_rows():
    load("wine").X[:] = np.nan
    assert np.isfinite(load("wine").X).all()
