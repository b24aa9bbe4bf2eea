"""Pictures as files: SVG for pages, PNG for everything else."""

from pathlib import Path
from typing import Any

from boreod.files import whole_file


def save_picture(figure: Any, path: Path) -> Path:
    """Write a figure as SVG and PNG, close it, and return the path of the SVG.

    Files of the same figure are the same to the byte: no dates, no random names.

    Parameters
    ----------
    figure
        A matplotlib figure.
    path
        Without suffix.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    formats = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    try:
        with mpl.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
            for suffix, metadata in formats.items():
                with whole_file(path.with_name(f"{path.name}.{suffix}")) as unfinished:
                    figure.savefig(unfinished, dpi=150, format=suffix, metadata=metadata)
    finally:
        plt.close(figure)
    return path.with_name(f"{path.name}.svg")


def new_panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, row by row; places beyond the count stay empty.

    Parameters
    ----------
    count
        Number of panels.
    columns
        Most panels side by side.
    size
        Width and height of a panel in inches.
    """
    from matplotlib import pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows),
        layout="constrained",
        squeeze=False,
    )
    panels = list(axes.flat)
    for empty in panels[count:]:
        empty.remove()
    return figure, panels[:count]
