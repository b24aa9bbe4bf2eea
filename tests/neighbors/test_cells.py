"""Cells hold every row once, inside its box; brute force over them survives masses of ties."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod.neighbors.brute import CELL_ROWS, BruteForce
from boreod.neighbors.metrics import METRICS, embed
from boreod.neighbors.tree import KDTree, cut_into_cells

RANDOM = np.random.default_rng(5)
TABLES = {
    "scattered": RANDOM.normal(size=(3000, 4)),
    "clumps": RANDOM.integers(0, 2, (6000, 2)).astype(float),
    "two rows": np.array([[0.0, 1.0], [2.0, 3.0]]),
    "far away": RANDOM.normal(1e6, 1e-3, size=(2000, 3)),
}


@pytest.mark.parametrize("name", TABLES)
def test_cells_hold_every_row_in_its_box(name):
    points = TABLES[name]
    order, cuts, low, high = cut_into_cells(points, CELL_ROWS)
    assert_array_equal(np.sort(order), np.arange(len(points)))
    assert cuts[0] == 0
    assert cuts[-1] == len(points)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        assert 0 < stop - start <= CELL_ROWS
        inside = points[order[start:stop]]
        assert_array_equal(inside.min(axis=0), low[:, number])
        assert_array_equal(inside.max(axis=0), high[:, number])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", TABLES)
def test_brute_force_equals_the_tree(name, metric):
    """More than a thousand rows at one distance do not fit among the candidates."""
    points = embed(TABLES[name], METRICS[metric])
    radii = np.abs(RANDOM.normal(0.5, 0.5, len(points)))
    k = min(70, len(points))
    searches = [backend(points, METRICS[metric]) for backend in (BruteForce, KDTree)]
    brute, tree = (
        search.nearest_and_reverse(points[:40], k, search.reach(radii)) for search in searches
    )
    for mine, theirs in zip((*brute[:2], *brute[2]), (*tree[:2], *tree[2]), strict=True):
        assert_array_equal(mine, theirs)
