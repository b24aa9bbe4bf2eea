"""Kernels with checked indices: ``make test-checked`` runs them so, ``make test`` does both."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching
from numpy.testing import assert_array_equal

from boreod.compiled import CHECKED, POISON, compiled, inner, poisoned, unset

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


@inner
def halve(number):
    if number < 0.0:
        raise ValueError("a negative number")
    return number / 2.0


@compiled
def halve_first(numbers):
    return halve(numbers[0])


def test_parts_are_compiled_into_kernels():
    assert halve_first(np.array([3.0])) == 1.5
    with pytest.raises(ValueError, match="a negative number"):
        halve_first(np.array([-3.0]))
    assert halve(5.0) == 2.5  # outside of kernels it is a Python function
    assert numba.njit(lambda number: 2.0 * halve(number))(5.0) == 5.0


def test_numba_is_a_version_whose_cache_is_known():
    """All private names of Numba in use. Check them before the upper bound is raised."""
    settings = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    assert "numba>=0.60,<0.69" in settings["project"]["dependencies"]
    assert (0, 60) <= tuple(map(int, numba.__version__.split(".")[:2])) < (0, 69)
    assert issubclass(caching.FunctionCache._impl_class, caching.CacheImpl)
    assert caching.UserProvidedCacheLocator in caching.CacheImpl._locator_classes
    halve_first(np.array([1.0]))
    cache = halve_first.dispatcher._cache
    assert type(cache).__name__ == "StampedCache"
    assert cache.cache_path == halve_first.dispatcher.stats.cache_path


SOURCE = """
from boreod.compiled import compiled, inner, unset

@compiled
def double(values):
    result = unset(values.shape[0])
    for place in range(values.shape[0]):
        result[place] = part(values[place])
    return result

@inner
def part(value):
    return 2.0 * value
"""
EXECUTE = """
import sys
import numpy as np
source = open(sys.argv[1]).read()
for names in ({}, {"__name__": "__main__"}, {"__name__": "nowhere"}):
    exec(compile(source, sys.argv[1], "exec"), names)
    assert names["double"](np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
"""


def test_kernels_in_executed_code_run_and_are_not_kept(tmp_path):
    """No other process could import them, so that reading them again would fail."""
    source = tmp_path / "source.py"
    source.write_text(SOURCE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", EXECUTE, str(source)]
    for _ in range(2):
        subprocess.run(command, env=environment, check=True)
    assert not list(tmp_path.rglob("*.nb*"))
