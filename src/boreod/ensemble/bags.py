"""The rows to learn from: a sample of a large table, and the bags drawn from the sample.

If a table is too large, a sample of its rows is used. The sample holds all labelled outliers and
some of the other rows, and neighbors are searched among the rows of the sample. An inlier or
unlabelled row of the sample represents several rows of the table, so rows are counted with weights.

Each bag holds a share of the outliers and at least as many inliers, drawn without replacement. Both
classes get the same total weight, except in boosted trees, which need no weights. The bags that do
not hold a row score this row without bias; such results are called *out of bag*.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.validation import INLIER, OUTLIER, UNLABELLED

MAX_GROUPS = 10


@dataclass(frozen=True)
class Shares:
    """The shares of a table's labelled inliers and unlabelled rows that a sample holds.

    The sample always holds all outliers. ``n_rows`` is the number of rows of the table.
    """

    n_rows: int
    inliers: float = 1.0
    unlabelled: float = 1.0

    def weigh(self, codes: NDArray) -> NDArray:
        """Return the number of rows of the table that each row of the sample represents."""
        weights = {OUTLIER: 1.0, INLIER: 1.0 / self.inliers, UNLABELLED: 1.0 / self.unlabelled}
        return np.select([codes == code for code in weights], list(weights.values()))


def draw_reference(
    codes: NDArray, size: int | None, sampling: str, seed: int
) -> tuple[NDArray | None, Shares]:
    """Return the positions of the rows of a sample, and its shares.

    If ``size`` is None or at least the size of the table, all rows are used, and the positions are
    None. The sample holds all labelled outliers. ``"random"`` draws the other rows from all rows
    that are not labelled outliers. ``"stratified"`` draws half of them from the labelled inliers
    and half from the unlabelled rows. If there are fewer labelled inliers, it takes all of them.

    Examples
    --------
    >>> rows, shares = draw_reference(np.repeat([1, 0, -1], [2, 4, 94]), 20, "stratified", seed=0)
    >>> rows[:6].tolist(), len(rows), shares.inliers, round(shares.unlabelled, 3)
    ([0, 1, 2, 3, 4, 5], 20, 1.0, 0.149)
    """
    if size is None or size >= len(codes):
        return None, Shares(len(codes))
    outliers, inliers, unlabelled = (
        np.flatnonzero(codes == code) for code in (OUTLIER, INLIER, UNLABELLED)
    )
    places = int(size) - len(outliers)
    if places < 1:
        raise ValueError(
            "`size` of `reference` must exceed the number of labelled outliers, which all stay; "
            f"got {size} for {len(outliers)} outliers. Raise `size`."
        )
    random = np.random.default_rng(seed)
    if sampling == "stratified":
        first = min(len(inliers), max(places // 2 + places % 2, places - len(unlabelled)))
        drawn = [_draw(inliers, first, random), _draw(unlabelled, places - first, random)]
    else:
        rest = _draw(np.flatnonzero(codes != OUTLIER), places, random)
        drawn = [rest[codes[rest] == code] for code in (INLIER, UNLABELLED)]
    if len(inliers) and not len(drawn[0]):
        raise ValueError(
            f"A random sample of {size} rows holds none of the {len(inliers)} labelled inliers. "
            "Use `sampling='stratified'`, or raise `size`."
        )
    shares = Shares(
        len(codes),
        len(drawn[0]) / len(inliers) if len(drawn[0]) else 1.0,
        len(drawn[1]) / len(unlabelled) if len(drawn[1]) else 1.0,
    )
    return np.sort(np.concatenate([outliers, *drawn])), shares


def _draw(rows: NDArray, number: int, random: np.random.Generator) -> NDArray:
    return random.choice(rows, min(number, len(rows)), replace=False, shuffle=False)


@dataclass(frozen=True)
class Bags:
    """The rows of all bags.

    Attributes
    ----------
    rows
        (bags, rows): positions of the rows of each bag in the table, outliers first.
    n_outliers
        Number of outliers in one bag.
    n_rows
        Number of rows of the table.
    kept_outliers, kept_inliers
        Shares of the labelled outliers and inliers that one bag holds.
    put_back
        (rows, bags): a mask of suspicious rows that were drawn for a bag and put back. The bag does
        not score these rows out of bag, as if the bag still held them. None without such rows.
    """

    rows: NDArray
    n_outliers: int
    n_rows: int
    kept_outliers: float
    kept_inliers: float
    put_back: NDArray | None = None

    @property
    def targets(self) -> NDArray:
        """Targets of a bag's rows, the same for every bag: 1.0 for outliers, 0.0 for inliers."""
        return np.repeat([1.0, 0.0], [self.n_outliers, self.rows.shape[1] - self.n_outliers])

    @property
    def weights(self) -> NDArray:
        """Weights of a bag's rows, with mean 1 and the same total for both classes."""
        n_rows = self.rows.shape[1]
        counts = np.array([self.n_outliers, n_rows - self.n_outliers])
        return np.repeat(n_rows / (2.0 * counts), counts)

    def balance(self, inlier_share: float) -> float:
        """Return the factor that turns odds in bags into odds in the table: b0 w0 / (b1 w1).

        b0 and b1 are the shares of all inliers and outliers that one bag holds. w0 and w1 are the
        weights of an inlier and an outlier in the bag. ``inlier_share`` is the share of all inliers
        from which bags are drawn.
        """
        w1, w0 = self.weights[[0, -1]].tolist()
        return inlier_share * self.kept_inliers * w0 / (self.kept_outliers * w1)

    def first(self, number: int) -> "Bags":
        """Return the first ``number`` bags."""
        put_back = None if self.put_back is None else self.put_back[:, :number]
        return replace(self, rows=self.rows[:number], put_back=put_back)

    @property
    def holds(self) -> NDArray:
        """Mask of the rows that each bag holds or has put back: (rows, bags)."""
        result = np.zeros((self.n_rows, self.rows.shape[0]), dtype=bool)
        if self.put_back is not None:
            result[:] = self.put_back
        result[self.rows, np.arange(self.rows.shape[0])[:, np.newaxis]] = True
        return result


@dataclass(frozen=True)
class BagPlan:
    """The plan by which bags are drawn.

    Attributes
    ----------
    n_bags
        Number of bags.
    max_samples
        Share of the smaller class that a bag holds; with a ratio, share of the outliers.
    ratio
        Number of inliers per outlier in a bag. If it is None, bags are balanced.
    min_inliers
        Smallest number of inliers in a bag with a ratio, if there are enough inliers.
    grouped
        Whether groups of bags hold the same outliers, see :func:`draw_bags`.
    """

    n_bags: int
    max_samples: float
    ratio: float | None = None
    min_inliers: int = 1
    grouped: bool = False

    def count_groups(self, n_outliers: int) -> int:
        """Return the number g of groups of bags; bag b belongs to group b modulo g."""
        few = max(1, round(self.max_samples * n_outliers))
        if self.grouped and MAX_GROUPS * few >= n_outliers:
            return min(MAX_GROUPS, self.n_bags)
        return self.n_bags


def draw_bags(
    outliers: NDArray,
    inliers: NDArray,
    n_rows: int,
    how: BagPlan,
    seed: int,
    left_out: NDArray | None = None,
) -> Bags:
    """Draw bags.

    A balanced bag holds the share ``max_samples`` of the smaller class (at least one row) and the
    same number of rows of the other class. With a ratio, the number of outliers sets the size of a
    bag, and no bag holds more than the share ``max_samples`` of the inliers. If the bags can hold
    all outliers, every outlier is in some bag.

    If bags are grouped, all bags of a group hold the same outliers, and each outlier is outside
    about the same number of groups. So the trees of a group can choose inliers to leave out, and
    the choice does not depend on outliers that bags of this group score out of bag. ``left_out``
    holds these choices: a mask (groups, inliers) with the same number of inliers in each group.

    Examples
    --------
    >>> bags = draw_bags(np.array([3, 5, 8]), np.arange(10, 20), 20, BagPlan(4, 0.7), seed=0)
    >>> bags.rows.shape, sorted(set(bags.rows[:, :2].ravel().tolist()))
    ((4, 4), [3, 5, 8])
    """
    random = np.random.default_rng(seed)
    if how.ratio is None:
        many = few = max(1, round(how.max_samples * min(len(outliers), len(inliers))))
    else:
        few = max(1, round(how.max_samples * len(outliers)))
        wanted = max(round(how.ratio * few), how.min_inliers)
        many = min(wanted, max(1, round(how.max_samples * len(inliers))))
    groups = how.count_groups(len(outliers))
    if groups < how.n_bags:
        order = random.permutation(len(outliers))
        places = np.arange(groups)[:, np.newaxis] * (len(outliers) - few) + np.arange(few)
        drawn = order[places % len(outliers)][np.arange(how.n_bags) % groups]
    else:
        drawn = np.array([random.permutation(len(outliers))[:few] for _ in range(how.n_bags)])
        _include_all_outliers(drawn, len(outliers), random)
    if left_out is not None:
        rest = len(inliers) - int(left_out[0].sum())
        many = min(many, max(1, round(how.max_samples * rest)))
    others = np.empty((how.n_bags, many), np.int64)
    put_back = None if left_out is None else np.zeros((n_rows, how.n_bags), dtype=bool)
    for number in range(how.n_bags):
        order = random.permutation(len(inliers))
        if left_out is not None and put_back is not None:
            wanted = ~left_out[number % groups][order]
            # The rows up to the last wanted row count as drawn; unwanted rows among them are put
            # back.
            seen = np.searchsorted(np.cumsum(wanted), many)
            put_back[inliers[order[:seen][~wanted[:seen]]], number] = True
            order = order[wanted]
        others[number] = order[:many]
    rows = np.hstack([outliers[drawn], inliers[others]])
    return Bags(rows, few, n_rows, few / len(outliers), many / len(inliers), put_back)


def _include_all_outliers(drawn: NDArray, n_outliers: int, random: np.random.Generator) -> None:
    """Replace outliers that were drawn several times by outliers that no bag has drawn."""
    counts = np.bincount(drawn.ravel(), minlength=n_outliers)
    for missing in np.flatnonzero(counts == 0):
        places = random.permutation(drawn.size)
        repeated = places[counts[drawn.flat[places]] > 1]
        if len(repeated) == 0:
            return
        counts[drawn.flat[repeated[0]]] -= 1
        counts[missing] += 1
        drawn.flat[repeated[0]] = missing
