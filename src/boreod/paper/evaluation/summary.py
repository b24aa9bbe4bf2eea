"""From single runs to means, spreads, winners, and what is lost by taking one for another."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.paper.evaluation.splits import TEST_SHARE

Run = dict[str, Any]
DRAWS = 5000  # of the bootstrap
FEWEST_SETS = 5  # to conclude anything from an interval over sets
TABLE = "table"  # the name of an own table, where others have the name of a data set


@dataclass(frozen=True)
class Cell:
    """One measure of one method on one data set over repetitions."""

    mean: float
    sd: float
    count: int

    def __str__(self) -> str:
        """Write percent, with the spread where there is one."""
        spread = f" ±{100 * self.sd:.1f}" if self.count > 1 else ""
        return f"{100 * self.mean:.1f}{spread}"


class Summary:
    """Means over the repetitions of each method on each data set.

    Parameters
    ----------
    runs
        Results with the keys ``"dataset"``, ``"method"`` and one for each measure. Failed runs
        (``"error"``) are left out.

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
        """Return mean and standard deviation, or None if there is no run."""
        values = [run[measure] for run in self.runs(dataset, method)]
        if not values:
            return None
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return Cell(float(np.mean(values)), sd, len(values))

    def best(self, dataset: str, measure: str) -> set[str]:
        """Return the methods with the highest mean, several if they are equal to 0.01 %."""
        cells = {method: self.cell(dataset, method, measure) for method in self.methods}
        means = {method: round(cell.mean, 4) for method, cell in cells.items() if cell}
        top = max(means.values(), default=0.0)
        return {method for method, mean in means.items() if mean == top}

    def wins(self, method: str, measure: str) -> int:
        """Return on how many data sets a method is best, ties included."""
        return sum(method in self.best(dataset, measure) for dataset in self.datasets)

    def overall(self, method: str, measure: str) -> float | None:
        """Return the mean over data sets, or None if one of them has no run."""
        cells = [self.cell(dataset, method, measure) for dataset in self.datasets]
        if any(cell is None for cell in cells):
            return None
        return float(np.mean([cell.mean for cell in cells if cell]))

    def ranking(self, measure: str) -> list[str]:
        """Return the methods by their mean over data sets, the best first."""
        means = {method: self.overall(method, measure) for method in self.methods}
        known = {method: mean for method, mean in means.items() if mean is not None}
        return sorted(known, key=lambda method: -known[method])


@dataclass(frozen=True)
class Loss:
    """Mean of paired differences over splits; below zero for a gain.

    Attributes
    ----------
    mean
        How much lower a measure is.
    error
        Corrected standard error of the mean; infinite if there is one split only.
    count
        Number of splits on which both were judged.
    """

    mean: float
    error: float
    count: int

    @property
    def is_sure(self) -> bool:
        """Whether the mean is above its error."""
        return self.mean > self.error

    def __str__(self) -> str:
        """Write points of percent, with the error where there is one."""
        error = f" ±{100 * self.error:.2f}" if self.count > 1 else ""
        return f"{100 * self.mean:z.2f}{error}"


def find_losses(runs: list[Run], best: str, measure: str) -> dict[str, Loss]:
    """Return what every other method loses against one; those without a common split are absent.

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
            error = error_of_mean(differences)
            losses[name] = Loss(float(differences.mean()), error, len(differences))
    return losses


def error_of_mean(differences: NDArray) -> float:
    """Return the standard error of a mean over splits that share rows.

    The splits are not independent; the variance is raised as Nadeau and Bengio (Machine Learning
    52, 2003) propose.

    Examples
    --------
    >>> round(error_of_mean(np.array([1.0, 2.0, 3.0])), 3)
    1.0
    """
    if len(differences) < 2:
        return np.inf  # one split tells nothing about others
    factor = 1.0 / len(differences) + TEST_SHARE / (1.0 - TEST_SHARE)
    return float(np.sqrt(factor * np.var(differences, ddof=1)))


@dataclass(frozen=True)
class Gain:
    """Mean of paired differences over data sets, above zero if the first is better.

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
        """1 or -1 if the interval is above or below zero, else 0, as for fewer than five sets."""
        return 0 if self.count < FEWEST_SETS else int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        """Write the mean and, where there are several sets, the interval."""
        interval = f" [{self.low:+.3f}, {self.high:+.3f}]" if self.count > 1 else ""
        return f"{self.mean:+.3f}{interval}"


def find_gains(summary: Summary, first: str, measure: str) -> dict[str, Gain]:
    """Return what one method gains over every other on the sets that both have.

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
        drawn = np.random.default_rng(0).choice(differences, (DRAWS, len(differences)))
        low, high = np.quantile(drawn.mean(axis=1), (0.05, 0.95))
        gains[other] = Gain(float(differences.mean()), float(low), float(high), len(differences))
    return gains
