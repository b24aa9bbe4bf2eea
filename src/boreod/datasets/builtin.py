"""Sets made from data that come with scikit-learn: common classes, and few rows of a rare one.

======== ==================== ================================
name     inliers              outliers
======== ==================== ================================
digits   all digits but 4     the first 30 fours
wdbc     benign samples       the first 30 malignant samples
wine     classes 0 and 1      the first 10 wines of class 2
======== ==================== ================================
"""

import numpy as np
from numpy.typing import NDArray

RARE = {  # name: class that becomes rare, how many of its rows stay
    "digits": (4, 30),
    "wdbc": (0, 30),
    "wine": (2, 10),
}


def make_builtin(name: str) -> tuple[NDArray, NDArray]:
    """Return rows and labels: inliers first, both in scikit-learn's order.

    Examples
    --------
    >>> X, y = make_builtin("wine")
    >>> X.shape, int(y.sum())
    ((140, 13), 10)
    """
    from sklearn import datasets

    makers = {
        "digits": datasets.load_digits,
        "wdbc": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
    }
    points, classes = makers[name](return_X_y=True)
    rare, kept = RARE[name]
    inliers = np.flatnonzero(classes != rare)
    outliers = np.flatnonzero(classes == rare)[:kept]
    labels = np.repeat(np.array([0, 1], dtype=np.int8), [len(inliers), len(outliers)])
    return points[np.concatenate([inliers, outliers])].astype(np.float64), labels
