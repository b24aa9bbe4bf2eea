"""Heat maps with their numbers."""

import numpy as np
import pytest

from boreod.plots import SensitivityDisplay

VALUES = np.array([[0.91234, 0.8, 0.75], [0.5, 0.99, 1.0]])


def test_numbers_and_names():
    drawn = SensitivityDisplay.from_grid(VALUES, ["a", "b"], [1, 2, 5], "row", "column", "wine")
    numbers = [text.get_text() for text in drawn.texts_]
    assert numbers == ["91.2", "80.0", "75.0", "50.0", "99.0", "100.0"]
    assert [text.get_position() for text in drawn.texts_][:4] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert (drawn.image_.get_array() == VALUES).all()
    assert [tick.get_text() for tick in drawn.ax_.get_xticklabels()] == ["1", "2", "5"]
    assert [tick.get_text() for tick in drawn.ax_.get_yticklabels()] == ["a", "b"]
    labels = drawn.ax_.get_ylabel(), drawn.ax_.get_xlabel(), drawn.ax_.get_title()
    assert labels == ("row", "column", "wine")


def test_lightness_grows_and_text_contrasts():
    values = np.linspace(0, 1, 21)[np.newaxis]
    drawn = SensitivityDisplay.from_grid(values, [""], range(21))
    colors = drawn.image_.cmap(drawn.image_.norm(values))[0, :, :3]
    grays = colors @ [0.299, 0.587, 0.114]
    assert (np.diff(grays) > 0).all()
    inks = [text.get_color() for text in drawn.texts_]
    first_black = inks.index("black")
    assert set(inks[:first_black]) == {"white"}
    assert set(inks[first_black:]) == {"black"}
    assert 0.4 < grays[first_black] < 0.6


def test_limits():
    assert SensitivityDisplay.from_grid(VALUES, "ab", "cde").image_.get_clim() == (0.5, 1.0)
    shared = SensitivityDisplay.from_grid(VALUES, "ab", "cde", limits=(0.2, 1.0))
    assert shared.image_.get_clim() == (0.2, 1.0)
    equal = SensitivityDisplay.from_grid([[0.9, 0.9]], "a", "bc")
    assert equal.image_.get_clim() == pytest.approx((0.89, 0.9))


@pytest.mark.parametrize(
    ("values", "limits", "message"),
    [
        (VALUES.T, None, r"each of 2 `rows` .* got the shape \(3, 2\)"),
        (VALUES[0], None, r"table of rows and columns; got shape \(3,\)"),
        (VALUES * 100, None, "from 0 to 1 .* got 50 to 100"),
        (VALUES * [1, np.nan, 1], None, "2 are not .first: row 0, column 1"),
        (VALUES, (1.0, 0.5), "`limits` must be a lower and a higher"),
    ],
)
def test_errors(values, limits, message):
    with pytest.raises(ValueError, match=message):
        SensitivityDisplay.from_grid(values, "ab", "cde", limits=limits)
