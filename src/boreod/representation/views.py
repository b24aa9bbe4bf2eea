"""Views: the neighbor spaces in which scores are computed.

A view is a choice of columns, metric and reference rows. Each view has one neighbor graph and takes
one search at prediction time. The names of its columns end in ``@`` and the name of the view:
``lof_10@s03`` is LOF with k = 10 in the fourth random subspace.

=================  =========================================================  =================
spelling           neighbor space                                             column names
=================  =========================================================  =================
``"full"``         all columns, Euclidean                                     ``lof_10``
``"subspaces:25"`` 25 random subspaces of floor(d/2) to d - 1 columns         ``lof_10@s00`` ...
``"sample:256"``   all columns, 256 random reference rows                     ``lof_10@r256``
``"manhattan"``    all columns, another metric (also ``"cosine"``)            ``lof_10@manhattan``
``"standardized"`` all columns, standardized, Euclidean (also ``"ranked"``)   ``lof_10@ranked``
``View(...)``      any combination, under a name of your choice               ``lof_10@name``
=================  =========================================================  =================

Feature bagging follows Lazarevic, Kumar: Feature bagging for outlier detection. KDD 2005.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import METRICS

VIEW_METRICS = {metric: metric for metric in METRICS} | {
    "standardized": "euclidean",
    "ranked": "euclidean",
}
ALLOWED = (
    "'full', 'subspaces:<number>', 'sample:<rows>', 'manhattan', 'cosine', 'standardized', "
    "'ranked' or a View"
)


@dataclass(frozen=True)
class View:
    """One neighbor space.

    Parameters
    ----------
    name
        Name of the view, which ends the names of its columns, after ``@``. Only the view of all
        columns and rows with Euclidean distances may have an empty name.
    columns
        Names or positions of the columns, None for all.
    metric
        ``"euclidean"``, ``"manhattan"`` or ``"cosine"``. With ``"standardized"`` or ``"ranked"``,
        columns are first standardized or ranked among reference rows; distances are Euclidean.
    sample
        Number of random reference rows, None for all.

    Examples
    --------
    >>> View("flow", columns=("speed", "angle"), metric="cosine", sample=1000)
    View(name='flow', columns=('speed', 'angle'), metric='cosine', sample=1000)
    """

    name: str = ""
    columns: tuple[str | int, ...] | None = None
    metric: str = "euclidean"
    sample: int | None = None


@dataclass(frozen=True)
class Space:
    """A view of one table."""

    name: str
    # Positions of the columns.
    columns: NDArray
    metric: str
    # Positions of the reference rows. None means that all rows are reference rows.
    rows: NDArray | None


def resolve_views(
    views: Any,
    n_rows: int,
    column_names: Sequence[str],
    random: np.random.RandomState,
    apart: NDArray | None = None,
) -> list[Space]:
    """Turn the parameter ``views`` into spaces of a table; draw random columns and rows.

    Rows in the mask ``apart`` are no reference rows, unless fewer than two other rows are left.
    """
    if isinstance(views, str | View):
        views = [views]
    if not isinstance(views, Iterable):
        raise TypeError(f"`views` must be a list of {ALLOWED}; got {views!r}.")
    spaces: list[Space] = []
    for spelling in views:
        expanded = _spell_out(spelling, len(column_names), random)
        spaces += [_place(view, n_rows, column_names, random, apart) for view in expanded]
    names = [space.name for space in spaces]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"`views` gives the name {name or 'full'!r} twice, so its columns could not be "
                "told apart. Name each View differently."
            )
    return spaces


def _spell_out(spelling: Any, n_columns: int, random: np.random.RandomState) -> Iterable[View]:
    """Turn one item of the parameter ``views`` into views."""
    if isinstance(spelling, View):
        return [spelling]
    if not isinstance(spelling, str):
        raise TypeError(f"`views` must be a list of {ALLOWED}; got {spelling!r} in it.")
    kind, _, number = spelling.partition(":")
    if spelling == "full":
        return [View()]
    if spelling in VIEW_METRICS:
        return [View(spelling, metric=spelling)]
    count = int(number) if number.isdecimal() else 0
    if kind == "sample" and count:
        return [View(f"r{count}", sample=count)]
    if kind == "subspaces" and count:
        return _draw_subspaces(count, n_columns, random)
    raise ValueError(f"`views` must hold {ALLOWED}; got {spelling!r}.")


def _draw_subspaces(count: int, n_columns: int, random: np.random.RandomState) -> Iterable[View]:
    """Draw subspaces: first a size from floor(d/2) to d - 1, then as many different columns."""
    if n_columns < 2:
        raise ValueError(
            "'subspaces' needs a table of at least 2 columns; got 1. Use the view 'full'."
        )
    digits = max(2, len(str(count - 1)))
    for number in range(count):
        size = random.randint(n_columns // 2, n_columns)
        columns = np.sort(random.permutation(n_columns)[: max(1, size)])
        yield View(f"s{number:0{digits}d}", columns=tuple(columns.tolist()))


def _place(
    view: View,
    n_rows: int,
    column_names: Sequence[str],
    random: np.random.RandomState,
    apart: NDArray | None,
) -> Space:
    """Check a view against the table and draw its reference rows."""
    if not isinstance(view.name, str):
        raise TypeError(f"The name of a view must be a text; got {view.name!r}.")
    if not isinstance(view.metric, str) or view.metric not in VIEW_METRICS:
        raise ValueError(
            f"The metric of a view must be one of {sorted(VIEW_METRICS)}; got {view.metric!r}."
        )
    if not view.name and view != View():
        raise ValueError(
            f"A view other than the plain full space needs a name for its columns; got {view!r}."
        )
    if "@" in view.name:
        raise ValueError(f"The name of a view must not contain '@'; got {view.name!r}.")
    rows = None
    if view.sample is not None:
        if not isinstance(view.sample, Integral) or not 2 <= view.sample <= n_rows:
            raise ValueError(
                f"A view's reference sample must have 2 to {n_rows} rows (the rows of the table); "
                f"got {view.sample!r}. Lower it or use the view 'full'."
            )
        rows = np.sort(random.permutation(n_rows)[: view.sample])
    if apart is not None:
        known = np.arange(n_rows) if rows is None else rows
        kept = known[~apart[known]]
        rows = kept if len(kept) >= 2 else rows
    return Space(view.name, _find_columns(view, list(column_names)), view.metric, rows)


def _find_columns(view: View, names: list[str]) -> NDArray:
    """Return the positions of the columns of a view."""
    if view.columns is None:
        return np.arange(len(names))
    if isinstance(view.columns, str) or not isinstance(view.columns, Iterable):
        raise TypeError(
            f"The columns of the view {view.name!r} must be a list of names or positions; "
            f"got {view.columns!r}."
        )
    positions = []
    for column in view.columns:
        if isinstance(column, str) and column in names:
            positions.append(names.index(column))
        elif type(column) is not bool and column in range(len(names)) and column == int(column):
            positions.append(int(column))
        else:
            raise ValueError(
                f"The view {view.name!r} names a column that the table does not have: {column!r}. "
                f"Columns are {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}, "
                f"or positions from 0 to {len(names) - 1}."
            )
    if not positions or len(set(positions)) < len(positions):
        raise ValueError(
            f"The view {view.name!r} must name at least one column, each once; "
            f"got {view.columns!r}."
        )
    return np.array(positions)
