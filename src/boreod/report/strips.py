"""Distributions of single columns as strips of points: outliers against inliers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.plots import new_panels, save_picture
from boreod.plots.style import COLORS, FAINT, INK, SMALL, TEXT, tidy

MOST_POINTS = 100  # of each class; more would be a blur and a large file
TICKS = np.array([1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e6])
LOOKS: dict[str, dict[str, Any]] = {
    "inliers": {"marker": "o", "facecolors": "none", "edgecolors": COLORS[0], "linewidths": 0.7},
    "outliers": {"marker": "^", "color": COLORS[6], "edgecolors": "white", "linewidths": 0.3},
}


def draw_strips(columns: Mapping[str, NDArray], outliers: NDArray, path: Path, seed: int) -> Path:
    """Draw two strips a column and return the path of the picture.

    Columns share one axis: the distance from the median inlier in interquartile ranges of the
    inliers, even near 0 and logarithmic far away, so that extremes stay on the page.
    """
    figure, panels = new_panels(1, 1, (5.2, 0.9 + 0.68 * len(columns)))
    ax, random = panels[0], np.random.default_rng(seed)
    for place, values in enumerate(columns.values()):
        distances = np.arcsinh(_standardize(values, values[~outliers]))
        for name, members, lane in (("inliers", ~outliers, 0.02), ("outliers", outliers, -0.26)):
            shown = random.permutation(distances[members])[:MOST_POINTS]
            height = lane - place + random.uniform(-0.08, 0.08, len(shown))
            ax.scatter(shown, height, s=15, label=None if place else name, **LOOKS[name])
        ax.axhline(-place - 0.45, color=FAINT, linewidth=0.8)
    _label(ax, list(columns))
    return save_picture(figure, path)


def _label(ax: Any, names: list[str]) -> None:
    """Write names above their strips, plain distances below, and a key on top."""
    tidy(ax, grid=False)
    ends = np.concatenate([-np.arcsinh(TICKS[::-1]), [0.0], np.arcsinh(TICKS)])
    low, high = ax.get_xlim()
    ticks = ends[(ends >= low) & (ends <= high)]
    words = [f"{round(np.sinh(tick)):+,}".replace("-", "\N{MINUS SIGN}") for tick in ticks]
    ax.set_xticks(
        ticks, ["0" if tick == 0.0 else word for tick, word in zip(ticks, words, strict=True)]
    )
    ax.set(yticks=[], ylim=(0.55 - len(names), 0.6))
    ax.set_xlabel("distance from the median inlier, in quartile ranges of inliers")
    ax.spines["left"].set_visible(False)
    for place, name in enumerate(names):
        shown = name if len(name) <= 40 else name[:39] + "\N{HORIZONTAL ELLIPSIS}"
        ax.text(
            0.0, 0.24 - place, shown, transform=ax.get_yaxis_transform(), fontsize=SMALL, color=INK
        )
    key = {"fontsize": TEXT, "labelcolor": INK, "frameon": False, "handletextpad": 0.1}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0, **key)


def _standardize(values: NDArray, inliers: NDArray) -> NDArray:
    """Return distances from the median inlier; columns of few values have no quartile range."""
    low, middle, high = np.quantile(inliers, [0.25, 0.5, 0.75])
    spread = high - low or np.std(values) or 1.0
    return (values - middle) / spread
