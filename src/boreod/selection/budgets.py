"""Budgets as users write them (``300`` units or ``"200us"`` per row), and budget curves."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.metrics import auc, average_precision
from boreod.selection.costs import SECONDS, Costs
from boreod.text import count_of, shorten
from boreod.validation import check_choice, is_number

# The number of each unit in one second. These numbers are exact, unlike their inverses.
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
# The value of a batch size that keeps the batch size of the model.
SAME = "same"
SHARED = "measured:shared"
SPELLINGS = (SHARED, "complexity:shared", "complexity:additive")
# The default loss of AUC that :meth:`BudgetCurve.cheapest` accepts; users would hardly notice it.
LOSS = 0.01
NO_CURVE = (
    "A budget curve needs out-of-bag scores of both classes. Here, one class has no labelled row, "
    "or all its labelled rows are in every bag. Label more rows, add bags, or lower `max_samples`; "
    "`within` works without such scores."
)


def read_budget(budget: Any) -> tuple[float, str]:
    """Return the amount of a budget, and its unit: seconds (``"s"``) or units of costs (``""``).

    Examples
    --------
    >>> read_budget("2 ms"), read_budget(300)
    ((0.002, 's'), (300.0, ''))
    """
    in_units = is_number(budget)
    amount = _to_float(budget) if in_units else _read_time(budget)
    if not 0.0 < amount < np.inf:
        raise ValueError(
            "`budget` must be a positive number of units, or a time per row in "
            f"{', '.join(UNITS)} such as '200us'; got {shorten(budget)}."
        )
    return amount, "" if in_units else SECONDS


def read_budgets(budgets: Any) -> list[Any]:
    """Return budgets as a list; raise unless all have the same unit."""
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
    """Return a cost as a user would write it; times have three digits.

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
    """Return words that name the batch size after a price; empty for large batches."""
    if size is None:
        return ""
    return " for a row alone" if size == 1 else f" in batches of {size}"


def show_times(in_batches: float, alone: float) -> str:
    """Return a phrase with the times of a row in large batches and of a row alone.

    Examples
    --------
    >>> show_times(in_batches=2e-5, alone=8.04e-5)
    '20us a row in large batches, about 80us for a row alone'
    """
    shown = show_cost(float(f"{alone:.2g}"), SECONDS)
    return f"{show_cost(in_batches, SECONDS)} a row in large batches, about {shown} for a row alone"


def write_budget(amount: float, unit: str) -> float | str:
    """Return a budget that :func:`read_budget` reads as exactly this amount."""
    if unit != SECONDS:
        return amount
    short = show_cost(amount, unit)
    return short if read_budget(short)[0] == amount else f"{amount!r}s"


def round_up(amount: float, unit: str) -> float:
    """Round an amount up to three digits, so that users can read it and type it.

    Examples
    --------
    >>> round_up(1.23401, ""), round_up(7.0, "")
    (1.24, 7.0)
    """
    step = 10.0 ** (floor(log10(amount)) - 2)
    for steps in range(floor(amount / step) - 1, floor(amount / step) + 3):
        rounded = float(f"{steps * step:.3g}")
        if unit == SECONDS:
            rounded = read_budget(show_cost(rounded, unit))[0]
        if rounded >= amount:
            return rounded
    return amount


def _read_time(budget: Any) -> float:
    pattern = r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([^0-9\s.]+)\s*"
    match = re.fullmatch(pattern, budget) if isinstance(budget, str) else None
    if match is None:
        return np.nan
    # Unicode has two characters for micro.
    unit = match[2].replace("\u00b5", "u").replace("\u03bc", "u")
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


def too_low(budget: float, what: str, least: float, unit: str, advice: str) -> ValueError:
    """Return the error for a budget below the lowest price of something."""
    shown = show_cost(round_up(least, unit), unit)
    return ValueError(f"`budget` is {show_cost(budget, unit)}, but {what} {shown}{advice}")


def budgets_over(
    costs: Costs, all_trees: float = 0.0, fewest_trees: float = 0.0
) -> list[float | str]:
    """Return up to 20 budgets, evenly spaced on a log scale.

    The lowest budget buys the cheapest column and the smallest possible number of trees, whose
    price is ``fewest_trees``. The highest buys all columns, and all trees for ``all_trees``.

    Examples
    --------
    >>> budgets_over(Costs({"a": 1.04e-6, "b": 2.96e-6}, unit="s"))[::19]
    ['1.04us', '4us']
    """
    total = costs.total() + all_trees
    # All columns and trees are free.
    if total == 0.0:
        return [1.0]
    cheapest = max(costs.alone.min() + fewest_trees, total / 1e6)
    amounts = np.geomspace(cheapest, total, 20).clip(cheapest, total).tolist()
    rounded = dict.fromkeys(round_up(amount, costs.unit) for amount in amounts)
    return [write_budget(amount, costs.unit) for amount in rounded]


def check_purchase(budget: Any, costs: Any, selection: Any, fill: Any) -> None:
    """Raise if a parameter of a selection is invalid or contradicts another parameter."""
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
    """Raise if a batch size is invalid; if ``keep`` is true, ``"same"`` is valid too."""
    if batch_size is None or (keep and isinstance(batch_size, str) and batch_size == SAME):
        return
    if not (is_number(batch_size, Integral) and batch_size >= 1):
        kept = f", or {SAME!r} to keep the model's value" if keep else ""
        raise ValueError(
            "`batch_size` (--batch) must be a number of rows, 1 or more, or None for large batches"
            f"{kept}; got {shorten(batch_size)}."
        )


def check_batches(batch_size: Any, budget: Any) -> None:
    """Raise if a batch size is invalid, or if it is given without a budget in time."""
    check_size(batch_size)
    if batch_size is None:
        return
    if budget is None:
        raise ValueError(
            f"`batch_size` (--batch) is {batch_size}, but there is no `budget` (--budget). Pass a "
            "time per row as budget, such as '500us', or leave `batch_size` out."
        )
    if read_budget(budget)[1] != SECONDS:
        raise ValueError(
            f"`batch_size` (--batch) is {batch_size}, but `budget` (--budget) is a number of "
            "units, which are the same in every batch. Pass a time per row as budget, such as "
            "'500us', or leave `batch_size` out."
        )


def check_units(unit: str, costs: Any) -> None:
    """Raise if a budget and the costs have different units."""
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


def needs_clock(costs: Any, unit: str) -> bool:
    """Return whether costs must be measured as times, given the unit of the budget."""
    if costs is None:
        return unit == SECONDS
    return isinstance(costs, str) and costs == SHARED


@dataclass(frozen=True)
class Selection:
    """The columns and trees that a budget bought.

    Attributes
    ----------
    columns
        The chosen columns, the most stable first.
    frequencies
        For each column that some bag bought, the share of bags that bought the column, in the order
        in which columns were considered. Empty if the choice did not use bags.
    cost
        Price of the chosen columns and trees.
    budget
        The budget that the user set.
    costs
        Prices of all columns, and of a tree.
    trees
        Number of trees per bag, by head.
    cost_of_trees
        Price of all trees.
    batch_size
        Number of rows per call; None means large batches.
    """

    columns: list[str]
    frequencies: Mapping[str, float]
    cost: float
    budget: float
    costs: Costs = field(repr=False)
    trees: Mapping[str, int] = field(default_factory=dict)
    cost_of_trees: float = 0.0
    batch_size: int | None = None

    def __str__(self) -> str:
        """Return a table of the chosen columns."""
        unit = self.costs.unit
        rows = [
            f"The budget of {show_cost(self.budget, unit)}{in_batches(self.batch_size)} bought "
            f"{count_of(len(self.columns), 'column')} at a total cost of "
            f"{show_cost(self.cost, unit)}. Percentages say how many bags bought a column."
        ]
        for name in self.columns:
            share = f"{self.frequencies[name]:6.0%}" if name in self.frequencies else "     -"
            rows.append(f"{share}  {name}")
        if self.trees:
            bought = ", ".join(f"{number} of {head!r}" for head, number in self.trees.items())
            rows.append(f"Trees of every bag cost {show_cost(self.cost_of_trees, unit)}: {bought}")
        return "\n".join(rows)


def price_columns(
    columns: list[str], frequencies: Mapping[str, float], costs: Costs, budget: float
) -> Selection:
    """Return a selection of columns without trees."""
    return Selection(columns, frequencies, costs.total(columns), budget, costs)


@dataclass(frozen=True)
class BudgetCurve:
    """Out-of-bag quality of the models that budgets buy, with one entry per budget.

    Attributes
    ----------
    budgets, costs
        Budgets in ascending order, and the total prices of the columns and trees that they buy.
    n_columns
        Numbers of chosen columns.
    auc, average_precision
        Quality of the out-of-bag probabilities of labelled rows.
    unit
        "s" if budgets are seconds per row; empty if they are numbers of units.
    n_trees, tree_costs
        Numbers of trees per bag, summed over all heads, and the total prices of trees; None if
        there are no tree heads.
    """

    budgets: NDArray
    costs: NDArray
    n_columns: NDArray
    auc: NDArray
    average_precision: NDArray
    unit: str = ""
    n_trees: NDArray | None = None
    tree_costs: NDArray | None = None

    def cheapest(self, loss: float = LOSS) -> float | str:
        """Return the lowest budget whose AUC is at most ``loss`` below the highest AUC.

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
        """Return the index of the budget that :meth:`cheapest` returns."""
        return int(np.flatnonzero(self.auc >= self.auc.max() - loss)[0])

    def __str__(self) -> str:
        """Return the curve as a table."""
        header = "" if self.n_trees is None else "  trees"
        rows = [f"    budget       cost  columns{header}    AUC     AP"]
        for place in range(len(self.budgets)):
            budget = show_cost(self.budgets[place], self.unit)
            cost = show_cost(self.costs[place], self.unit)
            quality = f"{self.auc[place]:.3f}  {self.average_precision[place]:.3f}"
            trees = "" if self.n_trees is None else f" {self.n_trees[place]:6}"
            rows.append(f"{budget:>10} {cost:>10} {self.n_columns[place]:8}{trees}  {quality}")
        return "\n".join(rows)


def trace_budgets(bought: Iterable[tuple[Selection, OutOfBag]]) -> BudgetCurve:
    """Return the budget curve of selections, each with the out-of-bag results of its model."""
    points = []
    for choice, oob in bought:
        y_true, y_score = oob.judged()
        if not 0 < y_true.sum() < len(y_true):
            raise ValueError(NO_CURVE)
        quality = float(auc(y_true, y_score)), average_precision(y_true, y_score)
        trees = (sum(choice.trees.values()), choice.cost_of_trees) if choice.costs.trees else ()
        points.append((choice.budget, choice.cost, len(choice.columns), *quality, *trees))
    series = list(map(np.array, zip(*sorted(points), strict=True)))
    attributes: list[Any] = [*series[:5], choice.costs.unit, *series[5:]]
    return BudgetCurve(*attributes)
