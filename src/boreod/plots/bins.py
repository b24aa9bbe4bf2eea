"""Rows of similar probability, counted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bins:
    """Rows of similar probability.

    Attributes
    ----------
    probabilities
        Mean of each bin.
    shares
        Of outliers in each bin.
    lower, upper
        Wilson interval of the shares.
    n_outliers, n_rows
        In each bin.
    """

    probabilities: NDArray
    shares: NDArray
    lower: NDArray
    upper: NDArray
    n_outliers: NDArray
    n_rows: NDArray


def fill_bins(outliers: NDArray, probabilities: NDArray, n_bins: int, interval: float) -> Bins:
    """Return about equally large bins; equal probabilities are never in different ones.

    Examples
    --------
    >>> bins = fill_bins(np.array([0, 0, 1, 1]) == 1, np.array([0.1, 0.1, 0.3, 0.9]), 2, 0.95)
    >>> bins.probabilities.tolist(), bins.n_outliers.tolist(), bins.n_rows.tolist()
    ([0.1, 0.6], [0, 2], [2, 2])
    """
    from scipy.stats import binomtest

    inner = np.quantile(probabilities, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    place = np.searchsorted(np.unique(inner), probabilities)  # an edge belongs to its lower bin
    place = np.unique(place, return_inverse=True)[1]
    n_rows = np.bincount(place)
    n_outliers = np.bincount(place[outliers], minlength=len(n_rows))
    limits = [
        binomtest(int(hits), int(rows)).proportion_ci(interval, method="wilson")
        for hits, rows in zip(n_outliers, n_rows, strict=True)
    ]
    return Bins(
        probabilities=np.bincount(place, probabilities) / n_rows,
        shares=n_outliers / n_rows,
        lower=np.array([limit.low for limit in limits]),
        upper=np.array([limit.high for limit in limits]),
        n_outliers=n_outliers,
        n_rows=n_rows,
    )
