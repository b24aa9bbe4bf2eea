"""From what a user passes to float64 rows, or to one sentence that says what is wrong with it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.engine import plain_interrupts

LARGEST = 1e150  # squares of differences stay finite
SMALLEST = 1e-140  # squares of differences do not vanish


def read_rows(estimator: Any, table: Any, *, fitting: bool) -> NDArray:
    """Check a table against an estimator and return its rows as float64 in C order.

    In fit the rows are always a copy, so that later changes of the table do not matter. A plain
    float64 array for an estimator that was fitted without column names takes a short way: scoring
    one row must not cost more than the score.
    """
    if not fitting and _is_plain(estimator, table):
        rows = table if table.flags.writeable else table.copy()
    else:
        rows = _validate(estimator, table, fitting)
    check_values(estimator, rows)
    if fitting and 0.0 < np.abs(rows).max() < SMALLEST:
        raise ValueError(
            f"All values of X are below {SMALLEST:.0e}, so squared distances would vanish. "
            "Rescale the columns."
        )
    return rows


def check_values(estimator: Any, rows: NDArray) -> None:
    """Raise for values that are not finite or too large to be squared."""
    if not max(rows.max(), -rows.min()) <= LARGEST:  # NaN compares with nothing
        _refuse_values(estimator, rows)


def is_number(value: Any, kind: type = Real) -> bool:
    """Whether a value is a number of some kind; True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def shorten(value: Any) -> str:
    """Return a representation that fits into a sentence."""
    try:
        shown = repr(value)
    except ValueError:  # integers of thousands of digits have none
        shown = f"a {type(value).__name__}"
    return shown if len(shown) < 60 else shown[:57] + "..."


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Put an estimator back as it was if fitting fails; an old fit survives."""
    before = dict(vars(estimator))
    try:
        with plain_interrupts():
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def read_seed(random_state: Any) -> np.random.RandomState:
    """Return a random number generator, or say what a seed may be."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            "`random_state` must be None, an integer from 0 to 2**32 - 1 or a "
            f"numpy.random.RandomState; got {random_state!r}."
        ) from None


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
            "example with scikit-learn's OneHotEncoder), fill what is missing, or drop the column."
        ) from None
    wants_copy = fitting or not rows.flags.writeable
    return np.array(rows, dtype=np.float64, order="C", copy=True if wants_copy else None)


def _refuse_kinds(table: Any) -> None:
    """Raise for tables that would be converted to something else than they mean."""
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
    for name, count in Counter(_names_of(table) or ()).items():
        if count > 1:
            raise ValueError(
                f"X must have distinct column names; {name!r} is there more than once. "
                "Rename the columns."
            )
    dates = _find_dates(table)
    if dates is not None:
        raise TypeError(
            f"X must hold numbers only; {dates} holds dates or times. Turn it into "
            "numbers with a meaning (an hour, a weekday, an age in days) or drop it."
        )


def _names_of(table: Any) -> list[Any] | None:
    """Return the column names of a frame; those of Arrow tables are not their ``columns``."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None else list(names)


def _find_dates(table: Any) -> str | None:
    """Name the first column that holds dates, times or durations."""
    if isinstance(table, np.ndarray) and table.dtype.kind in "Mm":
        return "the array"
    if getattr(table, "ndim", 2) != 2:
        return None
    names, kinds = _names_of(table) or (), getattr(table, "dtypes", ())
    for name, kind in zip(names, kinds, strict=False):
        if str(kind).lower().startswith(("date", "time", "period", "duration")):
            return f"column {name!r}"
    return None


def _find_text(table: Any) -> str | None:
    """Name the first value that is not a number, by its column."""
    values = np.asarray(table, dtype=object)
    if values.ndim != 2:
        return None
    for position, name in enumerate(_names_of(table) or range(values.shape[1])):
        for value in values[:, position]:
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return f"column {name!r} holds {shorten(value)}"
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
