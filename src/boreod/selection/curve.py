"""Quality over budgets: the picture that tells which budget to buy."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.labels import OUTLIER
from boreod.metrics import auc, average_precision
from boreod.selection.budgets import show_cost


@dataclass(frozen=True)
class BudgetCurve:
    """Out-of-bag quality of the models that budgets buy.

    Attributes
    ----------
    budgets
        Ascending; the last one buys everything.
    costs
        What the chosen columns cost.
    n_columns
        How many were chosen.
    auc, average_precision
        Of out-of-bag probabilities of labelled rows.
    unit
        ``"s"`` for seconds per row, empty for units of declared costs.
    """

    budgets: NDArray
    costs: NDArray
    n_columns: NDArray
    auc: NDArray
    average_precision: NDArray
    unit: str = ""

    def cheapest(self, loss: float = 0.01) -> float:
        """Return the cheapest cost whose AUC is at most ``loss`` below the best on the curve.

        Parameters
        ----------
        loss
            AUC that may be lost.

        Examples
        --------
        >>> costs = np.array([1.0, 5.0, 70.0])
        >>> quality = np.array([0.80, 0.95, 0.955])
        >>> BudgetCurve(costs, costs, np.array([1, 3, 9]), quality, quality).cheapest()
        5.0
        """
        good = self.auc >= np.nanmax(self.auc) - loss
        return float(self.costs[good].min())

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib and return its axes.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        from boreod.plots import plot_budget_curve

        return plot_budget_curve(self, ax)

    def __str__(self) -> str:
        """Return the curve as a table."""
        rows = ["    budget       cost  columns    AUC     AP"]
        for place in range(len(self.budgets)):
            budget, cost = (show_cost(a[place], self.unit) for a in (self.budgets, self.costs))
            quality = f"{self.auc[place]:.3f}  {self.average_precision[place]:.3f}"
            rows.append(f"{budget:>10} {cost:>10} {self.n_columns[place]:8}  {quality}")
        return "\n".join(rows)


def trace_budgets(models: Iterable[Any], codes: NDArray) -> BudgetCurve:
    """Return the curve of detectors with budgets, by their out-of-bag probabilities."""
    points = []
    for model in models:
        judged = np.isfinite(model.oob_proba_) & (codes >= 0)
        scores, outliers = model.oob_proba_[judged], codes[judged] == OUTLIER
        choice = model.selection_
        quality = (float(auc(scores, outliers)), average_precision(scores, outliers))
        points.append((choice.budget, choice.cost, len(choice.columns), *quality))
    budgets, costs, counts, areas, precisions = map(np.array, zip(*sorted(points), strict=True))
    return BudgetCurve(budgets, costs, counts, areas, precisions, choice.costs.unit)
