"""Who counts as an inlier: labelled inliers, and where these are few, unlabelled rows.

Nobody labels thousands of ordinary rows. Where there are fewer labelled inliers than bags want,
unlabelled rows count as inliers, and some of these are outliers that nobody has found yet. So may
be rows that somebody took for inliers. Such rows show themselves: among rows that are told apart
well, few inliers stand above the median of the known outliers. If there are many, that is more than
MAX_RATIO for every known outlier above it, these rows are left out of the bags, the most
suspicious first and at most a tenth of all. They still count as inliers in thresholds and
probabilities, which therefore mean "would be labelled an outlier".

Which rows are left out of a bag is decided by bags that hold the same known outliers. Otherwise a
known outlier would have cleared its own surroundings in the bags that judge it.

If there are fewer such rows than known outliers, the labels look complete. Bags then hold more
inliers: these teach more than they mislead.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bagging, draw_bags
from boreod.ensemble.calibration import count_as_inliers
from boreod.ensemble.heads import combine
from boreod.ensemble.tree_heads import TreeHead
from boreod.parallel import Engine
from boreod.validation import INLIER, OUTLIER, UNLABELLED

MAX_RATIO = 4.0
MAX_SHARE = 0.1
MAX_COMPLETE = 1.0  # suspicious rows for every known outlier above the median
MIN_COMPLETE = 5  # known outliers; fewer of them tell nothing
WIDER = 4.0  # times as many inliers in a bag
WIDEST = 4000  # inliers that a bag holds, unless its ratio asks for more


@dataclass(frozen=True, eq=False)
class Assumed:
    """Who counts as what."""

    codes: NDArray  # 1 outlier, 0 what counts as an inlier, -1 the rest
    unlabelled: bool  # whether unlabelled rows count as inliers
    left_out: NDArray  # suspicious rows
    # of the inliers, those that look suspicious to each group of bags; None if none are left out
    of_groups: NDArray | None = None
    trees: TreeHead | None = None  # those that looked for such rows, if they found none
    complete: bool = False  # whether there are so few such rows that labels look complete

    @property
    def in_bags(self) -> NDArray:
        """Which rows bags draw their inliers from."""
        return (self.codes == INLIER) & ~self.left_out


def assume_inliers(labels: NDArray, how: Bagging, allowed: bool) -> Assumed:
    """Count unlabelled rows as inliers, if it is allowed and bags want more than are labelled.

    Examples
    --------
    >>> few = assume_inliers(np.array([1, 0, -1, -1]), Bagging(10, 0.7, 10.0, 50), allowed=True)
    >>> few.codes, few.unlabelled
    (array([1, 0, 0, 0]), True)
    """
    wanted = max((how.ratio or 1.0) * (labels == OUTLIER).sum(), how.min_inliers)
    few = (labels == INLIER).sum() < wanted and bool((labels == UNLABELLED).any())
    counted = allowed and few
    codes = count_as_inliers(labels) if counted else labels
    return Assumed(codes, counted, np.zeros(len(labels), dtype=bool))


def widen(how: Bagging, n_outliers: int) -> Bagging:
    """Return how bags are drawn where labels look complete.

    Examples
    --------
    >>> widen(Bagging(50, 0.7, 10.0, 50), 20).min_inliers
    560
    """
    wanted = WIDER * (how.ratio or 1.0) * how.share * n_outliers
    return replace(how, min_inliers=max(how.min_inliers, min(round(wanted), WIDEST)))


def find_suspicious(
    assumed: Assumed,
    table: NDArray,
    weights: NDArray,
    how: Bagging,
    n_trees: int,
    seeds: tuple[int, int],
    engine: Engine,
) -> Assumed:
    """Leave out inliers that look like the known outliers, if there are too many to be chance.

    ``weights`` tell for how many rows of a larger table each one stands. So many trees of each bag
    tell; ``seeds`` are those of bags and trees.
    """
    outliers, inliers = np.flatnonzero(assumed.codes == OUTLIER), np.flatnonzero(assumed.in_bags)
    bags = draw_bags(outliers, inliers, len(table), how, seeds[0])
    head = TreeHead.fit(table, bags, n_trees, False, seeds[1], engine)
    by_bag, outside = head.log_odds(table), ~bags.holds
    odds = combine(by_bag, "mean", outside)
    known = odds[outliers][np.isfinite(odds[outliers])]
    if len(known) == 0:
        return replace(assumed, trees=head)
    above = inliers[odds[inliers] > np.median(known)]
    ratio = weights[above].sum() / (0.5 * len(outliers))
    if how.ratio is not None and len(outliers) >= MIN_COMPLETE and ratio <= MAX_COMPLETE:
        return replace(assumed, complete=True)
    if ratio <= MAX_RATIO:
        return replace(assumed, trees=head)
    number = min(len(above), int(MAX_SHARE * len(inliers)))
    left_out = assumed.left_out.copy()
    left_out[inliers] = _highest(odds[inliers], number)
    groups = how.count_groups(len(outliers))
    by_group = (
        combine(by_bag[inliers, group::groups], "mean", outside[inliers, group::groups])
        for group in range(groups)
    )
    of_groups = np.array([_highest(odds, number) for odds in by_group])
    return replace(assumed, left_out=left_out, of_groups=of_groups)


def _highest(odds: NDArray, number: int) -> NDArray:
    """Mark so many of the highest; what is not known is low."""
    marked = np.zeros(len(odds), dtype=bool)
    known = np.where(np.isfinite(odds), odds, -np.inf)
    marked[np.argsort(-known, kind="stable")[:number]] = True
    return marked
