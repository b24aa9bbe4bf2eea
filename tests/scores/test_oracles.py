"""Every score against a slow one written from its paper, for training rows and new rows."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from boreod import OutlierRepresentation
from boreod.scores import KDEOS, LDF, SCORES, LoOP

ORACLES = Path(__file__).parent.parent / "oracles"


def oracle(name):
    path = ORACLES / f"{name}.py"
    if not path.exists():
        pytest.fail(f"The score {name!r} has no slow oracle: write {path}.")
    return importlib.import_module(f"oracles.{name}")


def as_finite(expected, in_sample):
    """Replace infinities as the library says it does."""
    finite = in_sample[np.isfinite(in_sample)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    return np.where(expected == np.inf, high, np.where(expected == -np.inf, low, expected))


@pytest.mark.parametrize("k", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("table", ["rows", "grid"])
def test_training_rows(table, name, k, column, request):
    k = max(k, SCORES[name].min_k)
    points = request.getfixturevalue(table)
    expected = oracle(name).in_sample(points, k)
    assert_allclose(column(points, name, k), as_finite(expected, expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("backend", ["brute", "tree"])
@pytest.mark.parametrize("table", ["rows", "grid"])
def test_new_rows(table, backend, name, k, request):
    points = request.getfixturevalue(table)
    new = np.vstack([points[::20] + 0.375, [[50.0] * points.shape[1]]])
    model = OutlierRepresentation([name], [k], passthrough=False, neighbors=backend).fit(points)
    expected = oracle(name).new_rows(points, new, k)
    in_sample = oracle(name).in_sample(points, k)
    assert_allclose(
        model.transform(new)[:, 0], as_finite(expected, in_sample), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    "score", [LoOP(extent=3.0), LDF(bandwidth=0.5, smoothing=0.2), KDEOS(scale=0.25, dimension=4)]
)
def test_parameters_reach_the_formula(score, rows, column):
    expected = oracle(score.name).in_sample(rows, 10, **score.parameters())
    scores = column(rows, score, 10)
    assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
    assert not np.allclose(scores, column(rows, score.name, 10))


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("backend", ["brute", "tree"])
@pytest.mark.parametrize("table", ["rows", "grid"])
def test_rows_from_anywhere(table, backend, name, request):
    """Far rows are where formulas cancel; the variance of angles loses three digits there."""
    points, k = request.getfixturevalue(table), 10
    random = np.random.default_rng(0)
    shape = (25, points.shape[1])
    values = random.choice([0, 1e-300, 1, 1e7, 1e9, 1e18, 1e150], shape)
    new = np.vstack([values * random.choice([-1, 1], shape), points[:3] + 1e-9])
    new[-1, 0] = 4915112345678.0
    known = (new[:, np.newaxis] == points).all(axis=2).any(axis=1)
    new = new[~known]  # these would leave themselves out
    model = OutlierRepresentation([name], [k], passthrough=False, neighbors=backend).fit(points)
    with np.errstate(all="ignore"):
        expected = as_finite(
            oracle(name).new_rows(points, new, k), oracle(name).in_sample(points, k)
        )
    found = model.transform(new)[:, 0]
    assert_allclose(found, expected, rtol=1e-6 if name == "abod" else 1e-9, atol=1e-12)
