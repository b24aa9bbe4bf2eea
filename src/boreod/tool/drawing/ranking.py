"""Curves of rankings: how many outliers are found for how many false alarms, or alarms at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc, average_precision, resampled_rates, roc_rates
from boreod.tool.drawing.checks import read_judged, read_numbers, read_outliers
from boreod.tool.drawing.style import (
    BAND,
    GRAY,
    Display,
    add_legend,
    check_number_of_curves,
    curve_style,
    tidy,
)

SIDE, BESIDE = 3.8, 2.2  # inches, of new axes and of a legend beside them
GRID = np.linspace(0.0, 1.0, 201)
LOW = 0.75  # height of curves with their free third from which on the axis ends at 1
LEFT = 0.1  # recall up to which a band is that of very few alarms, and may leave the picture
LONGEST_NAME = 24  # letters in a legend


@dataclass(frozen=True)
class Curve:
    """What is drawn of one ranking.

    Attributes
    ----------
    x, y
        Its points, from left to right.
    quality
        The area that the metric of the picture gives it.
    interval
        Bootstrap interval of the quality, None if not asked for.
    band
        Positions on the x-axis, lower and upper limit of y there; None if not asked for.
    """

    x: NDArray
    y: NDArray
    quality: float
    interval: tuple[float, float] | None = None
    band: tuple[NDArray, NDArray, NDArray] | None = None


class RankingDisplay(Display):
    """Curves of rankings of the same rows, in the unit square.

    Parameters
    ----------
    curves
        By name, in the order of their colors.
    base_rate
        Share of outliers, NaN if unknown.
    highlight
        Name of the curve to draw thicker, None for none.

    Attributes
    ----------
    line_, lines_
        The highlighted (else the first) line, and all of them by name.
    bands_
        Drawn bootstrap bands by name.
    labels_
        Texts of the legend by name, the best ranking first.
    reference_
        The line of a ranking by chance.
    """

    measure: str
    axis_labels: tuple[str, str]
    drawstyle = "default"
    reference_label = ""  # of the base rate, where that is the quality of a ranking by chance
    max_inside: int  # curves whose legend has its place inside the axes
    _judge: Callable[..., Any]
    _sum_up: Callable[[NDArray, NDArray], tuple[float, NDArray]]  # area, and height over the grid

    def __init__(
        self,
        curves: Mapping[str, Curve],
        base_rate: float = np.nan,
        highlight: str | None = None,
    ) -> None:
        check_number_of_curves(len(curves))
        if highlight is not None and highlight not in curves:
            known = ", ".join(repr(name) for name in curves)
            raise ValueError(f"`highlight` must be one of {known} or None; got {highlight!r}.")
        self.curves, self.base_rate, self.highlight = dict(curves), base_rate, highlight
        self._is_outside = len(curves) > self.max_inside  # of the legend
        self._size = (SIDE + 0.7 + BESIDE * self._is_outside, SIDE + 0.6)

    @classmethod
    def from_predictions(
        cls,
        outliers: Any,
        scores: Any,
        *,
        name: str = "scores",
        highlight: str | None = None,
        interval: float | None = None,
        random_state: int | None = 0,
        weights: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of one or more rankings of the same rows.

        Parameters
        ----------
        outliers
            Whether each row is an outlier.
        scores
            High for outliers; a mapping from names to scores for several rankings.
        name
            Of a single ranking.
        highlight
            Name of the ranking to draw thicker.
        interval
            Share that bootstrap intervals cover, for example 0.95; None for no intervals. Bands
            are drawn for the highlighted ranking, or for all if none is.
        random_state
            Seed of the bootstrap.
        weights
            For how many rows of a larger table each one stands; None for itself.
        """
        flags = read_outliers(outliers)
        if interval is not None and not 0.0 < interval < 1.0:
            raise ValueError(f"`interval` must be above 0 and below 1; got {interval!r}.")
        rankings = scores if isinstance(scores, Mapping) else {name: scores}
        curves = {}
        for key, values in rankings.items():
            numbers = read_numbers(values, len(flags), f"Scores of {str(key)!r}")
            ranks = np.unique(numbers, return_inverse=True)[1]
            curves[str(key)] = cls._trace(ranks, flags, interval, random_state, weights)
        return cls(curves, float(np.average(flags, weights=weights)), highlight).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the curve of a fitted detector.

        Parameters
        ----------
        model
            Has ``decision_function``, high for outliers.
        X
            Rows.
        y
            Their labels; unlabelled rows (-1) are not judged.
        options
            As for :meth:`from_predictions`; the default name is the class of the model.
        """
        from sklearn.base import OutlierMixin

        name = type(model).__name__
        # PyOD's detectors may be outlier detectors too, but score the other way round.
        if isinstance(model, OutlierMixin) and not hasattr(model, "decision_scores_"):
            raise ValueError(
                f"Scores must be high for outliers, and those of {name} are low for them. "
                f"Use `from_predictions(outliers, -model.decision_function(X), name={name!r})`."
            )
        flags, scores = read_judged(model, model.decision_function, X, y)
        return cls.from_predictions(flags, scores, **({"name": name} | options))

    def _draw(self, ax: Any) -> None:
        self.lines_: dict[str, Any] = {}
        self.bands_: dict[str, Any] = {}
        chance = [self.base_rate] * 2 if self.reference_label else [0.0, 1.0]
        self.reference_ = ax.plot([0.0, 1.0], chance, color=GRAY, linewidth=0.8, zorder=1.5)[0]
        for place, (name, curve) in enumerate(self.curves.items()):
            style = curve_style(place, name == self.highlight)
            line = ax.plot(curve.x, curve.y, drawstyle=self.drawstyle, **style)[0]
            line.set(solid_joinstyle="miter", dash_joinstyle="miter", label=name)
            self.lines_[name] = line
            if curve.band is not None and self.highlight in {None, name}:
                self.bands_[name] = ax.fill_between(*curve.band, color=style["color"], **BAND)
        self.line_ = self.lines_[self.highlight or next(iter(self.lines_))]
        top = self._highest()
        ax.set(xlim=(-0.015, 1.015), ylim=(-0.015 * top, 1.015 * top))
        ax.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1])
        tidy(ax)
        self._name_curves()

    def _highest(self) -> float:
        """Return the upper end of the axis: 1, or less where curves would be a line on the floor.

        A third of the height stays free for the legend.
        """
        if not self.reference_label:
            return 1.0
        tops = [float(curve.y.max()) for curve in self.curves.values()]
        steady = GRID >= LEFT
        tops += [float(np.max(c.band[2][steady])) for c in self.curves.values() if c.band]
        highest = 1.5 * max([*tops, 0.0 if np.isnan(self.base_rate) else self.base_rate])
        return min(highest, 1.0) if 0.0 < highest < LOW else 1.0

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes, new ones if there are none, and return the display."""
        self._is_beside = self._is_outside and ax is None  # given axes have no room for it
        return super().plot(ax)

    def _name_curves(self) -> None:
        """Write an ordered legend, numbers before names so that they align.

        Long names are cut: constrained layout would take their room from the axes.
        """
        names = sorted(self.curves, key=lambda name: -self.curves[name].quality)
        lines, labels = [self.lines_[name] for name in names], []
        for name in names:
            curve = self.curves[name]
            spread = " [{:.3f}, {:.3f}]".format(*curve.interval) if curve.interval else ""
            shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
            labels.append(f"{curve.quality:.3f}{spread}  {shown}")
        if self.reference_label:
            lines.append(self.reference_)
            labels.append(self.reference_label.format(self.base_rate))
        where: dict[str, Any] = {}
        if self._is_beside:
            where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        elif self._is_outside:
            where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
        legend = add_legend(self.ax_, lines, labels, title=self.measure, **where)
        self.labels_ = dict(zip(names, legend.get_texts(), strict=False))
        if self.highlight is not None:
            self.labels_[self.highlight].set_fontweight("bold")

    @classmethod
    def _trace(
        cls,
        ranks: NDArray,
        outliers: NDArray,
        interval: float | None,
        random_state: Any,
        weights: NDArray | None,
    ) -> Curve:
        share = float(np.average(outliers, weights=weights))
        x, y = cls._points(*roc_rates(outliers, ranks, weights), share)
        quality = float(cls._judge(outliers, ranks, weights))
        if interval is None:
            return Curve(x, y, quality)
        resamples = resampled_rates(outliers, [ranks], random_state, weights)
        # Of each curve only this is kept: with many rows, hundreds of curves fill the memory.
        kept = [cls._sum_up(*cls._points(false, true, share)) for [(false, true)] in resamples]
        ends = np.array([(1.0 - interval) / 2.0, (1.0 + interval) / 2.0])
        low, high = np.quantile([area for area, _ in kept], ends).tolist()
        band = np.quantile([heights for _, heights in kept], ends, axis=0)
        return Curve(x, y, quality, (low, high), (GRID, band[0], band[1]))

    @staticmethod
    def _points(false: NDArray, true: NDArray, _base_rate: float, /) -> tuple[NDArray, NDArray]:
        """Return the curve with these false- and true-positive rates."""
        return false, true


class RocDisplay(RankingDisplay):
    """ROC curves, with the area under each; rows of equal score give a straight slope.

    Examples
    --------
    >>> outliers = [True, False, True, False]
    >>> display = RocDisplay.from_predictions(outliers, [0.9, 0.4, 0.4, 0.1], name="BORE")
    >>> display.line_.get_xydata().tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, 1.0]]
    >>> display.labels_["BORE"].get_text()
    '0.875  BORE'
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    measure = "AUC"
    axis_labels = ("false-positive rate", "true-positive rate")
    max_inside = 8  # below the diagonal is always a place
    _judge = staticmethod(auc)

    @staticmethod
    def _sum_up(x: NDArray, y: NDArray) -> tuple[float, NDArray]:
        return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2.0), np.interp(GRID, x, y)


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
    reference_label = "{:.2g}  base rate"
    max_inside = 1  # a second curve may be anywhere
    _judge = staticmethod(average_precision)

    @staticmethod
    def _points(false: NDArray, true: NDArray, base_rate: float, /) -> tuple[NDArray, NDArray]:
        hits, misses = true * base_rate, false * (1.0 - base_rate)
        used = hits + misses > 0.0  # a precision needs alarms
        used[np.argmax(true == true[-1]) + 1 :] = False  # all are found, more alarms tell nothing
        precision = hits[used] / (hits + misses)[used]
        # The first step reaches back to recall 0.
        return np.append(0.0, true[used]), np.append(precision[0], precision)

    @staticmethod
    def _sum_up(x: NDArray, y: NDArray) -> tuple[float, NDArray]:
        return float(np.sum(np.diff(x) * y[1:])), y[np.searchsorted(x, GRID * x[-1])]
