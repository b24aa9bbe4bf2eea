"""Bags: balance, coverage, reproducibility, tiny classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from boreod.ensemble.bags import BagPlan, draw_bags


@given(
    n_outliers=st.integers(1, 40),
    n_inliers=st.integers(1, 60),
    n_bags=st.integers(1, 30),
    share=st.floats(0.05, 1.0),
    seed=st.integers(0, 10),
)
def test_bags_are_balanced_and_hold_everyone_there_is_room_for(
    n_outliers, n_inliers, n_bags, share, seed
):
    labels = np.random.default_rng(seed).permutation(n_outliers + n_inliers)
    outliers, inliers = labels[:n_outliers], labels[n_outliers:]
    bags = draw_bags(outliers, inliers, len(labels), BagPlan(n_bags, share), seed)
    half = bags.rows.shape[1] // 2
    assert half == max(1, round(share * min(n_outliers, n_inliers)))
    for rows in bags.rows:
        assert len(set(rows.tolist())) == 2 * half  # without replacement
        assert set(rows[:half]) <= set(outliers)
        assert set(rows[half:]) <= set(inliers)
    if n_bags * half >= n_outliers:
        assert set(bags.rows[:, :half].ravel()) == set(outliers)
    assert_array_equal(bags.holds.sum(axis=0), np.full(n_bags, 2 * half))
    assert_array_equal(bags.targets, [1.0] * half + [0.0] * half)
    assert bags.kept_outliers == half / n_outliers
    assert bags.kept_inliers == half / n_inliers


def test_seeds():
    arguments = (np.arange(20), np.arange(20, 200), 200, BagPlan(10, 0.7))
    assert_array_equal(draw_bags(*arguments, seed=1).rows, draw_bags(*arguments, seed=1).rows)
    assert (draw_bags(*arguments, seed=1).rows != draw_bags(*arguments, seed=2).rows).any()


def test_the_paper():
    bags = draw_bags(np.arange(52), np.arange(52, 1040), 1040, BagPlan(50, 0.7), 0)
    assert bags.rows.shape == (50, 2 * 36)


@pytest.mark.parametrize("n_outliers", [1, 2, 3])
def test_few_outliers(n_outliers):
    bags = draw_bags(np.arange(n_outliers), np.arange(10, 60), 60, BagPlan(50, 0.7), 0)
    assert bags.rows.shape[1] == 2 * max(1, round(0.7 * n_outliers))


@given(n_outliers=st.integers(1, 60), n_bags=st.integers(1, 40), share=st.floats(0.05, 1.0))
def test_bags_of_a_group_hold_the_same_outliers(n_outliers, n_bags, share):
    how = BagPlan(n_bags, share, 10.0, 20, grouped=True)
    outliers, inliers = np.arange(n_outliers), np.arange(n_outliers, n_outliers + 100)
    groups = how.count_groups(n_outliers)
    marked = np.array([np.roll(np.arange(100) < 7, 3 * group) for group in range(groups)])
    bags = draw_bags(outliers, inliers, n_outliers + 100, how, 0, marked)
    held = bags.holds[:n_outliers]
    for number in range(n_bags):
        assert_array_equal(held[:, number], held[:, number % groups])
        assert not np.isin(inliers[marked[number % groups]], bags.rows[number]).any()
        assert not bags.put_back[inliers[~marked[number % groups]], number].any()
    few = max(1, round(share * n_outliers))
    assert_array_equal(held.sum(axis=0), np.full(n_bags, few))
    if n_bags * few >= n_outliers and groups == n_bags:
        assert held.any(axis=1).all()
    if groups < n_bags:
        times = (~held[:, :groups]).sum(axis=1)
        assert held.any(axis=1).all()
        assert np.ptp(times) <= 1
