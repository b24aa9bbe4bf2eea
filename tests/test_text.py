"""Names and numbers in sentences."""

import pytest

from boreod.text import close_names, count_of, listed, shorten, show_bytes, show_seconds, suggest


@pytest.mark.parametrize("value", ["a" * 500, list(range(500)), {"a": "b" * 500}, 10**500])
def test_shortened_values_fit_into_a_sentence(value):
    assert len(shorten(value)) == 60


def test_short_values_stay_as_they_are():
    assert shorten("a" * 58) == repr("a" * 58)
    assert shorten(None) == "None"


def test_values_without_a_representation():
    """Python refuses to print integers of many thousand digits."""
    assert shorten([10**5000]) == "a list"


def test_lists_end():
    assert listed([]) == ""
    assert listed(range(3)) == "0, 1, 2"
    assert listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert listed(("x" * 100 for _ in range(2)), most=1).endswith("...' and 1 more")


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


def test_suggestions():
    assert suggest("lfo", ["lof", "loop"], "scores") == "Did you mean 'lof'?"
    assert suggest("q", iter(["lof", "loop"]), "scores") == "The scores are 'lof', 'loop'."


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
    ],
)
def test_seconds(seconds, expected):
    assert show_seconds(seconds) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (9_960, "10 kB"),
        (1e12, "1.0 TB"),
        (5e16, "50000 TB"),
    ],
)
def test_bytes(number, expected):
    assert show_bytes(number) == expected
