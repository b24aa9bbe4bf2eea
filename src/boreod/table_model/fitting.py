"""From a training table to a detector with everything that scoring will need."""

import os
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.detector import BORE
from boreod.neighbors.known_rows import distinct_rows
from boreod.selection import BudgetCurve
from boreod.table_model.model import TableModel, name_columns
from boreod.table_model.sampling import pick_reference, read_reference
from boreod.tables import Preparation, TableError, as_arrow
from boreod.tables.locations import show_place
from boreod.tables.preparation import Names
from boreod.text import shorten
from boreod.validation import INLIER, OUTLIER

MANY_COPIES = 0.05  # share of rows


def fit_table(
    source: Any,
    *,
    label: str,
    outlier_label: Any = None,
    ids: Names = (),
    drop: Names = (),
    keep: Names | None = None,
    name: str | None = None,
    reading: dict[str, Any] | None = None,
    **parameters: Any,
) -> TableModel:
    """Learn a preparation and a detector from a table, and trace what budgets would buy.

    With ``reference_size`` a file or a folder of Parquet files may be larger than memory.

    Parameters
    ----------
    source
        A file name, or a data frame, Arrow table or array.
    label
        The column of labels: 1 and 0, true and false, yes and no; empty cells are unlabelled.
    outlier_label
        The value of outliers, if the labels are other words.
    ids
        Columns that name a row, which are not learned from.
    drop
        Columns to leave out.
    keep
        The only columns to learn from.
    name
        Of the table, to be remembered; None for the file name.
    reading
        Options of ``boreod.tables.read_table``.
    **parameters
        Of :class:`boreod.BORE`, such as ``budget``, ``threshold`` and ``reference_size``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> random = np.random.default_rng(0)
    >>> fraud = np.arange(100) < 10
    >>> table = pa.table({"amount": random.normal(3 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> model = fit_table(table, label="fraud", representation=few, random_state=0)
    >>> model.detector.columns_
    ['amount', 'knn_5']
    """
    detector = BORE(**parameters)
    if isinstance(source, str | PathLike):
        name = name or name_source(os.fspath(source))
        found = read_reference(os.fspath(source), detector, label, outlier_label, reading or {})
    else:
        found = pick_reference(as_arrow(source), detector, label, outlier_label)
    table, codes = found.table, found.codes
    preparation = Preparation().fit(table, label=label, ids=ids, drop=drop, keep=keep)
    _check_classes(codes, label)
    rows = preparation.transform(table)
    _warn_of_oddities(rows, codes)
    named = name_columns(rows, preparation.names_)
    detector.fit_sample(named, codes, found.shares, found.rows)
    curve = _trace(detector)
    detector.set_params(verbose=False)  # what is shown now is not to be shown at every scoring
    if isinstance(outlier_label, np.generic):
        outlier_label = outlier_label.item()
    return TableModel(detector, preparation, name, curve, outlier_label)


def name_source(path: str) -> str:
    """Return what a model remembers of where its table was: no folders, and no secrets.

    Parameters
    ----------
    path
        Name of a file or folder, an address, or ``-``.

    Examples
    --------
    >>> name_source("s3://key:secret@bucket/payments?region=eu"), name_source("-")
    ('payments', 'standard input')
    """
    return "standard input" if path == "-" else Path(show_place(path)).name


def _check_classes(codes: NDArray, label: str) -> None:
    n_outliers, n_inliers = int((codes == OUTLIER).sum()), int((codes == INLIER).sum())
    if n_outliers == 0 or n_inliers == 0:
        raise TableError(
            f"Column {shorten(label)} marks {n_outliers} outliers and {n_inliers} inliers in "
            f"{len(codes)} rows, and at least one of each is needed. Label some (0 for rows "
            "that you take for normal), or say which value marks an outlier: `outlier_label` "
            "(--outlier-label)."
        )


def _warn_of_oddities(rows: NDArray, codes: NDArray) -> None:
    """Say what would make good figures of a bad detector."""
    n_outliers, n_inliers = int((codes == OUTLIER).sum()), int((codes == INLIER).sum())
    if n_outliers > n_inliers:
        warnings.warn(
            f"More rows are labelled outliers ({n_outliers}) than inliers ({n_inliers}). If that "
            "is the wrong way round, name the other value: `outlier_label` (--outlier-label).",
            UserWarning,
            stacklevel=3,
        )
    copies = len(rows) - len(distinct_rows(rows)[0])
    if copies > MANY_COPIES * len(rows):
        warnings.warn(
            f"{copies} of {len(rows)} rows are copies of others. Out-of-bag figures look better "
            "than they are, because a row may be judged by a copy of itself.",
            UserWarning,
            stacklevel=3,
        )


def _trace(detector: BORE) -> BudgetCurve | None:
    """Return the budget curve, None if too few rows have an out-of-bag score of their own."""
    outliers, _ = detector.oob_.judged()
    if not 0 < outliers.sum() < len(outliers):
        return None
    return detector.budget_curve()
