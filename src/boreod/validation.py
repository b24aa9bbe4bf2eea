"""Checks that turn a table into float64 rows, and labels into codes, or raise an error.

The codes of labels are 1 for outliers, 0 for inliers and -1 for unlabelled rows.
"""

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isnan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

OUTLIER, INLIER, UNLABELLED = 1, 0, -1
# Differences of values up to LARGEST have finite squares; squares from SMALLEST on are not 0.
LARGEST = 1e150
SMALLEST = 1e-140


def read_rows(
    estimator: Any,
    table: Any,
    *,
    fitting: bool,
    names: list[str] | None = None,
    fill: NDArray | None = None,
) -> NDArray:
    """Check a table against an estimator and return its rows as float64 in C order.

    In ``fit``, the rows are a copy, so later changes of the table have no effect. A plain float64
    array without column names skips the check of scikit-learn, which takes longer than scoring one
    row. ``names`` holds the column names of an array in ``fit``. ``fill`` holds, for each column,
    the value that replaces missing values.
    """
    if (
        not fitting
        and type(table) is np.ndarray
        and table.dtype == np.float64
        and table.ndim == 2
        and table.shape[0] > 0
        and table.shape[1] == estimator.n_features_in_
        and table.flags.c_contiguous
        and not hasattr(estimator, "feature_names_in_")
    ):
        rows = table if table.flags.writeable else table.copy()
    else:
        rows = _validate(estimator, table, fitting)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if not _can_be_squared(rows):
        if fill is not None:
            rows = np.where(np.isnan(rows), fill, rows)
        check_values(estimator, rows)
    if fitting and 0.0 < np.abs(rows).max() < SMALLEST:
        raise ValueError(
            f"All values of X are below {SMALLEST:.0e}, so squared distances would vanish. "
            "Rescale the columns."
        )
    return rows


def check_values(estimator: Any, rows: NDArray) -> None:
    """Raise for values that are not finite or too large to be squared."""
    if _can_be_squared(rows):
        return
    checks = [
        (
            "NaN",
            np.isnan(rows),
            "Fill or drop missing values first, e.g. with SimpleImputer, or use boreod.Detector, "
            "which fills missing values.",
        ),
        ("infinity", np.isinf(rows), "Replace infinite values or drop their rows first."),
        (
            f"values beyond {LARGEST:.0e}",
            np.abs(rows) > LARGEST,
            "Rescale the column: squared distances would overflow.",
        ),
    ]
    for kind, wrong, remedy in checks:
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            names = getattr(estimator, "feature_names_in_", range(rows.shape[1]))
            raise ValueError(
                f"X must be finite numbers, but contains {kind} in {wrong.any(axis=1).sum()} of "
                f"{len(rows)} rows (first: row {row}, column {names[column]!r}). {remedy}"
            )


def _can_be_squared(rows: NDArray) -> bool:
    # This check is fast for few values. If a value is NaN, the comparison is false.
    if 0 < rows.size <= 64 and float(np.vdot(rows, rows)) <= LARGEST:
        return True
    low = np.minimum.reduce(rows, axis=None)
    return bool(low >= -LARGEST and np.maximum.reduce(rows, axis=None) <= LARGEST)


def is_number(value: Any, kind: type = Real) -> bool:
    """Return whether a value is a number of this kind; booleans do not count as numbers."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def check_choice(name: str, value: Any, allowed: tuple[str | None, ...]) -> None:
    """Raise if the value of a parameter is not allowed."""
    if not isinstance(value, str | None) or value not in allowed:
        raise ValueError(f"`{name}` must be one of {list(allowed)}; got {value!r}.")


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's error for an estimator that was not fitted."""
    if hasattr(estimator, "fitted_"):
        return
    if not hasattr(estimator, "fit"):
        raise ValueError(
            f"This {type(estimator).__name__} holds no model and cannot be fitted. "
            "boreod.tool.load_predictor(path) reads a model from a file. To learn, use "
            "boreod.Detector."
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)


def same_filters(needed: bool = True) -> AbstractContextManager[Any]:
    """Return a context that restores the warning filters after threads of other libraries ran."""
    return warnings.catch_warnings() if needed else nullcontext()


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if fitting fails, so that it keeps its old fit."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def read_seed(random_state: Any) -> np.random.RandomState:
    """Return a random number generator; raise if ``random_state`` is not a valid seed."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            "`random_state` must be None, an integer from 0 to 2**32 - 1 or a "
            f"numpy.random.RandomState; got {random_state!r}."
        ) from None


def _validate(estimator: Any, table: Any, fitting: bool) -> NDArray:
    """Let scikit-learn check names and shape, and replace its conversion errors by clearer ones."""
    from sklearn.utils.validation import validate_data

    _refuse_kinds(table)
    try:
        rows = validate_data(
            estimator,
            table,
            reset=fitting,
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=2 if fitting else 1,
        )
    except (ValueError, TypeError, OverflowError) as error:
        culprit = _find_text(table)
        if culprit is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = f" ({error})" if isinstance(error, TypeError) else ""
        raise kind(
            f"X must hold numbers only; {culprit}{reason}. Encode categories as numbers (for "
            "example with scikit-learn's OneHotEncoder), fill what is missing, or drop the column; "
            "boreod.Detector takes frames with words, dates and missing values."
        ) from None
    return rows.copy() if fitting or not rows.flags.writeable else rows


def _refuse_kinds(table: Any) -> None:
    """Raise for tables whose values would change their meaning if scikit-learn converted them."""
    if isinstance(table, np.ndarray) and np.iscomplexobj(table):
        raise ValueError(
            "Complex data not supported: X holds complex numbers. "
            "Pass their real and imaginary parts as columns of their own."
        )
    if np.ma.isMaskedArray(table) and np.ma.getmaskarray(table).any():
        raise ValueError(
            "X is a masked array with missing values. Fill or drop them first: X.filled(...)."
        )
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):
        raise TypeError("X is a lazy frame. Pass the rows themselves: X.collect().")
    if type(table) in (dict, set, frozenset) or hasattr(table, "__next__"):
        raise TypeError(
            f"X must be a table of rows and columns; got a {type(table).__name__}. "
            "Pass an array, a list of rows or a data frame."
        )
    for name, count in Counter(_names_of(table)).items():
        if count > 1:
            raise ValueError(
                f"X must have distinct column names; {name!r} is there more than once. "
                "Rename the columns."
            )
    dates = _find_dates(table)
    if dates is not None:
        raise TypeError(
            f"X must hold numbers only; {dates} holds dates or times. Turn it into "
            "numbers with a meaning (an hour, a weekday, an age in days) or drop it; "
            "boreod.Detector does that with frames."
        )


def _names_of(table: Any) -> list[Any]:
    """Return the column names of a frame; in an Arrow table, ``columns`` does not hold names."""
    return list(getattr(table, "column_names", getattr(table, "columns", ())))


def _find_dates(table: Any) -> str | None:
    """Return a phrase that names the first column with dates, times or durations, or None."""
    if isinstance(table, np.ndarray) and table.dtype.kind in "Mm":
        return "the array"
    if getattr(table, "ndim", 2) != 2:
        return None
    for name, kind in zip(_names_of(table), getattr(table, "dtypes", ()), strict=False):
        if str(kind).lower().startswith(("date", "time", "period", "duration")):
            return f"column {name!r}"
    return None


def _find_text(table: Any) -> str | None:
    """Return a phrase that names the first value that is not a number and its column, or None."""
    values = np.asarray(table, dtype=object)
    if values.ndim != 2:
        return None
    for position, name in enumerate(_names_of(table) or range(values.shape[1])):
        for value in values[:, position]:
            try:
                float(value)
            except OverflowError:
                return f"column {name!r} holds an integer beyond all float64 numbers"
            except (TypeError, ValueError):
                return f"column {name!r} holds {value!r:.60}"
    return None


def read_labels(
    y: Any, n_rows: int, outlier_label: Any, assume: bool = False
) -> tuple[NDArray, NDArray]:
    """Return codes (1, 0, -1) and the two class labels, inlier first.

    If ``assume`` is true, unlabelled rows may be assumed to be inliers; then ``y`` may be None or
    label only outliers.

    Examples
    --------
    >>> read_labels([0, 1, -1, 0], 4, None)
    (array([ 0,  1, -1,  0]), array([0, 1]))
    >>> read_labels(["ok", "fraud", None, "ok"], 4, "fraud")
    (array([ 0,  1, -1,  0]), array(['ok', 'fraud'], dtype=object))
    """
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, column_or_1d

    if y is None and assume:
        return np.full(n_rows, UNLABELLED), np.array([INLIER, OUTLIER])
    if y is None:
        raise ValueError(
            "BORE requires y to be passed, but the target y is None. Pass 1 for outliers, 0 for "
            "inliers and -1 for unlabelled rows; Detector ranks rows without any label."
        )
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(
            f"`y` must have one label per row of X; got {len(labels)} labels for {n_rows} rows."
        )
    if labels.dtype.kind == "f":
        # NaN marks unlabelled rows.
        given = labels[~np.isnan(labels)]
        if not len(given):
            raise ValueError("All of `y` is NaN. Label some rows, or pass no `y` to rank rows.")
        # `check_array` rejects infinity.
        check_array(given[np.newaxis], input_name="y")
        check_classification_targets(given)
    if labels.dtype.kind in "US":
        labels = labels.astype(object)
    if outlier_label is not None and not np.isscalar(outlier_label):
        raise ValueError(f"`outlier_label` must be one label; got {outlier_label!r}.")
    if outlier_label is None:
        codes, classes = _read_numbers(labels, assume)
    else:
        codes, classes = _read_with_outlier_label(labels, outlier_label)
    _check_both_classes(codes, assume)
    return codes, classes


def label_code(value: Any, outlier: Any, minus_one_is_empty: bool = True) -> int:
    """Return 1 for the outlier label, -1 for an empty label or -1, and 0 for all other labels.

    If ``minus_one_is_empty`` is false, the label -1 is an inlier label.

    Examples
    --------
    >>> [label_code(value, "fraud") for value in ("fraud", "ok", None, -1)]
    [1, 0, -1, -1]
    """
    if _is_empty(value):
        return UNLABELLED
    if value == outlier:
        return OUTLIER
    is_minus_one = isinstance(value, Real) and value == UNLABELLED
    return UNLABELLED if is_minus_one and minus_one_is_empty else INLIER


def _read_numbers(labels: NDArray, assume: bool) -> tuple[NDArray, NDArray]:
    """Read the labels 1, 0 and -1, or any two labels, of which the rarer marks outliers."""
    values = _distinct(labels)
    if len(values) > 2 and set(values) != {OUTLIER, INLIER, UNLABELLED}:
        shown = ", ".join(repr(value) for value in values[:5])
        raise ValueError(
            "`y` must be 1 for outliers, 0 for inliers and -1 for unlabelled rows; got the labels "
            f"{shown}{' ...' if len(values) > 5 else ''}. Pass `outlier_label` to name the "
            "label of outliers. (Only binary classification is supported. The type of the target "
            "is multiclass.)"
        )
    if set(values) == {OUTLIER, UNLABELLED}:
        if assume:
            return np.where(labels == OUTLIER, OUTLIER, UNLABELLED), np.array([UNLABELLED, OUTLIER])
        outlier = OUTLIER
        doubt = (
            "`y` holds 1 and -1 but no 0, so -1 is read as inlier here, not as unlabelled. Use 0 "
            "for inliers; bags need both classes."
        )
    elif set(values) <= {OUTLIER, INLIER, UNLABELLED}:
        codes = [label_code(value, OUTLIER) for value in labels.tolist()]
        kind = bool if values and all(isinstance(v, bool) for v in values) else np.int64
        return np.array(codes), np.array([INLIER, OUTLIER], dtype=kind)
    else:
        outlier = min(reversed(values), key=Counter(labels.tolist()).__getitem__)
        doubt = (
            f"`y` holds {values[0]!r} and {values[-1]!r}; {outlier!r} is taken for the outlier "
            "label, because it is rarer, or the larger of two equally frequent labels. Pass "
            "`outlier_label` to choose it, or use 1 (outlier), 0 (inlier) and -1 (unlabelled)."
        )
    if len(values) == 2:
        warnings.warn(doubt, UserWarning, stacklevel=4)
    return _read_with_outlier_label(labels, outlier, minus_one_is_empty=False)


def _read_with_outlier_label(
    labels: NDArray, outlier: Any, minus_one_is_empty: bool = True
) -> tuple[NDArray, NDArray]:
    """Read labels if the outlier label is known; other labels that are not empty mark inliers.

    Return codes and the two class labels, inlier first.
    """
    codes = np.array([label_code(v, outlier, minus_one_is_empty) for v in labels.tolist()])
    if OUTLIER not in codes:
        raise ValueError(
            f"No row of `y` has the label {outlier!r} that `outlier_label` names; the labels are "
            f"{_distinct(labels)[:5]!r}. Both classes must occur in `y`."
        )
    others = _distinct(labels[codes == INLIER])
    if not others and isinstance(outlier, Real) and UNLABELLED in labels.tolist():
        others = [UNLABELLED]
    numbers = all(isinstance(value, Real) for value in [*others, outlier])
    inlier = others[0] if len(others) == 1 or (others and numbers) else f"not {outlier}"
    kind = None if numbers and others else object
    return codes, np.array([inlier, outlier], dtype=kind)


def _distinct(labels: NDArray) -> list[Any]:
    """Return the distinct labels that are not empty, sorted."""
    values = {value for value in labels.tolist() if not _is_empty(value)}
    try:
        return sorted(values)
    except TypeError:
        # Labels of different types may have no order.
        return sorted(values, key=str)


def _is_empty(value: Any) -> bool:
    # NAType and NaTType are pandas' types of missing values.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value == "" or (isinstance(value, float) and isnan(value))


def _check_both_classes(codes: NDArray, assume: bool) -> None:
    n_labelled = int((codes >= 0).sum())
    if assume and UNLABELLED in codes and (n_labelled == 0 or OUTLIER in codes):
        return
    if n_labelled == 0:
        raise ValueError(
            "All rows are unlabelled (-1). BORE needs at least one outlier (1) and one inlier (0); "
            "Detector ranks rows without any label."
        )
    remedy = "BORE needs at least one of each."
    if assume:
        remedy = "Pass no `y` to rank rows without labels."
    for code, missing in (OUTLIER, "outlier (1)"), (INLIER, "inlier (0)"):
        if code not in codes:
            raise ValueError(
                f"`y` has only one class: there is no {missing} among {n_labelled} labelled rows. "
                f"{remedy}"
            )


def is_frame(table: Any) -> bool:
    """Return whether a table is a frame: an object with rows and named columns."""
    # Reading `columns` of a lazy polars frame is slow, so this line does not read `columns`.
    if hasattr(table, "collect_schema") or hasattr(table, "column_names"):
        return True
    return hasattr(table, "columns") and getattr(table, "ndim", 2) == 2


def read_untidy_array(table: Any) -> NDArray | None:
    """Return a table as an array if it has missing values or strings, and None otherwise.

    Examples
    --------
    >>> read_untidy_array([[1.0, 2.0]]), read_untidy_array([[1.0, None]])
    (None, array([[ 1., nan]]))
    """
    if isinstance(table, list | tuple):
        try:
            table = np.array(table, dtype=object)
        except ValueError:  # The rows differ in length.
            return None
    if not isinstance(table, np.ndarray) or np.ma.isMaskedArray(table) or table.ndim != 2:
        return None
    if table.dtype.kind in "OU":
        try:
            table = table.astype(np.float64)
        except OverflowError:
            return None
        except (TypeError, ValueError):
            cells = table.ravel().tolist()
            return table if all(isinstance(c, str | Real | None) for c in cells) else None
    return table if table.dtype.kind == "f" and np.isnan(table).any() else None
