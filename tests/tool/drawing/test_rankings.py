"""ROC and precision-recall curves."""

import numpy as np
import pytest

from boreod.metrics import auc, average_precision
from boreod.tool.drawing.charts import GRID, draw_precision, draw_roc, trace_curves
from boreod.tool.drawing.style import new_panels


def trace(outliers, scores, kind, **options):
    """Return one of both curves for each ranking."""
    return {
        name: trace_curves(outliers, values, **options)[kind] for name, values in scores.items()
    }


def draw(ax, outliers, curves, kind, highlight=None):
    """Draw curves, and return their lines by name."""
    if kind == 0:
        draw_roc(ax, curves, highlight)
    else:
        draw_precision(ax, curves, float(outliers.mean()), highlight)
    return dict(zip(curves, ax.lines[1:], strict=True))


def texts_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_drawn_roc_area_is_the_auc(ax, ranked):
    outliers, scores = ranked
    scores["LOF"] = np.round(scores["LOF"])  # ties
    lines = draw(ax, outliers, trace(outliers, scores, 0), 0)
    for name, line in lines.items():
        x, y = line.get_xydata().T
        assert np.trapezoid(y, x) == pytest.approx(float(auc(outliers, scores[name])))
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert len(lines["LOF"].get_xdata()) == len(np.unique(scores["LOF"])) + 1
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]


def test_drawn_steps_are_the_average_precision(ax, ranked):
    outliers, scores = ranked
    scores["LOF"] = np.round(scores["LOF"])
    lines = draw(ax, outliers, trace(outliers, scores, 1), 1)
    for name, line in lines.items():
        x, y = line.get_xydata().T
        area = np.sum(np.diff(x) * y[1:])
        assert area == pytest.approx(average_precision(outliers, scores[name]))
        assert line.get_drawstyle() == "steps-pre"  # so the area drawn is this sum
    assert ax.lines[0].get_ydata() == pytest.approx([0.06, 0.06])
    assert texts_of(ax)[-1] == "0.06  base rate"


@pytest.mark.parametrize(
    ("scores", "points"),
    [
        ([2.0, 1.0, 1.0, 0.0], [[0, 0], [0, 0.5], [0.5, 1], [1, 1]]),
        ([0.0, 0.0, 0.0, 0.0], [[0, 0], [1, 1]]),
    ],
)
def test_ties_are_a_straight_slope(scores, points):
    curve = trace_curves(np.array([True, False, True, False]), np.array(scores))[0]
    assert np.column_stack([curve.x, curve.y]).tolist() == points


@pytest.mark.parametrize("kind", [0, 1], ids=["roc", "precision"])
def test_names_are_in_an_ordered_legend(ax, kind, ranked):
    outliers, scores = ranked
    curves = trace(outliers, scores, kind)
    lines = draw(ax, outliers, curves, kind, "BORE")
    order = sorted(scores, key=lambda name: -curves[name].quality)
    assert texts_of(ax)[:7] == [f"{curves[name].quality:.3f}  {name}" for name in order]
    assert ax.get_legend().get_title().get_text() == ("AUC", "AP")[kind]
    weights = {text.get_text()[7:]: text.get_fontweight() for text in ax.get_legend().get_texts()}
    assert weights.pop("BORE") == "bold"
    assert "bold" not in weights.values()
    widths = {name: line.get_linewidth() for name, line in lines.items()}
    assert widths.pop("BORE") > max(widths.values())


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize("kind", [0, 1], ids=["roc", "precision"])
def test_legend_covers_no_curve(kind, number, ranked):
    outliers, scores = ranked
    ax = new_panels(1, 1, (4.3, 4.2 + 0.3 * number))[1][0]
    some = dict(list(scores.items())[:number])
    lines = draw(ax, outliers, trace(outliers, some, kind, interval=0.95), kind)
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    for line in lines.values():
        path = line.get_path().interpolated(20)
        assert not box.count_contains(ax.transData.transform(path.vertices))
    width, height = ax.get_window_extent().size / ax.figure.dpi
    assert min(width, height) > 3.0  # inches: no legend takes the place of the picture


def test_curves_differ_in_black_and_white(ax, ranked):
    outliers, scores = ranked
    lines = draw(ax, outliers, trace(outliers, scores, 0), 0).values()
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 7
    assert len({line.get_color() for line in lines}) == 7


@pytest.mark.parametrize("kind", [0, 1], ids=["roc", "precision"])
def test_intervals(ax, kind, ranked):
    outliers, scores = ranked
    curve = trace_curves(outliers, scores["LOF"], 0.9)[kind]
    low, high = curve.interval
    assert 0.5 * low < low < curve.quality < high <= 1.0
    draw(ax, outliers, {"LOF": curve}, kind)
    assert texts_of(ax)[0] == f"{curve.quality:.3f} [{low:.3f}, {high:.3f}]  LOF"
    lower, upper = curve.band
    assert (lower <= upper).all()
    within = (np.interp(GRID, curve.x, curve.y) >= lower - 0.05).mean()
    assert within > 0.9
    assert trace_curves(outliers, scores["LOF"], 0.9)[kind].interval == curve.interval
    assert trace_curves(outliers, scores["LOF"], 0.9, seed=1)[kind].interval != curve.interval


@pytest.mark.parametrize(("highlight", "bands"), [("SSAD", 1), (None, 7)])
@pytest.mark.parametrize("kind", [0, 1], ids=["roc", "precision"])
def test_bands_are_those_of_the_highlighted_curve_or_of_all(ax, kind, ranked, highlight, bands):
    from matplotlib.colors import same_color

    outliers, scores = ranked
    lines = draw(ax, outliers, trace(outliers, scores, kind, interval=0.9), kind, highlight)
    assert len(ax.collections) == bands
    color = lines[highlight or "BORE"].get_color()
    assert same_color(ax.collections[0].get_facecolor()[0][:3], color)


def test_bootstrap_covers_the_truth():
    """Of many samples from two normal distributions, most intervals hold the known AUC."""
    from scipy.stats import norm

    truth, hits = norm.cdf(1.0 / np.sqrt(2.0)), 0
    random = np.random.default_rng(0)
    outliers = np.arange(150) < 50
    for _ in range(30):
        low, high = trace_curves(outliers, random.normal(size=150) + outliers, 0.9)[0].interval
        hits += low <= truth <= high
    assert 23 <= hits <= 30


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_low_precision_fills_its_axes_and_no_legend_takes_their_room(number):
    """With few outliers among many rows precision is near 0: that is no line on the floor."""
    random = np.random.default_rng(0)
    outliers = np.arange(1000) < 10
    names = ["this model", "the previous model of a team with a long name", "c", "d"]
    scores = {name: random.normal(size=1000) for name in names}
    _, panels = new_panels(1, 1, (4.3, 4.2))
    ax = panels[0]
    curves = trace(outliers, {name: scores[name] for name in names[:number]}, 1)
    draw(ax, outliers, curves, 1)
    ax.figure.draw_without_rendering()
    width, height = ax.get_window_extent().size / ax.figure.dpi
    assert width > 3.0
    assert height > 2.0
    highest = max(curve.y.max() for curve in curves.values())
    assert 0.5 < highest / ax.get_ylim()[1] < 0.9
