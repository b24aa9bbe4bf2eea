"""Which rows are learned from and which are judged.

Both protocols judge the same 40 % of the rows. In the paper's, ``"transductive"``, they take part
as unlabelled rows: their neighborhoods are known in training. In the other, ``"unseen"``, the
detector meets them after it was fitted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.validation import INLIER, OUTLIER, UNLABELLED

PROTOCOLS = ("transductive", "unseen")
TEST_SHARE = 0.4


@dataclass(frozen=True)
class Split:
    """Rows to fit with their labels, and rows to judge.

    Attributes
    ----------
    fitted
        Places of the rows in ``fit``.
    labels
        Their labels: 1, 0, -1 for unlabelled.
    test
        Places of the rows to judge.
    """

    fitted: NDArray
    labels: NDArray
    test: NDArray

    def in_hindsight(self, codes: NDArray) -> NDArray:
        """Return the labels that an oracle gets: those of the judged rows, if it sees them."""
        if not np.isin(self.test, self.fitted).all():
            return self.labels
        hindsight = np.full(len(codes), UNLABELLED)
        hindsight[self.test] = codes[self.test]
        return hindsight[self.fitted]


def split_rows(codes: NDArray, repetition: int, protocol: str, seed: int = 0) -> Split:
    """Split stratified by label, 60 % to learn from and 40 % to judge.

    Parameters
    ----------
    codes
        1 for outliers, 0 for inliers, -1 for unlabelled rows, which are never judged.
    repetition
        Number of the split.
    protocol
        ``"transductive"`` or ``"unseen"``.
    seed
        Of all splits.

    Examples
    --------
    >>> split = split_rows(np.repeat([0, 1], [40, 10]), repetition=0, protocol="unseen")
    >>> len(split.fitted), len(split.test), int(split.labels.sum())
    (30, 20, 6)
    """
    from sklearn.model_selection import train_test_split

    if protocol not in PROTOCOLS:
        raise ValueError(f"`protocol` must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    labelled = np.flatnonzero(codes != UNLABELLED)
    counts = [int((codes == code).sum()) for code in (INLIER, OUTLIER)]
    if min(counts) < 4:
        raise ValueError(
            "A comparison needs at least 4 labelled rows of each kind, to learn from some and "
            f"judge others; got {counts[0]} inliers and {counts[1]} outliers."
        )
    _, test = train_test_split(
        labelled, test_size=TEST_SHARE, stratify=codes[labelled], random_state=seed + repetition
    )
    partly = codes.copy()
    partly[test] = UNLABELLED
    if protocol == "transductive":
        return Split(np.arange(len(codes)), partly, np.sort(test))
    fitted = np.setdiff1d(np.arange(len(codes)), test)
    return Split(fitted, partly[fitted], np.sort(test))
