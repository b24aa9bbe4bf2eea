"""What a fitted detector remembers of its training, so that one fit serves every budget."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from boreod.ensemble.bags import Bags
from boreod.ensemble.reference import Shares
from boreod.representation.scaling import Scaler
from boreod.representation.transformer import OutlierRepresentation
from boreod.validation import INLIER, OUTLIER

LARGE_TABLE = 10_000  # rows; a search through more of them is dear
CHEAP_VIEWS = ("sample:256", "sample:1024")


@dataclass
class Training:
    """Scaled training rows, their labels and bags, and what computes their columns.

    Attributes
    ----------
    representation
        Computes the columns.
    scaler
        Scales them.
    table
        Scaled columns of all training rows.
    codes
        Labels: 1 outlier, 0 inlier, -1 unlabelled.
    bags
        Rows of the bags.
    shares
        Which part of a larger table the rows are.
    seed
        Of classifiers and random choices.
    """

    representation: OutlierRepresentation
    scaler: Scaler
    table: NDArray
    codes: NDArray
    bags: Bags
    shares: Shares
    seed: int

    def keep(self, columns: list[str]) -> "Training":
        """Return the same for some of the columns, in table order; nothing is searched again."""
        names, wanted = self.representation.columns_, set(columns)
        if wanted == set(names):
            return self
        places = [place for place, name in enumerate(names) if name in wanted]
        columns = [names[place] for place in places]
        return replace(
            self,
            representation=self.representation.keep(columns),
            scaler=self.scaler.keep(places),
            table=self.table[:, places],
        )

    @property
    def weights(self) -> NDArray:
        """For how many rows of the table each training row stands."""
        return self.shares.weigh(self.codes)

    @property
    def mean_inlier(self) -> NDArray:
        """Mean of the labelled inliers."""
        return self.table[self.codes == INLIER].mean(axis=0)

    def judged(self, probabilities: NDArray) -> tuple[NDArray, NDArray]:
        """Return out-of-bag probabilities of labelled rows that have one, and who is an outlier."""
        rows = np.isfinite(probabilities) & (self.codes >= 0)
        return probabilities[rows], self.codes[rows] == OUTLIER


def make_representation(
    given: OutlierRepresentation | None, n_rows: int, on_budget: bool, seed: Any
) -> OutlierRepresentation:
    """Return a fresh copy of the representation that a user gave, or the default one.

    By default a large table also gets views of few reference rows if there is a budget: a tight one
    then has scores to buy.
    """
    if given is not None:
        fresh = clone(given)
    elif on_budget and n_rows > LARGE_TABLE:
        fresh = OutlierRepresentation(views=("full", *CHEAP_VIEWS))
    else:
        fresh = OutlierRepresentation()
    return fresh if fresh.random_state is not None else fresh.set_params(random_state=seed)
