"""One curve of a ranking, and how far it might be off."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 500


@dataclass(frozen=True)
class Curve:
    """What is drawn of one ranking.

    Attributes
    ----------
    x, y
        Its points, from left to right.
    quality
        The area that the metric of the picture gives it.
    interval
        Bootstrap interval of the quality, None if not asked for.
    band
        Positions on the x-axis, lower and upper limit of y there; None if not asked for.
    """

    x: NDArray
    y: NDArray
    quality: float
    interval: tuple[float, float] | None = None
    band: tuple[NDArray, NDArray, NDArray] | None = None

    def show_quality(self, separator: str = " ") -> str:
        """Return the quality and its interval, to three digits."""
        if self.interval is None:
            return f"{self.quality:.3f}"
        return f"{self.quality:.3f}{separator}[{self.interval[0]:.3f}, {self.interval[1]:.3f}]"


def resampled_rates(
    ranks: NDArray, outliers: NDArray, random_state: Any
) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield the rates of rows drawn with replacement, each class by itself.

    The same ``random_state`` draws the same rows, so rankings are compared on the same resamples.
    The rows are sorted once only, which scikit-learn's curve would do for every resample.
    """
    random = np.random.default_rng(random_state)
    order = np.argsort(-ranks, kind="stable")
    last_of_tie = np.append(np.diff(ranks[order]) != 0, True)
    for _ in range(RESAMPLES):
        curves = []
        for members in (~outliers, outliers):
            rows = np.flatnonzero(members)
            times = np.bincount(random.choice(rows, len(rows)), minlength=len(ranks))
            found = np.cumsum(times[order])[last_of_tie]
            curves.append(np.append(0.0, found / len(rows)))
        yield curves[0], curves[1]
