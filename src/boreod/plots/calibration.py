"""Whether probabilities come true."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.plots.checks import read_judged, read_numbers, read_outliers
from boreod.plots.style import COLORS, GRAY, INK, SMALL, new_axes, tidy

RARE = 0.2  # share of outliers below which a linear scale would crowd all bins into a corner
MAX_BINS = 20
INTERVAL = 0.95  # share that whiskers cover
FLOOR = 1e-6  # of a log scale; smaller probabilities are drawn there


@dataclass(frozen=True)
class Bins:
    """Rows of similar probability.

    Attributes
    ----------
    probabilities
        Mean of each bin.
    shares
        Of outliers in each bin.
    lower, upper
        95 % Wilson interval of the shares.
    n_outliers, n_rows
        In each bin.
    """

    probabilities: NDArray
    shares: NDArray
    lower: NDArray
    upper: NDArray
    n_outliers: NDArray
    n_rows: NDArray


class CalibrationDisplay:
    """Share of outliers over their probability, in bins of as many rows each.

    A calibrated detector is on the diagonal. Whiskers are 95 % Wilson intervals. Above the axes
    stand the outliers and rows of each bin. Both axes are logarithmic if less than a fifth of the
    rows are outliers; there a bin without outliers has no place and is drawn as a hollow point on
    the lower edge.

    Parameters
    ----------
    bins
        Rows of similar probability.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    points_, whiskers_
        The bins and their intervals.
    diagonal_
        Where calibrated probabilities are.
    labels_
        Texts of the numbers of outliers and rows, one a bin.
    """

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self.is_rare = bool(bins.n_outliers.sum() < RARE * bins.n_rows.sum())

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
        ax
            Axes to draw on, None for new ones.
        """
        flags = read_outliers(outliers)
        chances = read_numbers(probabilities, len(flags), "`probabilities`")
        if chances.min() < 0.0 or chances.max() > 1.0:
            raise ValueError(
                f"`probabilities` must be from 0 to 1; got {chances.min():g} to {chances.max():g}."
            )
        if not 1 <= n_bins <= MAX_BINS:
            raise ValueError(f"`n_bins` must be from 1 to {MAX_BINS}; got {n_bins!r}.")
        return cls(_fill_bins(flags, chances, n_bins)).plot(ax)

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

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        ax = new_axes(4.8, 4.8) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        bins, (low, high) = self.bins, self._limits()
        scale = "log" if self.is_rare else "linear"
        ax.set(xscale=scale, yscale=scale, xlim=(low, high), ylim=(low, high))
        ax.set(xlabel="predicted probability", ylabel="share of outliers", aspect="equal")
        self.diagonal_ = ax.plot([low, high], [low, high], color=GRAY, linewidth=0.8)[0]
        x, y = np.maximum(bins.probabilities, low), np.maximum(bins.shares, low)
        self.whiskers_ = ax.vlines(
            x, np.maximum(bins.lower, low), bins.upper, colors=COLORS[0], linewidth=1.2
        )
        fill = np.where((bins.shares == 0.0) & self.is_rare, "white", COLORS[0])
        self.points_ = ax.scatter(x, y, s=32, facecolors=fill, edgecolors=COLORS[0], zorder=3)
        self.points_.set_clip_on(False)
        tidy(ax)
        self._write_counts(x)
        return self

    def _limits(self) -> tuple[float, float]:
        """Return both ends of both axes, on a log scale below everything that is not 0."""
        if not self.is_rare:
            return -0.01, 1.01
        seen = np.concatenate([self.bins.probabilities, self.bins.shares])
        return max(float(seen[seen > 0.0].min()) / 2.0, FLOOR), 1.15

    def _write_counts(self, x: NDArray) -> None:
        """Write outliers and rows of each bin in a row above the axes, with lines to the bins."""
        ax, counts = self.ax_, zip(self.bins.n_outliers, self.bins.n_rows, strict=True)
        places = (np.arange(len(x)) + 0.5) / len(x)
        look = {"va": "bottom", "color": INK, "fontsize": min(SMALL, 90.0 / len(x))}
        look["transform"] = ax.transAxes
        self.labels_ = [
            ax.text(place, 1.06, f"{outliers}\n{rows}", ha="center", **look)
            for place, (outliers, rows) in zip(places, counts, strict=True)
        ]
        ax.text(-0.02, 1.06, "outliers\nof rows", ha="right", **look)
        for place, position in zip(places, x, strict=True):
            ax.annotate(
                "",
                (position, 1.0),
                (place, 1.05),
                xycoords=ax.get_xaxis_transform(),
                textcoords=ax.transAxes,
                arrowprops={"arrowstyle": "-", "color": GRAY, "linewidth": 0.6},
                annotation_clip=False,
            )


def _fill_bins(outliers: NDArray, probabilities: NDArray, n_bins: int) -> Bins:
    """Return about equally large bins; equal probabilities are never in different ones."""
    from scipy.stats import binomtest

    inner = np.quantile(probabilities, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    place = np.searchsorted(np.unique(inner), probabilities)  # an edge belongs to its lower bin
    place = np.unique(place, return_inverse=True)[1]
    n_rows = np.bincount(place)
    n_outliers = np.bincount(place[outliers], minlength=len(n_rows))
    limits = [
        binomtest(int(hits), int(rows)).proportion_ci(INTERVAL, method="wilson")
        for hits, rows in zip(n_outliers, n_rows, strict=True)
    ]
    means, (lower, upper) = np.bincount(place, probabilities) / n_rows, np.array(limits).T
    return Bins(means, n_outliers / n_rows, lower, upper, n_outliers, n_rows)
