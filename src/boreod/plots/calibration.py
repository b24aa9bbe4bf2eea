"""Whether probabilities come true."""

from typing import Any, Self

import numpy as np

from boreod.plots.bins import Bins, fill_bins
from boreod.plots.checks import (
    check_choice,
    check_lengths,
    check_share,
    read_judged,
    read_numbers,
    read_outliers,
)
from boreod.plots.labels import LETTER_WIDTH, move_apart, size_in_points
from boreod.plots.style import COLORS, GRAY, INK, SMALL, new_axes, tidy

SCALES = ("linear", "log")
RARE = 0.2  # share of outliers below which a linear scale would crowd all bins into a corner
MOST_BINS = 20
SMALLEST = 5.0  # points, of numbers in narrow axes
FLOOR = 1e-6  # of a log scale; smaller probabilities are drawn there


class CalibrationDisplay:
    """Share of outliers over their probability, in bins of as many rows each.

    A calibrated detector is on the diagonal. Whiskers are Wilson intervals. Above the axes stand
    the outliers and rows of each bin. On a log scale, a bin without outliers has no place; it is
    drawn as a hollow point on the lower edge.

    Parameters
    ----------
    bins
        Rows of similar probability.
    scale
        ``"linear"`` or ``"log"``, of both axes.

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

    def __init__(self, bins: Bins, scale: str = "linear") -> None:
        check_choice(scale, SCALES, "scale")
        self.bins, self.scale = bins, scale

    @classmethod
    def from_predictions(
        cls,
        outliers: Any,
        probabilities: Any,
        *,
        n_bins: int = 10,
        scale: str | None = None,
        interval: float = 0.95,
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
        scale
            Of both axes; None for ``"log"`` if less than a fifth of the rows are outliers, else
            ``"linear"``.
        interval
            Share that the intervals cover.
        ax
            Axes to draw on, None for new ones.
        """
        flags = read_outliers(outliers)
        chances = read_numbers(probabilities, len(flags), "`probabilities`")
        if chances.min() < 0.0 or chances.max() > 1.0:
            raise ValueError(
                f"`probabilities` must be from 0 to 1; got {chances.min():g} to {chances.max():g}."
            )
        if not 1 <= n_bins <= MOST_BINS:
            raise ValueError(f"`n_bins` must be from 1 to {MOST_BINS}; got {n_bins!r}.")
        check_share(interval, "interval")
        if scale is None:
            scale = "log" if flags.mean() < RARE else "linear"
        return cls(fill_bins(flags, chances, n_bins, interval), scale).plot(ax)

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
        judged, flags = read_judged(model, y)
        chances = np.asarray(model.predict_proba(X))[:, -1]
        check_lengths(judged, chances)
        return cls.from_predictions(flags, chances[judged], **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        ax = new_axes(4.8, 4.8) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        low, high = self._limits()
        ax.set(xscale=self.scale, yscale=self.scale, xlim=(low, high), ylim=(low, high))
        ax.set(xlabel="predicted probability", ylabel="share of outliers", aspect="equal")
        self.diagonal_ = ax.plot([low, high], [low, high], color=GRAY, linewidth=0.8)[0]
        shown = self.bins.shares > 0.0 if self.scale == "log" else self.bins.shares >= 0.0
        x, y = np.maximum(self.bins.probabilities, low), np.maximum(self.bins.shares, low)
        self.whiskers_ = ax.vlines(
            x, np.maximum(self.bins.lower, low), self.bins.upper, colors=COLORS[0], linewidth=1.2
        )
        self.points_ = ax.scatter(
            x,
            y,
            s=32,
            facecolors=np.where(shown, COLORS[0], "white"),
            edgecolors=COLORS[0],
            zorder=3,
            clip_on=False,
        )
        tidy(ax)
        self._write_counts(x)
        return self

    def _limits(self) -> tuple[float, float]:
        """Return both ends of both axes, on a log scale below everything that is not 0."""
        if self.scale == "linear":
            return -0.01, 1.01
        seen = np.concatenate([self.bins.probabilities, self.bins.shares])
        low = max(float(seen[seen > 0.0].min()) / 2.0, FLOOR)
        return low, 1.15

    def _write_counts(self, x: Any) -> None:
        """Write outliers and rows above each bin, moved apart where bins are close."""
        to_axes = self.ax_.transData + self.ax_.transAxes.inverted()
        wanted = to_axes.transform(np.column_stack([x, x]))[:, 0]
        letters = len(str(self.bins.n_rows.max())) + 0.9
        gap = letters * LETTER_WIDTH * SMALL / min(size_in_points(self.ax_))
        crowded = max(gap * (len(wanted) - 1), 1.0)
        size, gap = max(SMALL / crowded, SMALLEST), gap / crowded
        self.labels_ = []
        for place, moved in enumerate(move_apart(wanted, gap, 0.0, 1.0)):
            counts = f"{self.bins.n_outliers[place]}\n{self.bins.n_rows[place]}"
            self.labels_.append(self._write(moved, counts, "center", size))
            self.ax_.plot(
                [wanted[place], moved],
                [1.0, 1.03],
                transform=self.ax_.transAxes,
                color=GRAY,
                linewidth=0.6,
                clip_on=False,
            )
        self._write(-0.03 - gap / 2, "outliers\nof rows", "right", size)

    def _write(self, x: float, text: str, side: str, size: float) -> Any:
        return self.ax_.text(
            x,
            1.04,
            text,
            ha=side,
            va="bottom",
            transform=self.ax_.transAxes,
            fontsize=size,
            color=INK,
        )
