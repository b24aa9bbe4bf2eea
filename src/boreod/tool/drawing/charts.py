"""Curves of rankings and of quality over cost, calibration, heat maps, and maps of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc, average_precision, resampled_rates, roc_rates
from boreod.text import count_of
from boreod.tool.drawing.style import (
    BAND,
    COLORS,
    GRAY,
    INK,
    MARKERS,
    SMALL,
    TEXT,
    add_legend,
    curve_style,
    short_name,
    tidy,
)

# Positions on the x-axis at which bands are computed.
GRID = np.linspace(0.0, 1.0, 201)
# Ends of an axis of rates, with some space for lines at 0 and 1.
RATES = (-0.015, 1.015)
# Longer names are cut in a legend.
LONGEST_NAME = 24


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
        Bootstrap interval of the quality; None if it was not computed.
    band
        Lower and upper limits of ``y`` at the positions of ``GRID``; None if there is no interval.
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
    series of steps, because no threshold lies between two scores. A slope would show values that
    no threshold reaches. The area under the steps is the average precision.

    Parameters
    ----------
    outliers
        Whether each row is an outlier.
    scores
        Scores of the rows, high for outliers.
    interval
        Share that bootstrap intervals cover. If None, no intervals are computed.
    seed
        Random seed of the bootstrap.
    weights
        Number of rows of a larger table that each row stands for. If None, it is 1 for all rows.

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
    # Precision is undefined without alerts. Once all outliers are found, more alerts add nothing.
    used = hits + misses > 0.0
    used[np.argmax(true == true[-1]) + 1 :] = False
    precision = hits[used] / (hits + misses)[used]
    # The first step reaches back to recall 0.
    return np.append(0.0, true[used]), np.append(precision[0], precision)


def _add_interval(curve: Curve, resamples: list[tuple[float, NDArray]], interval: float) -> Curve:
    """Return a curve with the interval of its quality and its band, given its resamples."""
    ends = np.array([(1.0 - interval) / 2.0, (1.0 + interval) / 2.0])
    low, high = np.quantile([area for area, _ in resamples], ends).tolist()
    band = np.quantile([heights for _, heights in resamples], ends, axis=0)
    return replace(curve, interval=(low, high), band=band)


def draw_roc(ax: Any, curves: Mapping[str, Curve], highlight: str | None = None) -> None:
    """Draw ROC curves by name, with their AUC in the legend; the curve ``highlight`` stands out."""
    lines, _ = _draw_lines(ax, curves, highlight, [0.0, 1.0])
    ax.set(xlim=RATES, ylim=RATES, xlabel="false-positive rate", ylabel="true-positive rate")
    _name_lines(ax, curves, lines, highlight, title="AUC")


def draw_precision(
    ax: Any, curves: Mapping[str, Curve], base_rate: float, highlight: str | None = None
) -> None:
    """Draw precision-recall curves by name, with their average precision and the base rate."""
    lines, chance = _draw_lines(ax, curves, highlight, [base_rate, base_rate], "steps-pre")
    top = _top_of_axis(curves, base_rate)
    ax.set(xlim=RATES, ylim=[top * end for end in RATES], xlabel="recall", ylabel="precision")
    lines[f"{base_rate:.2g}  base rate"] = chance
    place: dict[str, Any] = {}
    if len(curves) > 1:
        # A second curve may be where a legend would be, so the legend stands below the axes.
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
    _name_lines(ax, curves, lines, highlight, title="AP", **place)


def _draw_lines(
    ax: Any,
    curves: Mapping[str, Curve],
    highlight: str | None,
    chance: list[float],
    drawstyle: str = "default",
) -> tuple[dict[str, Any], Any]:
    """Draw curves, and a band around the highlighted curve; without one, around all curves.

    ``chance`` holds the heights of the line of a random ranking at both ends of the x-axis. Return
    the lines of the curves by name, and the line of the random ranking.
    """
    random = ax.plot([0.0, 1.0], chance, color=GRAY, linewidth=0.8, zorder=1.5)[0]
    lines = {}
    for place, (name, curve) in enumerate(curves.items()):
        style = curve_style(place, name == highlight)
        line = ax.plot(curve.x, curve.y, drawstyle=drawstyle, **style)[0]
        line.set(solid_joinstyle="miter", dash_joinstyle="miter")
        lines[name] = line
        if curve.band is not None and highlight in {None, name}:
            ax.fill_between(GRID, *curve.band, color=style["color"], **BAND)
    return lines, random


def _top_of_axis(curves: Mapping[str, Curve], base_rate: float) -> float:
    """Return the upper end of an axis of precisions.

    The end is 1, unless all curves would then be close to the x-axis. In this case, the end is
    lower, and a third of the height stays free for the legend.
    """
    tops = [base_rate, *(float(curve.y.max()) for curve in curves.values())]
    # Below a recall of 0.1 there are very few alerts, so the band may leave the picture.
    bands = [curve.band[1][GRID >= 0.1] for curve in curves.values() if curve.band is not None]
    highest = 1.5 * max(tops + [float(band.max()) for band in bands])
    return highest if highest < 0.75 else 1.0


def _name_lines(
    ax: Any,
    curves: Mapping[str, Curve],
    lines: Mapping[str, Any],
    highlight: str | None,
    **options: Any,
) -> None:
    """Tidy the axes, and add a legend with the best curve first and other lines last."""
    tidy(ax)
    order = sorted(curves, key=lambda name: -curves[name].quality)
    others = [name for name in lines if name not in curves]
    handles = [lines[name] for name in [*order, *others]]
    labels = [_label(name, curves[name]) for name in order]
    legend = add_legend(ax, handles, [*labels, *others], **options)
    if highlight is not None:
        legend.get_texts()[order.index(highlight)].set_fontweight("bold")


def _label(name: str, curve: Curve) -> str:
    """Return quality and name; the quality is first, so that numbers align in a legend.

    Long names are cut, because a wide legend would shrink the axes.
    """
    spread = ""
    if curve.interval is not None:
        spread = " [{:.3f}, {:.3f}]".format(*curve.interval)
    return f"{curve.quality:.3f}{spread}  {short_name(name, LONGEST_NAME)}"


def draw_quality(
    ax: Any,
    costs: NDArray,
    curves: Mapping[str, NDArray],
    spreads: Mapping[str, NDArray] | None = None,
) -> None:
    """Draw curves of quality over cost.

    Parameters
    ----------
    ax
        Axes to draw on.
    costs
        Costs in ascending order, at least 0.
    curves
        The quality at each cost, by name.
    spreads
        Half the height of the band around each curve, by name. If None, no bands are drawn.
    """
    # The cost of a column may be 0, which has no place on a log scale.
    if (costs > 0.0).all():
        ax.set_xscale("log")
        _number_ticks(ax.xaxis)
    lines = {}
    for place, (name, quality) in enumerate(curves.items()):
        style = curve_style(place) | {"marker": MARKERS[place], "markersize": 4.5}
        lines[name] = ax.plot(costs, quality, **style)[0]
        if spreads is not None:
            ends = (quality - spreads[name], quality + spreads[name])
            ax.fill_between(costs, *ends, color=style["color"], **BAND)
    tidy(ax)
    # The legend lists the curves in their order, the highest first.
    names = sorted(curves, key=lambda name: -curves[name].mean())
    add_legend(ax, [lines[name] for name in names], names)


def _number_ticks(axis: Any) -> None:
    """Show the ticks of a log scale as plain numbers, not as powers of ten."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter(LogFormatter())
    # A short axis also gets minor ticks.
    axis.set_minor_formatter(LogFormatter())


def draw_budget_curve(ax: Any, curve: Any, mark: tuple[float, str] | None = None) -> None:
    """Draw the budget curve of a detector.

    A ``mark`` is a cost, in the unit of the curve, and a text. A line marks the cost, and the text
    stands above the axes, where no curve is in the way.
    """
    is_time = curve.unit == "s"
    scale = 1e6 if is_time else 1.0
    # A larger budget may buy a cheaper set of columns.
    order = np.argsort(curve.costs, kind="stable")
    curves = {"AUC": curve.auc[order], "average precision": curve.average_precision[order]}
    draw_quality(ax, curve.costs[order] * scale, curves)
    xlabel = "prediction time per row [µs]" if is_time else "cost [units]"
    ax.set(xlabel=xlabel, ylabel="out-of-bag quality")
    if mark is None:
        return
    place = float(mark[0] * scale)
    ax.axvline(place, color=GRAY, linewidth=1.0, linestyle=":")
    above = ax.secondary_xaxis("top")
    above.set_xticks([place], [mark[1]])
    above.tick_params(which="both", length=0, labelsize=SMALL, labelcolor=INK)
    above.tick_params(which="minor", labeltop=False)
    above.spines["top"].set_visible(False)


def draw_calibration(ax: Any, outliers: NDArray, probabilities: NDArray, n_bins: int) -> None:
    """Draw the share of outliers over the predicted probability, in bins of equally many rows.

    Calibrated probabilities are on the diagonal. Whiskers are 95 % Wilson intervals. Both axes are
    logarithmic if less than a fifth of the rows are outliers, because a linear scale would crowd
    all bins into a corner. A bin without outliers has no place on a logarithmic axis, so it is
    drawn as a hollow point on the lower edge. There are fewer than ``n_bins`` bins if many rows
    have equal probabilities.
    """
    from scipy.stats import binomtest

    inner = np.quantile(probabilities, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    # An edge belongs to its lower bin.
    bins = np.searchsorted(np.unique(inner), probabilities)
    bins = np.unique(bins, return_inverse=True)[1]
    n_rows = np.bincount(bins)
    n_outliers = np.bincount(bins[outliers], minlength=len(n_rows))
    means = np.bincount(bins, probabilities) / n_rows
    shares = n_outliers / n_rows
    is_rare = bool(n_outliers.sum() < 0.2 * n_rows.sum())
    if is_rare:
        seen = np.concatenate([means, shares])
        ends = (max(float(seen[seen > 0.0].min()) / 2.0, 1e-6), 1.15)
        ax.set(xscale="log", yscale="log")
        _number_ticks(ax.xaxis)
        _number_ticks(ax.yaxis)
    else:
        ends = (-0.01, 1.01)
    labels = {"xlabel": "predicted probability", "ylabel": "share of outliers"}
    ax.set(xlim=ends, ylim=ends, aspect="equal", **labels)
    ax.plot(ends, ends, color=GRAY, linewidth=0.8)
    x = np.maximum(means, ends[0])
    intervals = [
        binomtest(int(hits), int(rows)).proportion_ci(0.95, method="wilson")
        for hits, rows in zip(n_outliers, n_rows, strict=True)
    ]
    lower, upper = np.maximum(intervals, ends[0]).T
    ax.vlines(x, lower, upper, colors=COLORS[0], linewidth=1.2)
    fill = np.where((shares == 0.0) & is_rare, "white", COLORS[0])
    look = {"facecolors": fill, "edgecolors": COLORS[0], "zorder": 3, "clip_on": False}
    ax.scatter(x, np.maximum(shares, ends[0]), s=32, **look)
    tidy(ax)
    _write_counts(ax, x, [f"{hits}\n{rows}" for hits, rows in zip(n_outliers, n_rows, strict=True)])


def _write_counts(ax: Any, x: NDArray, texts: list[str]) -> None:
    """Write the numbers of outliers and rows of each bin above the axes, with lines to the bins."""
    look = {"va": "bottom", "color": INK, "fontsize": min(SMALL, 90.0 / len(x))}
    look["transform"] = ax.transAxes
    ax.text(-0.02, 1.06, "outliers\nof rows", ha="right", **look)
    for number, text in enumerate(texts):
        place = (number + 0.5) / len(x)
        ax.text(place, 1.06, text, ha="center", **look)
        ax.annotate(
            "",
            (x[number], 1.0),
            (place, 1.05),
            xycoords=ax.get_xaxis_transform(),
            textcoords=ax.transAxes,
            arrowprops={"arrowstyle": "-", "color": GRAY, "linewidth": 0.6},
            annotation_clip=False,
        )


def draw_heat_map(
    ax: Any,
    values: NDArray,
    rows: Sequence[str],
    columns: Sequence[str],
    limits: tuple[float, float],
) -> None:
    """Draw a table of shares in colors, with their numbers in percent in the cells.

    ``limits`` are the values with the darkest and the brightest color.
    """
    # The lightness of these colors grows with the value, also in black and white.
    image = ax.imshow(values, cmap="cividis", vmin=limits[0], vmax=limits[1], aspect="auto")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    tidy(ax, grid=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    # Texts are black or white, whichever contrasts more by the rule for web pages (WCAG 2).
    colors = image.cmap(image.norm(values))[..., :3]
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    inks = np.where((luminance + 0.05) ** 2 > 1.05 * 0.05, "black", "white")
    for row, column in np.ndindex(*values.shape):
        text = ax.text(column, row, f"{100.0 * values[row, column]:.1f}", fontsize=TEXT)
        text.set(ha="center", va="center", color=inks[row, column])


def draw_embedding(ax: Any, table: NDArray, outliers: NDArray, title: str, seed: int) -> None:
    """Draw rows as t-SNE places them: inliers as hollow circles, outliers as dark triangles.

    The table has at least three rows and two columns, one of which varies.
    """
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    embedding = TSNE(2, perplexity=min(30.0, (len(table) - 1) / 3.0), random_state=seed)
    points = embedding.fit_transform(StandardScaler().fit_transform(table))
    # The more points a map has, the smaller they are.
    area = float(np.clip(6000.0 / len(points), 14.0, 42.0))
    hollow = {"facecolors": "none", "edgecolors": COLORS[5], "linewidths": 0.8}
    inside = ax.scatter(*points[~outliers].T, s=area, marker="o", **hollow)
    dark = {"color": COLORS[6], "edgecolors": "white", "linewidths": 0.4}
    outside = ax.scatter(*points[outliers].T, s=1.7 * area, marker="^", zorder=3, **dark)
    ax.set(xticks=[], yticks=[], title=title)
    ax.set_aspect("equal", adjustable="datalim")
    tidy(ax, grid=False)
    ax.spines[:].set_visible(False)
    labels = [count_of(int(outliers.sum()), "outlier"), count_of(int((~outliers).sum()), "inlier")]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": 2, "handlelength": 1.5}
    add_legend(ax, [outside, inside], labels, **place)
