"""Any detector of another library as one more column.

scikit-learn's detectors say "low is outlying" and are turned around. PyOD's say "high is outlying";
they are known by the training scores that they keep, and taken as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        self.detector = fresh_copy(self._original, random.randint(np.iinfo(np.int32).max))
        self.detector.fit(points)
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
        elif _is_low_for_outliers(self.detector):
            scores = -self.detector.decision_function(points)
        else:
            scores = self.detector.decision_function(points)
        return np.asarray(scores, dtype=np.float64).reshape(points.shape[0])


def fresh_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which every missing seed, also of nested parts, is set."""
    from sklearn.base import clone

    copy = clone(estimator)
    unset = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    )
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(unset)).tolist()
    return copy.set_params(**dict(zip(unset, seeds, strict=True))) if unset else copy


def _is_low_for_outliers(detector: Any) -> bool:
    """Tell scikit-learn's manners from PyOD's, whose detectors keep their `decision_scores_`."""
    from sklearn.base import is_outlier_detector

    last = detector.steps[-1][1] if hasattr(detector, "steps") else detector
    try:
        return bool(is_outlier_detector(last)) and not hasattr(last, "decision_scores_")
    except AttributeError:  # it knows nothing of scikit-learn's tags
        return False
