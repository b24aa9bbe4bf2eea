"""From what a user passes to float64 rows, or to one sentence that says what is wrong with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e150  # squares of differences stay finite


def read_rows(estimator: Any, table: Any, *, fitting: bool) -> NDArray:
    """Check a table against an estimator and return its rows as float64 in C order.

    A plain float64 array for an estimator that was fitted without column names takes a short way:
    scoring one row must not cost more than the score.
    """
    if not fitting and _is_plain(estimator, table):
        rows = table if table.flags.writeable else table.copy()
    else:
        rows = _validate(estimator, table, fitting)
    # One pass over the table: a sum of squares is finite only if every value is.
    if not np.isfinite(np.vdot(rows, rows)) or np.abs(rows).max() > LARGEST:
        _refuse_values(estimator, rows)
    return rows


def _is_plain(estimator: Any, table: Any) -> bool:
    return (
        type(table) is np.ndarray
        and table.dtype == np.float64
        and table.ndim == 2
        and table.shape[0] > 0
        and table.shape[1] == estimator.n_features_in_
        and table.flags.c_contiguous
        and not hasattr(estimator, "feature_names_in_")
    )


def _validate(estimator: Any, table: Any, fitting: bool) -> NDArray:
    """Let scikit-learn check names and shape, and put its conversion errors into our words."""
    from sklearn.utils.validation import validate_data

    if _is_complex(table):
        raise ValueError(
            "Complex data not supported: X holds complex numbers. "
            "Pass their real and imaginary parts as columns of their own."
        )
    dates = _find_dates(table)
    if dates is not None:
        raise TypeError(
            f"X must hold numbers only; column {dates!r} holds dates or times. Turn it into "
            "numbers with a meaning (an hour, a weekday, an age in days) or drop it."
        )
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
    except (ValueError, TypeError) as error:
        culprit = _find_text(table)
        if culprit is None:
            raise
        reason = f" ({error})" if isinstance(error, TypeError) else ""
        raise type(error)(
            f"X must hold numbers only; {culprit}{reason}. Encode categories as numbers (for "
            "example with scikit-learn's OneHotEncoder) or drop the column."
        ) from None
    return np.array(rows, dtype=np.float64, order="C", copy=None if rows.flags.writeable else True)


def _is_complex(table: Any) -> bool:
    return isinstance(table, np.ndarray) and np.iscomplexobj(table)


def _find_dates(table: Any) -> Any:
    """Return the name of the first column of a frame that holds dates, times or durations."""
    names, kinds = getattr(table, "columns", ()), getattr(table, "dtypes", ())
    for name, kind in zip(names, kinds, strict=False):
        if str(kind).lower().startswith(("date", "time", "period", "duration")):
            return name
    return None


def _find_text(table: Any) -> str | None:
    """Name the first value that is not a number, by its column."""
    values = np.asarray(table, dtype=object)
    if values.ndim != 2:
        return None
    names = getattr(table, "columns", range(values.shape[1]))
    for position, name in enumerate(names):
        for value in values[:, position]:
            try:
                float(value)
            except (TypeError, ValueError):
                return f"column {name!r} holds {value!r}"
    return None


def _refuse_values(estimator: Any, rows: NDArray) -> None:
    """Raise for values that are not finite or too large; return if there are none."""
    for kind, wrong, remedy in (
        ("NaN", np.isnan(rows), "Fill or drop missing values first, e.g. with SimpleImputer."),
        ("infinity", np.isinf(rows), "Replace infinite values or drop their rows first."),
        (
            f"values beyond {LARGEST:.0e}",
            np.abs(rows) > LARGEST,
            "Rescale the column: squared distances would overflow.",
        ),
    ):
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            names = getattr(estimator, "feature_names_in_", None)
            shown = repr(names[column]) if names is not None else int(column)
            raise ValueError(
                f"X must be finite numbers, but contains {kind} in {wrong.any(axis=1).sum()} of "
                f"{len(rows)} rows (first: row {row}, column {shown}). {remedy}"
            )
