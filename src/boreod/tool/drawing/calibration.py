"""Whether probabilities come true."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.tool.drawing.checks import read_judged, read_numbers, read_outliers
from boreod.tool.drawing.style import COLORS, GRAY, INK, SMALL, Display, tidy

RARE = 0.2  # share of outliers below which a linear scale would crowd all bins into a corner
MAX_BINS = 20
INTERVAL = 0.95  # share that whiskers cover
FLOOR = 1e-6  # of a log scale; smaller probabilities are drawn there


class CalibrationDisplay(Display):
    """Share of outliers over their probability, in bins of as many rows each.

    A calibrated detector is on the diagonal. Whiskers are 95 % Wilson intervals. Above the axes
    stand the outliers and rows of each bin. Both axes are logarithmic if less than a fifth of the
    rows are outliers; there a bin without outliers has no place and is drawn as a hollow point on
    the lower edge.

    Parameters
    ----------
    probabilities
        Mean of each bin.
    n_outliers, n_rows
        In each bin.

    Attributes
    ----------
    points_, whiskers_
        The bins and their intervals.
    diagonal_
        Where calibrated probabilities are.
    labels_
        Texts of the numbers of outliers and rows, one a bin.
    """

    _size = (4.8, 4.8)

    def __init__(self, probabilities: ArrayLike, n_outliers: ArrayLike, n_rows: ArrayLike) -> None:
        self.probabilities = np.asarray(probabilities)
        self.n_outliers, self.n_rows = np.asarray(n_outliers), np.asarray(n_rows)
        self.is_rare = bool(self.n_outliers.sum() < RARE * self.n_rows.sum())

    @classmethod
    def from_predictions(
        cls,
        outliers: Any,
        probabilities: Any,
        *,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw how often rows of similar probability are outliers.

        Parameters
        ----------
        outliers
            Whether each row is an outlier.
        probabilities
            Of being one.
        n_bins
            How many; fewer are drawn where equal probabilities make bins the same.
        """
        flags = read_outliers(outliers)
        chances = read_numbers(probabilities, len(flags), "`probabilities`")
        if chances.min() < 0.0 or chances.max() > 1.0:
            raise ValueError(
                f"`probabilities` must be from 0 to 1; got {chances.min():g} to {chances.max():g}."
            )
        if not 1 <= n_bins <= MAX_BINS:
            raise ValueError(f"`n_bins` must be from 1 to {MAX_BINS}; got {n_bins!r}.")
        inner = np.quantile(chances, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
        place = np.searchsorted(np.unique(inner), chances)  # an edge belongs to its lower bin
        place = np.unique(place, return_inverse=True)[1]
        n_rows = np.bincount(place)
        n_outliers = np.bincount(place[flags], minlength=len(n_rows))
        return cls(np.bincount(place, chances) / n_rows, n_outliers, n_rows).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw how often rows of similar probability are outliers.

        Parameters
        ----------
        model
            Has ``predict_proba`` with outliers in the last column.
        X
            Rows that the model was not fitted on.
        y
            Their labels; unlabelled rows (-1) are not judged.
        options
            As for :meth:`from_predictions`.
        """
        flags, chances = read_judged(model, model.predict_proba, X, y)
        return cls.from_predictions(flags, chances[:, -1], **options)

    def _draw(self, ax: Any) -> None:
        from scipy.stats import binomtest

        shares, (low, high) = self.n_outliers / self.n_rows, (-0.01, 1.01)
        if self.is_rare:  # below everything that is not 0
            seen = np.concatenate([self.probabilities, shares])
            low, high = max(float(seen[seen > 0.0].min()) / 2.0, FLOOR), 1.15
        scale = "log" if self.is_rare else "linear"
        ax.set(xscale=scale, yscale=scale, xlim=(low, high), ylim=(low, high))
        ax.set(xlabel="predicted probability", ylabel="share of outliers", aspect="equal")
        self.diagonal_ = ax.plot([low, high], [low, high], color=GRAY, linewidth=0.8)[0]
        x, y = np.maximum(self.probabilities, low), np.maximum(shares, low)
        intervals = [
            binomtest(int(hits), int(rows)).proportion_ci(INTERVAL, method="wilson")
            for hits, rows in zip(self.n_outliers, self.n_rows, strict=True)
        ]
        lower, upper = np.maximum(intervals, low).T
        self.whiskers_ = ax.vlines(x, lower, upper, colors=COLORS[0], linewidth=1.2)
        fill = np.where((shares == 0.0) & self.is_rare, "white", COLORS[0])
        self.points_ = ax.scatter(x, y, s=32, facecolors=fill, edgecolors=COLORS[0], zorder=3)
        self.points_.set_clip_on(False)
        tidy(ax)
        self._write_counts(x)

    def _write_counts(self, x: NDArray) -> None:
        """Write outliers and rows of each bin in a row above the axes, with lines to the bins."""
        ax, places = self.ax_, (np.arange(len(x)) + 0.5) / len(x)
        look = {"va": "bottom", "color": INK, "fontsize": min(SMALL, 90.0 / len(x))}
        look["transform"] = ax.transAxes
        ax.text(-0.02, 1.06, "outliers\nof rows", ha="right", **look)
        self.labels_ = []
        for *counts, place, position in zip(self.n_outliers, self.n_rows, places, x, strict=True):
            text = "{}\n{}".format(*counts)
            self.labels_.append(ax.text(place, 1.06, text, ha="center", **look))
            ax.annotate(
                "",
                (position, 1.0),
                (place, 1.05),
                xycoords=ax.get_xaxis_transform(),
                textcoords=ax.transAxes,
                arrowprops={"arrowstyle": "-", "color": GRAY, "linewidth": 0.6},
                annotation_clip=False,
            )
