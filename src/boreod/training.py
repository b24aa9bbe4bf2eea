"""What a fitted detector remembers of its training, so that one fit serves every budget."""

from dataclasses import dataclass, replace

from numpy.typing import NDArray

from boreod.bagging import Bags
from boreod.labels import INLIER
from boreod.representation import OutlierRepresentation
from boreod.scaling import Scaler


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
    seed
        Of classifiers and random choices.
    """

    representation: OutlierRepresentation
    scaler: Scaler
    table: NDArray
    codes: NDArray
    bags: Bags
    seed: int

    def keep(self, columns: list[str]) -> "Training":
        """Return the same for some of the columns; nothing is searched again."""
        names = self.representation.columns_
        if columns == names:
            return self
        places = [names.index(name) for name in columns]
        return replace(
            self,
            representation=self.representation.keep(columns),
            scaler=self.scaler.keep(places),
            table=self.table[:, places],
        )

    @property
    def mean_inlier(self) -> NDArray:
        """Mean of the labelled inliers."""
        return self.table[self.codes == INLIER].mean(axis=0)
