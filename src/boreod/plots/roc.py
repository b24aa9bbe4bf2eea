"""How many outliers are found for how many false alarms."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc
from boreod.plots.checks import read_rates
from boreod.plots.curve import Curve
from boreod.plots.ranking import GRID, RankingDisplay


class RocDisplay(RankingDisplay):
    r"""ROC curves, with the area under each; rows of equal score give a straight slope.

    Examples
    --------
    >>> outliers = [True, False, True, False]
    >>> display = RocDisplay.from_predictions(outliers, [0.9, 0.4, 0.4, 0.1], name="BORE")
    >>> display.line_.get_xydata().tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, 1.0]]
    >>> display.labels_["BORE"].get_text()
    'BORE\nAUC 0.875'
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    measure = "AUC"
    axis_labels = ("false-positive rate", "true-positive rate")

    @classmethod
    def from_rates(
        cls,
        false: Any,
        true: Mapping[str, Any],
        areas: Mapping[str, float] | None = None,
        *,
        highlight: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw curves that are known already, for example means over repetitions.

        Parameters
        ----------
        false
            False-positive rates, ascending.
        true
            From names to true-positive rates there.
        areas
            From names to areas that are written; None, or a name left out, for the area that is
            drawn. A mean of areas is not quite the area under a mean curve.
        highlight
            Name of the curve to draw thicker.
        ax
            Axes to draw on, None for new ones.
        """
        x, curves = read_rates(false, np.size(false), "`false`"), {}
        for name, rates in true.items():
            y = read_rates(rates, len(x), f"`true` of {name!r}")
            curves[str(name)] = Curve(x, y, float((areas or {}).get(name, cls._area(x, y))))
        return cls(curves, np.nan, highlight).plot(ax)

    def _reference(self) -> tuple[list[float], list[float]]:
        return [0.0, 1.0], [0.0, 1.0]

    @staticmethod
    def _judge(ranks: NDArray, outliers: NDArray) -> float:
        return float(auc(outliers, ranks))

    @staticmethod
    def _points(false: NDArray, true: NDArray, _base_rate: float, /) -> tuple[NDArray, NDArray]:
        return false, true

    @staticmethod
    def _corners(x: NDArray, y: NDArray) -> NDArray:
        return np.column_stack([x, y])

    @staticmethod
    def _area(x: NDArray, y: NDArray) -> float:
        return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2.0)

    @staticmethod
    def _read_off(x: NDArray, y: NDArray) -> NDArray:
        return np.interp(GRID, x, y)
