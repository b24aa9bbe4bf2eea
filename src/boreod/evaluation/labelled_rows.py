"""Methods that learn from labelled rows only, given what our detectors are given."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.validation import UNLABELLED


class LabelledRows:
    """A classifier that learns from the labelled rows and leaves the others out.

    Parameters
    ----------
    make
        Makes a fresh classifier with ``fit(X, y)`` and ``decision_function`` or
        ``predict_proba``.
    columns
        A transformer that is fitted on all rows, unlabelled ones too; None for raw columns.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X = np.array([[0.0], [0.1], [5.0], [9.0]])
    >>> model = LabelledRows(lambda: KNeighborsClassifier(1)).fit(X, np.array([0, 0, 1, -1]))
    >>> model.decision_function(X).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, make: Callable[[], Any], columns: Any = None) -> None:
        self.make = make
        self.columns = columns

    def fit(self, X: NDArray, y: NDArray) -> "LabelledRows":
        """Learn from rows with a label."""
        table = X if self.columns is None else self.columns.fit_transform(X)
        labelled = y != UNLABELLED
        self._model = self.make().fit(table[labelled], y[labelled])
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        """Return a score that is high for outliers."""
        table = X if self.columns is None else self.columns.transform(X)
        if hasattr(self._model, "decision_function"):
            scores = self._model.decision_function(table)
        else:
            scores = self._model.predict_proba(table)[:, 1]
        return np.asarray(scores, dtype=np.float64)
