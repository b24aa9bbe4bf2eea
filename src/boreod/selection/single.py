"""The best single column: bags vote for it, and the rows out of bag judge it.

Buying what is worth most for its price can spend a budget on trifles when one dear column would
have been worth it. Every bag names the column that tells its outliers from its inliers best; the
column that most bags name is the candidate. How good such a choice is, rows tell that the bag did
not hold: a column that fits a few labels by chance does not fit the others.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from boreod.ensemble.training import Training
from boreod.metrics import auc
from boreod.validation import OUTLIER


@dataclass
class Singles:
    """Chooses and judges single columns.

    Attributes
    ----------
    training
        Scaled rows, labels and bags.
    """

    training: Training

    def best(self, offered: NDArray) -> int:
        """Return the column that most bags name, of those at the offered places."""
        named = self._named(offered)
        names, counts = np.unique(named, return_counts=True)
        strength = np.abs(self._differences[:, names]).mean(axis=0)
        return int(names[np.lexsort((-strength, -counts))[0]])

    def quality(self, offered: NDArray) -> float:
        """Return the out-of-bag AUC of what bags name, NaN where no row can judge."""
        named = self._named(offered)
        names, which = np.unique(named, return_inverse=True)
        labelled = np.flatnonzero(self.training.codes >= 0)
        votes = self._ranks(labelled, names)[:, which]
        upwards = self._differences[np.arange(len(named)), named] > 0.0
        votes = np.where(upwards, votes, 1.0 - votes)
        speak = ~self.training.bags.holds[labelled]
        judged = speak.any(axis=1)
        outliers = self.training.codes[labelled[judged]] == OUTLIER
        if not 0 < outliers.sum() < len(outliers):
            return float("nan")
        return float(auc(outliers, votes[judged].mean(axis=1, where=speak[judged])))

    def _named(self, offered: NDArray) -> NDArray:
        """Return the place of the column that each bag names."""
        return offered[np.abs(self._differences[:, offered]).argmax(axis=1)]

    @cached_property
    def _differences(self) -> NDArray:
        """Mean rank of outliers minus that of inliers, for every bag and column."""
        bags = self.training.bags
        labelled = np.flatnonzero(self.training.codes >= 0)
        ranks = self._ranks(labelled, np.arange(self.training.table.shape[1]))
        rows = np.searchsorted(labelled, bags.rows)
        half = bags.rows.shape[1] // 2
        return np.array(
            [ranks[bag[:half]].mean(axis=0) - ranks[bag[half:]].mean(axis=0) for bag in rows]
        )

    def _ranks(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Return ranks between 0 and 1, which no long tail can stretch."""
        return rankdata(self.training.table[np.ix_(rows, columns)], axis=0) / (len(rows) + 1)
