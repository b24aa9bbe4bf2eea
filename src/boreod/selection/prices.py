"""Price lists of a fitted representation: declared, by complexity, or measured.

=========================  ===========================================================
spelling                   costs
=========================  ===========================================================
``"measured:shared"``      seconds per row on this machine, shared work paid once
``"complexity:shared"``    operations in the paper's units, shared work paid once
``"complexity:additive"``  the same, every column pays all it needs
``{"lof_10": 50, ...}``    as declared, additive; raw columns and ``"tree"``, one tree of a
                           tree head, cost 1 by default
``Costs(...)``             anything else
=========================  ===========================================================

Measured prices are remembered, see :mod:`boreod.selection.measured`. Prices of calls are measured
when a ``batch_size`` is asked for.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import ClassifierHead, LogisticHead, combine
from boreod.ensemble.logistic import add_up
from boreod.ensemble.training import Training
from boreod.ensemble.tree_heads import TreeHead
from boreod.parallel import one_blas_thread, plain_interrupts
from boreod.representation.scaling import MinMax, Rank
from boreod.selection.budgets import read_budget, round_up, write_budget
from boreod.selection.calls import cut, time_whole, with_calls
from boreod.selection.costs import (
    SECONDS,
    Costs,
    complexity_costs,
    declared_costs,
    kind_of_tree,
)
from boreod.selection.measured import (
    CALL_ROWS,
    Facts,
    facts_of_prices,
    measured_costs,
    measured_trees,
    remembered_costs,
)
from boreod.text import shorten
from boreod.validation import check_choice, check_values, is_number

# A batch size of "same" keeps that of the model.
SAME = "same"
SHARED = "measured:shared"
SPELLINGS = (SHARED, "complexity:shared", "complexity:additive")
MAX_LISTS = 4


def check_purchase(budget: Any, costs: Any, selection: Any, fill: Any) -> None:
    """Refuse wrong parameters of a budget, alone or together."""
    check_choice("method", selection, ("budget", "omp", "random"))
    is_spelled = isinstance(costs, str) and costs in SPELLINGS
    if not is_spelled and not isinstance(costs, Mapping | Costs | None):
        raise ValueError(
            f"`costs` must be one of {list(SPELLINGS)}, a dict of prices, Costs or None; "
            f"got {costs!r}."
        )
    if budget is not None:
        check_units(read_budget(budget)[1], costs)
    if not isinstance(fill, bool | np.bool_):
        raise ValueError(f"`skip_unaffordable` must be True or False; got {fill!r}.")


def check_size(batch_size: Any, keep: bool = False) -> None:
    """Refuse a wrong number of rows per call; with ``keep``, ``"same"`` is allowed too."""
    if batch_size is None or (keep and isinstance(batch_size, str) and batch_size == SAME):
        return
    if not (is_number(batch_size, Integral) and batch_size >= 1):
        kept = f", or {SAME!r} to keep what the model has" if keep else ""
        raise ValueError(
            "`batch_size` (--batch) must be a number of rows, 1 or more, or None for large batches"
            f"{kept}; got {shorten(batch_size)}."
        )


def check_batches(batch_size: Any, budget: Any) -> None:
    """Refuse a wrong number of rows per call, or one without a budget in time."""
    check_size(batch_size)
    if batch_size is None:
        return
    if budget is None:
        raise ValueError(
            f"`batch_size` (--batch) is {batch_size}, but there is no `budget` (--budget). Pass a "
            "time per row with it, such as '500us', or leave it out."
        )
    if read_budget(budget)[1] != SECONDS:
        raise ValueError(
            f"`batch_size` (--batch) is {batch_size}, but `budget` (--budget) is a number of "
            "units, which are the same in every batch. Pass a time per row such as '500us', or "
            "leave the size of batches out."
        )


def check_units(unit: str, costs: Any) -> None:
    """Refuse a budget whose unit is not that of the costs."""
    in_time = costs.unit == SECONDS if isinstance(costs, Costs) else needs_clock(costs, unit)
    others = f"`costs`: {SHARED} for times, {', '.join(SPELLINGS[1:])} or a dict for units."
    if in_time and unit != SECONDS:
        raise ValueError(
            "`budget` is a number of units, but `costs` are seconds. Pass a time per row such as "
            f"'200us', or other {others}"
        )
    if unit == SECONDS and not in_time:
        raise ValueError(
            f"`budget` is a time, but `costs` are units. Pass a number of units, or other {others}"
        )


@dataclass
class PriceLists:
    """Everything that the columns of a model can cost.

    Attributes
    ----------
    training, whole
        The training, and the detector with all columns and heads.
    rows
        Some rows, to measure with.
    neighbors
        The back end that was asked for.
    measured
        Seconds per row, once they have been measured.
    fresh
        Whether they were measured for this model, and not remembered.
    """

    training: Training
    whole: Fitted
    rows: NDArray
    neighbors: Any = "auto"
    measured: Costs | None = None
    fresh: bool = False
    _with_calls: Costs | None = field(default=None, repr=False)
    _known: list[tuple[Any, Costs]] = field(default_factory=list, repr=False)

    def timed(self, *, fresh: bool) -> "PriceLists":
        """Return the same with times of all columns on this machine.

        Unless they are to be fresh, they may be those of an earlier fit that did the same work.
        """
        names = self.training.columns.names
        with plain_interrupts(), one_blas_thread():
            times = remembered_costs(self._facts, names, self._measure, fresh=fresh)
        return replace(self, measured=times.of_rows(), fresh=fresh, _with_calls=None, _known=[])

    def time_alone(self, fitted: Fitted) -> float:
        """Return the seconds of a call with one row, timed with a model of these columns."""
        name = "a row alone"
        choice = [fitted.columns.names, [m.kind for m in fitted.members], fitted.tree_counts]

        def measure() -> Costs:
            return Costs({name: time_whole(fitted, cut(self.rows, 1))}, unit=SECONDS)

        facts = self._facts | {name: choice}
        with plain_interrupts(), one_blas_thread():
            return remembered_costs(facts, [name], measure, fresh=self.fresh).total()

    @cached_property
    def _facts(self) -> Facts:
        """All that measured prices depend on."""
        training = self.training
        whole = self.whole
        work: Facts = {
            "neighbors": self.neighbors,
            "bags": len(training.bags.rows),
            "scaling": type(training.scaler).__name__,
            "input_scaling": whole.input_scaler is not None,
        }
        if any(not isinstance(member.head, LogisticHead) for member in whole.members):
            work["estimator"] = training.options.recipe.estimator
            work["heads"] = [member.kind for member in whole.members]
            work["size"] = [training.bags.rows.shape[1], len(whole.base)]
        if self.trees:
            work["trees"] = {kind: head.n_trees for kind, head in self.trees.items()}
        return facts_of_prices(training.columns, self._shape, work)

    @property
    def trees(self) -> dict[str, TreeHead]:
        """The tree heads."""
        return self.whole.tree_heads

    def _measure(self) -> Costs:
        """Measure the times of columns and, on training rows, of trees."""
        whole = self.whole
        n_bags = len(self.training.bags.rows)
        logistic = whole.logistic is not None
        features = self._features

        def per_row(rows: NDArray) -> NDArray:
            check_values(None, rows)
            whole.scale_input(rows)
            odds = np.zeros(len(rows))
            if logistic:
                odds = combine(np.zeros((len(rows), n_bags)))
            # Classifiers of other libraries may read any column, so all their work counts here.
            for member in whole.members:
                if isinstance(member.head, ClassifierHead):
                    odds = odds + member.log_odds(features)
            return expit(whole.correction.apply(odds))

        def per_column(table: NDArray) -> NDArray:
            scaled = self.training.scaler.transform(table)
            if not logistic:
                return scaled
            return add_up(scaled, np.ones((scaled.shape[1], n_bags)), np.zeros(n_bags))

        trees = {
            member.kind: (
                partial(member.log_odds, features),
                member.head.trees.n_trees,
            )
            for member in whole.members
            if isinstance(member.head, TreeHead)
        }
        prices = measured_trees(trees)
        sample = whole.scale_input(self.rows)
        columns = self.training.columns
        costs = measured_costs(columns, sample, per_row, per_column, self._typical)
        return replace(costs, trees=prices)

    @property
    def _features(self) -> NDArray:
        """Training rows as heads read them."""
        return self.training.table[np.arange(CALL_ROWS) % len(self.training.table)]

    @property
    def _typical(self) -> NDArray:
        """Values of columns that take as long to scale as those of any rows."""
        scaler = self.training.scaler
        n_columns = len(self.training.columns.names)
        if isinstance(scaler, MinMax):
            return np.full((CALL_ROWS, n_columns), 0.5)
        quantiles = (scaler if isinstance(scaler, Rank) else scaler.ranked).quantiles
        # Equal values would be found too fast, because the processor predicts every branch.
        random = np.random.default_rng(0)
        places = random.integers(quantiles.shape[1] - 1, size=(CALL_ROWS, n_columns))
        columns = np.arange(n_columns)
        return 0.5 * (quantiles[columns, places] + quantiles[columns, places + 1])

    def read(self, costs: Any, unit: str, batch_size: int | None = None) -> Costs:
        """Return the costs that a spelling stands for; times are measured if necessary.

        What None means depends on the unit of a budget. The same spelling gives the same costs
        again, without another warning. Times have prices of calls if there is a ``batch_size``.
        """
        if needs_clock(costs, unit):
            if self.measured is None:
                self.measured = self.timed(fresh=False).measured
            assert self.measured is not None
            return self.measured if batch_size is None else self._complete(self.measured)
        if costs is None:
            costs = "complexity:additive"
        for before, prices in self._known:
            if type(before) is type(costs) and before == costs:
                return prices
        prices = self._read(costs)
        self._known = [(copy(costs), prices), *self._known][:MAX_LISTS]
        return prices

    def _complete(self, times: Costs) -> Costs:
        """Return times with prices of calls."""
        if self._with_calls is None:
            measure = partial(
                with_calls, times, self.whole, self.rows, self._typical, self._features
            )
            with plain_interrupts(), one_blas_thread():
                found = remembered_costs(self._facts, times.names, measure, rows=times)
            self._with_calls = found
        return self._with_calls

    def _read(self, costs: Any) -> Costs:
        columns = self.training.columns
        kinds = list(dict.fromkeys(map(kind_of_tree, self.trees)))
        if not isinstance(costs, str):
            return declared_costs(costs, columns, kinds)
        prices = complexity_costs(columns, *self._shape, kinds)
        return prices if costs.endswith(":shared") else prices.additive()

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.training.table), self.rows.shape[1]


def needs_clock(costs: Any, unit: str) -> bool:
    """Whether costs are times that are measured, for a budget in this unit."""
    if costs is None:
        return unit == SECONDS
    return isinstance(costs, str) and costs == SHARED


def budgets_over(
    costs: Costs, all_trees: float = 0.0, fewest_trees: float = 0.0
) -> list[float | str]:
    """Return 20 budgets from the cheapest column to everything, evenly spaced by their logarithms.

    ``all_trees`` is the price of all trees, ``fewest_trees`` that of the fewest possible trees.

    Examples
    --------
    >>> budgets_over(Costs({"a": 1.04e-6, "b": 2.96e-6}, unit="s"))[::19]
    ['1.04us', '4us']
    """
    total = costs.total() + all_trees
    # Everything is free.
    if total == 0.0:
        return [1.0]
    cheapest = max(costs.alone.min() + fewest_trees, total / 1e6)
    amounts = np.geomspace(cheapest, total, 20).clip(cheapest, total).tolist()
    rounded = dict.fromkeys(round_up(amount, costs.unit) for amount in amounts)
    return [write_budget(amount, costs.unit) for amount in rounded]
