"""Heads: models that are fitted to every bag, and how the log-odds of the bags become one.

The logistic head is the paper's; any classifier with probabilities can take its place. A head
returns log-odds, one column per bag.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import ZERO, compiled, inner, unset
from boreod.ensemble.bags import Bags
from boreod.ensemble.logistic import Solution, add_up, add_up_row, fit_standardized
from boreod.parallel import Engine, one_blas_thread
from boreod.scores.foreign import fresh_copy
from boreod.validation import INLIER, OUTLIER

PENALTY = 1e-6
PENALTIES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
# Smaller sums of probabilities are computed as logarithms.
ALMOST_ZERO = 1e-290
# An empty mask means that every bag is used.
EVERY_BAG = np.empty((0, 0), bool)
# Probabilities of trees can be exactly 0 or 1, but log-odds must be finite.
MIN_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False)
class LogisticHead:
    """One logistic regression per bag.

    ``coefficients`` are those of scaled columns, (bags, columns); ``gradients`` are the largest
    components of the gradient that were left in each bag.
    """

    coefficients: NDArray
    intercepts: NDArray
    gradients: NDArray
    penalty: float

    @classmethod
    def fit(cls, table: NDArray, bags: Bags, penalty: float, engine: Engine) -> "LogisticHead":
        """Solve all bags."""
        targets = bags.targets
        weights = bags.weights

        def solve(rows: NDArray) -> Solution:
            return fit_standardized(table[rows], targets, penalty, weights)

        with one_blas_thread():
            solutions = engine.map(solve, list(bags.rows), "bags")
        beta = np.array([solution.coefficients for solution in solutions])
        gradients = np.array([solution.gradient for solution in solutions])
        unfinished = sum(not solution.converged for solution in solutions)
        if unfinished:
            warnings.warn(
                f"{unfinished} of {len(solutions)} bags did not converge (largest gradient "
                f"{gradients.max():.1e}). Raise `penalty`.",
                UserWarning,
                stacklevel=7,
            )
        return cls(beta[:, 1:].copy(), beta[:, 0].copy(), gradients, penalty)

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        return add_up(np.ascontiguousarray(table), self._by_column, self.intercepts)

    def combined(self, table: NDArray, aggregation: str, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row, as :func:`combine` does."""
        if aggregation != "mean" or use is not None:
            return combine(self.log_odds(table), aggregation, use)
        rows = np.ascontiguousarray(table)
        return _combined(rows, self._by_column, self.intercepts, EVERY_BAG)

    def first(self, n_bags: int) -> "LogisticHead":
        """Return the head with the first bags only."""
        return LogisticHead(
            self.coefficients[:n_bags],
            self.intercepts[:n_bags],
            self.gradients[:n_bags],
            self.penalty,
        )

    @cached_property
    def _by_column(self) -> NDArray:
        return np.ascontiguousarray(self.coefficients.T)


@dataclass(frozen=True, eq=False)
class ClassifierHead:
    """Any classifier with ``predict_proba``, a copy for each bag."""

    models: list[Any]

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, estimator: Any, seed: int, engine: Engine
    ) -> "ClassifierHead":
        """Fit a copy to every bag."""
        seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(bags.rows)).tolist()
        targets = bags.targets.astype(np.int64)
        weights = bags.weights
        options = {} if (weights == 1.0).all() else _weighted(estimator, weights)

        def fit(number: int) -> Any:
            model = fresh_copy(estimator, seeds[number])
            return model.fit(table[bags.rows[number]], targets, **options)

        return cls(engine.map(fit, list(range(len(bags.rows))), "bags"))

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        # Trees compute in float32, so values must stay within its range.
        table = np.clip(table, -1e30, 1e30)
        found = np.column_stack([model.predict_proba(table)[:, 1] for model in self.models])
        if np.isnan(found).any():
            raise ValueError(
                f"The classifier {self.models[0]!r} returned NaN as a probability. "
                "Use one that copes with small bags, or raise `max_samples`."
            )
        probabilities = np.clip(found.astype(np.float64), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
        return np.log(probabilities) - np.log1p(-probabilities)


def _weighted(estimator: Any, weights: NDArray) -> dict[str, NDArray]:
    """Return options of ``fit`` with the rows' weights; refuse a classifier that takes none."""
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"Bags with more inliers than outliers need weights of rows, and {estimator!r} takes "
            "no sample_weight. Fit with `ratio=None`, for balanced bags, or use another classifier."
        )
    return {"sample_weight": weights}


def combine(log_odds: NDArray, aggregation: str, use: NDArray | None = None) -> NDArray:
    """Return one log-odds per row: those of the mean probability over bags, or their mean.

    ``use`` (rows, bags) says which bags count for a row; rows without a bag get NaN.
    """
    if aggregation == "mean":
        mask = EVERY_BAG if use is None else np.ascontiguousarray(use)
        return _odds_of_means(np.ascontiguousarray(log_odds), mask)
    if use is None:
        return mean_of_bags(log_odds)
    without = ~use.any(axis=1)
    mean = mean_of_bags(log_odds, use | without.reshape(-1, 1) if without.any() else use)
    return np.where(without, np.nan, mean)


@compiled
def _odds_of_means(log_odds: NDArray, use: NDArray) -> NDArray:
    """Return the log-odds of the mean probability of every row."""
    result = unset(log_odds.shape[0])
    for row in range(log_odds.shape[0]):
        result[row] = _odds_of_mean(log_odds, use, row)
    return result


@compiled
def _combined(table: NDArray, weights: NDArray, intercepts: NDArray, every: NDArray) -> NDArray:
    """Return the same for logistic regressions, without keeping the log-odds of all rows."""
    result = unset(table.shape[0])
    log_odds = unset((1, intercepts.shape[0]))
    for row in range(table.shape[0]):
        add_up_row(table, row, weights, intercepts, log_odds[0])
        result[row] = _odds_of_mean(log_odds, every, ZERO)
    return result


@inner
def _odds_of_mean(log_odds: NDArray, use: NDArray, row: int) -> float:
    """Return the log-odds of the mean probability of one row.

    With p and q the sums of the probabilities of both classes, log(p / q) = log(1 + (p - q) / q).
    The difference is added up by itself, so it is right to 1e-16 where both sums are nearly equal.
    """
    outlier = 0.0
    inlier = 0.0
    difference = 0.0
    count = 0
    for bag in range(log_odds.shape[1]):
        if use.shape[0] == 0 or use[row, bag]:
            odds = log_odds[row, bag]
            small = np.exp(-abs(odds))
            likely = 1.0 / (1.0 + small)
            if odds > 0.0:
                outlier += likely
                inlier += small * likely
                difference += (1.0 - small) * likely
            else:
                outlier += small * likely
                inlier += likely
                difference += (small - 1.0) * likely
            count += 1
    if count == 0:
        return np.nan
    if min(outlier, inlier) < ALMOST_ZERO:
        return _log_of_sum(log_odds, use, row, 1.0) - _log_of_sum(log_odds, use, row, -1.0)
    return np.log1p(difference / inlier) if difference > 0.0 else -np.log1p(-difference / outlier)


@inner
def _log_of_sum(log_odds: NDArray, use: NDArray, row: int, side: float) -> float:
    """Return the logarithm of a sum of probabilities of one class that may underflow."""
    highest = -np.inf
    total = 0.0
    for bag in range(log_odds.shape[1]):
        if use.shape[0] == 0 or use[row, bag]:
            highest = max(highest, side * log_odds[row, bag])
    largest = _log_probability(highest)
    for bag in range(log_odds.shape[1]):
        if use.shape[0] == 0 or use[row, bag]:
            total += np.exp(_log_probability(side * log_odds[row, bag]) - largest)
    return largest + np.log(total)


@inner
def _log_probability(odds: float) -> float:
    return min(odds, 0.0) - np.log1p(np.exp(-abs(odds)))


def mean_of_bags(values: NDArray, use: NDArray | None = None) -> NDArray:
    """Return the mean of every row; for one row NumPy's ``mean`` takes several times as long."""
    if use is not None:
        return values.mean(axis=1, where=use)
    return np.add.reduce(values, axis=1) / values.shape[1]


def log_sigmoid(log_odds: NDArray) -> NDArray:
    """Return the logarithm of the probability that log-odds stand for."""
    return -np.logaddexp(0.0, -log_odds)


def log_mean(logs: NDArray) -> NDArray:
    """Return the logarithm of the mean over bags of numbers given by their logarithms."""
    highest = logs.max(axis=1)
    return highest + np.log(np.exp(logs - highest[:, np.newaxis]).mean(axis=1))


def choose_penalty(
    table: NDArray, bags: Bags, codes: NDArray, aggregation: str, engine: Engine
) -> LogisticHead:
    """Return the head with the lowest out-of-bag log-loss; both classes have the same weight."""
    labelled = np.flatnonzero(codes >= 0)
    use = ~bags.holds[labelled]
    heads = [LogisticHead.fit(table, bags, penalty, engine) for penalty in PENALTIES]
    losses = []
    for head in heads:
        odds = combine(head.log_odds(table[labelled]), aggregation, use)
        known = np.isfinite(odds)
        outliers = odds[known & (codes[labelled] == OUTLIER)]
        inliers = odds[known & (codes[labelled] == INLIER)]
        if outliers.size == 0 or inliers.size == 0:
            raise ValueError(
                "`penalty='auto'` needs out-of-bag scores of both classes, and all labelled "
                "outliers or inliers are in every bag. Pass a number, or label more rows."
            )
        losses.append(-log_sigmoid(outliers).mean() - log_sigmoid(-inliers).mean())
    return heads[int(np.argmin(losses))]
