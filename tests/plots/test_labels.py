"""Labels that keep their distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boreod.plots.labels import move_apart
from boreod.plots.rooms import find_corner, find_rooms

positions = st.lists(st.floats(0, 1), min_size=1, max_size=9)


@given(positions, st.floats(0.001, 0.12))
def test_labels_keep_gap_order_and_limits(wanted, gap):
    moved = move_apart(wanted, gap, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-9).all()
    assert moved.min() >= -1e-9
    assert moved.max() <= 1 + 1e-9


def test_labels_with_room_stay():
    assert move_apart([0.9, 0.1, 0.5], 0.3).tolist() == pytest.approx([0.9, 0.1, 0.5])


def test_too_many_labels_share_the_room():
    assert move_apart([0.5] * 5, 0.9, 0.0, 1.0) == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])


def test_rooms_for_two_lines():
    flat = [np.array([[0.0, height], [1.0, height]]) for height in (0.3, 0.7)]
    rooms = find_rooms(flat, ["low", "high"], [], 300.0)
    heights = [corner[1] for corner in rooms]
    assert abs(heights[0] - 0.3) < 0.1
    assert abs(heights[1] - 0.7) < 0.1
    crowd = [np.array([[0.0, y], [1.0, y]]) for y in np.linspace(0, 1, 30)]
    assert find_rooms(crowd[14:17], ["a", "b", "c"], crowd, 300.0) is None


def test_corner_without_a_line():
    falling = np.array([[0.0, 1.0], [1.0, 0.0]])
    rising = np.array([[0.0, 0.0], [1.0, 1.0]])
    size = np.array([0.3, 0.3])
    assert find_corner([rising], size) == "lower right"
    assert find_corner([falling], size) == "lower left"
    assert find_corner([falling, rising], size) is None
    assert find_corner([], np.array([1.2, 0.1])) is None
