"""Tree heads: forests of extremely randomized trees, and boosted trees, on every bag.

Both are kept as flat arrays, see :mod:`boreod.scores.trees`. Extremely randomized trees (Geurts,
Ernst, Wehenkel, 2006) are fitted by scikit-learn and split at random places, which suits bags with
few outliers. Boosted trees, see :mod:`boreod.ensemble.boosting`, find interactions where there are
more outliers.

A leaf that holds only outliers would have infinite log-odds. Leaves of random trees are therefore
smoothed, as if each held some weight of both classes.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bags
from boreod.ensemble.boosting import grow_boosted
from boreod.ensemble.heads import Head, weigh_bags
from boreod.parallel import Engine
from boreod.scores.tree_kernels import narrow
from boreod.scores.trees import Trees

# This weight is added to every leaf; the mean weight of a row is 1.
SMOOTHING = 0.05
# Boosted trees vary little from bag to bag, so few bags are enough.
BOOSTED_BAGS = 10
BOOSTED_TREES = 100


@dataclass(frozen=True, eq=False)
class TreeHead(Head):
    """Trees, the same number for every bag.

    Leaves of ``boosted`` trees add up to log-odds; otherwise their mean is a probability.
    """

    trees: Trees
    n_bags: int
    boosted: bool

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, n_trees: int, boosted: bool, seed: int, engine: Engine
    ) -> "TreeHead":
        """Fit ``n_trees`` trees to each bag."""
        seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(bags.rows)).tolist()
        targets = bags.targets
        weights = bags.weights

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
        return self._odds_of(self.trees.add_up(table, self.n_bags))

    def combined(self, table: NDArray, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row, from the mean over bags of their probabilities.

        Of boosted trees the log-odds are averaged, so that a single bag with large log-odds does
        not decide alone.
        """
        sums = self.trees.add_up(table, self.n_bags)
        if use is None:
            # For one row NumPy's ``mean`` takes several times as long.
            return self._odds_of(np.add.reduce(sums, axis=1) / self.n_bags)
        counts = use.sum(axis=1)
        totals = sums.sum(axis=1, where=use) if self.boosted else (sums * use).sum(axis=1)
        mean = np.full(len(sums), np.nan)
        return self._odds_of(np.divide(totals, counts, out=mean, where=counts > 0))

    def _odds_of(self, sums: NDArray) -> NDArray:
        """Return the log-odds that sums over the trees of a bag stand for."""
        if self.boosted:
            return sums
        probabilities = sums / self.n_trees
        return np.log(probabilities) - np.log1p(-probabilities)

    def keep(self, n_trees: int) -> "TreeHead":
        """Return the head with the first trees of every bag; a fit of so many gives the same."""
        if n_trees == self.n_trees:
            return self
        return replace(self, trees=self.trees.keep_per_group(self.n_bags, n_trees))

    def first(self, n_bags: int) -> "TreeHead":
        """Return the head with the first bags only."""
        if n_bags >= self.n_bags:
            return self
        return replace(self, trees=self.trees.first(n_bags * self.n_trees), n_bags=n_bags)

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return contributions of features to the change of log-odds from the base row.

        Where leaves are probabilities, each bag's contributions are multiplied by the change of its
        log-odds per change of its probability.
        """
        slopes = np.full((len(table), self.n_bags), 1.0 / self.n_bags)
        if not self.boosted:
            start = self.trees.add_up(base[np.newaxis], self.n_bags)
            sums = self.trees.add_up(table, self.n_bags)
            odds_of_start = self._odds_of(start)
            changes = self._odds_of(sums) - odds_of_start
            way = (sums - start) / self.n_trees
            p = start / self.n_trees
            # This is the limit where nothing changes.
            ratio = np.broadcast_to(1.0 / (p * (1.0 - p)), way.shape).copy()
            np.divide(changes, way, out=ratio, where=np.abs(way) > 1e-12)
            slopes = weigh_bags(odds_of_start[0], changes) * ratio / self.n_trees
        return self.trees.contribute(table, base, slopes)


def _grow_random(
    part: NDArray, targets: NDArray, weights: NDArray, n_trees: int, seed: int
) -> Trees:
    """Fit extremely randomized trees to the rows of a bag."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    # For targets of 0 and 1 the variance is half of Gini's impurity. So regression trees have the
    # same splits as classification trees, and take half the time.
    grown = []
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    # Hundreds of small fits need no checks by scikit-learn, because the input is known.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for tree_seed in seeds:
            model = ExtraTreeRegressor(max_features="sqrt", random_state=tree_seed)
            tree = model.fit(part, targets, weights, check_input=False).tree_
            weight = tree.weighted_n_node_samples
            outliers = tree.value[:, 0, 0] * weight
            grown.append((tree, (outliers + 0.5 * SMOOTHING) / (weight + SMOOTHING)))
    return Trees.build(grown)
