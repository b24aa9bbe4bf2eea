"""What a set of columns costs at prediction time.

Scores are no independent purchases: all scores of a view share one neighbor search, some share the
distances among neighbors. A column therefore has work of its own and *needs* some depth of shared
parts, and a set pays for every part once, as deep as its most demanding column:

    total(S) = base + sum of own(j) over S + sum over parts of the largest need(j, part) in S

Costs that simply add up, as in the paper, are the special case without parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled
from boreod.text import shorten
from boreod.validation import is_number

Needs = Mapping[str, float]
SECONDS = "s"  # the unit of costs that are times
RAW = 1.0  # what a raw column costs in units, as in the paper
DEAREST = 1e100  # sums of prices stay finite


@dataclass(frozen=True)
class Costs:
    """Prices of columns, alone and together.

    Parameters
    ----------
    own
        Work of its own for every column: ``{"lof_10": 50.0}``.
    needs
        For columns with shared parts: ``{"lof_10": {"search": 30.0}, "lof_20": {"search": 35.0}}``.
    base
        What every prediction costs, whatever the columns.
    unit
        ``"s"`` if costs are seconds, otherwise empty.

    Examples
    --------
    >>> own = {"a": 1.0, "knn_5": 2.0, "lof_9": 3.0}
    >>> costs = Costs(own, {"knn_5": {"search": 10.0}, "lof_9": {"search": 12.0}})
    >>> costs.total(["knn_5"]), costs.total(["knn_5", "lof_9"]), costs.marginal("lof_9", ["knn_5"])
    (12.0, 17.0, 5.0)
    >>> costs.additive().total(["knn_5", "lof_9"])
    27.0
    """

    own: Mapping[str, float]
    needs: Mapping[str, Needs] = field(default_factory=dict)
    base: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no price."""
        check_mapping("own", self.own)
        check_mapping("needs", self.needs)
        if not self.own:
            raise ValueError("Costs need the price of at least one column; got none.")
        if self.unit not in ("", SECONDS):
            raise ValueError(f"The unit of costs must be '' or {SECONDS!r}; got {self.unit!r}.")
        check_price("base", self.base)
        for name, price in self.own.items():
            check_price(name, price)
        for name, needs in self.needs.items():
            if name not in self.own:
                raise ValueError(f"Costs have needs of {name!r}, but no price of its own for it.")
            check_mapping(name, needs)
            for part, amount in needs.items():
                check_price(f"{name}, {part}", amount)

    @property
    def names(self) -> list[str]:
        """Columns that have a price."""
        return list(self.own)

    def total(self, columns: Iterable[str] | None = None) -> float:
        """Return the cost of a set of columns, or of all."""
        return self.cost_of(self._find(self.own if columns is None else columns))

    def marginal(self, column: str, given: Iterable[str]) -> float:
        """Return what one more column adds to the cost of a set."""
        before = self._find(given)
        return self.cost_of([*before, *self._find([column])]) - self.cost_of(before)

    def additive(self) -> "Costs":
        """Return the costs of one who does not know about sharing: every column pays in full."""
        alone = (self.alone - self.base).tolist()
        return replace(self, own=dict(zip(self.own, alone, strict=True)), needs={})

    def only(self, columns: Iterable[str]) -> "Costs":
        """Return the costs of some columns, in their order."""
        names = self.names
        columns = [names[place] for place in self._find(columns)]
        needs = {name: self.needs[name] for name in columns if name in self.needs}
        return replace(self, own={name: self.own[name] for name in columns}, needs=needs)

    def cost_of(self, places: Iterable[int]) -> float:
        """Return the cost of columns given by their places in ``names``."""
        chosen = np.fromiter(set(places), np.int64)
        own, parts, needs, n_parts = self.arrays
        levels = np.zeros(n_parts)
        np.maximum.at(levels, parts[chosen].ravel(), needs[chosen].ravel())
        return fsum([self.base, *own[chosen].tolist(), *levels.tolist()])

    @cached_property
    def alone(self) -> NDArray:
        """Cost of every column on its own."""
        own, _, needs, _ = self.arrays
        return np.array([fsum([self.base, *row]) for row in np.column_stack([own, needs]).tolist()])

    @cached_property
    def arrays(self) -> tuple[NDArray, NDArray, NDArray, int]:
        """Own work, numbers of needed parts, needs, number of parts; columns in order."""
        labels = dict.fromkeys(part for needs in self.needs.values() for part in needs)
        numbers = {part: number for number, part in enumerate(labels)}
        most = max((len(needs) for needs in self.needs.values()), default=0)
        parts = np.zeros((len(self.own), most), np.int64)  # a need of 0.0 asks for nothing
        amounts = np.zeros((len(self.own), most))
        for row, name in enumerate(self.own):
            for place, (part, amount) in enumerate(self.needs.get(name, {}).items()):
                parts[row, place], amounts[row, place] = numbers[part], amount
        return np.array(list(self.own.values()), np.float64), parts, amounts, len(numbers)

    def _find(self, columns: Iterable[str]) -> list[int]:
        """Return the places of columns, or say that one has no price."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(f"`columns` must be a list of column names; got {columns!r}.")
        columns = list(columns)
        for column in columns:
            if column not in self._place:
                raise ValueError(
                    f"There is no price for {column!r}. Columns with a price are in `names`."
                )
        return [self._place[column] for column in columns]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.own)}


def check_price(name: Any, price: Any) -> None:
    """Raise for what is no price."""
    if not is_number(price) or not 0.0 <= price <= DEAREST:
        raise ValueError(
            f"Costs must be numbers from 0 to {DEAREST:.0e}; got {shorten(price)} for {name!r}."
        )


def check_mapping(name: str, mapping: Any) -> None:
    """Raise for what does not map names to something."""
    if not isinstance(mapping, Mapping):
        raise TypeError(f"`{name}` of costs must be a dict; got {shorten(mapping)}.")


@compiled
def marginal_cost(
    own: NDArray, parts: NDArray, needs: NDArray, levels: NDArray, column: int
) -> float:
    """Return what a column adds to a set that has paid for its parts up to ``levels``."""
    result = own[column]
    for place in range(parts.shape[1]):
        result += max(0.0, needs[column, place] - levels[parts[column, place]])
    return result


@compiled
def pay(parts: NDArray, needs: NDArray, levels: NDArray, column: int) -> None:
    """Raise the levels to what one more column needs."""
    for place in range(parts.shape[1]):
        part = parts[column, place]
        levels[part] = max(levels[part], needs[column, place])
