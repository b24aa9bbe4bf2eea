"""Pictures of a whole table: a number in every cell, or a point for every row."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from boreod.text import count_of
from boreod.tool.drawing.checks import read_outliers, read_table
from boreod.tool.drawing.style import COLORS, TEXT, Display, add_legend, tidy

COLOR_MAP = "cividis"  # its lightness grows with the value, also in black and white
MIN_RANGE = 0.01  # of colors: equal cells must not look different
PERPLEXITY = 30.0  # for tables with many rows; a third of the rows for others
LIGHT, DARK = COLORS[5], COLORS[6]


class SensitivityDisplay(Display):
    """How quality depends on two parameters: cells in colors, with their numbers in percent.

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
    image_
        The colored cells.
    texts_
        The numbers, row by row.

    Examples
    --------
    >>> display = SensitivityDisplay([[0.91, 0.875]], [5], ["l1", "l2"], "k").plot()
    >>> [text.get_text() for text in display.texts_]
    ['91.0', '87.5']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        values: Any,
        rows: Sequence[Any],
        columns: Sequence[Any],
        row_label: str = "",
        column_label: str = "",
        title: str = "",
        limits: tuple[float, float] | None = None,
    ) -> None:
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
        self.values, self.rows, self.columns, self.limits = table, rows, columns, limits
        self.row_label, self.column_label, self.title = row_label, column_label, title
        self._size = (1.3 + 0.55 * len(columns), 1.1 + 0.36 * len(rows))

    def _draw(self, ax: Any) -> None:
        high = float(self.values.max())
        low, high = self.limits or (min(float(self.values.min()), high - MIN_RANGE), high)
        self.image_ = ax.imshow(self.values, cmap=COLOR_MAP, vmin=low, vmax=high, aspect="auto")
        ax.set_xticks(range(len(self.columns)), [str(value) for value in self.columns])
        ax.set_yticks(range(len(self.rows)), [str(value) for value in self.rows])
        ax.set(xlabel=self.column_label, ylabel=self.row_label, title=self.title)
        tidy(ax, grid=False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        # Texts are black or white, whichever contrasts more by the rule for web pages (WCAG 2).
        colors = self.image_.cmap(self.image_.norm(self.values))[..., :3]
        linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        inks = np.where((luminance + 0.05) ** 2 > 1.05 * 0.05, "black", "white")
        self.texts_ = []
        for row, column in np.ndindex(*self.values.shape):
            text = ax.text(column, row, f"{100.0 * self.values[row, column]:.1f}", fontsize=TEXT)
            text.set(ha="center", va="center", color=inks[row, column])
            self.texts_.append(text)


class EmbeddingDisplay(Display):
    """Points in the plane: inliers as hollow circles, outliers as dark triangles above them.

    Parameters
    ----------
    points
        Two columns.
    outliers
        Whether each is an outlier.
    title
        Above the points.

    Attributes
    ----------
    inliers_, outliers_
        The drawn points.
    legend_
        The numbers of both classes, below the points.
    """

    def __init__(self, points: Any, outliers: Any, title: str = "") -> None:
        self.points, self.outliers = read_table(points, "`points`"), read_outliers(outliers)
        if self.points.shape != (len(self.outliers), 2):
            raise ValueError(
                f"`points` must have two columns and a row for each of {len(self.outliers)} "
                f"`outliers`; got the shape {self.points.shape}."
            )
        self.title = title
        width, height = np.ptp(self.points, axis=0)
        self._size = (4.4, 0.7 + 4.2 * float(np.clip(height / max(width, 1e-300), 0.4, 1.2)))

    @classmethod
    def from_table(
        cls,
        table: Any,
        outliers: Any,
        title: str = "",
        *,
        random_state: int | None = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the rows of a table as t-SNE places them, columns standardized.

        Parameters
        ----------
        table
            At least three rows and two columns.
        outliers, title
            As in the constructor.
        random_state
            Seed of the embedding.
        """
        from sklearn.manifold import TSNE
        from sklearn.preprocessing import StandardScaler

        rows = read_table(table, "`table`")
        if rows.shape[0] < 3 or rows.shape[1] < 2 or not np.ptp(rows, axis=0).any():
            raise ValueError(
                "An embedding needs at least 3 rows and 2 columns, one of which varies; got "
                f"{rows.shape[0]} rows and {rows.shape[1]} columns."
            )
        perplexity = min(PERPLEXITY, (len(rows) - 1) / 3.0)
        embedding = TSNE(2, perplexity=perplexity, random_state=random_state)
        points = embedding.fit_transform(StandardScaler().fit_transform(rows))
        return cls(points, outliers, title).plot(ax)

    def _draw(self, ax: Any) -> None:
        area = float(np.clip(6000.0 / len(self.points), 14.0, 42.0))  # smaller in a crowd
        inside, outside = self.points[~self.outliers], self.points[self.outliers]
        self.inliers_ = ax.scatter(
            *inside.T, s=area, marker="o", facecolors="none", edgecolors=LIGHT, linewidths=0.8
        )
        self.outliers_ = ax.scatter(*outside.T, s=1.7 * area, marker="^", color=DARK, zorder=3)
        self.outliers_.set(edgecolors="white", linewidths=0.4)
        ax.set(xticks=[], yticks=[], title=self.title)
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax, grid=False)
        ax.spines[:].set_visible(False)
        self.legend_ = add_legend(
            ax,
            [self.outliers_, self.inliers_],
            [count_of(len(outside), "outlier"), count_of(len(inside), "inlier")],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=2,
            handlelength=1.5,
        )
