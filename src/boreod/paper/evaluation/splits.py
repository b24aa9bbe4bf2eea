"""Run one method on one split: the method learns from some rows and ranks the other rows.

There are three protocols, and each judges 40 % of the rows. The protocol of the paper is
``"transductive"``: the judged rows are unlabelled rows of the fit, so their neighborhoods are
known. ``"unstratified"`` is the same protocol with plain random splits. With ``"unseen"``, the
detector gets the judged rows only after the fit.
"""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc, average_precision, early_auc, precision_at, roc_rates
from boreod.paper.evaluation.methods import METHODS
from boreod.validation import INLIER, OUTLIER, UNLABELLED

PROTOCOLS = ("transductive", "unseen", "unstratified")
TEST_SHARE = 0.4
MEASURES = {
    "auc": "AUC",
    "early_auc": "AUC 0.1",
    "precision": "precision@n_o",
    "average_precision": "average precision",
}
# False-positive rates at which ROC curves are kept; half of them are below 0.1.
RATES = np.concatenate([np.linspace(0.0, 0.1, 41)[:-1], np.linspace(0.1, 1.0, 61)])


@dataclass(frozen=True)
class Split:
    """Indices of the rows to fit, their labels (1, 0, -1), and indices of the rows to judge."""

    fitted: NDArray
    labels: NDArray
    test: NDArray

    @property
    def is_transductive(self) -> bool:
        """Whether the judged rows take part in the fit."""
        return bool(np.isin(self.test, self.fitted).all())

    def in_hindsight(self, codes: NDArray) -> NDArray:
        """Return the labels for an oracle: if judged rows are in the fit, only their labels."""
        if not self.is_transductive:
            return self.labels
        return np.where(np.isin(self.fitted, self.test), codes[self.fitted], UNLABELLED)


@dataclass(frozen=True)
class TableRows:
    """A table whose preparation is learned within every split, from the rows to learn from.

    Attributes
    ----------
    table
        A pyarrow table.
    options
        Options of ``boreod.tables.Preparation.fit_transform``, such as label, ids, drop and keep.
    """

    table: Any
    options: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)


Rows = NDArray | TableRows


def prepare_split(rows: Rows, split: Split) -> tuple[NDArray, NDArray]:
    """Return the rows to learn from and the rows to judge as numbers."""
    if not isinstance(rows, TableRows):
        return rows[split.fitted], rows[split.test]
    from boreod.tables import Preparation

    preparation = Preparation()
    learned = rows.table.take(split.fitted)
    # Warnings about cells were shown when the whole table was read.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = preparation.fit_transform(learned, split.labels, **rows.options)
        if split.is_transductive:
            return fitted, fitted[np.searchsorted(split.fitted, split.test)]
        return fitted, preparation.transform(rows.table.take(split.test))


def split_rows(codes: NDArray, repetition: int, protocol: str, seed: int = 0) -> Split:
    """Split the rows, 60 % to learn from and 40 % to judge, mostly stratified by label.

    Parameters
    ----------
    codes
        1 for outliers, 0 for inliers, -1 for unlabelled rows. Unlabelled rows are never judged.
    repetition
        Number of the split, from 0.
    protocol
        ``"transductive"``, ``"unseen"`` or ``"unstratified"``.
    seed
        Random seed of all splits.

    Examples
    --------
    >>> split = split_rows(np.repeat([0, 1], [40, 10]), repetition=0, protocol="unseen")
    >>> len(split.fitted), len(split.test), int(split.labels.sum())
    (30, 20, 6)
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"`protocol` must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    counts = [int((codes == code).sum()) for code in (INLIER, OUTLIER)]
    if min(counts) < 4:
        raise ValueError(
            "A comparison needs at least 4 labelled rows of each kind, to learn from some rows and "
            f"judge other rows; got {counts[0]} inliers and {counts[1]} outliers."
        )
    labelled = np.flatnonzero(codes != UNLABELLED)
    strata = np.zeros(len(labelled)) if protocol == "unstratified" else codes[labelled]
    _, places = _draw(strata, seed + repetition, test_size=TEST_SHARE)
    test = np.sort(labelled[places])
    partly = codes.copy()
    partly[test] = UNLABELLED
    fitted = np.arange(len(codes))
    if protocol == "unseen":
        fitted = np.setdiff1d(fitted, test)
    return Split(fitted, partly[fitted], test)


def _draw(strata: NDArray, seed: int, **sizes: Any) -> list[NDArray]:
    """Return the indices of two random parts of the rows, with the same share of each stratum."""
    from sklearn.model_selection import train_test_split

    return train_test_split(np.arange(len(strata)), stratify=strata, random_state=seed, **sizes)


def judge(y_true: NDArray, y_score: NDArray) -> dict[str, float]:
    """Return all measures of one ranking.

    Examples
    --------
    >>> judge(np.array([True, False, False]), np.array([0.9, 0.2, 0.1]))["auc"]
    1.0
    """
    return {
        "auc": float(auc(y_true, y_score)),
        "early_auc": early_auc(y_true, y_score),
        "precision": precision_at(y_true, y_score),
        "average_precision": average_precision(y_true, y_score),
    }


def run_method(
    rows: Rows,
    codes: NDArray,
    name: str,
    repetition: int,
    protocol: str,
    seed: int = 0,
    representation: Any = None,
) -> dict[str, Any]:
    """Return measures, ROC curve, times and counts of one method on one split.

    Parameters
    ----------
    rows, codes
        The table and its labels (1, 0, -1).
    name
        Name of the method.
    repetition, protocol, seed
        The split, see :func:`split_rows`.
    representation
        Representation for methods that use outlier scores; None for the default representation.
    """
    split = split_rows(codes, repetition, protocol, seed)
    labels = split.labels
    if METHODS[name].labels == "hindsight":
        labels = split.in_hindsight(codes)
    model = METHODS[name].make(representation, seed + repetition)
    learned, judged = prepare_split(rows, split)
    started = time.perf_counter()
    model.fit(learned, labels)
    fitted = time.perf_counter()
    scores = model.decision_function(judged)
    scored = time.perf_counter()
    outliers = codes[split.test] == OUTLIER
    return {
        **judge(outliers, scores),
        "roc": true_positive_rates(outliers, scores, RATES).round(6).tolist(),
        "fit_seconds": fitted - started,
        "row_seconds": (scored - fitted) / len(split.test),
        "test_outliers": int(outliers.sum()),
        "columns": len(getattr(model, "columns_", ())),
    }


def true_positive_rates(y_true: NDArray, y_score: NDArray, false_rates: NDArray) -> NDArray:
    """Return the ROC curve at given false-positive rates; at a vertical step, its upper end.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.7, 0.6])
    >>> true_positive_rates(np.array([True, False, True, False]), scores, np.array([0, 0.5, 1]))
    array([0.5, 1. , 1. ])
    """
    false, true = roc_rates(y_true, y_score)
    top = np.append(np.diff(false) != 0, True)
    return np.interp(false_rates, false[top], true[top])
