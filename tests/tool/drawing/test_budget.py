"""Quality over cost."""

from types import SimpleNamespace

import numpy as np
import pytest

from boreod import BORE, OutlierRepresentation
from boreod.tool.drawing import BudgetDisplay

BUDGETS = np.geomspace(1, 1000, 7)
MEAN = 0.95 - 0.2 * np.exp(-np.arange(7))


@pytest.fixture(scope="module")
def model(labelled):
    X, y = labelled
    return BORE(OutlierRepresentation(["knn"], ks=[5, 10]), random_state=0).fit(X, y)


def test_means_and_bands():
    spread = np.full(7, 0.02)
    drawn = BudgetDisplay(
        BUDGETS, {"BORE-Budget": (MEAN, spread), "Random": MEAN - 0.1}, ylabel="AUC"
    ).plot()
    assert drawn.line_.get_xdata() == pytest.approx(BUDGETS)
    assert drawn.line_.get_ydata() == pytest.approx(MEAN)
    assert list(drawn.bands_) == ["BORE-Budget"]
    heights = drawn.bands_["BORE-Budget"].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((MEAN + spread).max())
    assert heights.min() == pytest.approx((MEAN - spread).min())
    assert drawn.ax_.get_xscale() == "log"
    assert drawn.ax_.get_ylabel() == "AUC"
    assert drawn.mark_ is None
    lines = drawn.lines_.values()
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 2


def test_names_stand_as_the_curves_do_and_cover_none():
    rising = {"low": MEAN - 0.2, "high": MEAN.copy(), "middle": MEAN - 0.1}
    for curve in rising.values():
        curve[-1] = 0.95  # as with all columns
    drawn = BudgetDisplay(BUDGETS, rising).plot()
    drawn.figure_.draw_without_rendering()
    texts = drawn.ax_.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["high", "middle", "low"]
    assert drawn.labels_["low"] is texts[-1]
    box = drawn.ax_.get_legend().get_window_extent()
    for line in drawn.lines_.values():
        path = line.get_path().interpolated(20)
        assert not box.count_contains(drawn.ax_.transData.transform(path.vertices))


def test_model_and_its_cost(model):
    fast = model.within(30, costs="complexity:shared")
    drawn = BudgetDisplay.from_estimator(fast, [20, 30], costs="complexity:shared")
    curve = fast.budget_curve([20, 30], costs="complexity:shared")
    assert list(drawn.lines_) == ["AUC", "average precision"]
    assert drawn.lines_["AUC"].get_ydata() == pytest.approx(curve.auc)
    assert drawn.lines_["average precision"].get_ydata() == pytest.approx(curve.average_precision)
    assert drawn.line_.get_xdata() == pytest.approx(curve.costs)
    assert drawn.mark_.get_xdata() == [fast.cost_, fast.cost_]
    assert BudgetDisplay.from_estimator(model, [20]).mark_ is None  # it has no budget
    in_time = BudgetDisplay.from_estimator(fast, ["1s"], costs="measured:shared")
    assert in_time.mark_ is None  # units are no seconds
    assert in_time.ax_.get_xlabel() == "prediction time per row [µs]"


def test_marked_point_of_a_curve():
    curve = SimpleNamespace(unit="s", costs=BUDGETS * 1e-6, auc=MEAN, average_precision=MEAN - 0.2)
    ax = BudgetDisplay.from_budget_curve(curve, curve.costs[3], "good enough").ax_
    vertical = [line for line in ax.lines if len(set(line.get_xdata())) == 1]
    assert vertical[0].get_xdata()[0] == pytest.approx(BUDGETS[3])
    above = ax.child_axes[0]
    ax.figure.draw_without_rendering()
    assert [tick.get_text() for tick in above.get_xticklabels()] == ["good enough"]
    assert above.get_xticks() == pytest.approx([BUDGETS[3]])


def test_only_the_mark_stands_above_a_short_axis():
    curve = SimpleNamespace(
        unit="", costs=np.array([2.0, 6.0, 8.0]), auc=MEAN[:3], average_precision=MEAN[:3]
    )
    ax = BudgetDisplay.from_budget_curve(curve, 8.0, "good enough").ax_
    ax.figure.draw_without_rendering()
    above, below = ax.child_axes[0].xaxis, ax.xaxis
    shown = [
        tick.label2.get_text() for tick in above.get_minor_ticks() if tick.label2.get_visible()
    ]
    assert not any(shown)
    assert {"3", "4"} <= {tick.label1.get_text() for tick in below.get_minor_ticks()}


def test_a_larger_budget_may_buy_a_cheaper_set():
    costs, quality = np.array([2.0, 8.0, 6.0]), np.array([0.7, 0.9, 0.8])
    curve = SimpleNamespace(unit="", costs=costs, auc=quality, average_precision=quality)
    drawn = BudgetDisplay.from_budget_curve(curve)
    assert drawn.line_.get_xydata().tolist() == [[2, 0.7], [6, 0.8], [8, 0.9]]


def test_free_columns_have_a_linear_axis(model):
    drawn = BudgetDisplay.from_estimator(model, costs=dict.fromkeys(model.columns_, 0))
    assert drawn.ax_.get_xscale() == "linear"


@pytest.mark.parametrize(
    ("budgets", "curves", "message"),
    [
        ([-1.0, 1.0], {"a": [1, 2]}, r"at least 0 and ascend; got \[-1.0, 1.0\]"),
        ([2.0, 1.0], {"a": [1, 2]}, "and ascend"),
        ([], {"a": []}, r"`costs` must be .* got \[\]"),
        ([1.0, 2.0], {"a": [1]}, "The means of 'a' must have one number for each of 2 rows; got 1"),
        ([1.0, 2.0], {"a": ([1, 2], [1, -2])}, "Spreads of 'a' must be at least 0; got -2"),
        ([1.0, 2.0], {"a": ([1, 2], [1, np.nan])}, "1 of 2 are NaN"),
        ([1.0, 2.0], {}, "1 to 8 curves; got 0"),
    ],
)
def test_errors(budgets, curves, message):
    with pytest.raises(ValueError, match=message):
        BudgetDisplay(budgets, curves)
