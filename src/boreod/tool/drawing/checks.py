"""Arguments of displays, read once and refused in plain words."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.text import listed


def read_outliers(outliers: Any) -> NDArray:
    """Return whether each row is an outlier; both classes must be there.

    Examples
    --------
    >>> read_outliers([0, 1, 0])
    array([False,  True, False])
    """
    flags = np.asarray(outliers)
    if flags.ndim != 1:
        raise ValueError(f"`outliers` must have one dimension; got the shape {flags.shape}.")
    if flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise ValueError(
            "`outliers` must be true or 1 for outliers and false or 0 for inliers, and nothing "
            f"else; got {_distinct(flags)}. Leave unlabelled rows out."
        )
    flags = flags.astype(bool)
    n_outliers = int(flags.sum())
    if not 0 < n_outliers < len(flags):
        raise ValueError(
            "A picture of rankings or probabilities needs rows of both classes; got "
            f"{n_outliers} outliers and {len(flags) - n_outliers} inliers."
        )
    return flags


def read_numbers(values: Any, n_rows: int, what: str) -> NDArray:
    """Return one number per row; infinite ones are allowed, NaN is not."""
    numbers = _as_floats(values, what)
    if numbers.ndim != 1 or len(numbers) != n_rows:
        came = f"{len(numbers)}" if numbers.ndim == 1 else f"the shape {numbers.shape}"
        raise ValueError(f"{what} must have one number for each of {n_rows} rows; got {came}.")
    missing = np.flatnonzero(np.isnan(numbers))
    if len(missing):
        raise ValueError(
            f"{what} must be numbers, but {len(missing)} of {n_rows} are NaN (first: row "
            f"{missing[0]}). Leave these rows out of all arrays."
        )
    return numbers


def read_table(values: Any, what: str) -> NDArray:
    """Return a table of finite numbers with at least one row and column."""
    table = _as_floats(values, what)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"{what} must be a table of rows and columns; got shape {table.shape}.")
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{what} must hold finite numbers only, but {len(wrong)} are not (first: row {row}, "
            f"column {column}). Fill them or leave them out first."
        )
    return table


def read_judged(model: Any, predict: Callable[[Any], Any], X: Any, y: Any) -> tuple[Any, Any]:
    """Return of the rows with a label whether they are outliers, and what a model predicts.

    A model with ``classes_`` says by them what its labels are, inlier first. Other models have 0
    and 1. Rows with -1 are unlabelled unless -1 is a class.
    """
    labels = np.asarray(y, dtype=object)  # numbers and words are compared one by one
    classes = np.asarray(getattr(model, "classes_", (0, 1))).tolist()
    if len(classes) != 2:
        raise ValueError(f"The model must tell two classes apart; it has {len(classes)}.")
    if labels.ndim != 1:
        raise ValueError(f"`y` must have one dimension; got the shape {labels.shape}.")
    inlier, outlier = classes
    known = (labels == inlier) | (labels == outlier)
    judged = known | (labels != -1)
    if not known[judged].all():
        raise ValueError(
            f"`y` must hold the labels {inlier!r} (inlier), {outlier!r} (outlier) and -1 "
            f"(unlabelled); got {_distinct(labels[judged & ~known])}."
        )
    predictions = np.asarray(predict(X))
    if len(labels) != len(predictions):
        raise ValueError(
            f"`y` must have one label per row of X; got {len(labels)} labels for "
            f"{len(predictions)} rows."
        )
    return labels[judged] == outlier, predictions[judged]


def _as_floats(values: Any, what: str) -> NDArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be numbers; got other values among them.") from None


def _distinct(values: NDArray) -> str:
    return listed(dict.fromkeys(values.tolist()), most=4)
