"""Price lists of a fitted representation: declared, by complexity, or measured.

=========================  ===========================================================
spelling                   costs
=========================  ===========================================================
``"measured:shared"``      seconds per row on this machine, shared work paid once
``"measured:additive"``    the same, every column pays all it needs
``"fresh"``                ``"measured:shared"``, measured again
``"complexity:shared"``    operations in the paper's units, shared work paid once
``"complexity:additive"``  the same, every column pays all it needs
``{"lof_10": 50, ...}``    as declared, additive; raw columns cost 1 unless told, and so does
                           ``"tree"``, one tree of a tree head
``Costs(...)``             anything else
=========================  ===========================================================

Measured prices are remembered, see :mod:`boreod.selection.measured`. Those of calls are measured
where somebody asks for a ``batch_size``.
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

SAME = "same"  # as many rows at once as the model has had so far
SHARED, FRESH = "measured:shared", "fresh"
MEASURED = (SHARED, "measured:additive", FRESH)
COMPLEXITY = ("complexity:shared", "complexity:additive")
SPELLINGS = (*MEASURED, *COMPLEXITY)
CURVE_POINTS = 20
MAX_LISTS = 4
ALONE = "a row alone"


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


def check_size(batch_size: Any, keep: bool = False) -> None:
    """Raise for what is no number of rows that come at once; some may keep the one that is."""
    if batch_size is None or (keep and isinstance(batch_size, str) and batch_size == SAME):
        return
    if not (is_number(batch_size, Integral) and batch_size >= 1):
        kept = f", or {SAME!r} to keep what the model has" if keep else ""
        raise ValueError(
            "`batch_size` (--batch) must be a number of rows, 1 or more, or None for large batches"
            f"{kept}; got {shorten(batch_size)}."
        )


def check_batches(batch_size: Any, budget: Any) -> None:
    """Raise for a number of rows that is none, or that no budget in time pays for."""
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
    whole: Fitted  # with all columns and heads
    rows: NDArray  # some, to measure with
    neighbors: Any = "auto"  # as it was asked for
    measured: Costs | None = None  # seconds per row, once they have been taken
    fresh: bool = False  # whether they were taken for this model
    _complete: Costs | None = field(default=None, repr=False)  # the same with prices of calls
    _known: list[tuple[Any, Costs]] = field(default_factory=list, repr=False)

    def timed(self, *, fresh: bool) -> "PriceLists":
        """Return the same with times of all columns on this machine.

        They are those of an earlier fit that did the same work, unless they are to be fresh.
        """
        names = self.training.columns.names
        with plain_interrupts(), one_blas_thread():
            times = remembered_costs(self._facts, names, self._measure, fresh=fresh)
        return replace(self, measured=times.of_rows(), fresh=fresh, _complete=None, _known=[])

    def time_alone(self, fitted: Fitted) -> float:
        """Return the seconds of a row that comes alone, timed with a model of these columns."""
        choice = [fitted.columns.names, [m.kind for m in fitted.members], fitted.tree_counts]

        def measure() -> Costs:
            return Costs({ALONE: time_whole(fitted, cut(self.rows, 1))}, unit=SECONDS)

        facts = self._facts | {ALONE: choice}
        with plain_interrupts(), one_blas_thread():
            return remembered_costs(facts, [ALONE], measure, fresh=self.fresh).total()

    @cached_property
    def _facts(self) -> Facts:
        """All that measured prices depend on."""
        training, whole = self.training, self.whole
        others = [m for m in whole.members if not isinstance(m.head, LogisticHead)]
        work: Facts = {
            "neighbors": self.neighbors,
            "bags": len(training.bags.rows),
            "aggregation": whole.aggregation,
            "scaling": type(training.scaler).__name__,
            "input_scaling": whole.input_scaler is not None,
        }
        if others:
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
        """Take the times of columns, and of trees on training rows."""
        training, whole, n_bags = self.training, self.whole, len(self.training.bags.rows)
        logistic = whole.logistic is not None
        others = [m for m in whole.members if isinstance(m.head, ClassifierHead)]
        features = self._features

        def per_row(rows: NDArray) -> NDArray:
            check_values(None, rows)
            whole.scale_input(rows)
            odds = np.zeros(len(rows))
            if logistic:
                odds = combine(np.zeros((len(rows), n_bags)), whole.aggregation)
            for member in others:  # they may read any column, so all their work is counted here
                odds = odds + member.log_odds(features, whole.aggregation)
            return expit(whole.correction.apply(odds))

        def per_column(table: NDArray) -> NDArray:
            scaled = training.scaler.transform(table)
            if not logistic:
                return scaled
            return add_up(scaled, np.ones((scaled.shape[1], n_bags)), np.zeros(n_bags))

        trees = self.trees
        sample = whole.scale_input(self.rows)
        work = training.columns, sample, per_row, per_column, self._typical
        prices = measured_trees(
            {
                m.kind: (
                    partial(m.log_odds, features, whole.aggregation),
                    trees[m.kind].trees.n_trees,
                )
                for m in whole.members
                if m.kind in trees
            }
        )
        return replace(measured_costs(*work), trees=prices)

    def _with_calls(self) -> Costs:
        """Return the times with those of calls."""
        rows = self.measured
        assert rows is not None
        if self._complete is None:
            how = rows, self.whole, self.rows, self._typical, self._features
            measure = partial(with_calls, *how)
            with plain_interrupts(), one_blas_thread():
                self._complete = remembered_costs(self._facts, rows.names, measure, rows=rows)
        return self._complete

    @property
    def _features(self) -> NDArray:
        """Training rows as heads read them."""
        return self.training.table[np.arange(CALL_ROWS) % len(self.training.table)]

    @property
    def _typical(self) -> NDArray:
        """Values of columns that take as long to scale as those of any rows."""
        scaler, n_columns = self.training.scaler, len(self.training.columns.names)
        if isinstance(scaler, MinMax):
            return np.full((CALL_ROWS, n_columns), 0.5)
        quantiles = (scaler if isinstance(scaler, Rank) else scaler.ranked).quantiles
        random = np.random.default_rng(0)  # equal values would be found without a wrong guess
        places = random.integers(quantiles.shape[1] - 1, size=(CALL_ROWS, n_columns))
        columns = np.arange(n_columns)
        return 0.5 * (quantiles[columns, places] + quantiles[columns, places + 1])

    def read(self, costs: Any, unit: str, batch_size: int | None = None) -> Costs:
        """Return the costs that a spelling stands for, by the clock if they are times.

        None depends on the unit of a budget. The same spelling gives the same costs again, without
        another warning. Times have prices of calls if there is a ``batch_size``.
        """
        if needs_clock(costs, unit) and self.measured is None:
            self.fresh = is_fresh(costs)
            self.measured = self.timed(fresh=self.fresh).measured
        if costs is None:
            costs = SHARED if unit == SECONDS else "complexity:additive"
        elif is_fresh(costs):
            costs = SHARED
        if isinstance(costs, str) and costs in MEASURED and batch_size is not None:
            prices = self._with_calls()
            return prices if costs.endswith(":shared") else prices.additive()
        for before, prices in self._known:
            if type(before) is type(costs) and before == costs:
                return prices
        prices = self._read(costs)
        self._known = [(copy(costs), prices), *self._known][:MAX_LISTS]
        return prices

    def _read(self, costs: Any) -> Costs:
        columns = self.training.columns
        kinds = list(dict.fromkeys(map(kind_of_tree, self.trees)))
        if not isinstance(costs, str):
            return declared_costs(costs, columns, kinds)
        if costs in COMPLEXITY:
            prices = complexity_costs(columns, *self._shape, kinds)
        else:
            assert self.measured is not None
            prices = self.measured
        return prices if costs.endswith(":shared") else prices.additive()

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.training.table), self.rows.shape[1]


def needs_clock(costs: Any, unit: str) -> bool:
    """Whether costs are times, so that a budget in this unit waits for them."""
    if costs is None:
        return unit == SECONDS
    return isinstance(costs, str) and costs in MEASURED


def is_fresh(costs: Any) -> bool:
    """Whether costs are to be measured, whatever is remembered."""
    return isinstance(costs, str) and costs == FRESH


def budgets_over(costs: Costs, of_trees: float = 0.0, of_fewest: float = 0.0) -> list[float | str]:
    """Return budgets from the cheapest column to everything, evenly spaced on a logarithmic scale.

    ``of_trees`` is what all trees cost, ``of_fewest`` what the fewest cost that there must be.

    Examples
    --------
    >>> budgets_over(Costs({"a": 1.04e-6, "b": 2.96e-6}, unit="s"))[::19]
    ['1.04us', '4us']
    """
    total = costs.total() + of_trees
    if total == 0.0:
        return [1.0]  # everything is free
    cheapest = max(costs.alone.min() + of_fewest, total / 1e6)
    amounts = np.geomspace(cheapest, total, CURVE_POINTS).clip(cheapest, total).tolist()
    rounded = dict.fromkeys(round_up(amount, costs.unit) for amount in amounts)
    return [write_budget(amount, costs.unit) for amount in rounded]
