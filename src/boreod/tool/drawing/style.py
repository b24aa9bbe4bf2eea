"""The style of all pictures: panels, and colors, lines and markers in a fixed order.

Curves differ in line style and marker as well as in color, so a picture can be printed without
colors. The colors are those of Okabe and Ito. Yellow is last because it is faint on white.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boreod.files import whole_file

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
# Colors of texts, of reference lines and of the grid.
INK = "0.15"
GRAY = "0.55"
FAINT = "0.9"
# Font sizes in points, at the width of a report's column. Ticks and remarks have the small size.
TEXT = 9.5
SMALL = 8.5
BAND = {"alpha": 0.15, "linewidth": 0}


def new_panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, row by row; panels beyond the count stay empty.

    Parameters
    ----------
    count
        Number of panels.
    columns
        Largest number of panels side by side.
    size
        Width and height of a panel in inches.
    """
    plt = load_pyplot()
    columns = min(columns, count)
    rows = -(-count // columns)
    whole = (size[0] * columns, size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=whole, layout="constrained", squeeze=False)
    panels = list(axes.flat)
    for empty in panels[count:]:
        empty.remove()
    return figure, panels[:count]


def load_pyplot() -> Any:
    """Return matplotlib's module for pictures; if it is missing, say how to install matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Pictures need matplotlib, which is not installed: pip install boreod[report]"
        ) from None
    return plt


def tidy(ax: Any, grid: bool = True) -> None:
    """Give the axes two spines, small dark text and at most a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GRAY)
    ax.tick_params(which="both", color=GRAY, labelcolor=INK, labelsize=SMALL)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set(color=INK, fontsize=TEXT)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(color=FAINT, linewidth=0.8)


def curve_style(place: int, highlighted: bool = False) -> dict[str, Any]:
    """Return the style of the curve at a place in the order of curves."""
    style = {"color": COLORS[place], "linestyle": LINES[place]}
    if highlighted:
        return {**style, "linewidth": 2.8, "zorder": 3.0}
    return {**style, "linewidth": 1.5, "zorder": 2.5}


def add_legend(ax: Any, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> Any:
    """Return a legend without a frame; by default, it covers as little as possible."""
    look = {"loc": "best", "alignment": "left", "handlelength": 3.2, "fontsize": TEXT}
    look |= {"title_fontsize": SMALL, "labelcolor": INK, "edgecolor": "none", "framealpha": 0.8}
    return ax.legend(handles, labels, **(look | options))


def short_name(name: str, most: int = 40) -> str:
    r"""Return a name of at most ``most`` letters on one line, for a picture.

    Examples
    --------
    >>> short_name("a\nb"), short_name("abcdefgh", 5)
    ('a b', 'ab...')
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."


def save_picture(figure: Any, path: Path) -> Path:
    """Write a figure as SVG and PNG, close it, and return the path of the SVG.

    ``path`` has no suffix. The same figure gives the same bytes, because the files hold neither
    dates nor random names.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.text import Text

    path.parent.mkdir(parents=True, exist_ok=True)
    formats = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    # Names of columns and models may be anything, and must not be drawn as formulas.
    for text in figure.findobj(Text):
        text.set(parse_math=False, usetex=False)
    style = {"svg.hashsalt": path.name, "svg.fonttype": "none", "text.parse_math": False,
             "text.usetex": False}  # fmt: skip
    try:
        with mpl.rc_context(style), warnings.catch_warnings():
            # A page shows letters that the font of the PNG lacks.
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            for suffix, metadata in formats.items():
                with whole_file(path.with_name(f"{path.name}.{suffix}")) as unfinished:
                    figure.savefig(unfinished, dpi=150, format=suffix, metadata=metadata)
    finally:
        plt.close(figure)
    return path.with_name(f"{path.name}.svg")
