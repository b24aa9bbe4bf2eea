"""Three-valued labels: 1 outlier, 0 inlier, -1 unlabelled, from what a user passes."""

import warnings
from math import isnan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

OUTLIER, INLIER, UNLABELLED = 1, 0, -1


def read_labels(y: Any, n_rows: int, outlier_label: Any) -> tuple[NDArray, NDArray]:
    """Return codes (1, 0, -1) and the two class labels, inlier first.

    Examples
    --------
    >>> read_labels([0, 1, -1, 0], 4, None)
    (array([ 0,  1, -1,  0]), array([0, 1]))
    >>> read_labels(["ok", "fraud", None, "ok"], 4, "fraud")
    (array([ 0,  1, -1,  0]), array(['ok', 'fraud'], dtype=object))
    """
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, column_or_1d

    if y is None:
        raise ValueError(
            "BORE requires y to be passed, but the target y is None. "
            "Pass 1 for outliers, 0 for inliers and -1 for unlabelled rows."
        )
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(
            f"`y` must have one label per row of X; got {len(labels)} labels for {n_rows} rows."
        )
    if labels.dtype.kind == "f":
        check_array(labels[np.newaxis], input_name="y")  # NaN and infinity
        check_classification_targets(labels)
    if labels.dtype.kind in "US":
        labels = labels.astype(object)
    if outlier_label is not None and not np.isscalar(outlier_label):
        raise ValueError(f"`outlier_label` must be one label; got {outlier_label!r}.")
    if outlier_label is None:
        codes, classes = _read_numbers(labels)
    else:
        codes, classes = _read_with_outlier_label(labels, outlier_label)
    _check_both_classes(codes)
    return codes, classes


def _read_numbers(labels: NDArray) -> tuple[NDArray, NDArray]:
    """Read 1, 0 and -1, or any two labels, of which the rarer is the outlier."""
    values = _distinct(labels)
    if set(values) <= {OUTLIER, INLIER, UNLABELLED} and set(values) != {OUTLIER, UNLABELLED}:
        codes = [UNLABELLED if _is_empty(value) else int(value) for value in labels.tolist()]
        return np.array(codes), np.array([INLIER, OUTLIER])
    if len(values) > 2:
        shown = ", ".join(repr(value) for value in values[:5])
        raise ValueError(
            "`y` must be 1 for outliers, 0 for inliers and -1 for unlabelled rows; got the labels "
            f"{shown}{' ...' if len(values) > 5 else ''}. Pass `outlier_label` to say which one "
            "is the outlier. (Only binary classification is supported. The type of the target is "
            "multiclass.)"
        )
    if set(values) == {OUTLIER, UNLABELLED}:
        warnings.warn(
            "`y` holds 1 and -1 but no 0, so -1 is read as inlier here, not as unlabelled. Use 0 "
            "for inliers; bags need some.",
            UserWarning,
            stacklevel=4,
        )
        return _read_with_outlier_label(labels, OUTLIER, minus_one_is_empty=False)
    counts = [labels.tolist().count(value) for value in values]
    outlier = values[0] if len(values) == 2 and counts[0] < counts[1] else values[-1]
    if len(values) == 2:
        warnings.warn(
            f"`y` holds {values[0]!r} and {values[1]!r}; {outlier!r} is taken for the outlier "
            "because it is rarer or the larger. Pass `outlier_label` to say so, or use 1 for "
            "outliers, 0 for inliers and -1 for unlabelled rows.",
            UserWarning,
            stacklevel=4,
        )
    return _read_with_outlier_label(labels, outlier, minus_one_is_empty=False)


def _read_with_outlier_label(
    labels: NDArray, outlier: Any, minus_one_is_empty: bool = True
) -> tuple[NDArray, NDArray]:
    """Read labels of which one is the outlier; empty ones are unlabelled, others inliers."""
    values = labels.tolist()
    empty = np.array([_is_empty(value) for value in values], dtype=bool)
    if minus_one_is_empty and outlier != UNLABELLED:
        empty |= np.array([_is_number(value) and value == UNLABELLED for value in values])
    is_outlier = np.array(
        [not blank and value == outlier for value, blank in zip(values, empty, strict=True)]
    )
    if not is_outlier.any():
        raise ValueError(
            f"No row of `y` has the label {outlier!r} that `outlier_label` names; the labels are "
            f"{_distinct(labels)[:5]!r}. BORE needs both classes."
        )
    others = _distinct(labels[~is_outlier & ~empty])
    numbers = all(_is_number(value) for value in [*others, outlier])
    inlier = others[0] if len(others) == 1 or (others and numbers) else f"not {outlier}"
    kind = None if numbers and others else object
    codes = np.where(empty, UNLABELLED, is_outlier.astype(np.int64))
    return codes, np.array([inlier, outlier], dtype=kind)


def _distinct(labels: NDArray) -> list[Any]:
    """Return the distinct labels that are not empty, sorted."""
    values = {value for value in labels.tolist() if not _is_empty(value)}
    try:
        return sorted(values)
    except TypeError:  # of several kinds
        return sorted(values, key=str)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


def _is_empty(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own
        return True
    return value == "" or (isinstance(value, float) and isnan(value))


def _check_both_classes(codes: NDArray) -> None:
    n_outliers, n_inliers = int((codes == OUTLIER).sum()), int((codes == INLIER).sum())
    if n_outliers + n_inliers == 0:
        raise ValueError(
            "All rows are unlabelled (-1). BORE needs at least one outlier (1) and one inlier (0)."
        )
    if n_outliers == 0 or n_inliers == 0:
        missing = "outlier (1)" if n_outliers == 0 else "inlier (0)"
        raise ValueError(
            f"`y` has only one class: there is no {missing} among "
            f"{n_outliers + n_inliers} labelled rows. BORE needs at least one of each."
        )
