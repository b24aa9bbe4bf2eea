"""Paired gains over data sets."""

import numpy as np
import pytest

from boreod.paper.evaluation.summary import Summary, find_losses


def make_runs(differences):
    """Return two runs of each method a set; the means differ by what is asked for."""
    runs = []
    for number, difference in enumerate(differences):
        for shift in (-0.01, 0.01):
            first = {"dataset": f"set{number}", "method": "first", "auc": 0.5 + difference + shift}
            runs += [first, {"dataset": f"set{number}", "method": "other", "auc": 0.5 - shift}]
    return runs


@pytest.mark.parametrize(
    ("differences", "sign"),
    [
        ([0.1, 0.2, 0.15, 0.05, 0.1, 0.1], 1),
        ([-0.1, -0.2, -0.15, -0.05, -0.1], -1),
        ([0.2, -0.2, 0.1, -0.1, 0.05, 0.0], 0),
        ([0.1, 0.2], 0),  # too few sets to tell
        ([0.1], 0),
    ],
)
def test_gains_are_means_over_sets(differences, sign):
    gain = find_losses(Summary(make_runs(differences)), "first", "auc", over_sets=True)["other"]
    assert gain.mean == pytest.approx(np.mean(differences))
    assert min(differences) - 1e-9 <= gain.low <= gain.mean + 1e-9
    assert gain.mean - 1e-9 <= gain.high <= max(differences) + 1e-9
    assert gain.sign == sign
    assert gain.count == len(differences)
    assert ("[" in str(gain)) == (len(differences) > 1)


def test_the_interval_is_that_of_a_mean():
    """Of many sets, about 1.645 standard errors on either side."""
    differences = np.random.default_rng(0).normal(0.02, 0.1, size=80)
    gain = find_losses(Summary(make_runs(differences)), "first", "auc", over_sets=True)["other"]
    error = differences.std() / np.sqrt(len(differences))
    assert gain.high - gain.mean == pytest.approx(1.645 * error, rel=0.1)
    assert gain.mean - gain.low == pytest.approx(1.645 * error, rel=0.1)


def test_sets_that_one_of_both_lacks_are_left_out():
    runs = [*make_runs([0.1, 0.3]), {"dataset": "more", "method": "first", "auc": 1.0}]
    assert find_losses(Summary(runs), "first", "auc", over_sets=True)["other"].count == 2
    assert find_losses(Summary(runs), "absent", "auc", over_sets=True) == {}
