"""Kernels with checked indices: ``make test-checked`` runs them so, ``make test`` does both."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod.compiled import CHECKED, POISON, compiled, poisoned, unset

only_checked = pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="indices are checked by make test-checked"
)


@compiled
def read(values, place):
    return values[place]


@compiled
def read_where_nothing_was_set(values):
    places = unset(3, np.int32)
    places[0] = 1
    return values[places[1]]


@compiled
def in_kernels(shape):
    return poisoned(shape), poisoned(shape, np.float32), poisoned(shape, np.int32)


@only_checked
def test_reading_outside_is_noticed():
    values = np.arange(5.0)
    assert read(values, 4) == 4.0
    with pytest.raises(IndexError):
        read(values, 5)
    with pytest.raises(IndexError):
        read(values, POISON)


@only_checked
def test_reading_what_was_not_set_is_noticed():
    with pytest.raises(IndexError):
        read_where_nothing_was_set(np.arange(5.0))
    assert np.isnan(unset(4)).all()


def test_the_mode_is_the_one_that_was_asked_for():
    assert (os.environ.get("NUMBA_BOUNDSCHECK") == "1") == CHECKED
    assert unset is (poisoned if CHECKED else np.empty)


def test_poison():
    for floats, small_floats, integers in (
        in_kernels((2, 3)),
        (poisoned((2, 3)), poisoned((2, 3), np.float32), poisoned((2, 3), np.int32)),
    ):
        assert np.isnan(floats).all()
        assert np.isnan(small_floats).all()
        assert_array_equal(integers, np.full((2, 3), POISON, np.int32))
