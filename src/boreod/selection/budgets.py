"""Budgets as users write them, ``300`` units or ``"200us"`` per row, and the quality they buy."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.metrics import auc, average_precision
from boreod.selection.costs import SECONDS, Costs
from boreod.text import count_of, shorten
from boreod.validation import is_number

UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}  # in a second; exact, unlike their inverses
ALLOWED = f"a positive number of units, or a time per row in {', '.join(UNITS)} such as '200us'"

LOSS = 0.01  # of AUC, which a user would hardly notice

NO_CURVE = (
    "A budget curve needs labels of both classes with out-of-bag scores, and there are none, or "
    "all labelled outliers or inliers are in every bag. Label more rows, add bags, or lower "
    "`share`; `within` needs none."
)


def read_budget(budget: Any) -> tuple[float, str]:
    """Return amount and unit of a budget: seconds (``"s"``) or plain units (``""``).

    Examples
    --------
    >>> read_budget("2 ms"), read_budget(300)
    ((0.002, 's'), (300.0, ''))
    """
    in_units = is_number(budget)
    amount = _to_float(budget) if in_units else _read_time(budget)
    if not 0.0 < amount < np.inf:
        raise ValueError(f"`budget` must be {ALLOWED}; got {shorten(budget)}.")
    return amount, "" if in_units else SECONDS


def read_budgets(budgets: Any) -> list[Any]:
    """Return a list of budgets in one unit."""
    try:
        written = [] if isinstance(budgets, str) else list(budgets)
    except TypeError:
        written = []
    if not written:
        raise ValueError(
            f"`budgets` must be a list of at least one budget; got {shorten(budgets)}."
        )
    if len({read_budget(budget)[1] for budget in written}) > 1:
        raise ValueError(
            f"`budgets` must be all times or all numbers of units; got {shorten(budgets)}."
        )
    return written


def show_cost(amount: float, unit: str) -> str:
    """Return a cost as a user would write it, times with three digits.

    Examples
    --------
    >>> show_cost(0.00021, "s"), show_cost(0.0009999, "s"), show_cost(1234.5, "")
    ('210us', '1ms', '1234.5')
    """
    if unit != SECONDS:
        return f"{amount:.6g}"
    for name, size in UNITS.items():
        value = float(f"{amount * size:.3g}")
        if value < 1000.0:
            return f"{value:g}{name}"
    return f"{amount:.3g}s"


def in_batches(size: int | None) -> str:
    """Return what rows a price is for, to be written behind it; nothing for large batches."""
    if size is None:
        return ""
    return " for a row alone" if size == 1 else f" in batches of {size}"


def show_times(in_batches: float, alone: float) -> str:
    """Return what a row takes, where many come at once and where it comes alone.

    Examples
    --------
    >>> show_times(in_batches=2e-5, alone=8.04e-5)
    '20us a row in large batches, about 80us for a row alone'
    """
    shown = show_cost(float(f"{alone:.2g}"), SECONDS)
    return f"{show_cost(in_batches, SECONDS)} a row in large batches, about {shown} for a row alone"


def write_budget(amount: float, unit: str) -> float | str:
    """Return what :func:`read_budget` reads as this amount."""
    if unit != SECONDS:
        return amount
    short = show_cost(amount, unit)
    return short if read_budget(short)[0] == amount else f"{amount!r}s"


def round_up(amount: float, unit: str) -> float:
    """Return the next amount of three digits, which can be shown and typed in again.

    Examples
    --------
    >>> round_up(1.23401, ""), round_up(7.0, "")
    (1.24, 7.0)
    """
    step = 10.0 ** (floor(log10(amount)) - 2)
    for steps in range(floor(amount / step) - 1, floor(amount / step) + 3):
        rounded = float(f"{steps * step:.3g}")
        rounded = read_budget(show_cost(rounded, unit))[0] if unit == SECONDS else rounded
        if rounded >= amount:
            return rounded
    return amount


def _read_time(budget: Any) -> float:
    pattern = r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([^0-9\s.]+)\s*"
    match = re.fullmatch(pattern, budget) if isinstance(budget, str) else None
    if match is None:
        return np.nan
    unit = match[2].replace("\u00b5", "u").replace("\u03bc", "u")  # the two signs for micro
    if unit not in UNITS:
        raise ValueError(
            f"`budget` has the unit {match[2]!r}; units of time are {', '.join(UNITS)}, as in "
            f"'200us'. A plain number means units of declared costs. Got {shorten(budget)}."
        )
    return _to_float(match[1]) / UNITS[unit]


def _to_float(number: Any) -> float:
    try:
        return float(number)
    except (ValueError, OverflowError):
        return np.nan


@dataclass(frozen=True)
class Selection:
    """What a budget bought.

    ``frequencies`` is the share of bags that bought a column on their own, for all columns that
    some bag bought and in the order in which they were considered; empty where no bag was asked.
    """

    columns: list[str]  # those chosen, the most stable first
    frequencies: Mapping[str, float]
    cost: float  # of the chosen columns, and of the trees
    budget: float
    costs: Costs = field(repr=False)  # of all columns, and of a tree
    trees: Mapping[str, int] = field(default_factory=dict)  # of every bag, by head
    cost_of_trees: float = 0.0
    batch_size: int | None = None  # rows that come at once, None for large batches

    def __str__(self) -> str:
        """Return a table of the chosen columns."""
        spent, budget = (show_cost(amount, self.costs.unit) for amount in (self.cost, self.budget))
        rows = [
            f"{count_of(len(self.columns), 'column')} for {spent} of {budget}"
            f"{in_batches(self.batch_size)}; share of bags that want each"
        ]
        for name in self.columns:
            share = f"{self.frequencies[name]:6.0%}" if name in self.frequencies else "     -"
            rows.append(f"{share}  {name}")
        if self.trees:
            bought = ", ".join(f"{number} of {head!r}" for head, number in self.trees.items())
            cost = show_cost(self.cost_of_trees, self.costs.unit)
            rows.append(f"trees of every bag: {bought}, for {cost}")
        return "\n".join(rows)


@dataclass(frozen=True)
class BudgetCurve:
    """Out-of-bag quality of the models that budgets buy."""

    budgets: NDArray  # ascending
    costs: NDArray  # of the chosen columns, and of the trees
    n_columns: NDArray  # that were chosen
    auc: NDArray  # of out-of-bag probabilities of labelled rows
    average_precision: NDArray
    unit: str = ""  # "s" for seconds per row, empty for units of declared costs
    n_trees: NDArray | None = None  # of every bag, all heads together; None without tree heads
    tree_costs: NDArray | None = None  # what they cost

    def cheapest(self, loss: float = LOSS) -> float | str:
        """Return the lowest budget whose AUC is at most ``loss`` below the best on the curve.

        Examples
        --------
        >>> costs = np.array([1e-6, 5e-6, 7e-5])
        >>> quality = np.array([0.80, 0.95, 0.955])
        >>> BudgetCurve(costs, costs, np.array([1, 3, 9]), quality, quality, "s").cheapest()
        '5us'
        """
        if not is_number(loss) or not loss >= 0.0:
            raise ValueError(f"`loss` must be a number of at least 0; got {loss!r}.")
        return write_budget(float(self.budgets[self.first_good(loss)]), self.unit)

    def first_good(self, loss: float = LOSS) -> int:
        """Return the place of the lowest budget that is good enough, see :meth:`cheapest`."""
        return int(np.flatnonzero(self.auc >= self.auc.max() - loss)[0])

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib, on new axes unless some are given, and return them."""
        from boreod.tool.drawing import BudgetDisplay

        marked, mark = self.costs[self.first_good()], f"AUC within {LOSS} of the best"
        return BudgetDisplay.from_budget_curve(self, marked, mark, ax=ax).ax_

    def __str__(self) -> str:
        """Return the curve as a table."""
        with_trees = self.n_trees is not None
        rows = [f"    budget       cost  columns{'  trees' if with_trees else ''}    AUC     AP"]
        for place in range(len(self.budgets)):
            budget, cost = (show_cost(a[place], self.unit) for a in (self.budgets, self.costs))
            quality = f"{self.auc[place]:.3f}  {self.average_precision[place]:.3f}"
            trees = "" if self.n_trees is None else f" {self.n_trees[place]:6}"
            rows.append(f"{budget:>10} {cost:>10} {self.n_columns[place]:8}{trees}  {quality}")
        return "\n".join(rows)


def trace_budgets(bought: Iterable[tuple[Selection, OutOfBag]]) -> BudgetCurve:
    """Return the curve of some choices, by the out-of-bag probabilities of their models."""
    points, unit, with_trees = [], "", False
    for choice, oob in bought:
        y_true, y_score = oob.judged()
        if not 0 < y_true.sum() < len(y_true):
            raise ValueError(NO_CURVE)
        quality = (float(auc(y_true, y_score)), average_precision(y_true, y_score))
        trees = sum(choice.trees.values()), choice.cost_of_trees
        points.append((choice.budget, choice.cost, len(choice.columns), *quality, *trees))
        unit, with_trees = choice.costs.unit, bool(choice.costs.trees)
    budgets, costs, counts, areas, precisions, n_trees, tree_costs = map(
        np.array, zip(*sorted(points), strict=True)
    )
    of_trees = (n_trees, tree_costs) if with_trees else (None, None)
    return BudgetCurve(budgets, costs, counts, areas, precisions, unit, *of_trees)
