"""The rows on which SSAD is tuned: all, or so many that the time has a limit."""

import numpy as np
from numpy.typing import NDArray

from boreod.validation import INLIER, OUTLIER, UNLABELLED

FEWEST_INLIERS = 300  # labelled ones; a fold is judged by its share of them


def sample_rows(codes: NDArray, caps: NDArray, most: int, seed: int) -> tuple[NDArray, NDArray]:
    """Return rows in ascending order and their caps.

    Labelled outliers are at most half of a sample. Labelled inliers and unlabelled rows share the
    rest in the proportion they have, but enough inliers to judge by are kept. A drawn row stands
    for others, so its cap grows: every kind of rows can reach the same total weight as before.

    Parameters
    ----------
    codes
        1 outlier, 0 inlier, -1 unlabelled.
    caps
        Upper limits of the weights.
    most
        Largest number of rows.
    seed
        Of the draw.

    Examples
    --------
    >>> codes = np.repeat([-1, 1], [90, 2])
    >>> rows, caps = sample_rows(codes, np.ones(92), most=32, seed=0)
    >>> np.unique(caps, return_counts=True)
    (array([1., 3.]), array([ 2, 30]))
    """
    if len(codes) <= most:
        return np.arange(len(codes)), caps
    random = np.random.default_rng(seed)
    present = {code: np.flatnonzero(codes == code) for code in (OUTLIER, INLIER, UNLABELLED)}
    n_inliers, n_unlabelled = len(present[INLIER]), len(present[UNLABELLED])
    outliers = min(len(present[OUTLIER]), most // 2)
    others = most - outliers
    fair = round(others * n_inliers / max(1, n_inliers + n_unlabelled))
    inliers = min(n_inliers, max(fair, min(FEWEST_INLIERS, others // 2)))
    counts = {OUTLIER: outliers, INLIER: inliers, UNLABELLED: others - inliers}
    grown = caps.copy()
    kept = []
    for code, rows in present.items():
        drawn = random.permutation(rows)[: counts[code]]
        if len(drawn):
            grown[drawn] *= caps[rows].sum() / caps[drawn].sum()
            kept.append(drawn)
    rows = np.sort(np.concatenate(kept))
    return rows, grown[rows]
