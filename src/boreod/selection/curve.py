"""Quality over budgets: the picture that tells which budget to buy."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.training import Training
from boreod.metrics import auc, average_precision
from boreod.selection.budgets import show_cost, write_budget

LOSS = 0.01  # of AUC, which a user would hardly notice


@dataclass(frozen=True)
class BudgetCurve:
    """Out-of-bag quality of the models that budgets buy.

    Attributes
    ----------
    budgets
        Ascending.
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

    def cheapest(self, loss: float = LOSS) -> float | str:
        """Return the lowest budget whose AUC is at most ``loss`` below the best on the curve.

        Parameters
        ----------
        loss
            AUC that may be lost.

        Examples
        --------
        >>> costs = np.array([1e-6, 5e-6, 7e-5])
        >>> quality = np.array([0.80, 0.95, 0.955])
        >>> BudgetCurve(costs, costs, np.array([1, 3, 9]), quality, quality, "s").cheapest()
        '5us'
        """
        if not isinstance(loss, Real) or not loss >= 0.0:
            raise ValueError(f"`loss` must be a number of at least 0; got {loss!r}.")
        return write_budget(float(self.budgets[self.first_good(loss)]), self.unit)

    def first_good(self, loss: float = LOSS) -> int:
        """Return the place of the lowest budget that is good enough, see :meth:`cheapest`."""
        return int(np.flatnonzero(self.auc >= self.auc.max() - loss)[0])

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib and return its axes.

        Parameters
        ----------
        ax
            Axes to draw on, None for new ones.
        """
        from boreod.plots import BudgetDisplay

        marked, mark = self.costs[self.first_good()], f"AUC within {LOSS} of the best"
        return BudgetDisplay.from_budget_curve(self, marked, mark, ax=ax).ax_

    def __str__(self) -> str:
        """Return the curve as a table."""
        rows = ["    budget       cost  columns    AUC     AP"]
        for place in range(len(self.budgets)):
            budget, cost = (show_cost(a[place], self.unit) for a in (self.budgets, self.costs))
            quality = f"{self.auc[place]:.3f}  {self.average_precision[place]:.3f}"
            rows.append(f"{budget:>10} {cost:>10} {self.n_columns[place]:8}  {quality}")
        return "\n".join(rows)


def trace_budgets(models: Iterable[Any], training: Training) -> BudgetCurve:
    """Return the curve of detectors with budgets, by their out-of-bag probabilities."""
    points = []
    for model in models:
        scores, outliers = training.judged(model.oob_proba_)
        if not 0 < outliers.sum() < len(outliers):
            raise ValueError(
                "A budget curve needs out-of-bag scores of both classes, and all labelled outliers "
                "or inliers are in every bag. Label more rows, add bags, or lower `share`."
            )
        choice = model.selection_
        quality = (float(auc(outliers, scores)), average_precision(outliers, scores))
        points.append((choice.budget, choice.cost, len(choice.columns), *quality))
    budgets, costs, counts, areas, precisions = map(np.array, zip(*sorted(points), strict=True))
    return BudgetCurve(budgets, costs, counts, areas, precisions, choice.costs.unit)
