"""Reliability of probabilities."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from boreod.tool.drawing import CalibrationDisplay


@pytest.fixture
def rare():
    """2000 rows with calibrated probabilities of some percent."""
    random = np.random.default_rng(0)
    probabilities = 1 / (1 + np.exp(-random.normal(-4, 1.6, 2000)))
    return random.random(2000) < probabilities, probabilities


def test_bins_are_means_and_counts(rare):
    outliers, probabilities = rare
    drawn = CalibrationDisplay.from_predictions(outliers, probabilities)
    groups = np.array_split(np.argsort(probabilities), 10)
    x, y = np.asarray(drawn.points_.get_offsets()).T
    assert x == pytest.approx([probabilities[rows].mean() for rows in groups])
    shares = np.array([outliers[rows].mean() for rows in groups])
    assert y[shares > 0] == pytest.approx(shares[shares > 0])
    texts = [label.get_text() for label in drawn.labels_]
    assert texts == [f"{outliers[rows].sum()}\n200" for rows in groups]
    assert drawn.ax_.get_xscale() == drawn.ax_.get_yscale() == "log"


def test_wilson_intervals():
    outliers = np.repeat([True, False], [2, 8])
    drawn = CalibrationDisplay.from_predictions(outliers, np.full(10, 0.3), n_bins=1)
    z, share = 1.959964, 0.2
    middle = (share + z**2 / 20) / (1 + z**2 / 10)
    half = z / (1 + z**2 / 10) * np.sqrt(share * 0.8 / 10 + z**2 / 400)
    (segment,) = drawn.whiskers_.get_segments()
    assert segment[:, 1] == pytest.approx([middle - half, middle + half], abs=1e-6)
    assert drawn.ax_.get_xscale() == "linear"


def test_bins_without_outliers_are_hollow_on_a_log_scale(rare):
    outliers, probabilities = rare
    outliers = outliers & (probabilities > np.quantile(probabilities, 0.25))
    drawn = CalibrationDisplay.from_predictions(outliers, probabilities)
    empty = drawn.n_outliers == 0
    assert empty.sum() >= 2
    white = (drawn.points_.get_facecolor()[:, :3] == 1).all(axis=1)
    assert (white == empty).all()
    heights = np.asarray(drawn.points_.get_offsets())[empty, 1]
    assert heights == pytest.approx(drawn.ax_.get_ylim()[0])
    linear = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9], n_bins=2)
    assert np.asarray(linear.points_.get_offsets())[:, 1].tolist() == [0.0, 1.0]
    assert not (linear.points_.get_facecolor()[:, :3] == 1).all(axis=1).any()


def test_equal_probabilities_share_a_bin():
    probabilities = np.repeat([0.0, 0.4, 1.0], [80, 10, 10])
    outliers = np.arange(100) >= 93
    drawn = CalibrationDisplay.from_predictions(outliers, probabilities)
    assert drawn.n_rows.tolist() == [80, 10, 10]
    assert drawn.probabilities == pytest.approx([0.0, 0.4, 1.0])
    drawn.figure_.draw_without_rendering()


def test_counts_do_not_collide(rare):
    from matplotlib.figure import Figure

    for width, n_bins in ((3.6, 10), (4.8, 20)):
        ax = Figure((width, 4.8), layout="constrained").subplots()
        drawn = CalibrationDisplay.from_predictions(*rare, n_bins=n_bins, ax=ax)
        ax.figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in drawn.labels_]
        assert all(right.x0 > left.x1 for left, right in pairwise(boxes))
        assert min(box.y0 for box in boxes) > ax.get_window_extent().y1


def test_from_estimator(rare):
    outliers, probabilities = rare
    model = SimpleNamespace(predict_proba=lambda X: np.column_stack([1 - X, X]))
    y = outliers.astype(int)
    y[:100] = -1
    drawn = CalibrationDisplay.from_estimator(model, probabilities, y, n_bins=5)
    assert drawn.n_rows.tolist() == [380] * 5
    assert drawn.n_outliers.sum() == outliers[100:].sum()


@pytest.mark.parametrize(
    ("probabilities", "options", "message"),
    [
        ([0.1, 1.2], {}, "from 0 to 1; got 0.1 to 1.2"),
        ([0.1, np.nan], {}, "`probabilities` must be numbers, but 1 of 2 are NaN"),
        ([0.1], {}, "each of 2 rows; got 1"),
        ([0.1, 0.2], {"n_bins": 0}, "`n_bins` must be from 1 to 20; got 0"),
    ],
)
def test_errors(probabilities, options, message):
    with pytest.raises(ValueError, match=message):
        CalibrationDisplay.from_predictions([0, 1], probabilities, **options)
