"""A table in float32, centered and scaled, so that rounding loses little."""

import numpy as np
from numpy.typing import NDArray

SAMPLE = 1024  # rows that give the center of the table
SMALLEST = 1e-140  # extent of a table
FARTHEST = 1e6  # coordinate of a scaled row; squares of larger ones say nothing in float32


def find_range(points: NDArray) -> tuple[NDArray, float]:
    """Return the center of a table, and what scales it to [-1, 1] around it.

    A table smaller than SMALLEST stays smaller: what vanishes in float64 squares of its differences
    must not look large in float32.
    """
    # Rows of a table are often sorted, so the sample is spread over all of it.
    center = np.median(points[:: -(-len(points) // SAMPLE)], axis=0)
    sides = np.maximum(points.max(axis=0) - center, center - points.min(axis=0))
    return center, max(float(sides.max()), SMALLEST)


class RoundedTable:
    """Rows in float32, one after the other, centered and scaled to [-1, 1].

    Parameters
    ----------
    points
        Reference rows.
    """

    def __init__(self, points: NDArray) -> None:
        self.center, self.scale = find_range(points)
        self.rows = np.empty(points.shape, np.float32)
        for column, center in enumerate(self.center):  # one at a time: a whole copy is large
            self.rows[:, column] = (points[:, column] - center) / self.scale

    def round(self, rows: NDArray) -> tuple[NDArray, NDArray]:
        """Return rows in float32 and their lengths; of those too far away, zeros and infinity."""
        moved = rows - self.center
        too_far = np.abs(moved).max(axis=1) > FARTHEST * self.scale
        scaled = np.where(too_far[:, np.newaxis], 0.0, moved) / self.scale
        lengths = np.sqrt((scaled * scaled).sum(axis=1))
        return scaled.astype(np.float32), np.where(too_far, np.inf, lengths)
