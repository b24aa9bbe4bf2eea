"""Names and numbers in sentences."""

import pytest

from boreod.text import close_names, count_of, listed, shorten, show_bytes, show_seconds, suggest


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
