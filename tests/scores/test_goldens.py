"""Every score against ELKI, to the ninth digit."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDENS
from numpy.testing import assert_allclose

from boreod import OutlierRepresentation
from boreod.scores import SCORES

ELKI_NAMES = {
    "knn": "KNN",
    "knnw": "KNNW",
    "odin": "ODIN",
    "lof": "LOF",
    "slof": "SimplifiedLOF",
    "cof": "COF",
    "inflo": "INFLO",
    "loop": "LoOP",
    "ldof": "LDOF",
    "ldf": "LDF",
    "kdeos": "KDEOS",
    "abod": "FastABOD",
}
AS_PRINTED = {"odin": np.negative, "abod": lambda scores: np.exp(-scores)}  # low for outliers
FROM_MAIN = ("inflo", "kdeos", "abod")  # 0.7.1 does not compute these as published


def golden_ks(folder, dataset, name):
    keys = np.load(folder / f"{dataset}.npz").files
    ks = [int(key.rsplit("_k")[1]) for key in keys if key.startswith(ELKI_NAMES[name] + "_k")]
    return sorted(k for k in ks if k >= SCORES[name].min_k)


def cases(folder):
    return [
        pytest.param(folder, dataset, name, k, id=f"{dataset}-{name}-{k}")
        for dataset in ("wine", "breast_cancer")
        for name in SCORES
        for k in golden_ks(folder, dataset, name)
    ]


def as_printed(name, scores):
    return AS_PRINTED.get(name, np.asarray)(scores)


@cache
def columns(folder, dataset, name):
    """Return the columns of all ks; one fit serves them all."""
    ks = golden_ks(folder, dataset, name)
    model = OutlierRepresentation([name], ks, passthrough=False)
    table = model.fit_transform(np.load(folder / f"{dataset}.npz")["X"])
    return dict(zip(ks, table.T, strict=True))


def check(folder, dataset, name, k):
    source = f"{dataset}_elki_main.npz" if name in FROM_MAIN else f"{dataset}.npz"
    expected = np.load(folder / source)[f"{ELKI_NAMES[name]}_k{k}"]
    scores = as_printed(name, columns(folder, dataset, name)[k])
    if name == "cof":
        scores = scores * (k + 1) / k  # ELKI's factor
    if name == "inflo":
        informative = expected != 1  # ELKI prunes, boreod does not
        scores, expected = scores[informative], expected[informative]
    assert len(expected) >= 20
    assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize(("folder", "dataset", "name", "k"), cases(GOLDENS))
def test_equals_elki(folder, dataset, name, k):
    check(folder, dataset, name, k)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_has_golden_values(name):
    assert len(golden_ks(GOLDENS, "wine", name)) >= 6
    assert golden_ks(GOLDENS, "breast_cancer", name) == [10, 50]


@pytest.mark.parametrize("name", ["knn", "knnw", "odin"])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 10, 20, 50, 100])
def test_equals_elki_on_ties(name, k, grid, column):
    expected = np.load(GOLDENS / "grid.npz")[f"{ELKI_NAMES[name]}_k{k}"]
    assert_allclose(as_printed(name, column(grid, name, k)), expected, rtol=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_finite_and_deterministic_on_ties(name, grid, column):
    for k in (3, 10, 50):
        first = column(grid, name, k)
        assert np.isfinite(first).all()
        assert np.array_equal(first, column(grid, name, k))


@pytest.mark.skipif("BOREOD_GOLDENS" not in os.environ, reason="BOREOD_GOLDENS names no folder")
def test_equals_elki_in_a_folder_with_more_values():
    folder = Path(os.environ["BOREOD_GOLDENS"])
    for case in cases(folder):
        check(*case.values)
