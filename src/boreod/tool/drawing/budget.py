"""Quality over cost, the picture that tells which budget to buy."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.text import shorten
from boreod.tool.drawing.checks import read_numbers
from boreod.tool.drawing.style import (
    BAND,
    GRAY,
    INK,
    MARKERS,
    SMALL,
    Display,
    add_legend,
    check_number_of_curves,
    curve_style,
    tidy,
)


class BudgetDisplay(Display):
    """Curves of quality over cost.

    Parameters
    ----------
    costs
        At least 0 and ascending.
    curves
        By name, the quality at each cost, or a pair of that and its spread (half the height of
        the band, None for no band).
    marked
        A cost to mark, None for none.
    mark
        What to write there.
    xlabel, ylabel
        Of the axes.

    Attributes
    ----------
    line_, lines_
        The first line, and all of them by name.
    bands_, labels_
        Bands and texts of the legend by name.
    mark_
        The line at the marked cost, None without one.
    """

    def __init__(
        self,
        costs: Any,
        curves: Mapping[str, Any],
        *,
        marked: float | None = None,
        mark: str = "",
        xlabel: str = "budget",
        ylabel: str = "quality",
    ) -> None:
        check_number_of_curves(len(curves))
        self.costs = read_numbers(costs, np.size(costs), "`costs`")
        if len(self.costs) == 0 or self.costs[0] < 0.0 or (np.diff(self.costs) < 0.0).any():
            raise ValueError(
                f"`costs` must be at least 0 and ascend; got {shorten(self.costs.tolist())}."
            )
        self.curves = {str(name): self._read(str(name), pair) for name, pair in curves.items()}
        self.marked, self.mark = marked, mark
        self.xlabel, self.ylabel = xlabel, ylabel

    @classmethod
    def from_budget_curve(
        cls, curve: Any, marked: float | None = None, mark: str = "", *, ax: Any = None
    ) -> Self:
        """Draw what a detector's ``budget_curve`` returns; ``marked`` is in the curve's unit."""
        in_time = curve.unit == "s"
        scale = 1e6 if in_time else 1.0
        order = np.argsort(curve.costs, kind="stable")  # a larger budget may buy a cheaper set
        return cls(
            curve.costs[order] * scale,
            {"AUC": curve.auc[order], "average precision": curve.average_precision[order]},
            marked=None if marked is None else float(marked * scale),
            mark=mark,
            xlabel="prediction time per row [µs]" if in_time else "cost [units]",
            ylabel="out-of-bag quality",
        ).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, budgets: Any = None, *, ax: Any = None, **how: Any) -> Self:
        """Draw out-of-bag quality of a fitted detector over budgets; its own cost is marked.

        Budgets and options are those of the model's ``budget_curve``.
        """
        curve, cost = model.budget_curve(budgets, **how), getattr(model, "cost_", None)
        if cost is None or model.costs_.unit != curve.unit:  # other units have no place here
            return cls.from_budget_curve(curve, ax=ax)
        shown = f"{cost * 1e6:.3g} µs" if curve.unit == "s" else f"{cost:.3g} units"
        return cls.from_budget_curve(curve, cost, f"this model: {shown}", ax=ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import LogFormatter

        self.lines_, self.bands_, self.mark_ = {}, {}, None
        if (self.costs > 0.0).all():  # columns may be free, and 0 has no place on a log scale
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(LogFormatter())  # 20 instead of a power of ten
            ax.xaxis.set_minor_formatter(LogFormatter())  # between powers if the axis is short
        for place, (name, (quality, spread)) in enumerate(self.curves.items()):
            style = curve_style(place) | {"marker": MARKERS[place], "markersize": 4.5}
            self.lines_[name] = ax.plot(self.costs, quality, label=name, **style)[0]
            if spread is not None:
                low, high, color = quality - spread, quality + spread, style["color"]
                self.bands_[name] = ax.fill_between(self.costs, low, high, color=color, **BAND)
        self.line_ = next(iter(self.lines_.values()))
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        tidy(ax)
        if self.marked is not None:
            self._mark()
        # As the curves stand, so do the names.
        names = sorted(self.curves, key=lambda name: -self.curves[name][0].mean())
        legend = add_legend(ax, [self.lines_[name] for name in names], names)
        self.labels_ = dict(zip(names, legend.get_texts(), strict=True))

    def _read(self, name: str, pair: Any) -> tuple[NDArray, NDArray | None]:
        mean, spread = pair if isinstance(pair, tuple) else (pair, None)
        mean = read_numbers(mean, len(self.costs), f"The means of {name!r}")
        if spread is not None:
            spread = read_numbers(spread, len(self.costs), f"The spreads of {name!r}")
            if (spread < 0.0).any():
                raise ValueError(f"Spreads of {name!r} must be at least 0; got {spread.min():g}.")
        return mean, spread

    def _mark(self) -> None:
        """Mark a cost by a line whose text stands above the axes, out of the way of curves."""
        self.mark_ = self.ax_.axvline(self.marked, color=GRAY, linewidth=1.0, linestyle=":")
        above = self.ax_.secondary_xaxis("top")
        above.set_xticks([self.marked], [self.mark])
        above.tick_params(which="both", length=0, labelsize=SMALL, labelcolor=INK)
        above.tick_params(which="minor", labeltop=False)
        above.spines["top"].set_visible(False)
