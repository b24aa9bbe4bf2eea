"""Costs of sets of columns at prediction time.

The costs of scores depend on each other: all scores of a view share one neighbor search, and some
scores share the distances among neighbors. A column therefore has *own* work, and it *needs* shared
parts. A set of columns pays for every shared part once, namely the largest need of its columns:

    total(S) = base + sum of own(j) over S + sum over parts of the largest need(j, part) in S

Additive costs, as in the paper, are the special case in which no parts are shared.

Costs in seconds may also have prices of a call, in ``call``. The price of a call is the time of the
call beyond the prices of its rows. A row in a batch of b rows pays the price of a row and 1 / b of
the price of the call. In large batches, this share vanishes.

Costs by complexity are numbers of operations per row, which are the same on every machine. For a
view with n reference rows and d columns, and a score at k:

===============  ==========  ================================================================
work             operations  paid
===============  ==========  ================================================================
neighbor search  n d         once per view
reverse lists    n           once per view, by scores that read reverse neighbors
geometry         k k d / 2   once per view at the largest k, by scores that read geometry
own              k           per column, for every step of its definition (k k for geometry)
isolation        levels      sum over all trees, but at least the price of a raw column
===============  ==========  ================================================================

In the units of the paper, a raw column costs 1, and a search through the whole training table costs
10, which is the price of the paper's cheapest class of scores. A detector of another library costs
as much as one search. One tree of a tree head costs 1.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import inner
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import ScoredView
from boreod.scores.base import FittedScore
from boreod.scores.detectors import IsolationTrees
from boreod.text import close_names, shorten
from boreod.validation import is_number

Needs = Mapping[str, float]
# The unit of costs in time.
SECONDS = "s"
# Prices in the units of the paper: of a raw column, of a search through the training table, and of
# a tree.
RAW = 1.0
SEARCH = 10.0
TREE = 1.0
# The name under which the price of a tree is declared.
TREE_NAME = "tree"
# The largest price, so that sums of prices stay finite.
MAX_PRICE = 1e100
# Calls of this many rows or more all have the same price.
FEW_ROWS = 10


@dataclass(frozen=True)
class Costs:
    """Prices of columns, of sets of columns, and of the trees of tree heads.

    Parameters
    ----------
    own
        Price of the own work of each column: ``{"lof_10": 50.0}``.
    needs
        Prices of the shared parts that columns need:
        ``{"lof_10": {"search": 30.0}, "lof_20": {"search": 35.0}}``.
        Columns without shared parts may be left out.
    base
        Price that every prediction pays, whatever its columns.
    unit
        ``"s"`` if costs are seconds; empty otherwise.
    trees
        Price of one tree, for each kind of tree head: ``{"trees": 1.0, "boosted": 1.0}``.
    heads
        Price of a tree head in addition to its trees, by kind. Heads without a price are free.
    call
        Costs of the same columns, in seconds, that every call pays once. None if they are unknown.
    few
        Like ``call``, but for a call with ten rows. ``call`` is then for a call with one row.

    Examples
    --------
    >>> own = {"a": 1.0, "knn_5": 2.0, "lof_9": 3.0}
    >>> costs = Costs(own, {"knn_5": {"search": 10.0}, "lof_9": {"search": 12.0}})
    >>> costs.total(["knn_5"]), costs.total(["knn_5", "lof_9"]), costs.marginal("lof_9", ["knn_5"])
    (12.0, 17.0, 5.0)
    >>> costs.additive().total(["knn_5", "lof_9"])
    27.0
    >>> Costs(own, trees={"trees": 0.5}).cost_of_trees({"trees": 100, "trees+scores": 20})
    60.0
    >>> times = Costs({"a": 1e-6}, unit="s", call=Costs({"a": 2e-6}, base=3e-5, unit="s"))
    >>> times.total(["a"]), round(times.in_batches(10).total(["a"]), 9)
    (1e-06, 4.2e-06)
    """

    own: Mapping[str, float]
    needs: Mapping[str, Needs] = field(default_factory=dict)
    base: float = 0.0
    unit: str = ""
    trees: Mapping[str, float] = field(default_factory=dict)
    heads: Mapping[str, float] = field(default_factory=dict)
    call: "Costs | None" = None
    few: "Costs | None" = None

    def __post_init__(self) -> None:
        """Raise if a field is invalid."""
        check_mapping("own", self.own)
        check_mapping("needs", self.needs)
        if not self.own:
            raise ValueError("Costs need the price of at least one column; got none.")
        if self.unit not in ("", SECONDS):
            raise ValueError(f"The unit of costs must be '' or {SECONDS!r}; got {self.unit!r}.")
        for name, price in [("base", self.base), *self.own.items()]:
            check_price(name, price)
        for name in self.needs:
            if name not in self.own:
                raise ValueError(f"Costs have needs of {name!r}, but no own price of this column.")
        for name, prices in [("trees", self.trees), ("heads", self.heads), *self.needs.items()]:
            check_mapping(name, prices)
            for part, price in prices.items():
                check_price(f"{name}, {part}", price)
        if self.few is not None and self.call is None:
            raise ValueError("`few` of costs needs a `call`, the prices of calls with one row.")
        self._check_calls()

    def _check_calls(self) -> None:
        for name, call in [("call", self.call), ("few", self.few)]:
            if call is None:
                continue
            if not isinstance(call, Costs) or call.call is not None:
                raise TypeError(f"`{name}` must be Costs without a call; got {shorten(call)}.")
            if self.unit != SECONDS or call.unit != SECONDS:
                raise ValueError("Only costs in seconds (unit='s') have prices of a call.")
            if set(call.own) != set(self.own):
                raise ValueError(f"`{name}` of costs must price the same columns.")

    @property
    def names(self) -> list[str]:
        """Columns that have a price."""
        return list(self.own)

    def total(self, columns: Iterable[str] | None = None) -> float:
        """Return the cost of a set of columns; by default, of all columns."""
        return self.cost_of(self._find(self.own if columns is None else columns))

    def cost_of_trees(self, numbers: Mapping[str, int]) -> float:
        """Return the price of tree heads, given the total number of trees of each head."""
        prices = []
        for head, number in numbers.items():
            kind = kind_of_tree(head)
            prices += [self.trees[kind] * number, self.heads.get(kind, 0.0)]
        return fsum(prices)

    def marginal(self, column: str, given: Iterable[str]) -> float:
        """Return the cost that ``column`` adds to the cost of the columns ``given``."""
        before = self._find(given)
        return self.cost_of([*before, *self._find([column])]) - self.cost_of(before)

    def additive(self) -> "Costs":
        """Return the costs without sharing: every column pays for all its needs."""
        own = dict(zip(self.own, (self.alone - self.base).tolist(), strict=True))
        call = self.call and self.call.additive()
        return replace(self, own=own, needs={}, call=call, few=self.few and self.few.additive())

    def in_batches(self, size: int | None) -> "Costs":
        """Return the prices of rows in batches of this size; None means large batches."""
        if size is None:
            return self
        if self.call is None:
            raise ValueError(
                "`costs` have no prices of a call, so no `batch_size` can be priced. Leave it out, "
                "or pass prices of calls: Costs(..., unit='s', call=Costs(..., unit='s'))."
            )
        call = self.call
        # Beyond this size the share of the call is negligible, and the size may not fit a float.
        rows = min(int(size), 10**15)
        if self.few is not None:
            share = min(1.0, (rows - 1) / (FEW_ROWS - 1))
            call = call.joined(self.few, lambda one, few: one + share * (few - one))
        return self.joined(call, lambda row, whole_call: row + whole_call / rows)

    def of_rows(self) -> "Costs":
        """Return the prices of rows in large batches, without the prices of calls."""
        return self if self.call is None else replace(self, call=None, few=None)

    def joined(self, other: "Costs", join: Callable[[float, float], float]) -> "Costs":
        """Combine each price with the corresponding price of ``other``, for the same columns."""

        def both(mine: Mapping[str, float], theirs: Mapping[str, float]) -> dict[str, float]:
            names = dict.fromkeys((*mine, *theirs))
            return {name: join(mine.get(name, 0.0), theirs.get(name, 0.0)) for name in names}

        names = dict.fromkeys((*self.needs, *other.needs))
        return Costs(
            both(self.own, {name: other.own[name] for name in self.own}),
            {name: both(self.needs.get(name, {}), other.needs.get(name, {})) for name in names},
            join(self.base, other.base),
            self.unit,
            both(self.trees, other.trees),
            both(self.heads, other.heads),
        )

    def only(self, columns: Iterable[str]) -> "Costs":
        """Return the costs of some columns only, in the given order."""
        all_names = self.names
        names = [all_names[place] for place in self._find(columns)]
        own = {name: self.own[name] for name in names}
        needs = {name: self.needs[name] for name in names if name in self.needs}
        call = self.call and self.call.only(names)
        return replace(self, own=own, needs=needs, call=call, few=self.few and self.few.only(names))

    def cost_of(self, places: Iterable[int]) -> float:
        """Return the cost of a set of columns, given by their places in ``names``."""
        chosen = list(set(places))
        levels = self.arrays.needs[chosen].max(axis=0, initial=0.0)
        return fsum([self.base, *self.arrays.own[chosen].tolist(), *levels.tolist()])

    @cached_property
    def alone(self) -> NDArray:
        """The cost of each column if it is the only one."""
        rows = np.column_stack([self.arrays.own, self.arrays.needs]).tolist()
        return np.array([fsum([self.base, *row]) for row in rows])

    @cached_property
    def arrays(self) -> "Work":
        """The same costs as arrays, with columns in order."""
        parts = dict.fromkeys(part for needs in self.needs.values() for part in needs)
        numbers = {part: number for number, part in enumerate(parts)}
        needs = np.zeros((len(self.own), len(parts)))
        for row, name in enumerate(self.own):
            for part, amount in self.needs.get(name, {}).items():
                needs[row, numbers[part]] = amount
        return Work(np.array(list(self.own.values()), np.float64), needs)

    def _find(self, columns: Iterable[str]) -> list[int]:
        """Return the places of columns; raise for a column without a price."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(f"`columns` must be a list of column names; got {columns!r}.")
        places = {name: place for place, name in enumerate(self.own)}
        try:
            return [places[column] for column in columns]
        except KeyError as error:
            raise ValueError(
                f"There is no price for {error.args[0]!r}. Columns with a price are in `names`."
            ) from None


class Work(NamedTuple):
    """Costs as arrays: the own work of each column, and its needs with one column per part."""

    own: NDArray
    needs: NDArray


def kind_of_tree(head: str) -> str:
    """Return the kind of a head's trees, without the columns that they read."""
    return head.partition("+")[0]


def check_price(name: Any, price: Any) -> None:
    """Raise if a price is invalid."""
    if not is_number(price) or not 0.0 <= price <= MAX_PRICE:
        raise ValueError(
            f"Costs must be numbers from 0 to {MAX_PRICE:.0e}; got {shorten(price)} for {name!r}."
        )


def check_mapping(name: str, mapping: Any) -> None:
    """Raise unless the value is a mapping."""
    if not isinstance(mapping, Mapping):
        raise TypeError(f"`{name}` of costs must be a dict; got {shorten(mapping)}.")


def declared_costs(
    prices: Mapping[Any, Any] | Costs, fitted: FittedColumns, kinds: Iterable[str] = ()
) -> Costs:
    """Return the costs of the columns of a model; warn of columns without a price.

    ``prices`` are Costs, or a dict with the price of a column (``"lof_10"``) or of each column of a
    score (``"lof"``). The key ``"tree"`` sets the price of a tree, unless a column has this name.
    By default, a raw column and a tree cost 1. ``kinds`` are the kinds of the tree heads.
    """
    if isinstance(prices, Costs):
        trees = {kind: prices.trees.get(kind, TREE) for kind in kinds}
        if prices.unit == SECONDS and not set(trees) <= set(prices.trees):
            raise ValueError(
                f"`costs` are seconds and have no price for a tree of {', '.join(trees)}. Pass "
                f"one, as in Costs(..., trees={dict.fromkeys(trees, 5e-8)})."
            )
        costs = replace(prices, trees=trees)
    else:
        price = TREE
        if kinds and TREE_NAME in prices and TREE_NAME not in fitted.names:
            prices = dict(prices)
            price = prices.pop(TREE_NAME)
            check_price(TREE_NAME, price)
        costs = Costs(_spell_out(prices, fitted), trees=dict.fromkeys(kinds, float(price)))
    existing = set(fitted.names)
    for name in costs.names:
        if name not in existing:
            _refuse(name, fitted.names)
    unpriced = [name for name in fitted.names if name not in costs.own]
    if unpriced:
        shown = ", ".join(unpriced[:6]) + (" ..." if len(unpriced) > 6 else "")
        warnings.warn(
            f"`costs` has no price for {len(unpriced)} columns, so a budget cannot buy them: "
            f"{shown}. The name of a score, such as 'lof', prices all columns of the score.",
            UserWarning,
            stacklevel=7,
        )
    return costs.only([name for name in fitted.names if name in costs.own])


def _spell_out(prices: Mapping[Any, Any], fitted: FittedColumns) -> dict[str, float]:
    """Return the price of each column that has one."""
    families = fitted.families
    scores = dict.fromkeys(families.values())
    for name, price in prices.items():
        check_price(name, price)
        if name in scores and name in fitted.names and families.get(name) != name:
            raise ValueError(
                f"`costs` names {name!r}, which is a raw column and a score. Rename the raw "
                "column, or give the score another name: ('a name', score)."
            )
        if name not in scores and name not in fitted.names:
            _refuse(name, [*fitted.names, *scores])
    own = dict.fromkeys((name for name in fitted.names if name in fitted.raw), RAW)
    own |= {n: float(prices[f]) for n, f in families.items() if f in prices}
    own |= {name: float(prices[name]) for name in fitted.names if name in prices}
    if not own:
        raise ValueError("`costs` has no price for any column. Price at least one of `columns_`.")
    return own


def _refuse(name: Any, known: list[str]) -> None:
    close = close_names(name, known) or known[:3]
    raise ValueError(
        f"`costs` names {shorten(name)}, which is neither a column nor a score of this model. "
        f"Did you mean {', '.join(close)}? All columns are in `columns_`."
    )


def complexity_costs(
    fitted: FittedColumns, n_rows: int, n_columns: int, kinds: Iterable[str] = ()
) -> Costs:
    """Return costs by complexity, with shared parts, for a training table of the given size.

    ``kinds`` are the kinds of the tree heads.
    """
    unit = SEARCH / (n_rows * n_columns)
    own = dict.fromkeys(fitted.names, RAW)
    for detector in fitted.detectors:
        own[detector.label] = SEARCH
        if isinstance(detector, IsolationTrees):
            # A row takes at most one step per level of every tree.
            own[detector.label] = max(RAW, int(detector.trees.depths.sum()) * unit)
    needs: dict[str, Needs] = {}
    for view in fitted.views:
        for s in view.scores:
            for k, name in zip(s.ks, s.column_names(view.space.name), strict=True):
                own[name], needs[name] = _count_operations(view, s, k, unit)
    return Costs(own, needs, trees=dict.fromkeys(kinds, TREE))


def _count_operations(view: ScoredView, s: FittedScore, k: int, unit: float) -> tuple[float, Needs]:
    name = view.space.name
    n = len(view.graph.reference)
    d = len(view.space.columns)
    steps = len(s.definition.descriptions) + 1
    needs = {f"search@{name}": n * d * unit}
    if s.definition.reads == "reverse":
        needs[f"reverse@{name}"] = n * unit
    if s.definition.reads == "geometry":
        needs[f"geometry@{name}"] = k * k * d / 2 * unit
        return steps * k * k * unit, needs
    return steps * k * unit, needs


@inner
def marginal_cost(work: Work, levels: NDArray, column: int) -> float:
    """Return the cost that a column adds to a set that already pays ``levels`` for the parts."""
    result = work.own[column]
    for part in range(levels.shape[0]):
        result += max(0.0, work.needs[column, part] - levels[part])
    return result


@inner
def pay(work: Work, levels: NDArray, column: int) -> None:
    """Raise ``levels`` to the needs of one more column."""
    for part in range(levels.shape[0]):
        levels[part] = max(levels[part], work.needs[column, part])
