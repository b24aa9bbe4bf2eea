"""Heat maps with their numbers, and rows as points."""

import numpy as np
import pytest

from boreod.tool.drawing import EmbeddingDisplay, SensitivityDisplay

VALUES = np.array([[0.91234, 0.8, 0.75], [0.5, 0.99, 1.0]])
OUTLIERS = np.arange(50) < 4


def test_numbers_and_names():
    drawn = SensitivityDisplay(VALUES, ["a", "b"], [1, 2, 5], "row", "column", "wine").plot()
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
    drawn = SensitivityDisplay(values, [""], range(21)).plot()
    colors = drawn.image_.cmap(drawn.image_.norm(values))[0, :, :3]
    grays = colors @ [0.299, 0.587, 0.114]
    assert (np.diff(grays) > 0).all()
    inks = [text.get_color() for text in drawn.texts_]
    first_black = inks.index("black")
    assert set(inks[:first_black]) == {"white"}
    assert set(inks[first_black:]) == {"black"}
    assert 0.4 < grays[first_black] < 0.6


def test_limits():
    assert SensitivityDisplay(VALUES, "ab", "cde").plot().image_.get_clim() == (0.5, 1.0)
    shared = SensitivityDisplay(VALUES, "ab", "cde", limits=(0.2, 1.0)).plot()
    assert shared.image_.get_clim() == (0.2, 1.0)
    equal = SensitivityDisplay([[0.9, 0.9]], "a", "bc").plot()
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
def test_wrong_grids(values, limits, message):
    with pytest.raises(ValueError, match=message):
        SensitivityDisplay(values, "ab", "cde", limits=limits)


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(50, 5)) * [1, 10, 100, 1000, 0] + 7


def test_points_and_key():
    points = np.random.default_rng(0).normal(size=(50, 2))
    drawn = EmbeddingDisplay(points, OUTLIERS, "wine").plot()
    assert (drawn.outliers_.get_offsets() == points[:4]).all()
    assert (drawn.inliers_.get_offsets() == points[4:]).all()
    assert len(drawn.inliers_.get_facecolor()) == 0  # hollow
    assert [text.get_text() for text in drawn.legend_.get_texts()] == ["4 outliers", "46 inliers"]
    assert drawn.ax_.get_aspect() == 1.0
    assert list(drawn.ax_.get_xticks()) == []
    assert drawn.ax_.get_title() == "wine"


@pytest.mark.parametrize("n_rows", [4, 50])
def test_neighbors_in_the_plane(table, n_rows):
    drawn = EmbeddingDisplay.from_table(
        table[:n_rows], OUTLIERS[-n_rows:] ^ (np.arange(n_rows) < 1)
    )
    assert drawn.points.shape == (n_rows, 2)
    assert np.isfinite(drawn.points).all()
    again = EmbeddingDisplay.from_table(table[:n_rows], np.arange(n_rows) < 1)
    assert (again.points == drawn.points).all()
    assert again.legend_.get_texts()[0].get_text() == "1 outlier"


def test_wrong_tables(table):
    with pytest.raises(ValueError, match="at least 3 rows and 2 columns"):
        EmbeddingDisplay.from_table(table[:, :1], OUTLIERS)
    with pytest.raises(ValueError, match="one of which varies"):
        EmbeddingDisplay.from_table(np.ones((50, 2)), OUTLIERS)
    with pytest.raises(ValueError, match="finite numbers only"):
        EmbeddingDisplay.from_table(table * np.nan, OUTLIERS)
    with pytest.raises(ValueError, match=r"each of 50 `outliers`; got the shape \(50, 5\)"):
        EmbeddingDisplay(table, OUTLIERS)
    with pytest.raises(ValueError, match="both classes"):
        EmbeddingDisplay(table[:, :2], np.zeros(50))
