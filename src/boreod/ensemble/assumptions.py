"""Who counts as an inlier: labelled inliers and, where these are few, unlabelled rows.

Nobody labels thousands of ordinary rows. Where there are fewer labelled inliers than bags want,
unlabelled rows count as inliers. Some of these are outliers that nobody has found yet, and some
rows that were labelled inliers may be outliers too. Such rows can be found: where a model separates
the classes well, few inliers score above the median of the known outliers. If there are more than
MAX_RATIO of them for every known outlier above it, they are left out of the bags, the most
suspicious first and at most a tenth of all inliers. They still count as inliers in thresholds and
probabilities, which therefore mean "would be labelled an outlier".

Which rows are left out of a bag is decided by bags that hold the same known outliers. Otherwise a
known outlier would have cleared its own surroundings in the bags that judge it.

If there are fewer such rows than known outliers, the labels look complete. Bags then hold more
inliers, which teach more than they mislead.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.ensemble.calibration import count_as_inliers
from boreod.ensemble.heads import combine
from boreod.ensemble.tree_heads import TreeHead
from boreod.parallel import Engine
from boreod.validation import INLIER, OUTLIER, UNLABELLED

MAX_RATIO = 4.0
MAX_COMPLETE_RATIO = 1.0
MIN_COMPLETE_OUTLIERS = 5
MAX_WIDENED_INLIERS = 4000


@dataclass(frozen=True, eq=False)
class Assumed:
    """The roles of the training rows.

    Attributes
    ----------
    codes
        1 outlier, 0 for rows that count as inliers, -1 for the rest.
    unlabelled
        Whether unlabelled rows count as inliers.
    left_out
        Suspicious rows.
    suspicious_by_group
        (groups, inliers): the inliers that look suspicious to each group of bags; None if no row is
        left out.
    trees
        The trees that looked for suspicious rows, if they found too few.
    complete
        Whether labels look complete.
    """

    codes: NDArray
    unlabelled: bool
    left_out: NDArray
    suspicious_by_group: NDArray | None = None
    trees: TreeHead | None = None
    complete: bool = False

    @property
    def in_bags(self) -> NDArray:
        """The rows from which bags draw their inliers."""
        return (self.codes == INLIER) & ~self.left_out


def assume_inliers(labels: NDArray, how: BagPlan, allowed: bool) -> Assumed:
    """Count unlabelled rows as inliers, if that is allowed and bags want more inliers.

    Examples
    --------
    >>> few = assume_inliers(np.array([1, 0, -1, -1]), BagPlan(10, 0.7, 10.0, 50), allowed=True)
    >>> few.codes, few.unlabelled
    (array([1, 0, 0, 0]), True)
    """
    wanted = max((how.ratio or 1.0) * (labels == OUTLIER).sum(), how.min_inliers)
    few = (labels == INLIER).sum() < wanted and bool((labels == UNLABELLED).any())
    counted = allowed and few
    codes = count_as_inliers(labels) if counted else labels
    return Assumed(codes, counted, np.zeros(len(labels), dtype=bool))


def widen(how: BagPlan, n_outliers: int) -> BagPlan:
    """Return how bags are drawn where labels look complete: with four times the inliers.

    Examples
    --------
    >>> widen(BagPlan(50, 0.7, 10.0, 50), 20).min_inliers
    560
    """
    wanted = round(4.0 * (how.ratio or 1.0) * how.max_samples * n_outliers)
    return replace(how, min_inliers=max(how.min_inliers, min(wanted, MAX_WIDENED_INLIERS)))


def find_suspicious(
    assumed: Assumed,
    table: NDArray,
    weights: NDArray,
    how: BagPlan,
    n_trees: int,
    seeds: tuple[int, int],
    engine: Engine,
) -> Assumed:
    """Leave out inliers that look like the known outliers, if there are too many to be chance.

    Each bag grows ``n_trees`` trees. ``weights`` are numbers of rows of a larger table that the
    rows stand for; ``seeds`` are those of bags and of trees.
    """
    outliers = np.flatnonzero(assumed.codes == OUTLIER)
    inliers = np.flatnonzero(assumed.in_bags)
    bags = draw_bags(outliers, inliers, len(table), how, seeds[0])
    head = TreeHead.fit(table, bags, n_trees, False, seeds[1], engine)
    odds_by_bag = head.log_odds(table)
    outside = ~bags.holds
    odds = combine(odds_by_bag, "mean", outside)
    known = odds[outliers][np.isfinite(odds[outliers])]
    if len(known) == 0:
        return replace(assumed, trees=head)
    above = inliers[odds[inliers] > np.median(known)]
    ratio = weights[above].sum() / (0.5 * len(outliers))
    enough = how.ratio is not None and len(outliers) >= MIN_COMPLETE_OUTLIERS
    if enough and ratio <= MAX_COMPLETE_RATIO:
        return replace(assumed, complete=True)
    if ratio <= MAX_RATIO:
        return replace(assumed, trees=head)
    number = min(len(above), int(0.1 * len(inliers)))
    left_out = assumed.left_out.copy()
    left_out[inliers] = _highest(odds[inliers], number)
    groups = how.count_groups(len(outliers))
    marked = []
    for group in range(groups):
        bags_of_group = np.s_[group::groups]
        use = outside[inliers, bags_of_group]
        marked.append(_highest(combine(odds_by_bag[inliers, bags_of_group], "mean", use), number))
    return replace(assumed, left_out=left_out, suspicious_by_group=np.array(marked))


def _highest(odds: NDArray, number: int) -> NDArray:
    """Mark the highest log-odds; NaN is low."""
    marked = np.zeros(len(odds), dtype=bool)
    known = np.where(np.isfinite(odds), odds, -np.inf)
    marked[np.argsort(-known, kind="stable")[:number]] = True
    return marked
