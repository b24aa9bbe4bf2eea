"""Input of pictures, read once and refused in plain words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
            f"else; got {_some(flags)}. Leave unlabelled rows out."
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
    missing = int(np.isnan(numbers).sum())
    if missing:
        raise ValueError(
            f"{what} must be numbers, but {missing} of {n_rows} are NaN (first: row "
            f"{np.flatnonzero(np.isnan(numbers))[0]}). Leave these rows out of all arrays."
        )
    return numbers


def read_rates(values: Any, number: int, what: str) -> NDArray:
    """Return rates that never fall, from 0 to 1."""
    rates = read_numbers(values, number, what)
    if number < 2 or rates.min() < 0.0 or rates.max() > 1.0 or (np.diff(rates) < 0.0).any():
        raise ValueError(f"{what} must be two or more rates that ascend within 0 and 1.")
    return rates


def read_rankings(scores: Any, n_rows: int, name: str) -> dict[str, NDArray]:
    """Return scores by name; a single array gets the name that is passed."""
    rankings = scores if isinstance(scores, Mapping) else {name: scores}
    return {
        str(key): read_numbers(value, n_rows, f"Scores of {str(key)!r}")
        for key, value in rankings.items()
    }


def read_table(values: Any, what: str) -> NDArray:
    """Return a table of finite numbers with at least one row and column."""
    table = _as_floats(values, what)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"{what} must be a table of rows and columns; got shape {table.shape}.")
    wrong = ~np.isfinite(table)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{what} must hold finite numbers only, but {wrong.sum()} are not (first: row {row}, "
            f"column {column}). Fill them or leave them out first."
        )
    return table


def read_judged(model: Any, y: Any) -> tuple[NDArray, NDArray]:
    """Return which rows have a label, and whether these are outliers.

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
            f"(unlabelled); got {_some(labels[judged & ~known])}."
        )
    return judged, labels[judged] == outlier


def refuse_inverted_scores(model: Any) -> None:
    """Raise for scikit-learn's own outlier detectors, whose scores are low for outliers.

    PyOD's detectors may call themselves outlier detectors too, but score the other way round.
    """
    from sklearn.base import OutlierMixin

    if isinstance(model, OutlierMixin) and not hasattr(model, "decision_scores_"):
        name = type(model).__name__
        raise ValueError(
            f"Scores must be high for outliers, and those of {name} are low for them. "
            f"Use `from_predictions(outliers, -model.decision_function(X), name={name!r})`."
        )


def check_lengths(judged: NDArray, predictions: NDArray) -> None:
    """Raise if labels and rows differ in number."""
    if len(judged) != len(predictions):
        raise ValueError(
            f"`y` must have one label per row of X; got {len(judged)} labels for "
            f"{len(predictions)} rows."
        )


def check_choice(value: Any, allowed: tuple[str, ...], what: str) -> None:
    """Raise if a value is none of those allowed."""
    if value not in allowed:
        shown = ", ".join(repr(one) for one in allowed)
        raise ValueError(f"`{what}` must be one of {shown}; got {value!r}.")


def check_share(value: float, what: str) -> None:
    """Raise if a value is not strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"`{what}` must be above 0 and below 1; got {value!r}.")


def _as_floats(values: Any, what: str) -> NDArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be numbers; got other values among them.") from None


def _some(values: NDArray) -> str:
    """Show the first few distinct values."""
    distinct = list(dict.fromkeys(values.tolist()))
    shown = ", ".join(repr(value) for value in distinct[:4])
    return shown + (", ..." if len(distinct) > 4 else "")
