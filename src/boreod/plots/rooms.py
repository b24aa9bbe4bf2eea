"""Room for names between curves of the unit square."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boreod.plots.labels import LETTER_WIDTH, LINE_HEIGHT
from boreod.plots.style import TEXT

GAP = 0.02  # between a label and its curve
OTHERS = 2.0  # times that gap to any other curve, so that labels are not mistaken
PLACES = 120  # tried along each curve
CORNERS = {"lower right": (1, 0), "lower left": (0, 0), "upper right": (1, 1), "upper left": (0, 1)}


def find_corner(lines: Sequence[NDArray], size: NDArray) -> str | None:
    """Return the corner of the unit square where a box covers no line, None without one.

    Parameters
    ----------
    lines
        Their corners, in the unit square.
    size
        Width and height of the box.
    """
    covered = [_walk(line, 4 * PLACES) for line in lines]
    for name, corner in CORNERS.items():
        box = np.array([corner]) * (1.0 - size)
        if (size < 1.0).all() and _distances(box, size, covered)[0] >= GAP:
            return name
    return None


def find_rooms(
    curves: Sequence[NDArray], texts: Sequence[str], others: Sequence[NDArray], side: float
) -> list[NDArray] | None:
    """Return the lower left corners of labels beside their curves, None if one has no room.

    Parameters
    ----------
    curves
        Their corners, in the unit square.
    texts
        A label for each.
    others
        Corners of lines that labels must not cover either.
    side
        Of the square, in points.
    """
    walked = [_walk(curve, 4 * PLACES) for curve in curves]
    covered = [_walk(line, 4 * PLACES) for line in others]
    rooms: list[NDArray] = []
    boxes: list[NDArray] = []
    for place, text in enumerate(texts):
        rows = text.split("\n")
        letters = max(len(row) for row in rows)
        size = np.array([letters * LETTER_WIDTH, len(rows) * LINE_HEIGHT]) * TEXT / side
        corners = _candidates(_walk(curves[place], PLACES), size)
        free = _distances(corners, size, [walked[place], *covered]) >= 0.9 * GAP
        for box in boxes:
            apart = np.maximum(box[0] - corners - size, corners - box[1]).max(axis=1)
            free &= apart >= 2.0 * GAP
        room = _distances(corners, size, walked[:place] + walked[place + 1 :])
        room[~free] = 0.0
        if len(corners) == 0 or room.max() < OTHERS * GAP:
            return None
        best = corners[np.argmax(np.minimum(room, 3.0 * OTHERS * GAP))]
        rooms.append(best)
        boxes.append(np.array([best, best + size]))
    return rooms


def _candidates(points: NDArray, size: NDArray) -> NDArray:
    """Return corners of boxes that touch points with a corner of theirs, inside the axes."""
    middle_first = np.argsort(np.abs(np.arange(len(points)) - len(points) / 2), kind="stable")
    offsets = np.array([(GAP, -GAP), (-GAP, GAP), (GAP, GAP), (-GAP, -GAP)])
    corners = points[middle_first, np.newaxis] + offsets - size * (offsets < 0)
    corners = corners.reshape(-1, 2)
    return corners[((corners >= 0.01) & (corners + size <= 0.99)).all(axis=1)]


def _distances(corners: NDArray, size: NDArray, lines: Sequence[NDArray]) -> NDArray:
    """Return the distance of each box to the nearest of the lines."""
    nearest = np.full(len(corners), np.inf)
    for points in lines:
        center = corners[:, np.newaxis] + size / 2
        beyond = np.maximum(np.abs(points - center) - size / 2, 0.0)
        nearest = np.minimum(nearest, np.hypot(beyond[..., 0], beyond[..., 1]).min(axis=1))
    return nearest


def _walk(line: NDArray, number: int) -> NDArray:
    """Return points at even distances along a line."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    walked = np.append(0.0, np.cumsum(steps))
    wanted = np.linspace(0.0, walked[-1], number)
    return np.column_stack([np.interp(wanted, walked, axis) for axis in line.T])
