"""The roles of training rows with few labels (assumed inliers) or no labels (consensus).

*Assumed inliers.* Nobody labels thousands of ordinary rows. If there are fewer labelled inliers
than bags need, unlabelled rows count as inliers. Some unlabelled rows are outliers that nobody has
found yet, and some rows may be labelled inliers by mistake.

Such *suspicious* rows can be found. If a model separates the classes well, few inliers score above
the median of the known outliers. Suppose that the number of inliers above this median is more than
MAX_RATIO times the number of known outliers above it. Then these inliers are left out of the bags,
the most suspicious first, and at most a tenth of all inliers. They still count as inliers in
thresholds and probabilities, so a probability means "would be labelled an outlier".

The rows to leave out of a bag are chosen by bags that hold the same known outliers. Otherwise, a
known outlier could cause inliers near it to be left out of the bags that later judge this outlier,
and its out-of-bag score would be too good.

If the number of inliers above the median is at most the number of known outliers above it, the
labels look complete, given at least MIN_COMPLETE_OUTLIERS known outliers. Bags then hold more
inliers, because additional inliers help more than they mislead.

*Consensus.* Without labels, rows are ranked by a consensus of scores, which trees refine. Every
score column is brought to a common scale in two steps. First, with r the difference from the
median divided by the mean absolute deviation, r / (3 + |r|) limits long tails. Second, the result
is standardized to mean 0 and standard deviation 1 on the training rows. The consensus is the mean
of these columns. Trees on bags then learn to separate the rows with the highest consensus from all
other rows, and each training row is judged by trees that were not fitted to it. Unlike the
consensus, trees prefer columns that are not noise. The consensus and the output of the trees are
standardized, and the score of a row is the mean of the two.

A ranking gives no probability, so the result is the quantile of the score among the training rows.
Between two training scores, and beyond the first and the last one, log-odds are linear in the
score. A row that is more outlying than all training rows is therefore ranked above all of them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import BagPlan, Bags, draw_bags
from boreod.ensemble.calibration import count_as_inliers, logit
from boreod.ensemble.heads import Head, TreeHead, combine
from boreod.validation import INLIER, OUTLIER, UNLABELLED

MAX_RATIO = 4.0
MAX_COMPLETE_RATIO = 1.0
MIN_COMPLETE_OUTLIERS = 5
MAX_WIDENED_INLIERS = 4000
MOST_KNOTS = 1000
# A column whose standard deviation after the first step is smaller than this counts as constant.
MIN_DEVIATION = 1e-12


@dataclass(frozen=True, eq=False)
class Assumed:
    """The roles of the training rows.

    Attributes
    ----------
    codes
        1 for outliers, 0 for rows that count as inliers, -1 for all other rows.
    unlabelled
        Whether unlabelled rows count as inliers.
    left_out
        A mask of the suspicious rows, which are left out of bags.
    suspicious_by_group
        (groups, inliers): a mask of the inliers that look suspicious to each group of bags; None if
        no row is left out.
    trees
        The trees that were used to find suspicious rows; None if bags were drawn again afterwards.
    """

    codes: NDArray
    unlabelled: bool
    left_out: NDArray
    suspicious_by_group: NDArray | None = None
    trees: TreeHead | None = None


def assume_inliers(labels: NDArray, how: BagPlan, allowed: bool) -> Assumed:
    """Count unlabelled rows as inliers if this is ``allowed`` and bags need more inliers.

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
    """Return the plan of bags if labels look complete: about four times as many inliers.

    Examples
    --------
    >>> widen(BagPlan(50, 0.7, 10.0, 50), 20).min_inliers
    560
    """
    wanted = round(4.0 * (how.ratio or 1.0) * how.max_samples * n_outliers)
    return replace(how, min_inliers=max(how.min_inliers, min(wanted, MAX_WIDENED_INLIERS)))


def find_suspicious(
    assumed: Assumed, odds_by_bag: NDArray, outside: NDArray, weights: NDArray, how: BagPlan
) -> tuple[Assumed, BagPlan]:
    """Leave out inliers that look like known outliers, if such inliers are too many.

    Also return the plan for the next bags. ``odds_by_bag`` holds log-odds of trees, and ``outside``
    marks the rows that a bag does not hold; both are (rows, bags). ``weights`` holds, for each row,
    the number of rows of a larger table that the row represents.
    """
    outliers = np.flatnonzero(assumed.codes == OUTLIER)
    inliers = np.flatnonzero(assumed.codes == INLIER)
    odds = combine(odds_by_bag, outside)
    known = odds[outliers][np.isfinite(odds[outliers])]
    if len(known) == 0:
        return assumed, how
    above = inliers[odds[inliers] > np.median(known)]
    ratio = weights[above].sum() / (0.5 * len(outliers))
    enough = how.ratio is not None and len(outliers) >= MIN_COMPLETE_OUTLIERS
    if enough and ratio <= MAX_COMPLETE_RATIO:
        return assumed, widen(how, len(outliers))
    if ratio <= MAX_RATIO:
        return assumed, how
    number = min(len(above), int(0.1 * len(inliers)))
    left_out = assumed.left_out.copy()
    left_out[inliers] = _highest(odds[inliers], number)
    groups = how.count_groups(len(outliers))
    marked = []
    for group in range(groups):
        bags_of_group = np.s_[group::groups]
        use = outside[inliers, bags_of_group]
        marked.append(_highest(combine(odds_by_bag[inliers, bags_of_group], use), number))
    return replace(assumed, left_out=left_out, suspicious_by_group=np.array(marked)), how


def _highest(odds: NDArray, number: int) -> NDArray:
    """Return a mask of the ``number`` highest log-odds; NaN counts as the lowest value."""
    marked = np.zeros(len(odds), dtype=bool)
    known = np.where(np.isfinite(odds), odds, -np.inf)
    marked[np.argsort(-known, kind="stable")[:number]] = True
    return marked


@dataclass(frozen=True, eq=False)
class ConsensusHead(Head):
    """The mean of score columns on a common scale.

    ``center`` holds the median of every column, and ``spread`` the mean absolute deviation from it.
    ``mean`` and ``deviation`` are the mean and the standard deviation of the columns after tails
    are limited.
    """

    center: NDArray
    spread: NDArray
    mean: NDArray
    deviation: NDArray

    @classmethod
    def fit(cls, table: NDArray) -> "ConsensusHead":
        """Learn the scale of every column."""
        if table.shape[1] == 0:
            raise ValueError(
                "Without labels, rows are ranked by scores, and no column is a score. Name a score "
                "in `representation`, for example 'iforest', or pass labels."
            )
        center = np.median(table, axis=0)
        spread = np.abs(table - center).mean(axis=0)
        soft = _soften(table, center, spread)
        return cls(center, spread, soft.mean(axis=0), soft.std(axis=0))

    def log_odds(self, table: NDArray) -> NDArray:
        """Return the consensus in the form of a single bag, (rows, 1)."""
        return self.parts(table).mean(axis=1, keepdims=True)

    def parts(self, table: NDArray) -> NDArray:
        """Return every column on the common scale; a constant column becomes 0."""
        soft = _soften(table, self.center, self.spread) - self.mean
        usable = self.deviation > MIN_DEVIATION
        return np.divide(soft, self.deviation, out=np.zeros_like(soft), where=usable)

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return what each column adds to the consensus, relative to the base row."""
        return (self.parts(table) - self.parts(base[np.newaxis])) / len(self.center)


def _soften(table: NDArray, center: NDArray, spread: NDArray) -> NDArray:
    way = np.divide(table - center, spread, out=np.zeros_like(table), where=spread > 0.0)
    return way / (3.0 + np.abs(way))


@dataclass(frozen=True, eq=False)
class Quantiles:
    """A map from ascending scores to log-odds of their quantiles among the training rows."""

    scores: NDArray
    odds: NDArray

    @classmethod
    def fit(cls, scores: NDArray) -> "Quantiles":
        """Learn quantiles; equal scores get the middle of the quantiles that they cover."""
        values, counts = np.unique(scores, return_counts=True)
        middle = (np.cumsum(counts) - 0.5 * counts) / len(scores)
        if len(values) == 1:
            return cls(values + np.array([0.0, 1.0]), logit(np.array([0.5, 0.75])))
        # If there are at most MOST_KNOTS values, all of them are knots.
        some = np.unique(np.linspace(0, len(values) - 1, MOST_KNOTS).round().astype(int))
        return cls(values[some], logit(middle[some]))

    def apply(self, scores: NDArray) -> NDArray:
        """Return log-odds; beyond an end, follow the line from the middle score through this end.

        Examples
        --------
        >>> Quantiles.fit(np.arange(5.0)).apply(np.array([-1.0, 2.0, 9.0])).round(2)
        array([-3.3 ,  0.  ,  7.69])
        """
        result = np.interp(scores, self.scores, self.odds)
        for end, beyond in (0, scores < self.scores[0]), (-1, scores > self.scores[-1]):
            middle = len(self.scores) // 2 - (len(self.scores) == 2 and end == -1)
            slope = (self.odds[end] - self.odds[middle]) / (self.scores[end] - self.scores[middle])
            result += np.where(beyond, slope * (scores - self.scores[end]), 0.0)
        return result

    def secants(self, start: float, ends: NDArray) -> NDArray:
        """Return the change of log-odds divided by the change of scores, from ``start`` to ends."""
        way = ends - start
        change = self.apply(ends) - self.apply(np.array([start]))
        return np.divide(change, way, out=np.ones_like(way), where=way != 0.0)


def draw_top(scores: NDArray, how: BagPlan, seed: int) -> tuple[Bags, NDArray]:
    """Draw bags whose outliers are the rows with the highest consensus.

    These rows are one row in a hundred, but at least five rows and at most half of all rows. Also
    return a mask of these rows.
    """
    number = min(max(5, round(0.01 * len(scores))), max(1, len(scores) // 2))
    top = np.argsort(-scores, kind="stable")[:number]
    marked = np.zeros(len(scores), dtype=bool)
    marked[top] = True
    return draw_bags(np.sort(top), np.flatnonzero(~marked), len(scores), how, seed), marked
