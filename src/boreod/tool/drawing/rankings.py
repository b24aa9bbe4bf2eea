"""ROC and precision-recall curves of one or more rankings of the same rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc, average_precision, resampled_rates, roc_rates
from boreod.tool.drawing.style import BAND, GRAY, add_legend, curve_style, tidy

GRID = np.linspace(0.0, 1.0, 201)  # positions of bands on the x-axis
LONGEST_NAME = 24  # letters in a legend


@dataclass(frozen=True)
class Curve:
    """One ranking as a curve.

    Attributes
    ----------
    x, y
        Points of the curve, from left to right.
    quality
        The AUC or the average precision.
    interval
        Bootstrap interval of the quality, None if there is none.
    band
        Lower and upper limits of ``y`` at the positions of ``GRID``, None without an interval.
    """

    x: NDArray
    y: NDArray
    quality: float
    interval: tuple[float, float] | None = None
    band: NDArray | None = None


def trace_curves(
    outliers: NDArray,
    scores: NDArray,
    interval: float | None = None,
    seed: int = 0,
    weights: NDArray | None = None,
) -> tuple[Curve, Curve]:
    """Return the ROC curve and the precision-recall curve of a ranking.

    Rows of equal score are a straight slope of the ROC curve. The precision-recall curve is a
    series of steps: between two scores no threshold exists, and a slope would promise too much.
    The area under the steps is the average precision.

    Parameters
    ----------
    outliers
        Whether each row is an outlier.
    scores
        Scores of the rows, high for outliers.
    interval
        Share that bootstrap intervals cover, None for no intervals.
    seed
        Random seed of the bootstrap.
    weights
        Number of rows of a larger table that each row stands for; None for one.

    Examples
    --------
    >>> roc, precision = trace_curves(np.array([True, False, True]), np.array([0.9, 0.8, 0.7]))
    >>> roc.x.tolist(), roc.y.tolist(), roc.quality
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], 0.5)
    >>> precision.x.tolist(), precision.y.round(2).tolist()
    ([0.0, 0.5, 0.5, 1.0], [1.0, 1.0, 0.5, 0.67])
    """
    base_rate = float(np.average(outliers, weights=weights))
    false, true = roc_rates(outliers, scores, weights)
    recall, precision = _precision_steps(false, true, base_rate)
    roc = Curve(false, true, float(auc(outliers, scores, weights)))
    steps = Curve(recall, precision, average_precision(outliers, scores, weights))
    if interval is None:
        return roc, steps
    # Only areas and heights over the grid are kept: hundreds of whole curves would fill the memory.
    roc_resamples = []
    step_resamples = []
    for [(false, true)] in resampled_rates(outliers, [scores], seed, weights):
        area = np.sum(np.diff(false) * (true[1:] + true[:-1])) / 2.0
        roc_resamples.append((area, np.interp(GRID, false, true)))
        recall, precision = _precision_steps(false, true, base_rate)
        heights = precision[np.searchsorted(recall, GRID * recall[-1])]
        step_resamples.append((np.sum(np.diff(recall) * precision[1:]), heights))
    return _add_interval(roc, roc_resamples, interval), _add_interval(
        steps, step_resamples, interval
    )


def _precision_steps(false: NDArray, true: NDArray, base_rate: float) -> tuple[NDArray, NDArray]:
    """Return recall and precision at false- and true-positive rates."""
    hits = true * base_rate
    misses = false * (1.0 - base_rate)
    # A precision needs alarms. Once all outliers are found, further alarms say nothing new.
    used = hits + misses > 0.0
    used[np.argmax(true == true[-1]) + 1 :] = False
    precision = hits[used] / (hits + misses)[used]
    # The first step reaches back to recall 0.
    return np.append(0.0, true[used]), np.append(precision[0], precision)


def _add_interval(curve: Curve, resamples: list[tuple[float, NDArray]], interval: float) -> Curve:
    """Return a curve with limits of the areas and heights of its resamples."""
    ends = np.array([(1.0 - interval) / 2.0, (1.0 + interval) / 2.0])
    low, high = np.quantile([area for area, _ in resamples], ends).tolist()
    band = np.quantile([heights for _, heights in resamples], ends, axis=0)
    return replace(curve, interval=(low, high), band=band)


def draw_roc(ax: Any, curves: Mapping[str, Curve], highlight: str | None = None) -> None:
    """Draw ROC curves by name, one of them highlighted, with their AUC in the legend."""
    _draw_chance(ax, [0.0, 1.0])
    lines = _draw_lines(ax, curves, highlight)
    _label_axes(ax, "false-positive rate", "true-positive rate", 1.0)
    _name_lines(ax, curves, lines, highlight, title="AUC")


def draw_precision(
    ax: Any, curves: Mapping[str, Curve], base_rate: float, highlight: str | None = None
) -> None:
    """Draw precision-recall curves by name, with their average precision and the base rate."""
    chance = _draw_chance(ax, [base_rate, base_rate])
    lines = _draw_lines(ax, curves, highlight, drawstyle="steps-pre")
    _label_axes(ax, "recall", "precision", _top_of_axis(curves, base_rate))
    named = {**lines, f"{base_rate:.2g}  base rate": chance}
    place: dict[str, Any] = {}
    if len(curves) > 1:
        # A second curve may be anywhere, so the legend stands below the axes.
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
    _name_lines(ax, curves, named, highlight, title="AP", **place)


def _draw_chance(ax: Any, heights: list[float]) -> Any:
    """Draw the curve of a random ranking, and return the line."""
    return ax.plot([0.0, 1.0], heights, color=GRAY, linewidth=0.8, zorder=1.5)[0]


def _draw_lines(
    ax: Any, curves: Mapping[str, Curve], highlight: str | None, drawstyle: str = "default"
) -> dict[str, Any]:
    """Draw curves, and bands of the highlighted one or else of all; return the lines by name."""
    lines = {}
    for place, (name, curve) in enumerate(curves.items()):
        style = curve_style(place, name == highlight)
        line = ax.plot(curve.x, curve.y, drawstyle=drawstyle, **style)[0]
        line.set(solid_joinstyle="miter", dash_joinstyle="miter")
        lines[name] = line
        if curve.band is not None and highlight in {None, name}:
            ax.fill_between(GRID, *curve.band, color=style["color"], **BAND)
    return lines


def _label_axes(ax: Any, xlabel: str, ylabel: str, top: float) -> None:
    ax.set(xlim=(-0.015, 1.015), ylim=(-0.015 * top, 1.015 * top), xlabel=xlabel, ylabel=ylabel)
    tidy(ax)


def _top_of_axis(curves: Mapping[str, Curve], base_rate: float) -> float:
    """Return the upper end of an axis of precisions.

    The end is 1 unless the curves would be a line on the floor. Then a third of the height stays
    free for the legend.
    """
    tops = [base_rate]
    for curve in curves.values():
        tops.append(float(curve.y.max()))
        if curve.band is not None:
            # Below a recall of 0.1 the band is that of very few alarms, and may leave the picture.
            tops.append(float(np.max(curve.band[1][GRID >= 0.1])))
    highest = 1.5 * max(tops)
    return highest if highest < 0.75 else 1.0


def _name_lines(
    ax: Any,
    curves: Mapping[str, Curve],
    lines: Mapping[str, Any],
    highlight: str | None,
    **options: Any,
) -> None:
    """Add a legend with the best curve first, and lines that are no curves last."""
    order = sorted(curves, key=lambda name: -curves[name].quality)
    others = [name for name in lines if name not in curves]
    handles = [lines[name] for name in [*order, *others]]
    labels = [_label(name, curves[name]) for name in order]
    legend = add_legend(ax, handles, [*labels, *others], **options)
    if highlight is not None:
        legend.get_texts()[order.index(highlight)].set_fontweight("bold")


def _label(name: str, curve: Curve) -> str:
    """Return quality and name, numbers first so that they align in a legend.

    Long names are cut, because a constrained layout would take their room from the axes.
    """
    spread = ""
    if curve.interval is not None:
        spread = " [{:.3f}, {:.3f}]".format(*curve.interval)
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 3]}..."
    return f"{curve.quality:.3f}{spread}  {name}"
