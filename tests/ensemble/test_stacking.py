"""Weights of heads: what evidence does to them, and that they flatter nobody."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from boreod.ensemble.members import MOST_INLIERS, mean_of, stack
from boreod.metrics import auc

EQUAL = np.array([0.5, 0.5])


def heads(seed, n, n_outliers, strength=(2.0, 0.0)):
    random = np.random.default_rng(seed)
    codes = (np.arange(n) < n_outliers).astype(int)
    odds = random.normal(size=(n, 2)) + codes[:, np.newaxis] * np.array(strength)
    return odds, codes


@pytest.mark.parametrize(("n_outliers", "moved"), [(19, False), (20, True)])
def test_weights_move_from_ten_outliers_a_head_on(n_outliers, moved):
    odds, codes = heads(0, 2000, n_outliers)
    weights, mean = stack(odds, codes, EQUAL)
    assert (weights[0] > 0.7) == moved
    assert_allclose(weights.sum(), 1.0)
    if not moved:
        assert_allclose(mean, odds @ EQUAL)


def test_heads_that_say_the_same_share_a_weight():
    odds, codes = heads(1, 3000, 300, (1.5, 1.5))
    weights, _ = stack(odds[:, [0, 0, 1]], codes, np.ones(3))
    assert_allclose(weights[:2], weights[2] / 2, atol=0.05)


@pytest.mark.parametrize("known", [heads(2, 50, 1)[1], np.zeros(50, int), np.full(50, -1)])
def test_no_outlier_that_is_judged_leaves_weights_by_average_precision(known):
    odds = heads(2, 50, 1)[0]
    weights, mean = stack(odds, known, np.array([0.6, 0.2]))
    assert_allclose(weights, [0.75, 0.25])
    assert_allclose(mean, odds @ [0.75, 0.25])


def test_rows_that_a_head_cannot_judge_are_judged_by_the_others():
    odds, codes = heads(3, 400, 40)
    odds[5, 0] = odds[60, 1] = np.nan
    odds[7] = np.nan
    weights, mean = stack(odds, codes, EQUAL)
    assert mean[5] == odds[5, 1]
    assert mean[60] == odds[60, 0]
    assert np.isnan(mean[7])
    assert np.isfinite(np.delete(mean, 7)).all()
    assert_allclose(mean_of(odds[:3], weights), odds[:3] @ weights)


def test_out_of_bag_rows_are_not_flattered_by_weights_learned_from_them():
    """Six heads of noise, sixty outliers: in sample the mean knows the labels, folds do not."""
    inside, outside = [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        odds, codes = 3.0 * random.normal(size=(300, 6)), np.zeros(300, int)
        codes[random.choice(300, 60, replace=False)] = 1
        weights, mean = stack(odds, codes, np.ones(6))
        inside.append(auc(codes, odds @ weights))
        outside.append(auc(codes, mean))
    assert np.mean(inside) > 0.53
    assert abs(np.mean(outside) - 0.5) < 0.03  # its standard error is 0.015


def test_a_sample_of_many_inliers_gives_about_the_same_weights():
    odds, codes = heads(4, 3 * MOST_INLIERS, 60)
    some = np.concatenate([np.arange(40), np.arange(60, len(codes), 3)])
    every, _ = stack(odds, codes, EQUAL)
    third, _ = stack(odds[some], codes[some], EQUAL)
    assert_allclose(every, third, atol=0.05)


def test_without_folds_weights_are_the_same_and_average_all_rows():
    odds, codes = heads(3, 1000, 100)
    weights, mean = stack(odds, codes, EQUAL)
    same, plain = stack(odds, codes, EQUAL, n_folds=0)
    assert_allclose(same, weights, rtol=0)
    assert_allclose(plain, mean_of(odds, weights), rtol=0)
    assert (plain != mean).any()
