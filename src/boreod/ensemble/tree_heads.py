"""Tree heads: forests of extremely randomized trees, and boosted trees, on every bag.

Both are kept as flat arrays, see :mod:`boreod.scores.trees`. Extremely randomized trees (Geurts,
Ernst, Wehenkel, 2006) are fitted by scikit-learn and split at random places, which suits bags with
few outliers; boosted ones, see :mod:`boreod.ensemble.boosting`, find interactions where there are
more of them.

A leaf that holds outliers only would say "certain". Leaves of random trees are therefore smoothed
as if each held some weight of both classes, so that log-odds stay finite.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bags
from boreod.ensemble.boosting import grow_boosted
from boreod.ensemble.heads import combine, mean_of_bags
from boreod.parallel import Engine
from boreod.scores.tree_kernels import narrow
from boreod.scores.trees import Trees

SMOOTHING = 0.05  # weight that is added to every leaf, where that of a mean row is 1
BOOSTED_BAGS = 10  # boosted trees vary little from bag to bag
BOOSTED_TREES = 100


@dataclass(frozen=True, eq=False)
class TreeHead:
    """Trees, as many for every bag."""

    trees: Trees
    n_bags: int
    boosted: bool  # leaves add up to log-odds; otherwise their mean is a probability

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, n_trees: int, boosted: bool, seed: int, engine: Engine
    ) -> "TreeHead":
        """Fit so many trees to each bag."""
        seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(bags.rows)).tolist()
        targets, weights = bags.targets, bags.weights

        def grow(number: int) -> Trees:
            part = narrow(table[bags.rows[number]])
            if boosted:
                return grow_boosted(part, targets, n_trees, seeds[number])
            return _grow_random(part, targets, weights, n_trees, seeds[number])

        grown = engine.map(grow, list(range(len(bags.rows))), "trees")
        return cls(Trees.join(grown), len(grown), boosted)

    @property
    def n_trees(self) -> int:
        """Number of trees of one bag."""
        return self.trees.n_trees // self.n_bags

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        sums = self.trees.add_up(table, self.n_bags)
        if self.boosted:
            return sums
        probabilities = sums / self.n_trees
        return np.log(probabilities) - np.log1p(-probabilities)

    def combined(self, table: NDArray, aggregation: str, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row, as :func:`combine` does, without a detour by log-odds.

        Bags of boosted trees are averaged as what they add up to, whatever the aggregation: one
        bag that is sure of itself does not decide alone.
        """
        if self.boosted or aggregation != "mean":
            return combine(self.log_odds(table), "log-odds", use)
        sums = self.trees.add_up(table, self.n_bags)
        if use is None:
            mean = mean_of_bags(sums)
        else:
            counts = use.sum(axis=1)
            mean = np.divide((sums * use).sum(axis=1), counts, out=np.full(len(sums), np.nan),
                             where=counts > 0)  # fmt: skip
        probabilities = mean / self.n_trees
        return np.log(probabilities) - np.log1p(-probabilities)

    def keep(self, n_trees: int) -> "TreeHead":
        """Return the head with the first trees of every bag, as a fit of so many would give."""
        if n_trees == self.n_trees:
            return self
        return replace(self, trees=self.trees.keep_per_group(self.n_bags, n_trees))

    def first(self, n_bags: int) -> "TreeHead":
        """Return the head with the first bags only."""
        if n_bags >= self.n_bags:
            return self
        return replace(self, trees=self.trees.first(n_bags * self.n_trees), n_bags=n_bags)

    def contribute(
        self, table: NDArray, base: NDArray, slopes: NDArray, changes: NDArray
    ) -> NDArray:
        """Return contributions of features to the sum of slopes times changes of log-odds.

        Slopes and changes are (rows, bags); changes are those of the bags' log-odds from the base
        row. Where leaves are probabilities, each bag's contributions are brought to log-odds by
        the change of one for the change of the other.
        """
        if not self.boosted:
            start = self.trees.add_up(base[np.newaxis], self.n_bags)
            way = (self.trees.add_up(table, self.n_bags) - start) / self.n_trees
            p = start / self.n_trees
            steep = 1.0 / (p * (1.0 - p))  # the limit where nothing changes
            ratio = np.divide(changes, way, out=np.broadcast_to(steep, way.shape).copy(),
                              where=np.abs(way) > 1e-12)  # fmt: skip
            slopes = slopes * ratio / self.n_trees
        return self.trees.contribute(table, base, slopes)


def _grow_random(
    part: NDArray, targets: NDArray, weights: NDArray, n_trees: int, seed: int
) -> Trees:
    """Fit extremely randomized trees to the rows of a bag."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    # for targets of 0 and 1 the variance is half of Gini's impurity: regression splits alike, and
    # takes half the time
    grown = []
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    # hundreds of small fits: what scikit-learn checks in each is known here
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for of_tree in seeds:
            model = ExtraTreeRegressor(max_features="sqrt", random_state=of_tree)
            tree = model.fit(part, targets, weights, check_input=False).tree_
            weight = tree.weighted_n_node_samples
            outliers = tree.value[:, 0, 0] * weight
            grown.append((tree, (outliers + 0.5 * SMOOTHING) / (weight + SMOOTHING)))
    return Trees.build(grown)
