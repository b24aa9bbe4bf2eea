"""Labels and parameters of SSAD: what came, what is allowed, what to do."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.validation import INLIER, OUTLIER, is_number, read_labels


def read_partial_labels(y: Any, n_rows: int, outlier_label: Any) -> tuple[NDArray, NDArray]:
    """Return codes (1, 0, -1) and the two class labels; a class may have no row.

    Labels are read as BORE reads them, which needs both classes. If that fails, rows of the class
    that may be missing are added, and taken off again.

    Examples
    --------
    >>> read_partial_labels([0, -1, -1], 3, None)
    (array([ 0, -1, -1]), array([0, 1]))
    >>> read_partial_labels([None, "bad"], 2, "bad")
    (array([-1,  1]), array(['not bad', 'bad'], dtype=object))
    """
    try:
        return read_labels(y, n_rows, outlier_label)
    except ValueError as error:
        reason = str(error).replace("BORE", "SSAD")
    witnesses = [INLIER, OUTLIER] if outlier_label is None else [f"not {outlier_label}"]
    try:
        labels = np.asarray(y).ravel()
        kind = labels.dtype if outlier_label is None else object
        extended = np.append(labels.astype(kind), np.array(witnesses, dtype=kind))
        codes, classes = read_labels(extended, n_rows + len(witnesses), outlier_label)
    except (ValueError, TypeError):
        raise ValueError(reason) from None
    return codes[:n_rows], classes


def check_ssad_parameters(model: Any) -> None:
    """Raise for a parameter that is not allowed, before any work is done."""
    for name, words in (("sigma", ("scale", "cv")), ("kappa", ("cv",))):
        value = getattr(model, name)
        if isinstance(value, str) and value in words:
            continue
        lowest = "positive" if name == "sigma" else "nonnegative"
        allowed = _is_finite(value) and (value > 0 or (name == "kappa" and value == 0))
        if not allowed:
            shown = " or ".join(repr(word) for word in words)
            raise ValueError(f"`{name}` must be a {lowest} number or {shown}; got {value!r}.")
    for name in ("weight_unlabelled", "weight_labelled"):
        value = getattr(model, name)
        if not _is_finite(value) or value <= 0:
            raise ValueError(f"`{name}` must be a positive number; got {value!r}.")
    if not isinstance(model.scaling, str | None) or model.scaling not in ("sd", None):
        raise ValueError(f"`scaling` must be 'sd' or None; got {model.scaling!r}.")
    if not isinstance(model.verbose, bool | np.bool_):
        raise ValueError(f"`verbose` must be True or False; got {model.verbose!r}.")
    landmarks = model.landmarks
    is_word = landmarks is None or (isinstance(landmarks, str) and landmarks == "auto")
    if not is_word and not (is_number(landmarks, Integral) and landmarks >= 1):
        raise ValueError(
            f"`landmarks` must be a positive integer, 'auto' or None; got {landmarks!r}."
        )


def count_landmarks(landmarks: Any, n_rows: int, many_rows: int, default: int) -> int | None:
    """Return the number of landmarks, None for the exact kernel."""
    if landmarks is None:
        return None
    if landmarks == "auto":
        return default if n_rows > many_rows else None
    if landmarks > n_rows:
        raise ValueError(
            f"`landmarks` must be at most the number of rows, {n_rows}; got {landmarks}. "
            "Lower it, or pass None for the exact kernel."
        )
    return int(landmarks)


def _is_finite(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(float(value)))
