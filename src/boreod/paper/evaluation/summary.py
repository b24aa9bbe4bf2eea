"""Means, spreads and winners of single runs, and paired differences between methods."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.paper.evaluation.splits import TEST_SHARE
from boreod.tool.documents import Bold

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
        values = [run[measure] for run in self.runs(dataset, method) if measure in run]
        return Cell.of(values) if values else None

    def show(
        self, dataset: str, method: str, measure: str, write: Callable[[Cell], str] = str
    ) -> str:
        """Return a cell as text, or "-" if no run has the measure."""
        cell = self.cell(dataset, method, measure)
        if cell is None:
            return "-"
        return Bold(write(cell)) if method in self.best(dataset, measure) else write(cell)

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
        """Return the means on some data sets; leave out sets without the measure."""
        return [
            cell.mean
            for cell in [self.cell(dataset, method, measure) for dataset in datasets]
            if cell
        ]

    def overall(self, method: str, measure: str) -> float | None:
        """Return the mean over data sets, or None if the measure is missing on a set."""
        means = self.means(self.datasets, method, measure)
        return float(np.mean(means)) if len(means) == len(self.datasets) else None

    def ranking(self, measure: str) -> list[str]:
        """Return the methods in order of their mean over data sets, the best first."""
        means = {method: self.overall(method, measure) for method in self.methods}
        known = {method: mean for method, mean in means.items() if mean is not None}
        return sorted(known, key=lambda method: -known[method])


@dataclass(frozen=True)
class Loss:
    """The mean of paired differences between the best method and another method.

    Attributes
    ----------
    mean
        By how much the measure of the other method is lower; negative if it is higher.
    low, high
        Ends of the interval of the mean.
    count
        Number of splits or sets on which both methods were judged.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def is_sure(self) -> bool:
        """Whether the interval is above zero."""
        return self.low > 0

    @property
    def sign(self) -> int:
        """1 if the interval is above zero, -1 if it is below zero, and otherwise 0.

        The sign of fewer than five differences is 0, because their interval proves nothing.
        """
        if self.count < 5:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        """Return the mean, with its interval if there are several differences."""
        if self.count == 1:
            return f"{self.mean:+z.3f}"
        return f"{self.mean:+z.3f} [{self.low:+z.3f}, {self.high:+z.3f}]"


def find_losses(summary: Summary, best: str, measure: str, over_sets: bool) -> dict[str, Loss]:
    """Return the loss of every other method that shares a split or a set with ``best``.

    If ``over_sets``, differences are those of the means on sets, and the interval is the 90 %
    bootstrap interval. Otherwise differences are those on the splits of one table, and the interval
    is the mean plus and minus its corrected standard error.

    Examples
    --------
    >>> runs = [{"dataset": TABLE, "method": method, "repetition": number, "auc": value}
    ...         for method, values in {"bore": [0.9, 0.8], "be": [0.8, 0.75]}.items()
    ...         for number, value in enumerate(values)]
    >>> print(find_losses(Summary(runs), "bore", "auc", over_sets=False)["be"])
    +0.075 [+0.037, +0.113]
    """
    losses = {}
    known = _values(summary, best, measure, over_sets)
    for name in summary.methods:
        others = _values(summary, name, measure, over_sets)
        differences = np.array([known[which] - others[which] for which in known if which in others])
        if name == best or not len(differences):
            continue
        mean = float(differences.mean())
        if over_sets:
            drawn = np.random.default_rng(0).choice(differences, (5000, len(differences)))
            low, high = np.quantile(drawn.mean(axis=1), (0.05, 0.95)).tolist()
        else:
            error = error_of_mean(differences)
            low = mean - error
            high = mean + error
        losses[name] = Loss(mean, low, high, len(differences))
    return losses


def _values(summary: Summary, method: str, measure: str, over_sets: bool) -> dict[Any, float]:
    """Return the mean of each set that has the measure, or the value of each split."""
    if not over_sets:
        return {run["repetition"]: run[measure] for run in summary.runs(TABLE, method)}
    cells = {name: summary.cell(name, method, measure) for name in summary.datasets}
    return {name: cell.mean for name, cell in cells.items() if cell}


def error_of_mean(differences: NDArray) -> float:
    """Return the standard error of a mean over splits that share rows.

    Such splits are not independent, so the variance is corrected after Nadeau and Bengio (Machine
    Learning 52, 2003). A single split does not show how splits differ, so its error is infinite.

    Examples
    --------
    >>> round(error_of_mean(np.array([1.0, 2.0, 3.0])), 3)
    1.0
    """
    if len(differences) < 2:
        return np.inf
    factor = 1.0 / len(differences) + TEST_SHARE / (1.0 - TEST_SHARE)
    return float(np.sqrt(factor * np.var(differences, ddof=1)))
