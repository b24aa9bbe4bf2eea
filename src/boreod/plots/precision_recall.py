"""How many alarms are outliers, the more outliers one wants to find."""

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import average_precision
from boreod.plots.ranking import GRID, RankingDisplay


class PrecisionRecallDisplay(RankingDisplay):
    """Precision-recall curves, with the average precision of each and the base rate.

    Curves are steps: between two scores no threshold exists, and a slope would promise too much.
    The area under the steps is the average precision.

    Examples
    --------
    >>> outliers = [True, False, True]
    >>> display = PrecisionRecallDisplay.from_predictions(outliers, [0.9, 0.8, 0.7], name="BORE")
    >>> display.line_.get_xydata().round(2).tolist()
    [[0.0, 1.0], [0.5, 1.0], [0.5, 0.5], [1.0, 0.67]]
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    measure = "AP"
    axis_labels = ("recall", "precision")
    drawstyle = "steps-pre"
    reference_label = "base rate {:.2g}"

    def _reference(self) -> tuple[list[float], list[float]]:
        return [0.0, 1.0], [self.base_rate, self.base_rate]

    @staticmethod
    def _judge(ranks: NDArray, outliers: NDArray) -> float:
        return average_precision(outliers, ranks)

    @staticmethod
    def _points(false: NDArray, true: NDArray, base_rate: float, /) -> tuple[NDArray, NDArray]:
        hits, misses = true * base_rate, false * (1.0 - base_rate)
        used = hits + misses > 0.0  # a precision needs alarms
        used[np.argmax(true == true[-1]) + 1 :] = False  # all are found, more alarms tell nothing
        precision = hits[used] / (hits + misses)[used]
        # The first step reaches back to recall 0.
        return np.append(0.0, true[used]), np.append(precision[0], precision)

    @staticmethod
    def _corners(x: NDArray, y: NDArray) -> NDArray:
        return np.column_stack([np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]])

    @staticmethod
    def _area(x: NDArray, y: NDArray) -> float:
        return float(np.sum(np.diff(x) * y[1:]))

    @staticmethod
    def _read_off(x: NDArray, y: NDArray) -> NDArray:
        return y[np.searchsorted(x, GRID * x[-1])]
