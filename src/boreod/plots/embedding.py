"""A table as a picture of points."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.plots.checks import check_choice, read_outliers, read_table
from boreod.plots.style import COLORS, INK, TEXT, new_axes, tidy

METHODS = ("tsne", "pca")
PERPLEXITY = 30.0  # for tables with many rows; a third of the rows for others
LIGHT, DARK = COLORS[5], COLORS[6]


class EmbeddingDisplay:
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
    ax_, figure_
        Where it was drawn.
    inliers_, outliers_
        The drawn points.
    key_
        The key below them.
    """

    def __init__(self, points: NDArray, outliers: NDArray, title: str = "") -> None:
        self.points, self.outliers, self.title = points, outliers, title

    @classmethod
    def from_points(cls, points: Any, outliers: Any, title: str = "", *, ax: Any = None) -> Self:
        """Draw points of the plane.

        Parameters
        ----------
        points
            Two columns.
        outliers
            Whether each is an outlier.
        title
            Above the points.
        ax
            Axes to draw on, None for new ones.
        """
        table, flags = read_table(points, "`points`"), read_outliers(outliers)
        if table.shape != (len(flags), 2):
            raise ValueError(
                f"`points` must have two columns and a row for each of {len(flags)} `outliers`; "
                f"got the shape {table.shape}."
            )
        return cls(table, flags, title).plot(ax)

    @classmethod
    def from_table(
        cls,
        table: Any,
        outliers: Any,
        title: str = "",
        *,
        method: str = "tsne",
        random_state: int | None = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the rows of a table, embedded in the plane with standardized columns.

        Parameters
        ----------
        table
            At least three rows and two columns.
        outliers
            Whether each row is an outlier.
        title
            Above the points.
        method
            ``"tsne"`` keeps neighbors together, ``"pca"`` shows the widest directions.
        random_state
            Seed of the embedding.
        ax
            Axes to draw on, None for new ones.
        """
        check_choice(method, METHODS, "method")
        points = _embed(read_table(table, "`table`"), method, random_state)
        return cls.from_points(points, outliers, title, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        if ax is None:
            width, height = np.ptp(self.points, axis=0)
            ax = new_axes(4.4, 0.7 + 4.2 * float(np.clip(height / max(width, 1e-300), 0.4, 1.2)))
        self.ax_, self.figure_ = ax, ax.figure
        area = float(np.clip(6000.0 / len(self.points), 14.0, 42.0))  # smaller in a crowd
        inside, outside = self.points[~self.outliers], self.points[self.outliers]
        self.inliers_ = ax.scatter(
            *inside.T, s=area, marker="o", facecolors="none", edgecolors=LIGHT, linewidths=0.8
        )
        self.outliers_ = ax.scatter(
            *outside.T,
            s=1.7 * area,
            marker="^",
            color=DARK,
            edgecolors="white",
            linewidths=0.4,
            zorder=3,
        )
        ax.set(xticks=[], yticks=[], title=self.title)
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax, grid=False)
        ax.spines[:].set_visible(False)
        self.key_ = ax.legend(
            [self.outliers_, self.inliers_],
            [_count(len(outside), "outlier"), _count(len(inside), "inlier")],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=2,
            frameon=False,
            fontsize=TEXT,
            labelcolor=INK,
            handletextpad=0.2,
        )
        return self


def _embed(table: NDArray, method: str, random_state: int | None) -> NDArray:
    """Return two columns that stand for all."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    if table.shape[0] < 3 or table.shape[1] < 2 or not np.ptp(table, axis=0).any():
        raise ValueError(
            "An embedding needs at least 3 rows and 2 columns, one of which varies; got "
            f"{table.shape[0]} rows and {table.shape[1]} columns."
        )
    scaled = StandardScaler().fit_transform(table)
    if method == "pca":
        return PCA(2, random_state=random_state).fit_transform(scaled)
    perplexity = min(PERPLEXITY, (len(table) - 1) / 3.0)
    return TSNE(2, perplexity=perplexity, random_state=random_state).fit_transform(scaled)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
