"""From the log-odds of balanced bags to probabilities: a line that keeps the ranking.

If a bag keeps a share b1 of the outliers and b0 of the inliers, log(b0 / b1) corrects its log-odds.
Calibration fits slope and intercept to out-of-bag log-odds instead (Platt: Probabilistic outputs
for support vector machines. 1999).
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bags
from boreod.ensemble.logistic import fit_logistic
from boreod.validation import OUTLIER

TINY_PENALTY = 1e-9


@dataclass(frozen=True)
class Correction:
    """A line through log-odds."""

    shift: float
    slope: float = 1.0

    def apply(self, log_odds: NDArray) -> NDArray:
        """Return corrected log-odds."""
        return self.slope * log_odds + self.shift


def correct_for_balance(bags: Bags, inlier_share: float) -> Correction:
    """Return the correction for bags that overstate outliers.

    ``inlier_share`` is that of the labelled inliers of which the bags were drawn at all.
    """
    return Correction(float(np.log(inlier_share * bags.kept_inliers / bags.kept_outliers)))


def calibrate(
    log_odds: NDArray, codes: NDArray, inlier_share: float, otherwise: Correction
) -> Correction:
    """Fit a line to out-of-bag log-odds; ``otherwise`` is used, aloud, if that makes no sense."""
    labelled = np.isfinite(log_odds) & (codes >= 0)
    targets = (codes[labelled] == OUTLIER).astype(np.float64)
    if 0 < targets.sum() < len(targets):
        columns = log_odds[labelled, np.newaxis]
        shift, slope = fit_logistic(columns, targets, TINY_PENALTY).coefficients.tolist()
        if slope > 0:
            return Correction(shift + float(np.log(inlier_share)), slope)
    warnings.warn(
        "Out-of-bag scores do not rank outliers above inliers, so they cannot calibrate; "
        "probabilities are corrected for the balance of the bags only.",
        UserWarning,
        stacklevel=7,
    )
    return otherwise


def warn_without_score(log_odds: NDArray) -> None:
    """Say how many rows have no out-of-bag score."""
    missing = int(np.isnan(log_odds).sum())
    if missing:
        warnings.warn(
            f"{missing} labelled rows are in every bag, so they have no out-of-bag probability "
            "(NaN). More labelled outliers or more bags would help.",
            UserWarning,
            stacklevel=5,
        )
