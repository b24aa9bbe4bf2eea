"""How quality depends on two parameters."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.plots.checks import read_table
from boreod.plots.style import TEXT, new_axes, tidy

COLOR_MAP = "cividis"  # its lightness grows with the value, also in black and white
NARROWEST = 0.01  # range of colors: equal cells must not look different


class SensitivityDisplay:
    """A table of qualities, each cell colored and with its number in percent.

    Numbers stand in the cells, so there is no color bar.

    Parameters
    ----------
    values
        From 0 to 1, one row per value of the first parameter.
    rows, columns
        What the two parameters were.
    row_label, column_label
        Their names.
    title
        Above the table.
    limits
        Values with the darkest and the brightest color, None for the extremes of the table. Pass
        the same limits to tables side by side.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_
        The colored cells.
    texts_
        The numbers, row by row.
    """

    def __init__(
        self,
        values: NDArray,
        rows: Sequence[Any],
        columns: Sequence[Any],
        *,
        row_label: str = "",
        column_label: str = "",
        title: str = "",
        limits: tuple[float, float] | None = None,
    ) -> None:
        self.values, self.rows, self.columns = values, list(rows), list(columns)
        self.row_label, self.column_label, self.title = row_label, column_label, title
        self.limits = limits

    @classmethod
    def from_grid(
        cls,
        values: Any,
        rows: Sequence[Any],
        columns: Sequence[Any],
        row_label: str = "",
        column_label: str = "",
        title: str = "",
        limits: tuple[float, float] | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Draw a table of qualities.

        Parameters
        ----------
        values, rows, columns, row_label, column_label, title, limits
            See the class.
        ax
            Axes to draw on, None for new ones.

        Examples
        --------
        >>> display = SensitivityDisplay.from_grid([[0.91, 0.875]], [5], ["l1", "l2"], "k")
        >>> [text.get_text() for text in display.texts_]
        ['91.0', '87.5']
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        table = read_table(values, "`values`")
        if table.shape != (len(rows), len(columns)):
            raise ValueError(
                f"`values` must have a row for each of {len(rows)} `rows` and a column for each "
                f"of {len(columns)} `columns`; got the shape {table.shape}."
            )
        if table.min() < 0.0 or table.max() > 1.0:
            raise ValueError(
                "`values` must be from 0 to 1 (they are shown in percent); got "
                f"{table.min():g} to {table.max():g}."
            )
        if limits is not None and not limits[0] < limits[1]:
            raise ValueError(f"`limits` must be a lower and a higher value; got {limits!r}.")
        return cls(
            table,
            rows,
            columns,
            row_label=row_label,
            column_label=column_label,
            title=title,
            limits=limits,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        if ax is None:
            ax = new_axes(1.3 + 0.55 * len(self.columns), 1.1 + 0.36 * len(self.rows))
        self.ax_, self.figure_ = ax, ax.figure
        low, high = self.limits or _extremes(self.values)
        self.image_ = ax.imshow(self.values, cmap=COLOR_MAP, vmin=low, vmax=high, aspect="auto")
        ax.set_xticks(range(len(self.columns)), [str(value) for value in self.columns])
        ax.set_yticks(range(len(self.rows)), [str(value) for value in self.rows])
        ax.set(xlabel=self.column_label, ylabel=self.row_label, title=self.title)
        tidy(ax, grid=False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        colors = self.image_.cmap(self.image_.norm(self.values))
        self.texts_ = [
            ax.text(
                column,
                row,
                f"{100.0 * self.values[row, column]:.1f}",
                ha="center",
                va="center",
                fontsize=TEXT,
                color=_readable_on(colors[row, column, :3]),
            )
            for row, column in np.ndindex(*self.values.shape)
        ]
        return self


def _extremes(values: NDArray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high - low >= NARROWEST else (high - NARROWEST, high)


def _readable_on(color: NDArray) -> str:
    """Return black or white, whichever contrasts more by the rule for web pages (WCAG 2)."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"
