"""How a search is asked for, and which one is chosen where nobody asks."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

import boreod.neighbors.graph as module
from boreod.neighbors import BACKENDS, check_neighbors, make_backend


@pytest.mark.parametrize("wanted", ["auto", *BACKENDS])
def test_allowed(wanted):
    check_neighbors(wanted)


@pytest.mark.parametrize("wanted", ["ball", None, 3, KNeighborsTransformer()], ids=str)
def test_not_allowed(wanted):
    with pytest.raises(ValueError, match=r"`neighbors` must be 'auto' or one of .*'tree'.*; got "):
        check_neighbors(wanted)
    with pytest.raises(ValueError, match="`neighbors` must be"):
        make_backend(wanted, np.ones((5, 2)), 0, 2)


@pytest.mark.parametrize("name", BACKENDS)
def test_by_name(name):
    points = np.random.default_rng(0).normal(size=(300, 3))
    backend = make_backend(name, points, 0, 5)
    assert isinstance(backend, BACKENDS[name])
    assert backend.name == name
    assert backend.nearest(points[:4], 1)[1].ravel().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("n", "size"), [(2500, 16), (20000, 128)])
def test_timed_rows_are_spread_and_enough(n, size, monkeypatch):
    """The rows are in order, so the timed ones show where they come from."""
    timed = []
    monkeypatch.setattr(module, "_seconds", lambda backend, rows, k: timed.append(rows) or 0.0)
    points = np.sort(np.random.default_rng(0).uniform(size=(n, 1)), axis=0)
    assert make_backend("auto", points, 0, 5).name == "brute"
    assert [len(rows) for rows in timed] == [size, size]
    assert timed[0].min() < 0.1
    assert timed[0].max() > 0.9
