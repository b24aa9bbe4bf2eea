"""Novelty as its definition says, one row after the other."""

import numpy as np


def isolation(reference, row, own=None, near=10):
    """Distance to the near-th reference row; the row itself, if it is one of them, is left out."""
    distances = []
    for index, other in enumerate(reference):
        if index != own:
            distances.append(
                float(np.sqrt(sum((a - b) ** 2 for a, b in zip(row, other, strict=True))))
            )
    return sorted(distances)[min(near, len(distances)) - 1]


def p_value(distance, of_training, codes):
    """(1 + number of training rows not labelled outlier that are as far) / (n + 1)."""
    others = [d for d, code in zip(of_training, codes, strict=True) if code != 1]
    return (1 + sum(d >= distance for d in others)) / (len(others) + 1)


def is_novel(distance, of_training, codes, factor=4.0):
    """Nobody is as far, and it is far beyond the 99th percentile."""
    others = [d for d, code in zip(of_training, codes, strict=True) if code != 1]
    at_floor = p_value(distance, of_training, codes) == 1 / (len(others) + 1)
    return bool(at_floor and distance > factor * np.quantile(others, 0.99))
