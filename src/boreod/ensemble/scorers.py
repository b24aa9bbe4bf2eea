"""Scorers for scikit-learn's ``cross_val_score``, ``GridSearchCV`` and others.

scikit-learn's own take -1 for a third class. These leave unlabelled rows out: rows whose label is
-1, None, NaN or empty. Where no inlier is labelled, unlabelled rows count as inliers, as they do in
the out-of-bag figures of a :class:`boreod.Detector`; precision is then a lower bound.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod import metrics
from boreod.validation import INLIER, OUTLIER, UNLABELLED, label_code


def average_precision_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the average precision of an estimator on the labelled rows of a table.

    Parameters
    ----------
    estimator
        Anything fitted that has ``classes_``, the outlier last, and ``decision_function`` or
        ``predict_proba``: a Detector, a pipeline that ends with one, another classifier.
    X
        Rows.
    y
        Their labels; -1 and what is empty are unlabelled.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from boreod import BORE, OutlierRepresentation, average_precision_scorer
    >>> random = np.random.default_rng(0)
    >>> y = np.repeat([1, 0, -1], [20, 60, 80])
    >>> X = random.normal(size=(160, 2)) + 4 * (y == 1)[:, None]
    >>> model = BORE(OutlierRepresentation(["knn"], [5]), n_estimators=10, random_state=0)
    >>> scores = cross_val_score(model, X, y, cv=3, scoring=average_precision_scorer)
    >>> bool(scores.min() > 0.9)
    True
    """
    return metrics.average_precision(*_judged(estimator, X, y))


def auc_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the area under the ROC curve, as :func:`average_precision_scorer` does for its own."""
    return float(metrics.auc(*_judged(estimator, X, y)))


def read_codes(y: ArrayLike, outlier: Any) -> NDArray:
    """Return 1 for outliers, 0 for inliers and -1 for rows that nobody can be judged by."""
    labels = np.asarray(y).ravel().tolist()
    codes = np.array([label_code(value, outlier) for value in labels], dtype=np.int64)
    return codes if INLIER in codes else np.where(codes == UNLABELLED, INLIER, codes)


def _judged(estimator: Any, X: Any, y: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return which of the rows that are judged are outliers, and their scores."""
    codes = read_codes(y, np.asarray(estimator.classes_).tolist()[1])
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    else:
        scores = np.asarray(estimator.predict_proba(X))[:, 1]
    judged = codes != UNLABELLED
    return codes[judged] == OUTLIER, scores[judged]
