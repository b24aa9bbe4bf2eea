"""Interventional Shapley values against one base row, over all subsets of the columns.

    share(c) = sum over S without c of |S|! (d - |S| - 1)! / d! (f(S + c) - f(S))

f(S) is the function at a row that has the values of the explained row in S and those of the base
elsewhere. L. S. Shapley: A value for n-person games. 1953.
"""

from collections.abc import Callable
from itertools import combinations
from math import factorial

import numpy as np


def shapley(function: Callable, row: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Return the share of every column; the function takes a table and returns one value a row."""
    d = len(row)
    subsets = [frozenset(s) for size in range(d + 1) for s in combinations(range(d), size)]
    mixed = [np.where([c in subset for c in range(d)], row, base) for subset in subsets]
    value = dict(zip(subsets, function(np.array(mixed)), strict=True))
    shares = np.zeros(d)
    for subset in subsets:
        weight = factorial(len(subset)) * factorial(max(0, d - len(subset) - 1)) / factorial(d)
        for column in set(range(d)) - subset:
            shares[column] += weight * (value[subset | {column}] - value[subset])
    return shares
