"""Names at the ends of curves and in keys, moved apart where they would collide."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.plots.style import GRAY, INK, SMALL, TEXT

LINE_HEIGHT, LETTER_WIDTH = 1.3, 0.62  # of the size of a font
SAMPLE = 3.2  # width of the line before a name in a key, likewise


def move_apart(
    positions: Any, gap: float, lowest: float = -np.inf, highest: float = np.inf
) -> NDArray:
    """Return positions at least ``gap`` apart and as near as possible to those wanted.

    Their order is kept. Too many for the room between the limits share it evenly.

    Parameters
    ----------
    positions
        Where labels would stand if they were alone.
    gap
        Smallest distance between neighbors.
    lowest, highest
        Limits of the room.

    Examples
    --------
    >>> move_apart([0.5, 0.5, 0.9], gap=0.2).round(2).tolist()
    [0.4, 0.6, 0.9]
    >>> move_apart([1.0, 0.95], gap=0.1, highest=1.0).round(2).tolist()
    [1.0, 0.9]
    """
    from sklearn.isotonic import isotonic_regression

    wanted = np.asarray(positions, dtype=np.float64)
    if len(wanted) > 1:
        gap = min(gap, (highest - lowest) / (len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    top = highest - steps[-1] if len(wanted) else highest
    # Least squares under gaps is isotonic regression of what is left of the positions without them.
    moved = isotonic_regression(wanted[order] - steps, y_min=lowest, y_max=max(top, lowest))
    result = np.empty_like(wanted)
    result[order] = moved + steps
    return result


def size_in_points(ax: Any) -> tuple[float, float]:
    """Return width and height of the axes, after the layout of what is drawn so far."""
    figure = ax.figure.canvas.figure  # the whole, also from a part of it
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    box, points = ax.get_window_extent(), 72.0 / figure.dpi
    return box.width * points, box.height * points


def label_ends(ax: Any, ends: dict[str, tuple[float, float]], colors: dict[str, str]) -> Any:
    """Write names right of the axes, level with the ends of curves; return the texts by name.

    Call it when limits and scales are set.
    """
    gap = LINE_HEIGHT * TEXT / size_in_points(ax)[1]
    ax.get_ylim()  # settles limits that follow the data
    to_axes = ax.transData + ax.transAxes.inverted()
    heights = [to_axes.transform(end)[1] for end in ends.values()]
    texts = {}
    for (name, end), height in zip(ends.items(), move_apart(heights, gap, 0.0, 1.0), strict=True):
        leader = {
            "arrowstyle": "-",
            "color": colors[name],
            "linewidth": 0.8,
            "shrinkA": 1.0,
            "shrinkB": 3.0,
            "relpos": (0.0, 0.5),
        }
        texts[name] = ax.annotate(
            name,
            end,
            (1.045, height),
            textcoords="axes fraction",
            va="center",
            color=INK,
            fontsize=TEXT,
            arrowprops=leader,
            annotation_clip=False,
        )
    return texts


def size_of_key(labels: Sequence[str]) -> NDArray:
    """Return about how many points wide and high a key is."""
    letters = max(len(label) for label in labels)
    width = letters * LETTER_WIDTH + SAMPLE + 2.0
    return np.array([width, (len(labels) + 1.6) * 1.15 * LINE_HEIGHT]) * TEXT


def add_key(
    ax: Any, handles: Sequence[Any], labels: Sequence[str], title: str, corner: str | None
) -> Any:
    """Put an ordered key into a corner, or right of the axes for None, and return it."""
    place = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if corner is None else {"loc": corner}
    )
    key = ax.legend(
        handles,
        labels,
        title=title,
        alignment="left",
        facecolor="white",
        edgecolor="none",
        framealpha=0.8,  # a later panel may narrow these axes: nothing is ever hidden
        fontsize=TEXT,
        title_fontsize=SMALL,
        labelcolor=INK,
        handlelength=SAMPLE,
        **place,
    )
    key.get_title().set_color(GRAY)
    return key
