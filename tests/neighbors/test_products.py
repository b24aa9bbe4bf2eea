"""Distances by products of matrices: the same bits as by differences and as plain float64 sums."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod.neighbors import graph
from boreod.neighbors.brute import CELL_ROWS, WORTH_PRODUCTS, BruteForce
from boreod.neighbors.metrics import COSINE, EUCLIDEAN, MANHATTAN, METRICS, embed
from boreod.neighbors.rounded import (
    FACTOR,
    error_of_differences,
    error_of_products,
    growth_of,
    place_row,
    round_table,
)
from boreod.neighbors.tree import cut_into_cells
from neighbors.test_far_rows import Multiplying, oracle

RANDOM = np.random.default_rng(17)


def clusters(n, d, spread):
    centers = RANDOM.normal(size=(5, d))
    return centers[RANDOM.integers(0, 5, n)] + spread * RANDOM.normal(size=(n, d))


TABLES = {
    "cloud": RANDOM.normal(size=(900, 20)),
    "wide": RANDOM.normal(size=(400, 300)),
    "clusters": clusters(900, 12, 0.1),
    "narrow clusters": clusters(900, 12, 1e-7),
    "pairs of near copies": np.repeat(RANDOM.normal(size=(450, 6)), 2, axis=0)
    + 1e-9 * RANDOM.normal(size=(900, 6)),
    "one-hot": np.eye(40)[RANDOM.integers(0, 40, (700, 3))].reshape(700, 120),
    "larger cells": np.eye(26)[RANDOM.integers(0, 26, (1200, 20))].reshape(1200, 520),
    "sparse": RANDOM.normal(size=(500, 200)) * (RANDOM.uniform(size=(500, 200)) < 0.03),
    "ties": RANDOM.integers(0, 2, (3000, 4)).astype(float),
    "equal": np.full((600, 5), 0.1),
    "far from zero": RANDOM.normal(1e12, 1.0, (600, 8)),
    "denormal": 5e-324 * RANDOM.integers(0, 9, (300, 4)),
    "huge": 1e150 * RANDOM.uniform(-1, 1, (300, 4)),
    "one huge row": np.vstack([RANDOM.normal(size=(600, 5)), np.full((1, 5), 1e150)]),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", TABLES)
def test_same_bits_as_differences_and_float64(name, metric):
    code = METRICS[metric]
    points = embed(TABLES[name], code)
    own = points[RANDOM.choice(len(points), 60, replace=False)]
    rows = np.vstack([own, own[:20] * (1 + 1e-12), own[:9] * 1.5, 1e9 * own[:1], 0.0 * own[:1]])
    for k in (1, 12, len(points)):
        radii = oracle(points, points[:1], 30, np.zeros(len(points)), code)[0][0, -1]
        radii = radii * RANDOM.uniform(0.5, 1.5, len(points))
        searches = [kind(points, code) for kind in (Multiplying, BruteForce)]
        mine, theirs = (
            search.nearest_and_reverse(rows, k, search.reach(radii)) for search in searches
        )
        for one, other in zip((*mine[:2], *mine[2]), (*theirs[:2], *theirs[2]), strict=True):
            assert_array_equal(one, other)
        distances, indices, reverse = oracle(points, rows[::9], k, radii, code)
        assert_array_equal(mine[0][::9], distances)
        assert_array_equal(mine[1][::9], indices)
        offsets = mine[2][0]
        for row, found in zip(range(0, len(rows), 9), reverse, strict=True):
            assert_array_equal(mine[2][1][offsets[row] : offsets[row + 1]], found)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("denormal", "huge")])
def test_errors_are_within_their_bounds(name):
    """Products and differences of float32 against exact distances, in long double."""
    points = embed(TABLES[name], EUCLIDEAN)
    cells = cut_into_cells(points, CELL_ROWS)
    values, centers, center_of, radii, extent = round_table(points, cells, EUCLIDEAN)
    d, growth, (order, cuts, _, _) = points.shape[1], growth_of(points.shape[1]), cells
    for row in RANDOM.choice(len(points), 20):
        cell = int(RANDOM.integers(len(radii)))
        inside, placed = slice(cuts[cell], cuts[cell + 1]), np.empty((1, d + 2), np.float32)
        square = place_row(points[[row]], 0, centers, center_of[cell], extent, placed)
        differences = points[order[inside]].astype(np.longdouble) - points[row]
        exact = ((differences / extent) ** 2).sum(axis=1)
        by_products = FACTOR[0] * (placed @ values[:, inside])[0]
        by_differences = ((values[:d, inside].T - placed[0, :d]) ** 2).sum(axis=1)
        for computed, error in (
            (by_products.astype(float), error_of_products(square, radii[cell], d)),
            (by_differences.astype(float), error_of_differences(radii[cell], d, EUCLIDEAN)),
        ):
            assert (computed <= growth * exact + error).all()
            assert (exact <= growth * computed + error).all()
            assert error <= 1e-3 * (1 + d / 100)  # a bound that says something


def test_cells_share_a_center_only_where_rows_stay_near():
    cloud = RANDOM.normal(size=(1000, 100))
    apart = np.vstack([cloud, cloud + 100.0])
    for points, n_centers in ((cloud, 1), (apart, 2), (1e-3 * apart, 2), (1e12 + apart, 2)):
        cells = cut_into_cells(points, CELL_ROWS)
        _, centers, center_of, radii, extent = round_table(points, cells, EUCLIDEAN)
        assert len(centers) == n_centers
        lengths = np.linalg.norm(points[cells[0]] - centers[center_of[0]], axis=1) / extent
        assert np.isclose(radii[0], lengths[: cells[1][1]].max(), rtol=1e-9)


def test_when_products_are_used():
    points = RANDOM.normal(size=(4096, 16))
    enough = WORTH_PRODUCTS // points.size
    assert BruteForce(points, EUCLIDEAN).uses_products(enough)
    assert BruteForce(points, COSINE).uses_products(enough)
    assert not BruteForce(points, EUCLIDEAN).uses_products(enough - 1)
    assert not BruteForce(points, MANHATTAN).uses_products(enough)
    assert not BruteForce(np.broadcast_to(points[0], (10**9, 16)), EUCLIDEAN).uses_products(1)


def test_enough_rows_are_timed_where_products_are_used(monkeypatch):
    timed = []
    monkeypatch.setattr(graph, "_seconds", lambda _, rows, k: timed.append(len(rows)) or k)
    graph.choose_backend(RANDOM.normal(size=(5000, 15)), EUCLIDEAN, 5)
    graph.choose_backend(RANDOM.normal(size=(2000, 4)), EUCLIDEAN, 5)
    assert timed == [128, 128, 16, 16]
