"""Names and numbers in sentences."""

import warnings

import pytest

from boreod.text import (
    close_names,
    count_of,
    listed,
    shorten,
    show_bytes,
    show_seconds,
    suggest,
    tell_once,
)


@pytest.mark.parametrize("value", ["a" * 500, list(range(500)), {"a": "b" * 500}, 10**500])
def test_shortened_values_fit_into_a_sentence(value):
    assert len(shorten(value)) == 60


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a" * 58, repr("a" * 58)),
        (None, "None"),
        # Python refuses to print integers of many thousand digits.
        ([10**5000], "a list"),
    ],
    ids=["58 letters", "None", "thousands of digits"],
)
def test_short_values_stay_as_they_are(value, expected):
    assert shorten(value) == expected


@pytest.mark.parametrize(
    ("values", "most", "expected"),
    [
        ([], 10, ""),
        (range(3), 10, "0, 1, 2"),
        (range(12), 10, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
        ("ab", 1, "'a' and 1 more"),
    ],
)
def test_lists_end(values, most, expected):
    assert listed(values, most) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lof_11", ["lof_1", "lof_10"]),
        (3, []),
        ("zzz", []),
    ],
)
def test_close_names(name, expected):
    assert close_names(name, ["lof_1", "lof_10", "knn"]) == expected


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("lfo", "Did you mean 'lof'?"), ("q", "The scores are 'lof', 'loop'.")],
)
def test_suggestions(name, sentence):
    assert suggest(name, iter(["lof", "loop"]), "scores") == sentence


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12345, "12,345 rows")]
)
def test_counts(number, expected):
    assert count_of(number, "row") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (119.7, "2 min"),
        (3599.7, "1 h"),
        (3661, "1 h 1 min"),
        (9000, "2 h 30 min"),
        (200, "3 min 20 s"),
    ],
)
def test_seconds(seconds, expected):
    assert show_seconds(seconds) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999_700, "1.0 MB"),
        (3_400_000_000, "3.4 GB"),
        (1000, "1.0 kB"),
        (9_960, "10 kB"),
        (1e12, "1.0 TB"),
        (5e16, "50000 TB"),
    ],
)
def test_bytes(number, expected):
    assert show_bytes(number) == expected


def warn_of(*texts):
    for text in texts:
        warnings.warn(text, stacklevel=1)


@pytest.fixture
def caught():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def test_each_warning_is_told_once(caught):
    with tell_once(), tell_once():
        warn_of("a", "b", "a")
    warn_of("a")
    assert [str(one.message) for one in caught] == ["a", "b", "a"]


def test_calls_of_threads_that_overlap_hide_no_later_warning(caught):
    first, second = tell_once(), tell_once()
    first.__enter__()
    second.__enter__()
    warn_of("a", "a")
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    warn_of("a", "a")
    assert [str(one.message) for one in caught] == ["a"] * 3
