"""A detector like those of PyOD: `decision_function`, high = outlying."""

import numpy as np
from sklearn.base import BaseEstimator


class HighIsOutlying(BaseEstimator):
    """Distance to the mean of the training rows."""

    def fit(self, X, y=None):
        self.center_ = X.mean(axis=0)
        return self

    def decision_function(self, X):
        return np.linalg.norm(X - self.center_, axis=1)
