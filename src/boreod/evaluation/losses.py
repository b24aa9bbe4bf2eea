"""What is lost by taking one thing instead of another, judged on the same splits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.evaluation.splits import TEST_SHARE
from boreod.evaluation.summary import Run, Summary
from boreod.evaluation.trials import TABLE


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

    Parameters
    ----------
    runs
        Results on an own table.
    best
        The method that the others are compared with.
    measure
        One of ``MEASURES``.

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
