"""Exact search against float64 sums in the order of the columns, for rows from anywhere.

Far from the table float32 tells no candidates apart, and many candidates at one distance do not fit
into the buffers of brute force. There are 500 cases (200 where every index is checked), or 20,000
with ``--hypothesis-profile=long``.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from boreod import OutlierRepresentation
from boreod.compiled import CHECKED
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.metrics import COSINE, EUCLIDEAN, MANHATTAN, METRICS, embed
from boreod.neighbors.tree import KDTree

MOST_CELLS = 400_000  # of a table, so that a case takes milliseconds
LARGEST = 1e150


class Multiplying(BruteForce):
    """Brute force that multiplies matrices in small tables, too."""

    def uses_products(self, n_rows):
        return self.metric != MANHATTAN


def litter(random):
    """Free large arrays of random numbers: new buffers then hold garbage."""
    garbage = [random.integers(-(2**40), 2**40, size=100_000) for _ in range(4)]
    del garbage


def reduced(points, row, metric):
    total = np.zeros(len(points))
    for column in range(points.shape[1]):
        difference = row[column] - points[:, column]
        total += np.abs(difference) if metric == MANHATTAN else difference * difference
    return total


def oracle(points, rows, k, radii, metric):
    """Neighbors by (distance, index), and for every row who has it within the radius."""
    nearest, indices, reverse = [], [], []
    for row in rows:
        total = reduced(points, row, metric)
        order = np.argsort(total, kind="stable")[:k]
        finished = {EUCLIDEAN: np.sqrt(total), COSINE: 0.5 * total}.get(metric, total)
        nearest.append(finished[order])
        indices.append(order)
        reverse.append(np.flatnonzero(finished <= radii))
    return np.array(nearest), np.array(indices), reverse


def make_table(kind, n, d, random):
    points = random.normal(size=(n, d))
    if kind == "skewed":
        points[:, 0] = random.lognormal(0, 3, n)
        points[random.uniform(size=points.shape) < 0.5] = -0.5
    elif kind == "huge column":
        points[:, random.integers(d)] *= 10.0 ** random.integers(3, 140)
    elif kind == "denormals":
        points *= 10.0 ** -random.integers(150, 320)
        points[0] = 1.0
    elif kind == "small":
        points *= 10.0 ** -random.integers(1, 320)
    elif kind == "equal columns":
        points[:, random.uniform(size=d) < 0.7] = 10.0 ** random.integers(-3, 18)
    elif kind == "copies":
        points = points[random.integers(0, max(1, n // 20), n)]
    elif kind == "integers":
        points = np.round(points)
    elif kind == "far from zero":
        points += 10.0 ** random.integers(3, 18)
    return np.ascontiguousarray(points)


KINDS = (
    "normal",
    "skewed",
    "huge column",
    "denormals",
    "small",
    "equal columns",
    "copies",
    "integers",
    "far from zero",
)


def make_rows(kind, points, m, exponent, random):
    rows = points[random.integers(0, len(points), m)]
    extent = np.ptp(points, axis=0).max() or 1.0
    far = extent * 10.0**exponent * random.choice([-1, 1])
    if kind == "one column far":
        rows[:, random.integers(rows.shape[1])] += far
    elif kind == "all columns far":
        rows += far
    elif kind == "near copies, far":
        rows[:] = rows[0] + extent * 1e-9 * random.normal(size=rows.shape)
        rows[:, 0] += far
    elif kind == "near copies":
        rows += extent * 1e-15 * random.normal(size=rows.shape)
    elif kind == "any values":
        rows = random.choice([0, 1e-300, 5e-324, 1, 1e7, 1e9, 1e18, 1e150], rows.shape)
        rows *= random.choice([-1, 1], rows.shape)
    return np.ascontiguousarray(np.clip(rows, -LARGEST, LARGEST))


ROWS = ("known", "one column far", "all columns far", "near copies, far", "near copies")


@st.composite
def cases(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    d = draw(st.one_of(st.integers(1, 8), st.integers(1, 300)), label="d")
    most = max(40, MOST_CELLS // d)
    n = draw(st.one_of(st.integers(2, 60), st.integers(2, min(4000, most))), label="n")
    k = draw(st.one_of(st.integers(1, min(n, 30)), st.integers(max(1, n - 2), n)), label="k")
    m = draw(st.one_of(st.integers(1, 4), st.integers(1, 300)), label="m")
    table = make_table(draw(st.sampled_from(KINDS)), n, d, random)
    exponent = draw(st.one_of(st.integers(0, 12), st.integers(0, 150)), label="exponent")
    kind = draw(st.sampled_from((*ROWS, "any values")))
    metric = METRICS[draw(st.sampled_from(list(METRICS)))]
    rows = make_rows(kind, table, m, exponent, random)
    return embed(table, metric), embed(rows, metric), k, metric, random


def check(points, rows, k, metric, random):
    few = rows[random.choice(len(rows), min(len(rows), 6), replace=False)]
    radii = reduced(points, points[random.integers(len(points))], MANHATTAN)
    radii *= random.uniform(0, 1.0, len(points))
    expected, expected_indices, reverse = oracle(points, few, k, radii, metric)
    answers = []
    for kind in (Multiplying if random.integers(2) else BruteForce, KDTree):
        search = kind(points, metric)
        litter(random)
        answers.append(search.nearest(rows, k))
        distances, indices, (offsets, entries, lengths) = search.nearest_and_reverse(
            few, k, search.reach(radii)
        )
        assert_array_equal(distances, expected)
        assert_array_equal(indices, expected_indices)
        for row, found in enumerate(reverse):
            assert_array_equal(entries[offsets[row] : offsets[row + 1]], found)
        assert np.isfinite(lengths).all()
    assert_array_equal(answers[0][0], answers[1][0])
    assert_array_equal(answers[0][1], answers[1][1])


@settings(max_examples=max(200 if CHECKED else 500, settings().max_examples))
@given(cases())
def test_search_equals_float64(case):
    check(*case)


@pytest.mark.parametrize("kind", ["skewed", "huge column", "small", "copies"])
@pytest.mark.parametrize("rows", ROWS)
def test_many_rows_on_two_threads(kind, rows):
    """A batch of 5000, cut in other places and on two threads, is what it is in one."""
    random = np.random.default_rng(KINDS.index(kind))
    points = make_table(kind, 1500, 4, random)
    queries = make_rows(rows, points, 5000, 6, random)
    for backend in (BruteForce, Multiplying, KDTree):
        search = backend(points, EUCLIDEAN)
        whole = search.nearest(queries, 11)
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(partial(search.nearest, k=11), np.array_split(queries, 7)))
        assert_array_equal(np.vstack([part[0] for part in parts]), whole[0])
        assert_array_equal(np.vstack([part[1] for part in parts]), whole[1])
        few = random.integers(0, 5000, 20)
        expected = oracle(points, queries[few], 11, np.zeros(1500), EUCLIDEAN)
        assert_array_equal(whole[0][few], expected[0])
        assert_array_equal(whole[1][few], expected[1])


def test_near_copies_far_away_have_one_score():
    """Rows that differ by 1e-9 and lie 1e7 away: their true neighbors decide, not old memory."""
    random = np.random.default_rng(0)
    points = random.normal(size=(1333, 6))
    model = OutlierRepresentation(["knn", "lof"], ks=[10], passthrough=False, neighbors="brute")
    model.fit(points)
    rows = random.normal(size=(1, 6)) + 1e-9 * random.normal(size=(50, 6))
    rows[:, 0] = 1e7
    first = model.transform(rows)
    expected = oracle(points, rows, 10, np.zeros(len(points)), EUCLIDEAN)[0][:, -1]
    assert_array_equal(first[:, 0], expected)
    assert np.ptp(first[:, 1]) < 1e-3 * first[0, 1]
    for _ in range(5):
        litter(random)
        assert_array_equal(model.transform(rows), first)
