"""Scaling: ranges, ranks, constants, tails."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod.representation.scaling import SCALERS, fit_scaler

TABLE = np.random.default_rng(0).standard_cauchy((300, 4))


@pytest.mark.parametrize("name", SCALERS)
def test_training_rows_fill_the_unit_interval(name):
    scaled = fit_scaler(name, TABLE, n_raw=2).transform(TABLE)
    assert_allclose(scaled.min(axis=0), 0.0, atol=1e-12)
    assert_allclose(scaled.max(axis=0), 1.0)
    sources = fit_scaler(name, TABLE, 2).sources(TABLE.shape[1])
    for before, after in zip(TABLE.T[sources], scaled.T, strict=True):
        assert_array_equal(np.argsort(before), np.argsort(after))


@pytest.mark.parametrize("name", SCALERS)
def test_constant_columns_stay_finite(name):
    table = np.column_stack([np.full(50, 3.0), np.arange(50.0)])
    scaler = fit_scaler(name, table, n_raw=1)
    assert np.isfinite(scaler.transform(table)).all()
    assert np.isfinite(scaler.transform(np.array([[99.0, -99.0]]))).all()


def test_rank_is_the_share_below():
    column = np.arange(101.0)[:, None]
    scaler = fit_scaler("rank", column)
    new = np.array([[-5.0], [0.0], [12.5], [100.0], [1e9]])
    assert_allclose(scaler.transform(new)[:, 0], [0.0, 0.0, 0.125, 1.0, 1.0])


def test_rank_of_many_rows_uses_quantiles():
    column = np.random.default_rng(1).normal(size=(20_000, 1))
    scaled = fit_scaler("rank", column).transform(column)[:, 0]
    assert np.abs(np.sort(scaled) - np.linspace(0, 1, 20_000)).max() < 1e-3


def test_rank_of_ties_is_their_middle():
    column = np.repeat([0.0, 1.0, 2.0], [40, 20, 41])[:, None]
    scaled = fit_scaler("rank", column).transform([[0.0], [1.0], [2.0]])[:, 0]
    assert_allclose(scaled, [0.195, 0.495, 0.8], atol=0.01)


def test_minmax_lets_new_rows_lie_outside():
    scaler = fit_scaler("minmax", np.array([[0.0], [10.0]]))
    assert scaler.transform(np.array([[20.0]])).tolist() == [[2.0]]


def test_both_are_scaled_raw_columns_ranked_scores_and_ranked_raw_columns():
    both = fit_scaler("both", TABLE, n_raw=2)
    expected = np.hstack(
        [
            fit_scaler("minmax", TABLE[:, :2]).transform(TABLE[:, :2]),
            fit_scaler("rank", TABLE[:, 2:]).transform(TABLE[:, 2:]),
            fit_scaler("rank", TABLE[:, :2]).transform(TABLE[:, :2]),
        ]
    )
    assert_array_equal(both.transform(TABLE), expected)
    assert both.sources(4).tolist() == [0, 1, 2, 3, 0, 1]
    kept = both.keep([1, 3])
    assert_array_equal(kept.transform(TABLE[:, [1, 3]]), expected[:, [1, 3, 5]])
    assert kept.sources(2).tolist() == [0, 1, 0]
