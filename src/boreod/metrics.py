"""How well scores rank outliers above inliers."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def auc(scores: NDArray, outliers: NDArray) -> NDArray:
    """Return the area under the ROC curve, of one array of scores or of every column of a table.

    Parameters
    ----------
    scores
        High for outliers; a table has one row per judged row.
    outliers
        Whether each row is an outlier.

    Examples
    --------
    >>> float(auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])))
    0.875
    """
    n_outliers = int(outliers.sum())
    n_inliers = len(outliers) - n_outliers
    if n_outliers == 0 or n_inliers == 0:
        raise ValueError(
            f"AUC needs rows of both classes; got {n_outliers} outliers and {n_inliers} inliers."
        )
    above = rankdata(scores, axis=0)[outliers].sum(axis=0) - n_outliers * (n_outliers + 1) / 2
    return np.asarray(above / (n_outliers * n_inliers))
