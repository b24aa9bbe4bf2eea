"""ROC and precision-recall displays."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from boreod.metrics import auc, average_precision
from boreod.tool.drawing import Curve, PrecisionRecallDisplay, RocDisplay, new_panels

BOTH = pytest.mark.parametrize("display", [RocDisplay, PrecisionRecallDisplay])


def test_drawn_roc_area_is_the_auc(ranked):
    outliers, scores = ranked
    scores["LOF"] = np.round(scores["LOF"])  # ties
    drawn = RocDisplay.from_predictions(outliers, scores)
    for name, line in drawn.lines_.items():
        x, y = line.get_xydata().T
        assert np.trapezoid(y, x) == pytest.approx(float(auc(outliers, scores[name])))
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert len(drawn.lines_["LOF"].get_xdata()) == len(np.unique(scores["LOF"])) + 1
    assert drawn.reference_.get_xydata().tolist() == [[0, 0], [1, 1]]


def test_drawn_steps_are_the_average_precision(ranked):
    outliers, scores = ranked
    scores["LOF"] = np.round(scores["LOF"])
    drawn = PrecisionRecallDisplay.from_predictions(outliers, scores)
    for name, line in drawn.lines_.items():
        x, y = line.get_xydata().T
        area = np.sum(np.diff(x) * y[1:])
        assert area == pytest.approx(average_precision(outliers, scores[name]))
        assert line.get_drawstyle() == "steps-pre"  # so the area drawn is this sum
    assert drawn.reference_.get_ydata() == pytest.approx([0.06, 0.06])
    assert drawn.ax_.get_legend().get_texts()[-1].get_text() == "0.06  base rate"


def test_ties_are_a_straight_slope():
    drawn = RocDisplay.from_predictions([1, 0, 1, 0], [2.0, 1.0, 1.0, 0.0])
    assert drawn.line_.get_xydata().tolist() == [[0, 0], [0, 0.5], [0.5, 1], [1, 1]]
    flat = RocDisplay.from_predictions([1, 0, 1, 0], np.zeros(4))
    assert flat.line_.get_xydata().tolist() == [[0, 0], [1, 1]]


def test_infinite_scores_are_ranks():
    drawn = RocDisplay.from_predictions([1, 1, 0, 0], [np.inf, np.inf, 3.0, -np.inf])
    assert drawn.curves["scores"].quality == 1.0


@BOTH
def test_names_are_in_an_ordered_legend(display, ranked):
    outliers, scores = ranked
    drawn = display.from_predictions(outliers, scores, highlight="BORE")
    order = sorted(scores, key=lambda name: -drawn.curves[name].quality)
    assert list(drawn.labels_) == order
    texts = [text.get_text() for text in drawn.labels_.values()]
    assert texts == [f"{drawn.curves[name].quality:.3f}  {name}" for name in order]
    assert drawn.ax_.get_legend().get_title().get_text() == display.measure
    assert drawn.labels_["BORE"].get_fontweight() == "bold"
    widths = {name: line.get_linewidth() for name, line in drawn.lines_.items()}
    assert drawn.line_ is drawn.lines_["BORE"]
    assert widths.pop("BORE") > max(widths.values())


@pytest.mark.parametrize("number", [1, 2, 7])
@BOTH
def test_legend_covers_no_curve(display, number, ranked):
    outliers, scores = ranked
    some = dict(list(scores.items())[:number])
    drawn = display.from_predictions(outliers, some, interval=0.95)
    drawn.figure_.draw_without_rendering()
    _covers_no_curve(drawn, drawn.ax_.get_legend().get_window_extent())
    width, height = drawn.ax_.get_window_extent().size / drawn.figure_.dpi
    assert min(width, height) > 3.0  # inches: no legend takes the place of the picture


def _covers_no_curve(drawn, box):
    for line in drawn.lines_.values():
        path = line.get_path().interpolated(20)
        points = drawn.ax_.transData.transform(path.vertices)
        assert not box.count_contains(points)


def test_curves_differ_in_black_and_white(ranked):
    lines = RocDisplay.from_predictions(*ranked).lines_.values()
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 7
    assert len({line.get_color() for line in lines}) == 7


@BOTH
def test_intervals(display, ranked):
    outliers, scores = ranked
    drawn = display.from_predictions(outliers, scores["LOF"], name="LOF", interval=0.9)
    curve = drawn.curves["LOF"]
    low, high = curve.interval
    assert 0.5 * low < low < curve.quality < high <= 1.0
    text = f"{curve.quality:.3f} [{low:.3f}, {high:.3f}]  LOF"
    assert drawn.labels_["LOF"].get_text() == text
    x, lower, upper = curve.band
    assert (lower <= upper).all()
    within = (np.interp(x, curve.x, curve.y) >= lower - 0.05).mean()
    assert within > 0.9
    again = display.from_predictions(outliers, scores["LOF"], interval=0.9).curves["scores"]
    assert again.interval == curve.interval
    other = display.from_predictions(outliers, scores["LOF"], interval=0.9, random_state=1)
    assert other.curves["scores"].interval != curve.interval
    few = display.from_predictions(outliers, scores, interval=0.9, highlight="SSAD")
    assert list(few.bands_) == ["SSAD"]


def test_bootstrap_covers_the_truth():
    """Of many samples from two normal distributions, most intervals hold the known AUC."""
    from scipy.stats import norm

    truth, hits = norm.cdf(1.0 / np.sqrt(2.0)), 0
    random = np.random.default_rng(0)
    outliers = np.arange(150) < 50
    for _ in range(30):
        ranks = np.argsort(np.argsort(random.normal(size=150) + outliers))
        low, high = RocDisplay._trace(ranks, outliers, 0.9, 0, None).interval
        hits += low <= truth <= high
    assert 23 <= hits <= 30


@BOTH
def test_from_estimator_reads_labels(display, ranked):
    outliers, scores = ranked
    X = scores["LOF"][:, np.newaxis]
    model = SimpleNamespace(decision_function=lambda X: X[:, 0])
    y = outliers.astype(int)
    y[30:60] = -1
    drawn = display.from_estimator(model, X, y)
    known = display.from_predictions(outliers[y >= 0], X[y >= 0, 0])
    assert drawn.line_.get_xydata().tolist() == known.line_.get_xydata().tolist()
    assert "SimpleNamespace" in drawn.labels_
    model.classes_ = np.array(["ok", "fraud"])
    words = display.from_estimator(model, X, np.where(outliers, "fraud", "ok"), name="mine")
    measure = {"AUC": auc, "AP": average_precision}[display.measure]
    assert words.curves["mine"].quality == pytest.approx(float(measure(outliers, X[:, 0])))
    with pytest.raises(ValueError, match=r"must hold the labels 'ok' .*; got 'theft'"):
        display.from_estimator(model, X, np.where(outliers, "theft", "ok"))
    model.classes_ = np.arange(3)
    with pytest.raises(ValueError, match="two classes apart; it has 3"):
        display.from_estimator(model, X, y)
    del model.classes_
    with pytest.raises(ValueError, match="one dimension"):
        display.from_estimator(model, X, y[:, np.newaxis])
    with pytest.raises(ValueError, match="599 labels for 600 rows"):
        display.from_estimator(model, X, y[:-1])
    with pytest.raises(ValueError, match="low for them"):
        display.from_estimator(IsolationForest(), X, y)


def test_given_axes_leave_pyplot_alone(ranked):
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure

    before = plt.get_fignums()  # of other tests
    ax = Figure(layout="constrained").subplots()
    drawn = RocDisplay.from_predictions(*ranked, ax=ax)
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    assert plt.get_fignums() == before
    part = Figure(layout="constrained").subfigures(1, 2)[1]
    assert RocDisplay.from_predictions(*ranked, ax=part.subplots()).figure_ is part
    assert drawn.plot() is drawn  # anew, elsewhere
    assert drawn.ax_ is not ax


def test_known_curves():
    x = np.linspace(0, 1, 11)
    drawn = RocDisplay({"a": Curve(x, x**0.25, 0.77), "b": Curve(x, x, 0.5)}, highlight="a").plot()
    assert drawn.labels_["a"].get_text() == "0.770  a"
    assert drawn.lines_["a"].get_ydata() == pytest.approx(x**0.25)


@BOTH
@pytest.mark.parametrize(
    ("outliers", "scores", "options", "message"),
    [
        ([1, 0, 0], [1.0, 2.0], {}, "one number for each of 3 rows; got 2"),
        ([1, 0], {"a": [1, 2], "b": [[1, 2]]}, {}, r"'b' must have .* got the shape \(1, 2\)"),
        ([1, 1], [1.0, 2.0], {}, "both classes; got 2 outliers and 0 inliers"),
        ([1, 0, -1], [1.0, 2.0, 3.0], {}, "got 1, 0, -1. Leave unlabelled"),
        ([[1, 0]], [1.0, 2.0], {}, "one dimension"),
        (["a", "b"], [1.0, 2.0], {}, "nothing else; got 'a', 'b'"),
        ([1, 0], [1.0, np.nan], {}, "1 of 2 are NaN .first: row 1"),
        ([1, 0], ["a", 1], {}, "must be numbers"),
        ([1, 0], {}, {}, "1 to 8 curves; got 0"),
        ([1, 0], {i: [1, 0] for i in range(9)}, {}, "1 to 8 curves; got 9"),
        ([1, 0], [1, 0], {"highlight": "BORE"}, "`highlight` must be one of 'scores'"),
        ([1, 0], [1, 0], {"interval": 95}, "`interval` must be above 0 and below 1; got 95"),
    ],
)
def test_errors(display, outliers, scores, options, message):
    from matplotlib import pyplot as plt

    before = plt.get_fignums()  # of other tests
    with pytest.raises(ValueError, match=message):
        display.from_predictions(outliers, scores, **options)
    assert plt.get_fignums() == before  # nothing is half drawn


def test_a_low_precision_fills_its_axes_and_no_legend_takes_their_room():
    """With few outliers among many rows precision is near 0: that is no line on the floor."""
    random = np.random.default_rng(0)
    outliers = np.arange(1000) < 10
    names = ["this model", "the previous model of a team with a long name", "c", "d"]
    scores = {name: random.normal(size=1000) for name in names}
    for some in (names[:1], names[:2], names):
        _, panels = new_panels(1, 1, (4.3, 4.2))
        chosen = {name: scores[name] for name in some}
        drawn = PrecisionRecallDisplay.from_predictions(outliers, chosen, ax=panels[0])
        drawn.figure_.draw_without_rendering()
        width, height = drawn.ax_.get_window_extent().size / drawn.figure_.dpi
        assert width > 3.0
        assert height > 2.0
        highest = max(curve.y.max() for curve in drawn.curves.values())
        assert 0.5 < highest / drawn.ax_.get_ylim()[1] < 0.9
