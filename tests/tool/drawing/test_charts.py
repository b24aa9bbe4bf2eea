"""Quality over cost, calibration, heat maps, and rows as points."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from boreod.tool.drawing.charts import (
    draw_budget_curve,
    draw_calibration,
    draw_embedding,
    draw_heat_map,
    draw_quality,
)

COSTS = np.geomspace(1, 1000, 7)
MEAN = 0.95 - 0.2 * np.exp(-np.arange(7))
VALUES = np.array([[0.91234, 0.8, 0.75], [0.5, 0.99, 1.0]])
OUTLIERS = np.arange(50) < 4


def make_curve(costs, quality, unit=""):
    return SimpleNamespace(unit=unit, costs=costs, auc=quality, average_precision=quality - 0.2)


def test_means_and_bands(ax):
    spread = np.full(7, 0.02)
    curves = {"BORE-Budget": MEAN, "Random": MEAN - 0.1}
    draw_quality(ax, COSTS, curves, dict.fromkeys(curves, spread))
    assert ax.lines[0].get_xdata() == pytest.approx(COSTS)
    assert ax.lines[0].get_ydata() == pytest.approx(MEAN)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((MEAN + spread).max())
    assert heights.min() == pytest.approx((MEAN - spread).min())
    assert len(ax.collections) == 2
    assert ax.get_xscale() == "log"
    assert len({(line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 2


def test_names_stand_as_the_curves_do_and_cover_none(ax):
    rising = {"low": MEAN - 0.2, "high": MEAN.copy(), "middle": MEAN - 0.1}
    for curve in rising.values():
        curve[-1] = 0.95  # as with all columns
    draw_quality(ax, COSTS, rising)
    ax.figure.draw_without_rendering()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["high", "middle", "low"]
    assert len(ax.collections) == 0
    box = ax.get_legend().get_window_extent()
    for line in ax.lines:
        path = line.get_path().interpolated(20)
        assert not box.count_contains(ax.transData.transform(path.vertices))


@pytest.mark.parametrize(
    ("unit", "scale", "label"),
    [("s", 1e6, "prediction time per row [µs]"), ("", 1.0, "cost [units]")],
)
def test_marked_point_of_a_curve(ax, unit, scale, label):
    curve = make_curve(COSTS / scale, MEAN, unit)
    draw_budget_curve(ax, curve, (curve.costs[3], "good enough"))
    first, second, mark = ax.lines
    assert first.get_ydata() == pytest.approx(MEAN)
    assert second.get_ydata() == pytest.approx(MEAN - 0.2)
    assert mark.get_xdata() == pytest.approx([COSTS[3], COSTS[3]])
    above = ax.child_axes[0]
    ax.figure.draw_without_rendering()
    assert [tick.get_text() for tick in above.get_xticklabels()] == ["good enough"]
    assert above.get_xticks() == pytest.approx([COSTS[3]])
    assert ax.get_xlabel() == label
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["AUC", "average precision"]


def test_only_the_mark_stands_above_a_short_axis(ax):
    draw_budget_curve(ax, make_curve(np.array([2.0, 6.0, 8.0]), MEAN[:3]), (8.0, "good enough"))
    ax.figure.draw_without_rendering()
    above, below = ax.child_axes[0].xaxis, ax.xaxis
    shown = [
        tick.label2.get_text() for tick in above.get_minor_ticks() if tick.label2.get_visible()
    ]
    assert not any(shown)
    assert {"3", "4"} <= {tick.label1.get_text() for tick in below.get_minor_ticks()}


def test_a_larger_budget_may_buy_a_cheaper_set(ax):
    draw_budget_curve(ax, make_curve(np.array([2.0, 8.0, 6.0]), np.array([0.7, 0.9, 0.8])))
    assert ax.lines[0].get_xydata().tolist() == [[2, 0.7], [6, 0.8], [8, 0.9]]
    assert len(ax.lines) == 2  # without a mark


def test_free_columns_have_a_linear_axis(ax):
    draw_budget_curve(ax, make_curve(np.array([0.0]), np.array([0.9])))
    assert ax.get_xscale() == "linear"


@pytest.fixture
def rare():
    """2000 rows with calibrated probabilities of some percent."""
    random = np.random.default_rng(0)
    probabilities = 1 / (1 + np.exp(-random.normal(-4, 1.6, 2000)))
    return random.random(2000) < probabilities, probabilities


def counts_of(ax):
    shown = [text for text in ax.texts if "\n" in text.get_text()]
    return [text.get_text().split("\n") for text in shown[1:]]  # the first is the heading


def test_bins_are_means_and_counts(ax, rare):
    outliers, probabilities = rare
    draw_calibration(ax, outliers, probabilities, 10)
    groups = np.array_split(np.argsort(probabilities), 10)
    x, y = np.asarray(ax.collections[1].get_offsets()).T
    assert x == pytest.approx([probabilities[rows].mean() for rows in groups])
    shares = np.array([outliers[rows].mean() for rows in groups])
    assert y[shares > 0] == pytest.approx(shares[shares > 0])
    assert counts_of(ax) == [[str(outliers[rows].sum()), "200"] for rows in groups]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_wilson_intervals(ax):
    draw_calibration(ax, np.repeat([True, False], [2, 8]), np.full(10, 0.3), 1)
    z, share = 1.959964, 0.2
    middle = (share + z**2 / 20) / (1 + z**2 / 10)
    half = z / (1 + z**2 / 10) * np.sqrt(share * 0.8 / 10 + z**2 / 400)
    (segment,) = ax.collections[0].get_segments()
    assert segment[:, 1] == pytest.approx([middle - half, middle + half], abs=1e-6)
    assert ax.get_xscale() == "linear"


def test_bins_without_outliers_are_hollow_on_a_log_scale(ax, rare):
    outliers, probabilities = rare
    outliers = outliers & (probabilities > np.quantile(probabilities, 0.25))
    draw_calibration(ax, outliers, probabilities, 10)
    empty = np.array([number == "0" for number, _ in counts_of(ax)])
    assert empty.sum() >= 2
    points = ax.collections[1]
    white = (points.get_facecolor()[:, :3] == 1).all(axis=1)
    assert (white == empty).all()
    assert np.asarray(points.get_offsets())[empty, 1] == pytest.approx(ax.get_ylim()[0])


def test_bins_without_outliers_are_full_on_a_linear_scale(ax):
    draw_calibration(ax, np.arange(4) > 1, np.array([0.1, 0.1, 0.9, 0.9]), 2)
    points = ax.collections[1]
    assert np.asarray(points.get_offsets())[:, 1].tolist() == [0.0, 1.0]
    assert not (points.get_facecolor()[:, :3] == 1).all(axis=1).any()


def test_equal_probabilities_share_a_bin(ax):
    draw_calibration(ax, np.arange(100) >= 93, np.repeat([0.0, 0.4, 1.0], [80, 10, 10]), 10)
    assert [rows for _, rows in counts_of(ax)] == ["80", "10", "10"]
    low = ax.get_xlim()[0]  # where a probability of 0 is drawn
    assert np.asarray(ax.collections[1].get_offsets())[:, 0] == pytest.approx([low, 0.4, 1.0])
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(("width", "n_bins"), [(3.6, 10), (4.8, 20)])
def test_counts_do_not_collide(rare, width, n_bins):
    from matplotlib.figure import Figure

    ax = Figure((width, 4.8), layout="constrained").subplots()
    draw_calibration(ax, *rare, n_bins)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if "\n" in text.get_text()][1:]
    assert all(right.x0 > left.x1 for left, right in pairwise(boxes))
    assert min(box.y0 for box in boxes) > ax.get_window_extent().y1


def test_numbers_and_names(ax):
    draw_heat_map(ax, VALUES, ["a", "b"], ["1", "2", "5"], (0.2, 1.0))
    numbers = [text.get_text() for text in ax.texts]
    assert numbers == ["91.2", "80.0", "75.0", "50.0", "99.0", "100.0"]
    assert [text.get_position() for text in ax.texts][:4] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert (ax.images[0].get_array() == VALUES).all()
    assert ax.images[0].get_clim() == (0.2, 1.0)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "5"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]


def test_lightness_grows_and_text_contrasts(ax):
    values = np.linspace(0, 1, 21)[np.newaxis]
    draw_heat_map(ax, values, [""], [str(number) for number in range(21)], (0.0, 1.0))
    image = ax.images[0]
    grays = image.cmap(image.norm(values))[0, :, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grays) > 0).all()
    inks = [text.get_color() for text in ax.texts]
    first_black = inks.index("black")
    assert set(inks[:first_black]) == {"white"}
    assert set(inks[first_black:]) == {"black"}
    assert 0.4 < grays[first_black] < 0.6


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(50, 5)) * [1, 10, 100, 1000, 0] + 7


def test_points_and_key(ax, table):
    draw_embedding(ax, table, OUTLIERS, "wine", 0)
    inliers, outliers = ax.collections
    assert (len(inliers.get_offsets()), len(outliers.get_offsets())) == (46, 4)
    assert len(inliers.get_facecolor()) == 0  # hollow
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["4 outliers", "46 inliers"]
    assert ax.get_aspect() == 1.0
    assert list(ax.get_xticks()) == []
    assert ax.get_title() == "wine"


@pytest.mark.parametrize("n_rows", [4, 50])
def test_neighbors_in_the_plane(ax, table, n_rows):
    for number in (1, 2):  # the colors of points do not move them
        draw_embedding(ax, table[:n_rows], np.arange(n_rows) < number, "", 0)
    first, second = (
        np.vstack([outside.get_offsets(), inside.get_offsets()])
        for inside, outside in (ax.collections[:2], ax.collections[2:])
    )
    assert first.shape == (n_rows, 2)
    assert np.isfinite(first).all()
    assert (first == second).all()
    assert ax.get_legend().get_texts()[0].get_text() == "2 outliers"
