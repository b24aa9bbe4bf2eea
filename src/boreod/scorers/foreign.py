"""Any detector of another library as one more column.

scikit-learn's detectors say "low is outlying" and are turned around; PyOD's say "high is outlying"
and are taken as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_outlier_detector


class ForeignDetector:
    """A fitted copy of a detector; the user's own object is never changed.

    Parameters
    ----------
    label
        Name of its column.
    detector
        An object with ``fit`` and with ``score_samples`` or ``decision_function``.
    """

    def __init__(self, label: str, detector: Any) -> None:
        self.label = label
        self._original = detector

    def fit(self, points: NDArray, random: np.random.RandomState) -> "ForeignDetector":
        """Fit a copy; a detector without a seed of its own gets one."""
        self.detector = clone(self._original)
        parameters = self.detector.get_params(deep=False)
        if "random_state" in parameters and parameters["random_state"] is None:
            self.detector.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        self.detector.fit(points)
        if not hasattr(self.detector, "score_samples") and not hasattr(
            self.detector, "decision_function"
        ):
            raise ValueError(
                f"The detector {self._original!r} cannot score new rows after fitting. "
                "For scikit-learn's LocalOutlierFactor pass novelty=True."
            )
        scores = self._raw_scores(points)
        finite = scores[np.isfinite(scores)]
        self._range = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        return self

    def score(self, points: NDArray) -> NDArray:
        """Return finite scores, high = outlying."""
        low, high = self._range
        return np.nan_to_num(self._raw_scores(points), nan=high, posinf=high, neginf=low)

    def _raw_scores(self, points: NDArray) -> NDArray:
        if hasattr(self.detector, "score_samples"):
            scores = -self.detector.score_samples(points)
        elif is_outlier_detector(self.detector):
            scores = -self.detector.decision_function(points)
        else:
            scores = self.detector.decision_function(points)
        return np.asarray(scores, dtype=np.float64).reshape(points.shape[0])
