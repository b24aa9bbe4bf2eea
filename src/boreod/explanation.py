"""Explanations: what every column added to a row's log-odds.

The bags' log-odds are linear in the columns; the log-odds of their mean probability are not, but
they have a gradient everywhere. Contributions are that gradient integrated on the straight way
from a base row (the mean of the labelled inliers) to the row itself, after Aumann and Shapley. They
add up to the difference in log-odds between the two, and for one bag, or for the mean of log-odds,
they are the plain products of coefficient and value.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

NODES = 24  # of the quadrature; more change nothing in the tenth digit


@dataclass(frozen=True)
class Explanation:
    """Contributions of columns to the log-odds of rows.

    Attributes
    ----------
    columns
        Names of the columns or groups.
    contributions
        (rows, columns); each row adds up to ``log_odds - base``.
    base
        Log-odds of the base row.
    log_odds
        Log-odds of the rows, as ``decision_function`` returns them.
    """

    columns: list[str]
    contributions: NDArray = field(repr=False)
    base: float
    log_odds: NDArray = field(repr=False)

    def top(self, number: int = 5) -> list[list[tuple[str, float]]]:
        """Return the columns that moved each row most, with their contributions."""
        order = np.argsort(-np.abs(self.contributions), axis=1, kind="stable")[:, :number]
        return [
            [(self.columns[place], float(row[place])) for place in places]
            for row, places in zip(self.contributions, order, strict=True)
        ]

    def grouped(self, families: dict[str, str]) -> "Explanation":
        """Return sums over groups of columns; a column without a family stays alone."""
        groups = [families.get(name, name) for name in self.columns]
        names = list(dict.fromkeys(groups))
        sums = np.zeros((len(self.contributions), len(names)))
        for place, group in enumerate(groups):
            sums[:, names.index(group)] += self.contributions[:, place]
        return Explanation(names, sums, self.base, self.log_odds)

    def to_frame(self) -> Any:
        """Return a pandas frame of the contributions."""
        import pandas as pd

        return pd.DataFrame(self.contributions, columns=self.columns)


def contribute(
    table: NDArray,
    base: NDArray,
    coefficients: NDArray,
    intercepts: NDArray,
    aggregation: str,
    total: NDArray,
) -> NDArray:
    """Return contributions that add up to ``total`` for every row."""
    steps = table - base
    if aggregation == "log-odds":
        weights = np.full((len(table), len(intercepts)), 1.0 / len(intercepts))
    else:
        weights = _integrated_weights(base @ coefficients.T + intercepts, steps @ coefficients.T)
    result = steps * (weights @ coefficients)
    missing = total - result.sum(axis=1)  # what the quadrature left over, of the size of rounding
    size = np.abs(result).sum(axis=1)
    share = np.divide(missing, size, out=np.zeros_like(missing), where=size > 0)
    return result + np.abs(result) * share[:, np.newaxis]


def _integrated_weights(start: NDArray, way: NDArray) -> NDArray:
    """Integrate the derivative of the log-odds of a mean probability by each bag's log-odds."""
    nodes, lengths = np.polynomial.legendre.leggauss(NODES)
    weights = np.zeros_like(way)
    for node, length in zip((nodes + 1) / 2, lengths / 2, strict=True):
        log_odds = start + node * way
        logs = -np.logaddexp(0.0, -log_odds) - np.logaddexp(0.0, log_odds)  # log of p (1 - p)
        inside = _log_mean(-np.logaddexp(0.0, -log_odds)) + _log_mean(-np.logaddexp(0.0, log_odds))
        weights += length * np.exp(logs - inside[:, np.newaxis]) / log_odds.shape[1]
    return weights


def _log_mean(logs: NDArray) -> NDArray:
    highest = logs.max(axis=1)
    return highest + np.log(np.exp(logs - highest[:, np.newaxis]).mean(axis=1))
