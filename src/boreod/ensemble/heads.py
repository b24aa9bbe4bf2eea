"""Heads: the models that are fitted to every bag, and the average of the bags.

The logistic head is the model of the paper. A classifier of another library can replace all heads.
Extremely randomized trees (Geurts, Ernst, Wehenkel, 2006) split at random places, which suits bags
with few outliers. Boosted trees, see :mod:`boreod.ensemble.boosting`, find interactions if there
are more outliers. A head returns log-odds with one column per bag. It can also combine the bags and
return one number per row: the log-odds of the mean probability over bags.

Explanations need the contributions of columns. The log-odds s_b of one bag's logistic regression
are linear in the columns, but the log-odds of the mean probability are not. However, a difference
of logarithms equals the difference of the numbers divided by their logarithmic mean L. Let p be the
mean of p_b over B bags for a base row, which is the mean inlier of the bags. For another row, whose
symbols have primes,

    log-odds(p') - log-odds(p) = sum over bags of w_b (s_b' - s_b),
    w_b = (p_b' - p_b) / (s_b' - s_b) (1 / L(p, p') + 1 / L(1 - p, 1 - p')) / B

This is exact. The contribution of a column is its part of the right-hand side. With a single bag,
the contribution is the coefficient times (value - value of the base row). The decomposition is that
of Ang: The LMDI approach to decomposition analysis. Energy Policy 33(7), 2005.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.ensemble.bags import Bags
from boreod.ensemble.boosting import grow_boosted
from boreod.ensemble.logistic import SMALL_GRADIENT, add_up, fit_standardized
from boreod.parallel import Engine, one_blas_thread
from boreod.scores.detectors import fresh_copy
from boreod.scores.tree_kernels import narrow
from boreod.scores.trees import Trees
from boreod.validation import INLIER, OUTLIER

PENALTY = 1e-6
PENALTIES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
# Sums of probabilities below this value are computed as logarithms.
ALMOST_ZERO = 1e-290
# The mask that means that every bag is used.
EVERY_BAG = np.empty((0, 0), bool)
# Probabilities of trees can be exactly 0 or 1, but log-odds must be finite.
MIN_PROBABILITY = 1e-12
# Every leaf gets this additional weight, half of it for each class, because a leaf with only
# outliers would have infinite log-odds. For comparison, the mean weight of a row is 1.
SMOOTHING = 0.05


class Head:
    """The methods that all heads have in common."""

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        raise NotImplementedError

    def combined(self, table: NDArray, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row, as :func:`combine` does."""
        return combine(self.log_odds(table), use)

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return the contribution of each feature to the change of log-odds from the base row.

        ``change`` is the sum of the contributions of each row, or None if it is unknown.
        """
        raise TypeError(
            "Exact contributions exist for boreod's own heads only. Use a permutation "
            "importance, or leave `estimator` out."
        )


@dataclass(frozen=True, eq=False)
class LogisticHead(Head):
    """One logistic regression per bag.

    ``coefficients`` refer to scaled columns, (bags, columns). ``gradients`` holds the largest
    component of each bag's final gradient.
    """

    coefficients: NDArray
    intercepts: NDArray
    gradients: NDArray
    penalty: float

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, penalty: float, engine: Engine, fit_intercept: bool = True
    ) -> "LogisticHead":
        """Fit a logistic regression to every bag."""
        targets = bags.targets
        weights = bags.weights

        def solve(rows: NDArray) -> tuple[NDArray, float]:
            return fit_standardized(table[rows], targets, penalty, weights, fit_intercept)

        with one_blas_thread():
            solutions = engine.map(solve, list(bags.rows), "bags")
        beta = np.array([coefficients for coefficients, _ in solutions])
        gradients = np.array([gradient for _, gradient in solutions])
        unfinished = np.count_nonzero(~(gradients <= SMALL_GRADIENT))
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

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return contributions whose sum for each row is ``change``."""
        if change is None:
            change = self.combined(table) - self.combined(base[np.newaxis])
        steps = table - base
        start = base @ self.coefficients.T + self.intercepts
        weights = weigh_bags(start, steps @ self.coefficients.T)
        result = steps * (weights @ self.coefficients)
        # Distribute the rounding error in proportion to the contributions.
        missing = change - result.sum(axis=1)
        size = np.abs(result).sum(axis=1)
        share = np.divide(missing, size, out=np.zeros_like(missing), where=size > 0)
        return result + np.abs(result) * share[:, np.newaxis]

    def first(self, n_bags: int) -> "LogisticHead":
        """Return the head with the first bags only."""
        return replace(
            self,
            coefficients=self.coefficients[:n_bags],
            intercepts=self.intercepts[:n_bags],
            gradients=self.gradients[:n_bags],
        )

    @cached_property
    def _by_column(self) -> NDArray:
        return np.ascontiguousarray(self.coefficients.T)


@dataclass(frozen=True, eq=False)
class ClassifierHead(Head):
    """A classifier of another library with ``predict_proba``; one copy is fitted to every bag."""

    models: list[Any]

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, estimator: Any, seed: int, engine: Engine
    ) -> "ClassifierHead":
        """Fit a copy of the classifier to every bag."""
        seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(bags.rows)).tolist()
        targets = bags.targets.astype(np.int64)
        weights = bags.weights
        options = {}
        if not (weights == 1.0).all():
            from sklearn.utils.validation import has_fit_parameter

            if not has_fit_parameter(estimator, "sample_weight"):
                raise ValueError(
                    "Bags with more inliers than outliers need weights of rows, but "
                    f"{estimator!r} takes no sample_weight. Fit with `ratio=None`, for balanced "
                    "bags, or use another classifier."
                )
            options["sample_weight"] = weights

        def fit(number: int) -> Any:
            model = fresh_copy(estimator, seeds[number])
            return model.fit(table[bags.rows[number]], targets, **options)

        return cls(engine.map(fit, list(range(len(bags.rows))), "bags"))

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        # Trees of other libraries compute in float32, so values must be within its range.
        table = np.clip(table, -1e30, 1e30)
        found = np.column_stack([model.predict_proba(table)[:, 1] for model in self.models])
        if np.isnan(found).any():
            raise ValueError(
                f"The classifier {self.models[0]!r} returned NaN as a probability. "
                "Use one that copes with small bags, or raise `max_samples`."
            )
        probabilities = np.clip(found.astype(np.float64), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
        return np.log(probabilities) - np.log1p(-probabilities)


@dataclass(frozen=True, eq=False)
class TreeHead(Head):
    """The same number of trees for every bag.

    If ``boosted`` is true, the leaf values of a bag's trees add up to log-odds. Otherwise, their
    mean is a probability.
    """

    trees: Trees
    n_bags: int
    boosted: bool

    @classmethod
    def fit(
        cls, table: NDArray, bags: Bags, n_trees: int, boosted: bool, seed: int, engine: Engine
    ) -> "TreeHead":
        """Fit ``n_trees`` trees to each bag."""
        seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(bags.rows)).tolist()
        targets = bags.targets
        weights = bags.weights

        def grow(number: int) -> Trees:
            part = narrow(table[bags.rows[number]])
            if boosted:
                return grow_boosted(part, targets, n_trees, seeds[number])
            return _grow_random(part, targets, weights, n_trees, seeds[number])

        grown = engine.map(grow, list(range(len(bags.rows))), "trees")
        return cls(Trees.join(grown), len(grown), boosted)

    @property
    def n_trees(self) -> int:
        """Number of trees of one bag."""
        return self.trees.n_trees // self.n_bags

    def log_odds(self, table: NDArray) -> NDArray:
        """Return log-odds of rows for every bag, (rows, bags)."""
        return self._odds_of(self.trees.add_up(table, self.n_bags))

    def combined(self, table: NDArray, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row: the log-odds of the mean probability over bags.

        For boosted trees, return the mean of the bags' log-odds instead, so that a single bag with
        large log-odds does not dominate.
        """
        sums = self.trees.add_up(table, self.n_bags)
        if use is None:
            # For one row, ``ndarray.mean`` takes several times as long.
            return self._odds_of(np.add.reduce(sums, axis=1) / self.n_bags)
        counts = use.sum(axis=1)
        totals = sums.sum(axis=1, where=use) if self.boosted else (sums * use).sum(axis=1)
        mean = np.full(len(sums), np.nan)
        return self._odds_of(np.divide(totals, counts, out=mean, where=counts > 0))

    def _odds_of(self, sums: NDArray) -> NDArray:
        """Return log-odds, given the sums of leaf values over the trees of a bag."""
        if self.boosted:
            return sums
        probabilities = sums / self.n_trees
        return np.log(probabilities) - np.log1p(-probabilities)

    def keep(self, n_trees: int) -> "TreeHead":
        """Return the head with the first trees of every bag, as a fit of ``n_trees`` would."""
        if n_trees == self.n_trees:
            return self
        return replace(self, trees=self.trees.keep_per_group(self.n_bags, n_trees))

    def first(self, n_bags: int) -> "TreeHead":
        """Return the head with the first bags only."""
        if n_bags >= self.n_bags:
            return self
        trees = self.trees.keep_per_group(1, n_bags * self.n_trees)
        return replace(self, trees=trees, n_bags=n_bags)

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return the contribution of each feature to the change of log-odds from the base row.

        If leaves are probabilities, the contributions of each bag are multiplied by the change of
        its log-odds divided by the change of its probability.
        """
        slopes = np.full((len(table), self.n_bags), 1.0 / self.n_bags)
        if not self.boosted:
            start = self.trees.add_up(base[np.newaxis], self.n_bags)
            sums = self.trees.add_up(table, self.n_bags)
            odds_of_start = self._odds_of(start)
            changes = self._odds_of(sums) - odds_of_start
            way = (sums - start) / self.n_trees
            p = start / self.n_trees
            # The limit of the ratio for a change of 0.
            ratio = np.broadcast_to(1.0 / (p * (1.0 - p)), way.shape).copy()
            np.divide(changes, way, out=ratio, where=np.abs(way) > 1e-12)
            slopes = weigh_bags(odds_of_start[0], changes) * ratio / self.n_trees
        return self.trees.contribute(table, base, slopes)


def _grow_random(
    part: NDArray, targets: NDArray, weights: NDArray, n_trees: int, seed: int
) -> Trees:
    """Fit extremely randomized trees to the rows of a bag."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    # For targets of 0 and 1, the variance is half of the Gini impurity. So regression trees have
    # the same splits as classification trees, and fitting them takes half the time.
    grown = []
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    # Skip scikit-learn's checks in these hundreds of small fits, because the input is valid.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for tree_seed in seeds:
            model = ExtraTreeRegressor(max_features="sqrt", random_state=tree_seed)
            tree = model.fit(part, targets, weights, check_input=False).tree_
            weight = tree.weighted_n_node_samples
            outliers = tree.value[:, 0, 0] * weight
            grown.append((tree, (outliers + 0.5 * SMOOTHING) / (weight + SMOOTHING)))
    return Trees.build(grown)


def combine(log_odds: NDArray, use: NDArray | None = None) -> NDArray:
    """Return the log-odds of the mean probability over bags, one per row.

    ``use`` is a mask (rows, bags) of the bags that count for a row. Rows without a bag get NaN.
    """
    mask = EVERY_BAG if use is None else np.ascontiguousarray(use)
    return _odds_of_means(np.ascontiguousarray(log_odds), mask)


@compiled
def _odds_of_means(log_odds: NDArray, use: NDArray) -> NDArray:
    """Return the log-odds of the mean probability of every row."""
    result = unset(log_odds.shape[0])
    for row in range(log_odds.shape[0]):
        result[row] = _odds_of_mean(log_odds, use, row)
    return result


@inner
def _odds_of_mean(log_odds: NDArray, use: NDArray, row: int) -> float:
    """Return the log-odds of the mean probability of one row.

    If p and q are the sums of the probabilities of the two classes, log(p / q) equals
    log(1 + (p - q) / q). The difference p - q is summed separately, so it is exact to 1e-16 even if
    p and q are nearly equal.
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
    """Return the logarithm of the sum of one class's probabilities, which may underflow."""
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


def weigh_bags(start: NDArray, way: NDArray) -> NDArray:
    """Return the weights w_b of the bags, computed with logarithms to avoid underflow.

    ``start`` holds the log-odds s_b of the base row, and ``way`` the differences s_b' - s_b.
    """
    low = np.minimum(start, start + way)
    high = np.maximum(start, start + way)
    # The logarithm of (sigma(high) - sigma(low)) / (high - low).
    slope = _log_sigmoid(high) + _log_sigmoid(-low) + _log_of_shrinking(np.abs(way))
    weights = np.zeros_like(slope)
    for side in (1.0, -1.0):
        first = _log_mean(_log_sigmoid(side * start[np.newaxis]))
        second = _log_mean(_log_sigmoid(side * (start + way)))
        # The logarithm of the logarithmic mean (b - a) / (log b - log a).
        middle = np.maximum(first, second) + _log_of_shrinking(np.abs(first - second))
        weights += np.exp(slope - middle[:, np.newaxis])
    return weights / way.shape[1]


def _log_of_shrinking(size: NDArray) -> NDArray:
    """Return log((1 - exp(-x)) / x), or its limit 0 at x = 0."""
    safe = np.where(size > 0, size, 1.0)
    return np.where(size > 0, np.log(-np.expm1(-safe) / safe), 0.0)


def _log_sigmoid(log_odds: NDArray) -> NDArray:
    """Return the logarithm of the probability, given its log-odds."""
    return -np.logaddexp(0.0, -log_odds)


def _log_mean(logs: NDArray) -> NDArray:
    """Return the logarithm of the mean over bags, given the logarithms of the numbers."""
    highest = logs.max(axis=1)
    return highest + np.log(np.exp(logs - highest[:, np.newaxis]).mean(axis=1))


def choose_penalty(
    table: NDArray, bags: Bags, codes: NDArray, engine: Engine, fit_intercept: bool = True
) -> LogisticHead:
    """Return the logistic head with the lowest out-of-bag log-loss; classes have equal weight."""
    labelled = np.flatnonzero(codes >= 0)
    use = ~bags.holds[labelled]
    heads = [LogisticHead.fit(table, bags, p, engine, fit_intercept) for p in PENALTIES]
    losses = []
    for head in heads:
        odds = combine(head.log_odds(table[labelled]), use)
        known = np.isfinite(odds)
        outliers = odds[known & (codes[labelled] == OUTLIER)]
        inliers = odds[known & (codes[labelled] == INLIER)]
        if outliers.size == 0 or inliers.size == 0:
            raise ValueError(
                "`penalty='auto'` needs out-of-bag scores of both classes, but all labelled rows "
                "of one class are in every bag. Pass a number, or label more rows."
            )
        losses.append(-_log_sigmoid(outliers).mean() - _log_sigmoid(-inliers).mean())
    return heads[int(np.argmin(losses))]
