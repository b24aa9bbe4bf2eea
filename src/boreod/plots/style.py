"""One look for all pictures: colors, lines and markers in a fixed order, and quiet axes.

Curves differ in line style and marker as well as in color, so a picture survives a printer without
colors. The colors are those of Okabe and Ito, yellow last because it is faint on white.
"""

from typing import Any

COLORS = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # green
    "#CC79A7",  # purple
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
    "#000000",
    "#F0E442",  # yellow
)
LINES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (9, 2.5)),
    (0, (2.5, 2.5)),
    (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (1.2, 3)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_CURVES = len(COLORS)
INK, GRAY, FAINT = "0.15", "0.55", "0.9"  # text, lines of reference, grid
TEXT, SMALL = 9.5, 8.5  # points, at the width of a report's column
WIDTH, HIGHLIGHTED = 1.5, 2.8


def new_axes(width: float = 6.4, height: float = 4.0) -> Any:
    """Return axes of a new figure, sized in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Pictures need matplotlib, which is not installed: pip install boreod[report]"
        ) from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Any, grid: bool = True) -> None:
    """Leave the axes with two spines, small dark text and at most a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GRAY)
    ax.tick_params(which="both", color=GRAY, labelcolor=INK, labelsize=SMALL)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set(color=INK, fontsize=TEXT)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(color=FAINT, linewidth=0.8)


def curve_style(place: int, highlighted: bool = False) -> dict[str, Any]:
    """Return how the curve at a place is drawn."""
    return {
        "color": COLORS[place],
        "linestyle": LINES[place],
        "linewidth": HIGHLIGHTED if highlighted else WIDTH,
        "zorder": 3.0 if highlighted else 2.5,
    }


def check_number_of_curves(number: int) -> None:
    """Raise if there are more curves than can be told apart."""
    if not 1 <= number <= MOST_CURVES:
        raise ValueError(
            f"One picture shows 1 to {MOST_CURVES} curves; got {number}. "
            "Draw fewer, or several pictures side by side."
        )
