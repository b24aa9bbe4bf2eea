"""Means, spreads and winners of single runs, and paired differences between methods."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.paper.evaluation.splits import TEST_SHARE
from boreod.tool.documents import Table

Run = dict[str, Any]
# The name of a user's own table, in place of the name of a data set.
TABLE = "table"


@dataclass(frozen=True)
class Cell:
    """One measure of one method on one data set over repetitions."""

    mean: float
    sd: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float] | NDArray) -> "Cell":
        """Return mean and standard deviation of values."""
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), sd, len(values))

    def __str__(self) -> str:
        """Return the mean in percent, with the standard deviation if there are several runs."""
        if self.count == 1:
            return f"{100 * self.mean:.1f}"
        return f"{100 * self.mean:.1f} ±{100 * self.sd:.1f}"


class Best(str):
    """A cell that :func:`make_table` makes bold."""

    __slots__ = ()


def make_table(header: list[str], rows: list[list[str]], caption: str = "") -> Table:
    """Return a table in which the best cells are bold."""
    bold = {
        (number, place)
        for number, row in enumerate(rows)
        for place, cell in enumerate(row)
        if isinstance(cell, Best)
    }
    return Table(header, rows, frozenset(bold), caption)


class Summary:
    """Means over the repetitions of each method on each data set.

    Parameters
    ----------
    runs
        Results with the keys ``"dataset"``, ``"method"`` and one for each measure. Failed runs,
        which have the key ``"error"``, are left out.

    Examples
    --------
    >>> runs = [{"dataset": "wine", "method": m, "auc": v} for m, v in
    ...         [("bore", 0.9), ("bore", 1.0), ("be", 0.8)]]
    >>> summary = Summary(runs)
    >>> str(summary.cell("wine", "bore", "auc")), summary.best("wine", "auc")
    ('95.0 ±7.1', {'bore'})
    """

    def __init__(self, runs: list[Run]) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in runs:
            if "error" not in run:
                self._runs[run["dataset"], run["method"]].append(run)
        self.datasets = list(dict.fromkeys(run["dataset"] for run in runs))
        self.methods = list(dict.fromkeys(run["method"] for run in runs))

    def runs(self, dataset: str, method: str) -> list[Run]:
        """Return the finished runs of a method on a data set."""
        return self._runs[dataset, method]

    def cell(self, dataset: str, method: str, measure: str) -> Cell | None:
        """Return mean and standard deviation, or None if no run has the measure."""
        runs = self.runs(dataset, method)
        values = [run[measure] for run in runs if measure in run]
        return Cell.of(values) if values else None

    def show(
        self, dataset: str, method: str, measure: str, write: Callable[[Cell], str] = str
    ) -> str:
        """Return a cell as text, or "-" if no run has the measure."""
        cell = self.cell(dataset, method, measure)
        if cell is None:
            return "-"
        return Best(write(cell)) if method in self.best(dataset, measure) else write(cell)

    def best(self, dataset: str, measure: str) -> set[str]:
        """Return the methods with the highest mean; means within 0.01 % are equal."""
        cells = {method: self.cell(dataset, method, measure) for method in self.methods}
        means = {method: round(cell.mean, 4) for method, cell in cells.items() if cell}
        top = max(means.values(), default=0.0)
        return {method for method, mean in means.items() if mean == top}

    def wins(self, method: str, measure: str) -> int:
        """Return the number of data sets on which a method is best, including ties."""
        return sum(method in self.best(dataset, measure) for dataset in self.datasets)

    def means(self, datasets: list[str], method: str, measure: str) -> list[float]:
        """Return the means on some data sets; leave out those without the measure."""
        cells = [self.cell(dataset, method, measure) for dataset in datasets]
        return [cell.mean for cell in cells if cell]

    def overall(self, method: str, measure: str) -> float | None:
        """Return the mean over data sets, or None if one of them has no run."""
        means = self.means(self.datasets, method, measure)
        return float(np.mean(means)) if len(means) == len(self.datasets) else None

    def ranking(self, measure: str) -> list[str]:
        """Return the methods by their mean over data sets, the best first."""
        means = {method: self.overall(method, measure) for method in self.methods}
        known = {method: mean for method, mean in means.items() if mean is not None}
        return sorted(known, key=lambda method: -known[method])


@dataclass(frozen=True)
class Loss:
    """Mean of paired differences over splits; a gain is negative.

    Attributes
    ----------
    mean
        How much lower a measure is.
    error
        Corrected standard error of the mean; infinite for a single split.
    count
        Number of splits on which both methods were judged.
    """

    mean: float
    error: float
    count: int

    @property
    def is_sure(self) -> bool:
        """Whether the mean is larger than its error."""
        return self.mean > self.error

    def __str__(self) -> str:
        """Return the mean in percentage points, with its error if there are several splits."""
        if self.count == 1:
            return f"{100 * self.mean:z.2f}"
        return f"{100 * self.mean:z.2f} ±{100 * self.error:.2f}"


def find_losses(runs: list[Run], best: str, measure: str) -> dict[str, Loss]:
    """Return the loss of every other method against ``best``, if they share a split.

    Examples
    --------
    >>> runs = [{"dataset": "table", "method": method, "repetition": number, "auc": value}
    ...         for method, values in {"bore": [0.9, 0.8], "be": [0.8, 0.75]}.items()
    ...         for number, value in enumerate(values)]
    >>> print(find_losses(runs, "bore", "auc")["be"])
    7.50 ±3.82
    """
    summary = Summary(runs)
    values = {
        name: {run["repetition"]: run[measure] for run in summary.runs(TABLE, name)}
        for name in summary.methods
    }
    known = values.pop(best, {})
    losses = {}
    for name, others in values.items():
        differences = np.array([known[which] - others[which] for which in known if which in others])
        if len(differences):
            mean = float(differences.mean())
            losses[name] = Loss(mean, error_of_mean(differences), len(differences))
    return losses


def error_of_mean(differences: NDArray) -> float:
    """Return the standard error of a mean over splits that share rows.

    Such splits are not independent, so the variance is corrected after Nadeau and Bengio (Machine
    Learning 52, 2003). A single split says nothing about others: its error is infinite.

    Examples
    --------
    >>> round(error_of_mean(np.array([1.0, 2.0, 3.0])), 3)
    1.0
    """
    if len(differences) < 2:
        return np.inf
    factor = 1.0 / len(differences) + TEST_SHARE / (1.0 - TEST_SHARE)
    return float(np.sqrt(factor * np.var(differences, ddof=1)))


@dataclass(frozen=True)
class Gain:
    """Mean of paired differences over data sets; positive if the first method is better.

    Attributes
    ----------
    mean
        How much higher a measure is.
    low, high
        Ends of the 90 % bootstrap interval over sets.
    count
        Number of sets.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def sign(self) -> int:
        """1 or -1 if the interval is above or below zero, else 0.

        It is 0 for fewer than five sets, too: their interval proves nothing.
        """
        if self.count < 5:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        """Return the mean, with its interval if there are several sets."""
        if self.count == 1:
            return f"{self.mean:+.3f}"
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def find_gains(summary: Summary, first: str, measure: str) -> dict[str, Gain]:
    """Return the gain of ``first`` over every other method, on the sets that both have.

    Examples
    --------
    >>> runs = [{"dataset": name, "method": method, "auc": value}
    ...         for method, values in {"bore": [0.9, 0.8], "be": [0.8, 0.75]}.items()
    ...         for name, value in zip(["wine", "pima"], values)]
    >>> print(find_gains(Summary(runs), "bore", "auc")["be"])
    +0.075 [+0.050, +0.100]
    """
    gains = {}
    for other in summary.methods:
        pairs = [
            (summary.cell(name, first, measure), summary.cell(name, other, measure))
            for name in summary.datasets
        ]
        differences = np.array([a.mean - b.mean for a, b in pairs if a and b])
        if other == first or not len(differences):
            continue
        drawn = np.random.default_rng(0).choice(differences, (5000, len(differences)))
        low, high = np.quantile(drawn.mean(axis=1), (0.05, 0.95))
        gains[other] = Gain(float(differences.mean()), float(low), float(high), len(differences))
    return gains
