"""Quality over cost, the picture that tells which budget to buy."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.plots.checks import read_numbers
from boreod.plots.labels import label_ends
from boreod.plots.style import (
    GRAY,
    INK,
    MARKERS,
    SMALL,
    check_number_of_curves,
    curve_style,
    new_axes,
    tidy,
)

Band = tuple[NDArray, NDArray | None]


class BudgetDisplay:
    """Curves of quality over cost, named at their right ends.

    Parameters
    ----------
    costs
        Ascending.
    curves
        By name, the quality at each cost and half the height of its band, None for no band.
    marked
        A cost to mark, None for none.
    mark
        What to write there.
    xlabel, ylabel
        Of the axes.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_, lines_
        The first line, and all of them by name.
    bands_, labels_
        Bands and texts by name.
    mark_
        The line at the marked cost, None without one.
    """

    def __init__(
        self,
        costs: NDArray,
        curves: Mapping[str, Band],
        *,
        marked: float | None = None,
        mark: str = "",
        xlabel: str = "budget",
        ylabel: str = "quality",
    ) -> None:
        check_number_of_curves(len(curves))
        self.costs, self.curves = costs, dict(curves)
        self.marked, self.mark = marked, mark
        self.xlabel, self.ylabel = xlabel, ylabel

    @classmethod
    def from_curves(
        cls,
        budgets: Any,
        curves: Mapping[str, Any],
        *,
        xlabel: str = "budget",
        ylabel: str = "quality",
        ax: Any = None,
    ) -> Self:
        """Draw means with their spread.

        Parameters
        ----------
        budgets
            Above 0 and ascending.
        curves
            From names to means, or to pairs of means and spreads (half the height of the band).
        xlabel, ylabel
            Of the axes.
        ax
            Axes to draw on, None for new ones.
        """
        costs = read_numbers(budgets, np.size(budgets), "`budgets`")
        if len(costs) == 0 or not (costs > 0.0).all() or not (np.diff(costs) > 0.0).all():
            raise ValueError(
                "`budgets` must be above 0 and ascend, for an axis in powers of ten; "
                f"got {costs.tolist()!r:.60}."
            )
        read = {str(name): _read_band(str(name), pair, len(costs)) for name, pair in curves.items()}
        return cls(costs, read, xlabel=xlabel, ylabel=ylabel).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, budgets: Any = None, *, ax: Any = None, **how: Any) -> Self:
        """Draw out-of-bag quality of a fitted detector over budgets; its own cost is marked.

        Parameters
        ----------
        model
            Has ``budget_curve``, and ``cost_`` if it keeps to a budget.
        budgets, how
            As for the model's ``budget_curve``.
        ax
            Axes to draw on, None for new ones.
        """
        curve = model.budget_curve(budgets, **how)
        cost, unit = (
            getattr(model, "cost_", None),
            getattr(getattr(model, "costs_", None), "unit", ""),
        )
        if cost is None or unit != curve.unit:  # other units have no place on this axis
            return cls._of(curve, None, "").plot(ax)
        scaled = cost * _scale(curve)
        shown = f"{scaled:.3g} µs" if curve.unit == "s" else f"{scaled:.3g} units"
        return cls._of(curve, scaled, f"this model: {shown}").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw and return the display.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        ax = new_axes() if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_, self.bands_, self.mark_ = {}, {}, None
        if (self.costs > 0.0).all():  # columns may be free, and 0 has no place on a log scale
            ax.set_xscale("log")
            _write_plain_numbers(ax)
        for place, (name, (quality, spread)) in enumerate(self.curves.items()):
            style = curve_style(place)
            self.lines_[name] = ax.plot(
                self.costs, quality, marker=MARKERS[place], markersize=4.5, label=name, **style
            )[0]
            if spread is not None:
                self.bands_[name] = ax.fill_between(
                    self.costs,
                    quality - spread,
                    quality + spread,
                    color=style["color"],
                    alpha=0.15,
                    linewidth=0,
                )
        self.line_ = next(iter(self.lines_.values()))
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        tidy(ax)
        if self.marked is not None:
            self._mark()
        # Where curves end together, as with all columns, the names stand as the curves did before.
        order = sorted(self.curves, key=lambda name: self.curves[name][0].mean())
        ends = {name: self.lines_[name].get_xydata()[-1].round(9) for name in order}
        colors = {name: line.get_color() for name, line in self.lines_.items()}
        labels = label_ends(ax, ends, colors)
        self.labels_ = {name: labels[name] for name in self.curves}
        return self

    def _mark(self) -> None:
        """Mark a cost by a line whose text stands above the axes, out of the way of curves."""
        self.mark_ = self.ax_.axvline(self.marked, color=GRAY, linewidth=1.0, linestyle=":")
        above = self.ax_.secondary_xaxis("top")
        above.set_xticks([self.marked], [self.mark])
        above.tick_params(which="both", length=0, labelsize=SMALL, labelcolor=INK)
        above.tick_params(which="minor", labeltop=False)
        above.spines["top"].set_visible(False)

    @classmethod
    def _of(cls, curve: Any, marked: float | None, mark: str) -> Self:
        """Return the display of a detector's budget curve."""
        in_time = curve.unit == "s"
        order = np.argsort(curve.costs, kind="stable")  # a larger budget may buy a cheaper set
        return cls(
            curve.costs[order] * _scale(curve),
            {
                "AUC": (curve.auc[order], None),
                "average precision": (curve.average_precision[order], None),
            },
            marked=marked,
            mark=mark,
            xlabel="prediction time per row [µs]" if in_time else "cost [units]",
            ylabel="out-of-bag quality",
        )


def plot_budget_curve(curve: Any, marked: int, label: str, ax: Any = None) -> Any:
    """Draw quality over cost with one point marked; return the axes."""
    cost = float(curve.costs[marked] * _scale(curve))
    return BudgetDisplay._of(curve, cost, label).plot(ax).ax_


def _write_plain_numbers(ax: Any) -> None:
    """Write 20 instead of a power of ten, also between powers if the axis is short."""
    from matplotlib.ticker import LogFormatter

    ax.xaxis.set_major_formatter(LogFormatter())
    ax.xaxis.set_minor_formatter(LogFormatter())


def _scale(curve: Any) -> float:
    return 1e6 if curve.unit == "s" else 1.0


def _read_band(name: str, pair: Any, n_budgets: int) -> Band:
    mean, spread = pair if isinstance(pair, tuple) else (pair, None)
    mean = read_numbers(mean, n_budgets, f"The means of {name!r}")
    if spread is not None:
        spread = read_numbers(spread, n_budgets, f"The spreads of {name!r}")
        if (spread < 0.0).any():
            raise ValueError(f"The spreads of {name!r} must be at least 0; got {spread.min():g}.")
    return mean, spread
