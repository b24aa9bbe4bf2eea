"""Boosted trees without anything random, by plain sums over rows."""

from itertools import pairwise

import numpy as np


def worth(gradient, left, l2):
    """Return what a cut is worth; ``left`` marks the rows on its left side."""
    sides = gradient[left], gradient[~left]
    return np.sqrt(sum(side.sum() ** 2 / (len(side) + l2) for side in sides))


def best_worth(rows, gradient, l2):
    """Return what the best of all cuts through some rows is worth, None if all rows are equal."""
    found = [
        worth(gradient, column <= low, l2)
        for column in rows.T
        for low, _ in pairwise(np.unique(column))
    ]
    return max(found, default=None)


def solve_leaf(targets, odds, l2, steps, longest):
    """Return what the rows of a leaf add to their log-odds, before the learning rate."""
    value = 0.0
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-odds - value))
        value += np.clip((targets - p).sum() / ((p * (1.0 - p)).sum() + l2), -longest, longest)
    return value
