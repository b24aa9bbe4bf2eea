"""Price lists of a fitted representation: declared, by complexity, or measured.

=========================  ===========================================================
spelling                   costs
=========================  ===========================================================
``"measured:shared"``      seconds per row on this machine, shared work paid once
``"measured:additive"``    the same, every column pays all it needs
``"fresh"``                ``"measured:shared"``, measured again
``"complexity:shared"``    operations in the paper's units, shared work paid once
``"complexity:additive"``  the same, every column pays all it needs
``{"lof_10": 50, ...}``    as declared, additive; raw columns cost 1 unless told
``Costs(...)``             anything else
=========================  ===========================================================

Measured prices are remembered, see :mod:`boreod.selection.measured`.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import LogisticHead, combine
from boreod.ensemble.logistic import add_up
from boreod.ensemble.training import Training
from boreod.parallel import one_blas_thread, plain_interrupts
from boreod.selection.budgets import read_budget, round_up, write_budget
from boreod.selection.costs import SECONDS, Costs, complexity_costs, declared_costs
from boreod.selection.measured import (
    Facts,
    facts_of_prices,
    measured_costs,
    remembered_costs,
)
from boreod.validation import check_choice, check_values

SHARED, FRESH = "measured:shared", "fresh"
MEASURED = (SHARED, "measured:additive", FRESH)
COMPLEXITY = ("complexity:shared", "complexity:additive")
SPELLINGS = (*MEASURED, *COMPLEXITY)
CURVE_POINTS = 20
MAX_LISTS = 4


def check_purchase(budget: Any, costs: Any, selection: Any, fill: Any) -> None:
    """Raise for parameters of a budget that are not allowed, alone or together."""
    check_choice("selection", selection, ("budget", "omp", "random"))
    is_spelled = isinstance(costs, str) and costs in SPELLINGS
    if not is_spelled and not isinstance(costs, Mapping | Costs | None):
        raise ValueError(
            f"`costs` must be one of {list(SPELLINGS)}, a dict of prices, Costs or None; "
            f"got {costs!r}."
        )
    if budget is not None:
        check_units(read_budget(budget)[1], costs)
    if not isinstance(fill, bool | np.bool_):
        raise ValueError(f"`fill` must be True or False; got {fill!r}.")


def check_units(unit: str, costs: Any) -> None:
    """Raise for a budget whose unit is not that of the costs."""
    if isinstance(costs, Costs):
        of_costs = costs.unit
    else:
        of_costs = SECONDS if needs_clock(costs, unit) else ""
    if of_costs == unit:
        return
    kinds = {SECONDS: ("a time", "seconds"), "": ("a number of units", "units")}
    wanted = "a time per row such as '200us'" if of_costs == SECONDS else "a number of units"
    raise ValueError(
        f"`budget` is {kinds[unit][0]}, but `costs` are {kinds[of_costs][1]}. Pass {wanted}, or "
        f"other `costs`: {', '.join(MEASURED)} for times, {', '.join(COMPLEXITY)} or a dict for "
        "units."
    )


@dataclass
class PriceLists:
    """Everything that the columns of a model can cost."""

    training: Training
    sample: NDArray  # some rows, scaled, to measure with
    neighbors: Any = "auto"  # as it was asked for
    measured: Costs | None = None  # seconds per row, once they have been taken
    _known: list[tuple[Any, Costs]] = field(default_factory=list, repr=False)

    def timed(self, fitted: Fitted, *, fresh: bool) -> "PriceLists":
        """Return the same with times of all columns on this machine.

        They are those of an earlier fit that did the same work, unless they are to be fresh.
        """
        training, bags, logistic = (
            self.training,
            self.training.bags.rows,
            fitted.logistic is not None,
        )
        others = [m for m in fitted.members if not isinstance(m.head, LogisticHead)]

        def per_row(rows: NDArray) -> NDArray:
            check_values(None, rows)
            fitted.scale_input(rows)
            odds = np.zeros(len(rows))
            if logistic:
                odds = combine(np.zeros((len(rows), len(bags))), fitted.aggregation)
            for member in others:  # they may read any column, so all their work is counted here
                some = training.table[np.arange(len(rows)) % len(training.table)]
                odds = odds + member.log_odds(some[:, : len(fitted.base)], fitted.aggregation)
            return expit(fitted.correction.apply(odds))

        def per_column(table: NDArray) -> NDArray:
            scaled = training.scaler.transform(table)
            if not logistic:
                return scaled
            return add_up(scaled, np.ones((scaled.shape[1], len(bags))), np.zeros(len(bags)))

        work: Facts = {
            "neighbors": self.neighbors,
            "bags": len(bags),
            "aggregation": fitted.aggregation,
            "scaling": type(training.scaler).__name__,
            "input_scaling": fitted.input_scaler is not None,
        }
        if others:
            work["estimator"] = training.options.recipe.estimator
            work["heads"] = [member.kind for member in others]
            work["size"] = [bags.shape[1], len(fitted.base)]
        facts = facts_of_prices(training.columns, self._shape, work)
        with plain_interrupts(), one_blas_thread():
            times = remembered_costs(
                facts,
                training.columns.names,
                lambda: measured_costs(training.columns, self.sample, per_row, per_column),
                fresh=fresh,
            )
        return PriceLists(training, self.sample, self.neighbors, times)

    def read(self, costs: Any, unit: str, fitted: Fitted) -> Costs:
        """Return the costs that a spelling stands for, by the clock if they are times.

        None depends on the unit of a budget. The same spelling gives the same costs again, without
        another warning.
        """
        if needs_clock(costs, unit) and self.measured is None:
            self.measured = self.timed(fitted, fresh=is_fresh(costs)).measured
        if costs is None:
            costs = SHARED if unit == SECONDS else "complexity:additive"
        elif is_fresh(costs):
            costs = SHARED
        for before, prices in self._known:
            if type(before) is type(costs) and before == costs:
                return prices
        prices = self._read(costs)
        self._known = [(copy(costs), prices), *self._known][:MAX_LISTS]
        return prices

    def _read(self, costs: Any) -> Costs:
        columns = self.training.columns
        if not isinstance(costs, str):
            return declared_costs(costs, columns)
        if costs in COMPLEXITY:
            prices = complexity_costs(columns, *self._shape)
        else:
            assert self.measured is not None
            prices = self.measured
        return prices if costs.endswith(":shared") else prices.additive()

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.training.table), self.sample.shape[1]


def needs_clock(costs: Any, unit: str) -> bool:
    """Whether costs are times, so that a budget in this unit waits for them."""
    if costs is None:
        return unit == SECONDS
    return isinstance(costs, str) and costs in MEASURED


def is_fresh(costs: Any) -> bool:
    """Whether costs are to be measured, whatever is remembered."""
    return isinstance(costs, str) and costs == FRESH


def budgets_over(costs: Costs) -> list[float | str]:
    """Return budgets from the cheapest column to everything, evenly spaced on a logarithmic scale.

    Examples
    --------
    >>> budgets_over(Costs({"a": 1.04e-6, "b": 2.96e-6}, unit="s"))[::19]
    ['1.04us', '4us']
    """
    total = costs.total()
    if total == 0.0:
        return [1.0]  # everything is free
    cheapest = max(costs.alone.min(), total / 1e6)
    amounts = np.geomspace(cheapest, total, CURVE_POINTS).clip(cheapest, total).tolist()
    rounded = dict.fromkeys(round_up(amount, costs.unit) for amount in amounts)
    return [write_budget(amount, costs.unit) for amount in rounded]
