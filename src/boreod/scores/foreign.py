"""Detectors of other libraries as columns.

scikit-learn's detectors say "low is outlying" and are turned around. PyOD's say "high is outlying";
they are known by the training scores that they keep, and taken as they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ForeignDetector:
    """A fitted copy of a detector, the name of its column and the range of its training scores."""

    label: str
    detector: Any
    low: float
    high: float

    @classmethod
    def fit(
        cls, label: str, detector: Any, points: NDArray, random: np.random.RandomState
    ) -> "ForeignDetector":
        """Fit a copy of an object with ``score_samples`` or ``decision_function``."""
        copy = fresh_copy(detector, random.randint(np.iinfo(np.int32).max))
        copy.fit(points)
        scores = _outlyingness(copy, points)
        finite = scores[np.isfinite(scores)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        return cls(label, copy, low, high)

    def score(self, points: NDArray) -> NDArray:
        """Return finite scores, high = outlying."""
        scores = _outlyingness(self.detector, points)
        return np.nan_to_num(scores, nan=self.high, posinf=self.high, neginf=self.low)

    @property
    def work(self) -> Any:
        """What its time depends on and that is the same in two fits of one table."""
        return self.detector


def fresh_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which every missing seed, also of nested estimators, is set."""
    from sklearn.base import clone

    copy = clone(estimator)
    unset = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    )
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(unset)).tolist()
    return copy.set_params(**dict(zip(unset, seeds, strict=True))) if unset else copy


def _outlyingness(detector: Any, points: NDArray) -> NDArray:
    if hasattr(detector, "score_samples"):
        scores = -detector.score_samples(points)
    elif _is_low_for_outliers(detector):
        scores = -detector.decision_function(points)
    else:
        scores = detector.decision_function(points)
    return np.asarray(scores, dtype=np.float64).reshape(points.shape[0])


def _is_low_for_outliers(detector: Any) -> bool:
    """Tell scikit-learn's direction from PyOD's, whose detectors keep their `decision_scores_`."""
    from sklearn.base import is_outlier_detector

    last = detector.steps[-1][1] if hasattr(detector, "steps") else detector
    try:
        return bool(is_outlier_detector(last)) and not hasattr(last, "decision_scores_")
    except AttributeError:  # it knows nothing of scikit-learn's tags
        return False
