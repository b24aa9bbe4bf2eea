"""Price lists of a fitted representation: declared, by complexity, or measured.

=========================  ===========================================================
spelling                   costs
=========================  ===========================================================
``"measured:shared"``      seconds per row on this machine, shared work paid once
``"measured:additive"``    the same, every column pays all it needs
``"complexity:shared"``    operations in the paper's units, shared work paid once
``"complexity:additive"``  the same, every column pays all it needs
``{"lof_10": 50, ...}``    as declared, additive; raw columns cost 1 unless told
``Costs(...)``             anything else
=========================  ===========================================================
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.columns import FittedColumns
from boreod.selection.complexity import complexity_costs
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.declared import declared_costs
from boreod.selection.measured import Work, measured_costs

MEASURED = ("measured:shared", "measured:additive")
COMPLEXITY = ("complexity:shared", "complexity:additive")
CURVE_POINTS = 20


def check_costs(costs: Any) -> None:
    """Raise for costs that no price list can be made of."""
    if isinstance(costs, Mapping | Costs | None):
        return
    if not isinstance(costs, str) or costs not in (*MEASURED, *COMPLEXITY):
        raise ValueError(
            f"`costs` must be one of {[*MEASURED, *COMPLEXITY]}, a dict of prices, Costs or None; "
            f"got {costs!r}."
        )


@dataclass
class PriceLists:
    """Everything that the columns of a model can cost.

    Attributes
    ----------
    fitted
        All columns.
    n_rows
        Number of training rows.
    sample
        Some of them, to measure with.
    measured
        Seconds per row, once they have been taken.
    """

    fitted: FittedColumns
    n_rows: int
    sample: NDArray
    measured: Costs | None = None

    def measure(self, per_row: Work, per_column: Work) -> Costs:
        """Take the time of all columns on this machine."""
        self.measured = measured_costs(self.fitted, self.sample, per_row, per_column)
        return self.measured

    def read(self, costs: Any, unit: str = SECONDS) -> Costs:
        """Return the costs that a spelling stands for; None depends on the unit of a budget."""
        if isinstance(costs, Costs):
            return _only_known(costs, self.fitted.names)
        if isinstance(costs, Mapping):
            return declared_costs(costs, self.fitted)
        if costs is None:
            costs = "measured:shared" if unit == SECONDS else "complexity:additive"
        kind, _, sharing = costs.partition(":")
        if kind == "complexity":
            prices = complexity_costs(self.fitted, self.n_rows, self.sample.shape[1])
        else:
            assert self.measured is not None
            prices = self.measured
        return prices if sharing == "shared" else prices.additive()


def needs_clock(costs: Any) -> bool:
    """Whether costs must be measured before budgets can be asked for."""
    return costs is None or (isinstance(costs, str) and costs in MEASURED)


def budgets_over(costs: Costs) -> list[float | str]:
    """Return budgets from the cheapest column to everything, evenly spaced on a logarithmic scale.

    Examples
    --------
    >>> budgets_over(Costs({"a": 1e-6, "b": 3e-6}, unit="s"))[::19]
    ['1e-06s', '4e-06s']
    """
    cheapest, total = costs.alone.min(), costs.total()
    amounts = np.geomspace(max(cheapest, total / 1e6), total, CURVE_POINTS).tolist()
    amounts[-1] = total
    return [f"{amount!r}s" if costs.unit == SECONDS else amount for amount in amounts]


def _only_known(costs: Costs, names: list[str]) -> Costs:
    for name in costs.names:
        if name not in names:
            raise ValueError(
                f"`costs` prices {name!r}, which is no column of this model. All are in `columns_`."
            )
    return costs.only([name for name in names if name in costs.own])
