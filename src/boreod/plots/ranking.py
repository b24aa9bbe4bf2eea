"""What displays of rankings share: reading, resampling, drawing and naming their curves."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from boreod.metrics import roc_rates
from boreod.plots.checks import (
    check_lengths,
    check_share,
    read_judged,
    read_outliers,
    read_rankings,
    refuse_inverted_scores,
)
from boreod.plots.curve import Curve, resampled_rates
from boreod.plots.labels import add_key, size_in_points, size_of_key
from boreod.plots.rooms import find_corner, find_rooms
from boreod.plots.style import (
    GRAY,
    INK,
    SMALL,
    TEXT,
    check_number_of_curves,
    curve_style,
    new_axes,
    tidy,
)

MOST_LABELS = 3  # beside curves; more go into a key
SIDE = 3.8  # of new axes, in inches
NEW_LINE = "\n"  # no place for a backslash in a formatted string of Python 3.11
GRID = np.linspace(0.0, 1.0, 201)


class RankingDisplay(ABC):
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
    ax_, figure_
        Where it was drawn.
    line_, lines_
        The highlighted (else the first) line, and all of them by name.
    bands_
        Drawn bootstrap bands by name.
    labels_
        Texts by name.
    reference_
        The line of a ranking by chance.
    """

    measure: str
    axis_labels: tuple[str, str]
    drawstyle = "default"
    reference_label = ""

    def __init__(
        self, curves: Mapping[str, Curve], base_rate: float, highlight: str | None = None
    ) -> None:
        check_number_of_curves(len(curves))
        if highlight is not None and highlight not in curves:
            known = ", ".join(repr(name) for name in curves)
            raise ValueError(f"`highlight` must be one of {known} or None; got {highlight!r}.")
        self.curves = dict(curves)
        self.base_rate = base_rate
        self.highlight = highlight

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
        ax
            Axes to draw on, None for new ones.
        """
        flags = read_outliers(outliers)
        if interval is not None:
            check_share(interval, "interval")
        rankings = read_rankings(scores, len(flags), name)
        check_number_of_curves(len(rankings))
        curves = {
            key: cls._trace(rankdata(values, "dense"), flags, interval, random_state)
            for key, values in rankings.items()
        }
        return cls(curves, float(flags.mean()), highlight).plot(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the curve of a fitted detector.

        Parameters
        ----------
        model
            Has ``decision_function``, high for outliers.
        X
            Rows.
        y
            Their labels; unlabelled rows (-1) are not judged.
        name
            None for the class of the model.
        options
            As for :meth:`from_predictions`.
        """
        refuse_inverted_scores(model)
        judged, flags = read_judged(model, y)
        scores = np.asarray(model.decision_function(X))
        check_lengths(judged, scores)
        name = type(model).__name__ if name is None else name
        return cls.from_predictions(flags, scores[judged], name=name, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        ax, beside = self._make_room() if ax is None else (ax, False)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: dict[str, Any] = {}
        self.bands_: dict[str, Any] = {}
        self.labels_: dict[str, Any] = {}
        self.reference_ = ax.plot(*self._reference(), color=GRAY, linewidth=0.8, zorder=1.5)[0]
        if self.reference_label:
            label = self.reference_label.format(self.base_rate)
            ax.text(0.0, self.base_rate, label, va="bottom", color=INK, fontsize=SMALL)
        for place, (name, curve) in enumerate(self.curves.items()):
            style = curve_style(place, name == self.highlight)
            line = ax.plot(curve.x, curve.y, drawstyle=self.drawstyle, **style)[0]
            line.set(solid_joinstyle="miter", dash_joinstyle="miter", label=name)
            self.lines_[name] = line
            if curve.band is not None and self.highlight in {None, name}:
                self.bands_[name] = ax.fill_between(
                    *curve.band, color=style["color"], alpha=0.15, linewidth=0
                )
        self.line_ = self.lines_[self.highlight or next(iter(self.lines_))]
        ax.set(xlim=(-0.015, 1.015), ylim=(-0.015, 1.015))
        ax.set(xlabel=self.axis_labels[0], ylabel=self.axis_labels[1])
        tidy(ax)
        self._name_curves(beside)
        return self

    def _make_room(self) -> tuple[Any, bool]:
        """Return new square axes, and whether there is room for a key beside them."""
        side, key = np.full(2, SIDE * 72.0), size_of_key(self._key()) / 72.0
        beside = self._find_rooms(side) is None and self._find_corner(side) is None
        return new_axes(SIDE + 0.7 + beside * float(key[0]), SIDE + 0.6), beside

    def _name_curves(self, beside: bool) -> None:
        """Write names beside a few curves if there is room, else into an ordered key."""
        size = np.array(size_in_points(self.ax_))
        rooms = None if beside else self._find_rooms(size)
        if rooms is None:
            names = self._best_first()
            lines = [self.lines_[name] for name in names]
            corner = None if beside else self._find_corner(size)
            drawn = add_key(self.ax_, lines, self._key(), self.measure, corner)
            self.labels_ = dict(zip(names, drawn.get_texts(), strict=True))
        else:
            for name, place in zip(self.curves, rooms, strict=True):
                self.labels_[name] = self.ax_.text(
                    *place, self._label(name), va="bottom", fontsize=TEXT, color=INK, zorder=4
                )
        if self.highlight is not None:
            self.labels_[self.highlight].set_fontweight("bold")

    def _find_rooms(self, size: NDArray) -> list[NDArray] | None:
        """Return where labels have room in axes of a size in points, None if they have none."""
        if len(self.curves) > MOST_LABELS:
            return None
        edges, others = self._outlines()
        others.append(np.column_stack(self._reference()))
        labels = [self._label(name) for name in self.curves]
        return find_rooms(edges, labels, others, float(size.min()))

    def _find_corner(self, size: NDArray) -> str | None:
        """Return the corner where a key has room, None if there is none."""
        edges, others = self._outlines()
        return find_corner(edges + others, size_of_key(self._key()) / size)

    def _outlines(self) -> tuple[list[NDArray], list[NDArray]]:
        """Return the lines that names stand at, one a curve, and others not to be covered."""
        edges, others = [], []
        if self.reference_label:
            line = np.column_stack(self._reference())
            others += [line, line * (0.4, 1.0) + (0.0, 0.03)]  # the latter through its label
        for name, curve in self.curves.items():
            line = self._corners(curve.x, curve.y)
            if curve.band is not None and self.highlight in {None, name}:
                x, low, high = curve.band  # labels stand below a band, not in it
                mixed = [low + share * (high - low) for share in np.linspace(0.1, 1.0, 6)]
                others += [line, *(np.column_stack([x, y]) for y in mixed)]
                line = np.column_stack([x, low])
            edges.append(line)
        return edges, others

    def _label(self, name: str) -> str:
        return f"{name}\n{self.measure} {self.curves[name].show_quality(NEW_LINE)}"

    def _best_first(self) -> list[str]:
        return sorted(self.curves, key=lambda name: -self.curves[name].quality)

    def _key(self) -> list[str]:
        """Return the rows of the key, numbers before names so that they align."""
        return [f"{self.curves[name].show_quality()}  {name}" for name in self._best_first()]

    @classmethod
    def _trace(
        cls, ranks: NDArray, outliers: NDArray, interval: float | None, random_state: Any
    ) -> Curve:
        share = float(outliers.mean())
        false, true = roc_rates(outliers, ranks)
        x, y = cls._points(false, true, share)
        quality = cls._judge(ranks, outliers)
        if interval is None:
            return Curve(x, y, quality)
        resamples = resampled_rates(ranks, outliers, random_state)
        drawn = (cls._points(false, true, share) for false, true in resamples)
        # Of each curve only this is kept: with many rows, hundreds of curves fill the memory.
        kept = [(cls._area(*points), cls._read_off(*points)) for points in drawn]
        ends = np.array([(1.0 - interval) / 2.0, (1.0 + interval) / 2.0])
        low, high = np.quantile([area for area, _ in kept], ends).tolist()
        band = np.quantile([heights for _, heights in kept], ends, axis=0)
        return Curve(x, y, quality, (low, high), (GRID, band[0], band[1]))

    @abstractmethod
    def _reference(self) -> tuple[list[float], list[float]]:
        """Return the ends of the line of a ranking by chance."""

    @staticmethod
    @abstractmethod
    def _judge(ranks: NDArray, outliers: NDArray) -> float:
        """Return the quality of a ranking."""

    @staticmethod
    @abstractmethod
    def _points(false: NDArray, true: NDArray, base_rate: float, /) -> tuple[NDArray, NDArray]:
        """Return the curve with these false- and true-positive rates."""

    @staticmethod
    @abstractmethod
    def _corners(x: NDArray, y: NDArray) -> NDArray:
        """Return the curve as it is drawn, corner by corner."""

    @staticmethod
    @abstractmethod
    def _area(x: NDArray, y: NDArray) -> float:
        """Return the area under a curve."""

    @staticmethod
    @abstractmethod
    def _read_off(x: NDArray, y: NDArray) -> NDArray:
        """Return the height of a curve over the grid."""
