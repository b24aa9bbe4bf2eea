"""Fit one method on one split and judge how it ranks the test rows."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.evaluation.methods import METHODS
from boreod.evaluation.splits import split_rows
from boreod.metrics import auc, average_precision, early_auc, precision_at, true_positive_rates
from boreod.validation import OUTLIER

MEASURES = {
    "auc": "AUC",
    "early_auc": "AUC 0.1",
    "precision": "precision@n_o",
    "average_precision": "average precision",
}
RATES = np.concatenate([np.linspace(0.0, 0.1, 41)[:-1], np.linspace(0.1, 1.0, 61)])


def judge(scores: NDArray, outliers: NDArray) -> dict[str, float]:
    """Return all measures of one ranking.

    Examples
    --------
    >>> judge(np.array([0.9, 0.2, 0.1]), np.array([True, False, False]))["auc"]
    1.0
    """
    return {
        "auc": float(auc(outliers, scores)),
        "early_auc": early_auc(outliers, scores),
        "precision": precision_at(outliers, scores),
        "average_precision": average_precision(outliers, scores),
    }


def run_method(
    rows: NDArray,
    codes: NDArray,
    name: str,
    repetition: int,
    protocol: str,
    seed: int = 0,
    representation: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Return measures, ROC curve and times of one method on one split.

    Parameters
    ----------
    rows, codes
        The table and its labels (1, 0, -1).
    name
        Of the method.
    repetition, protocol, seed
        As in :func:`boreod.evaluation.splits.split_rows`.
    representation
        Of methods that use outlier scores; None for the default one.
    **options
        Parameters of the estimator that differ from those of the method.
    """
    method = METHODS[name]
    split = split_rows(codes, repetition, protocol, seed)
    hindsight = method.labels == "hindsight"
    labels = split.in_hindsight(codes) if hindsight else split.labels
    model = method.make(representation, seed + repetition)
    if options:
        model.set_params(**options)
    started = time.perf_counter()
    model.fit(rows[split.fitted], labels)
    fitted = time.perf_counter()
    scores = model.decision_function(rows[split.test])
    scored = time.perf_counter()
    outliers = codes[split.test] == OUTLIER
    return {
        **judge(scores, outliers),
        "roc": true_positive_rates(outliers, scores, RATES).round(6).tolist(),
        "fit_seconds": fitted - started,
        "row_seconds": (scored - fitted) / len(split.test),
    }
