"""Explanations: the contributions of columns to a row's log-odds.

The bags' log-odds s_b are linear in the columns; the log-odds of their mean probability are not.
But a difference of logarithms is a difference divided by the logarithmic mean L, so between a base
row (the mean inlier of the bags) and a row, with p the mean of p_b over B bags,

    log-odds(p') - log-odds(p) = sum over bags of w_b (s_b' - s_b),
    w_b = (p_b' - p_b) / (s_b' - s_b) (1 / L(p, p') + 1 / L(1 - p, 1 - p')) / B

which is exact. A column's contribution is its share of the right-hand side. For one bag, and for
the mean of log-odds, it is coefficient times value minus base. The decomposition is the one
of Ang: The LMDI approach to decomposition analysis. Energy Policy 33(7), 2005.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.heads import LogisticHead, log_mean, log_sigmoid


@dataclass(frozen=True)
class Explanation:
    """Contributions of columns to the log-odds of rows."""

    # Names of columns, or of groups of columns.
    columns: list[str]
    # Each row adds up to ``log_odds - base``.
    contributions: NDArray = field(repr=False)
    # Log-odds of the base row.
    base: float
    # Log-odds as ``decision_function`` returns them.
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
        alone = {name for name in self.columns if name not in families}
        labels = {f: f"{f} scores" if f in alone else f for f in families.values()}
        groups = [labels[families[n]] if n in families else n for n in self.columns]
        names = list(dict.fromkeys(groups))
        sums = np.zeros((len(self.contributions), len(names)))
        for place, group in enumerate(groups):
            sums[:, names.index(group)] += self.contributions[:, place]
        return Explanation(names, sums, self.base, self.log_odds)


def contribute(
    table: NDArray, base: NDArray, head: LogisticHead, aggregation: str, total: NDArray
) -> NDArray:
    """Return contributions that add up to ``total`` for every row."""
    steps = table - base
    coefficients = head.coefficients
    if aggregation == "log-odds":
        weights = np.full((len(table), len(coefficients)), 1.0 / len(coefficients))
    else:
        weights = weigh_bags(base @ coefficients.T + head.intercepts, steps @ coefficients.T)
    result = steps * (weights @ coefficients)
    # Rounding errors are shared in proportion.
    missing = total - result.sum(axis=1)
    size = np.abs(result).sum(axis=1)
    share = np.divide(missing, size, out=np.zeros_like(missing), where=size > 0)
    return result + np.abs(result) * share[:, np.newaxis]


def weigh_bags(start: NDArray, way: NDArray) -> NDArray:
    """Return the weight of each bag's change in log-odds; all in logarithms, against underflow."""
    low = np.minimum(start, start + way)
    high = np.maximum(start, start + way)
    # This is the logarithm of (sigma(high) - sigma(low)) / (high - low).
    slope = log_sigmoid(high) + log_sigmoid(-low) + _log_of_shrinking(np.abs(way))
    weights = np.zeros_like(slope)
    for side in (1.0, -1.0):
        first = log_mean(log_sigmoid(side * start[np.newaxis]))
        second = log_mean(log_sigmoid(side * (start + way)))
        # This is the logarithm of the logarithmic mean (b - a) / (log b - log a).
        middle = np.maximum(first, second) + _log_of_shrinking(np.abs(first - second))
        weights += np.exp(slope - middle[:, np.newaxis])
    return weights / way.shape[1]


def _log_of_shrinking(size: NDArray) -> NDArray:
    """Return log((1 - exp(-x)) / x), 0 at x = 0."""
    safe = np.where(size > 0, size, 1.0)
    return np.where(size > 0, np.log(-np.expm1(-safe) / safe), 0.0)
