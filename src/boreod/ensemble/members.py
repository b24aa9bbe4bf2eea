"""Members of a detector: heads with the features that they read, and their weighted mean.

The outputs of heads differ in scale: log-odds of trees are small, and log-odds of a separable
logistic regression are large. A *line* with a positive slope, learned out of bag, turns the output
of each head into log-odds for classes of equal total weight. Unlike ranks, lines map each row
independently of other rows, and they extend beyond the largest training value.

The *weights* of heads come from a logistic regression on their out-of-bag log-odds. This is stacked
generalization (Wolpert, 1992) with nonnegative weights (Breiman, Stacked regressions, 1996). All
rows have the same weight, so the regression must separate the few outliers from the inliers with
the highest log-odds. A simpler rule would be weights in proportion to the average precision of each
head. This rule would not notice that two heads agree.

Few outliers say little about weights. A regression should have ten outliers for every head (Peduzzi
and others, 1996). With fewer outliers, weights are in proportion to average precision. With more
outliers, a penalty keeps the weights near these proportions, like a normal prior whose standard
deviation is the mean weight. Every head keeps at least a tenth of its first weight.

Weights that were learned from a row make the score of this row too good. So out-of-bag rows are
split into folds, and the heads of each fold are averaged with weights learned from the other folds.
New rows use weights learned from all rows.

==================  ===========================================================================
kind                model that is fitted to every bag, and the features that it reads
==================  ===========================================================================
``logistic``        logistic regression, all features
``trees``           extremely randomized trees, raw columns
``trees+scores``    the same, raw columns and scores
``boosted``         boosted trees, raw columns, on the first bags only
``boosted+scores``  the same, raw columns and scores
==================  ===========================================================================

A detector with a single head needs no line and no weight. Without labels, the members are a
consensus of scores, and trees that refine the consensus, see :mod:`boreod.ensemble.assumptions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import ConsensusHead
from boreod.ensemble.bags import Bags
from boreod.ensemble.calibration import Correction, expit, logit
from boreod.ensemble.heads import ClassifierHead, Head, LogisticHead, TreeHead, choose_penalty
from boreod.metrics import average_precision
from boreod.neighbors import blocks
from boreod.parallel import Engine, Threads, one_blas_thread
from boreod.validation import OUTLIER, UNLABELLED

KINDS = ("logistic", "trees", "trees+scores", "boosted", "boosted+scores")
CONSENSUS = "consensus"
# Boosted trees vary little from bag to bag, so few bags are enough.
BOOSTED_BAGS = 10
BOOSTED_TREES = 100
UNCHANGED = Correction(0.0)
MAX_ROWS_PER_THREAD = 512
MIN_SLOPE = 0.01
FOLDS = 5
MIN_OUTLIERS_PER_HEAD = 10
# Weights are learned from at most this many inliers; more inliers would hardly change weights.
MOST_INLIERS = 50_000


@dataclass(frozen=True, eq=False)
class Member:
    """One head, its line and weight, and the places of the features that it reads.

    If ``features`` is None, the head reads all features.
    """

    kind: str
    head: Head
    features: NDArray | None = None
    line: Correction = UNCHANGED
    weight: float = 1.0

    def read(self, table: NDArray) -> NDArray:
        """Return the features that the head reads."""
        return table if self.features is None else table.take(self.features, axis=1)

    def log_odds(self, table: NDArray, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row; ``use`` is a mask (rows, bags) of the bags to average."""
        return self.line.apply(self.head.combined(self.read(table), use))

    def contribute(self, table: NDArray, base: NDArray, change: NDArray | None) -> NDArray:
        """Return the contribution of each feature to the change of log-odds from the base row.

        ``change`` is the sum of the contributions of each row, or None if it is unknown.
        """
        start = self.read(base[np.newaxis])[0]
        result = np.zeros(table.shape)
        places = slice(None) if self.features is None else self.features
        result[:, places] = self.head.contribute(self.read(table), start, change)
        return self.line.slope * result


# A member, and its out-of-bag log-odds of all training rows.
Judged = tuple[Member, NDArray]


def average(members: list[Member], table: NDArray, engine: Engine | None = None) -> NDArray:
    """Return the weighted mean of the members' log-odds; threads share large tables."""
    if len(members) == 1:
        return members[0].log_odds(table)
    if isinstance(engine, Threads) and engine.n_threads > 1 and len(table) > MAX_ROWS_PER_THREAD:
        parts = [table[part] for part in blocks(len(table), MAX_ROWS_PER_THREAD)]
        return np.concatenate(engine.map(partial(average, members), parts, "heads"))
    return reduce(add, (member.weight * member.log_odds(table) for member in members))


@dataclass(frozen=True)
class Recipe:
    """The heads to fit, and their parameters.

    If ``estimator`` is given, this classifier of another library replaces all heads. ``n_trees`` is
    the number of extremely randomized trees that are fitted to every bag. Boosted heads fit ten
    times as many trees, but only to the first BOOSTED_BAGS bags. Logistic regressions have an
    intercept if ``fit_intercept`` is true.
    """

    kinds: tuple[str, ...]
    estimator: Any
    penalty: float | str
    n_trees: int
    fit_intercept: bool = True

    def trees_of(self, kind: str) -> int:
        """Return the number of trees that a head of this kind fits to one bag."""
        if kind.startswith("boosted"):
            return max(1, round(BOOSTED_TREES * self.n_trees / 10))
        return self.n_trees if kind.startswith("trees") else 0

    def count_trees(self, kind: str, n_bags: int) -> int:
        """Return the total number of trees of a head of this kind."""
        return self.trees_of(kind) * (min(n_bags, BOOSTED_BAGS) if "boosted" in kind else n_bags)


@dataclass(frozen=True, eq=False)
class BaggedTable:
    """Features of training rows, and the bags drawn from the rows.

    The order of features is: raw columns, scores, then some of these columns again in another
    scaling. ``n_raw`` is the number of raw columns, and ``n_columns`` the number of raw columns and
    scores. ``codes`` are 1 for outliers, 0 for inliers, and -1 for rows that are not used to learn
    lines and weights.
    """

    table: NDArray
    n_raw: int
    n_columns: int
    bags: Bags
    codes: NDArray
    seed: int


def learn_members(
    recipe: Recipe,
    data: BaggedTable,
    engine: Engine,
    known: Mapping[str, TreeHead | LogisticHead] | None = None,
    n_folds: int = FOLDS,
) -> tuple[list[Member], NDArray]:
    """Fit all heads; return the members and the out-of-bag log-odds of all rows.

    ``known`` holds heads that were already fitted to these columns and bags, with at least as many
    trees. ``n_folds`` is passed to :func:`stack`.
    """
    outside = ~data.bags.holds
    found: list[Judged] = []
    for kind in _distinct_kinds(recipe, data):
        features = _features_of(kind, data)
        head: Head | None = (known or {}).get(kind)
        if head is None:
            head = _fit_head(kind, recipe, data, features, engine)
        elif isinstance(head, TreeHead):
            head = head.keep(recipe.trees_of(kind))
        member = Member(kind, head, features)
        use = outside[:, :BOOSTED_BAGS] if kind.startswith("boosted") else outside
        found.append((member, member.log_odds(data.table, use)))
    if len(found) > 1:
        weighed = [(_weigh(member, odds, data.codes), odds) for member, odds in found]
        # Drop heads without evidence, unless no head has evidence.
        found = [(member, odds) for member, odds in weighed if member is not None] or found
    if len(found) == 1:
        member, odds = found[0]
        return [replace(member, line=UNCHANGED, weight=1.0)], odds
    evidence = np.array([member.weight for member, _ in found])
    weights, mean = stack(_on_lines(found), data.codes, evidence, n_folds)
    pairs = zip(found, weights.tolist(), strict=True)
    return [replace(member, weight=weight) for (member, _), weight in pairs], mean


def learn_consensus(
    recipe: Recipe, data: BaggedTable, engine: Engine
) -> tuple[list[Member], NDArray]:
    """Fit a consensus of all scores, and trees that separate its highest rows from all other rows.

    Return the members and the score of each row, which is the mean of the standardized members.
    """
    table = data.table
    places = np.arange(data.n_raw, table.shape[1])
    member = Member(CONSENSUS, ConsensusHead.fit(table[:, places]), places)
    found = [(member, member.log_odds(table))]
    if data.n_raw and any(kind.startswith(("trees", "boosted")) for kind in recipe.kinds):
        raw = np.arange(data.n_raw)
        forest = TreeHead.fit(table[:, raw], data.bags, recipe.n_trees, False, data.seed, engine)
        member = Member("trees", forest, raw)
        odds = member.log_odds(table, ~data.bags.holds)
        found.append((member, np.where(np.isfinite(odds), odds, member.log_odds(table))))
    weight = 1.0 / len(found)
    standard = []
    for member, odds in found:
        slope = 1.0 / max(float(odds.std()), 1e-12)
        line = Correction(-slope * float(odds.mean()), slope)
        standard.append((replace(member, line=line, weight=weight), odds))
    mean = mean_of(_on_lines(standard), np.full(len(found), weight))
    return [member for member, _ in standard], mean


def _distinct_kinds(recipe: Recipe, data: BaggedTable) -> list[str]:
    """Return the kinds of heads, without kinds that would repeat another kind.

    If all columns are raw or all are scores, kinds with and without ``+scores`` are the same.
    """
    if recipe.estimator is not None:
        return ["logistic"]
    if 0 < data.n_raw < data.n_columns:
        return list(recipe.kinds)
    return list(dict.fromkeys(kind.partition("+")[0] for kind in recipe.kinds))


def _features_of(kind: str, data: BaggedTable) -> NDArray | None:
    if kind == "logistic":
        return None
    number = data.n_columns if kind.endswith("+scores") or data.n_raw == 0 else data.n_raw
    return None if number == data.table.shape[1] else np.arange(number)


def _fit_head(
    kind: str, recipe: Recipe, data: BaggedTable, features: NDArray | None, engine: Engine
) -> Head:
    table = data.table
    seed = data.seed + KINDS.index(kind)
    if recipe.estimator is not None:
        return ClassifierHead.fit(table, data.bags, recipe.estimator, seed, engine)
    if kind == "logistic":
        if recipe.penalty == "auto":
            return choose_penalty(table, data.bags, data.codes, engine, recipe.fit_intercept)
        penalty = float(recipe.penalty)
        return LogisticHead.fit(table, data.bags, penalty, engine, recipe.fit_intercept)
    boosted = kind.startswith("boosted")
    bags = data.bags.first(BOOSTED_BAGS) if boosted else data.bags
    part = table if features is None else table[:, features]
    return TreeHead.fit(part, bags, recipe.trees_of(kind), boosted, seed, engine)


def _weigh(member: Member, odds: NDArray, codes: NDArray) -> Member | None:
    """Learn the line and the average precision of a member from out-of-bag log-odds.

    Return None if no outlier or no inlier has out-of-bag log-odds.
    """
    judged = np.isfinite(odds) & (codes != UNLABELLED)
    outliers = codes[judged] == OUTLIER
    odds = odds[judged]
    if not 0 < outliers.sum() < len(outliers):
        return None
    weights = np.where(outliers, 0.5 / outliers.sum(), 0.5 / (~outliers).sum())
    evidence = average_precision(outliers, odds)
    return replace(member, line=fit_line(odds, outliers, weights), weight=evidence)


def _on_lines(found: list[Judged]) -> NDArray:
    """Return the log-odds of members after their lines are applied: (rows, members)."""
    return np.column_stack([member.line.apply(odds) for member, odds in found])


def fit_line(
    log_odds: NDArray,
    outliers: NDArray,
    weights: NDArray,
    counts: tuple[float, float] | None = None,
) -> Correction:
    """Fit a line that maps log-odds to labels, by weighted logistic regression.

    The targets are those of Platt (Probabilistic outputs for support vector machines, 1999), as if
    one more row of each class had been seen. So a few rows that are easy to separate do not make
    the slope infinite. If the rows are a sample of a larger table, ``counts`` holds the numbers of
    outliers and inliers in that table. If the fitted slope is too small or negative, the line is
    almost flat.
    """
    n_outliers, n_inliers = counts or (outliers.sum(), (~outliers).sum())
    targets = np.where(outliers, (n_outliers + 1) / (n_outliers + 2), 1 / (n_inliers + 2))
    design = np.column_stack([np.ones(len(log_odds)), log_odds])
    line = np.array([0.0, 1.0])

    def loss(line: NDArray) -> float:
        z = design @ line
        return float(weights @ (np.logaddexp(0.0, z) - targets * z))

    value = loss(line)
    for _ in range(100):
        p = expit(design @ line)
        gradient = design.T @ (weights * (p - targets))
        hessian = (design.T * (weights * p * (1.0 - p))) @ design
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        size = 1.0
        while loss(line - size * step) > value and size > 1e-6:
            size /= 2.0
        moved = loss(line - size * step)
        if not moved < value:
            break
        line = line - size * step
        value = moved
    shift, slope = line.tolist()
    # A head that ranks no better than chance gets almost no influence.
    if slope < MIN_SLOPE:
        balance = weights[outliers].sum() / weights[~outliers].sum()
        return Correction(float(np.log(balance)), MIN_SLOPE)
    return Correction(shift, slope)


def stack(
    odds: NDArray, codes: NDArray, evidence: NDArray, n_folds: int = FOLDS
) -> tuple[NDArray, NDArray]:
    """Return the weights of heads, which sum to 1, and the weighted mean for all rows.

    ``odds`` holds out-of-bag log-odds (rows, heads) on one scale. A value is NaN if all bags of a
    head hold the row. ``codes`` mark outliers and inliers. ``evidence`` holds the average precision
    of every head. If ``n_folds`` is 0, the mean is slightly too good for rows of both classes.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> codes = (random.random(2000) < 0.1).astype(int)
    >>> good = 3.0 * codes - 1.5 + random.normal(size=2000)
    >>> weights, mean = stack(np.column_stack([good, random.normal(size=2000)]), codes,
    ...                       np.array([0.8, 0.2]))
    >>> weights.round(2).tolist()
    [0.99, 0.01]
    """
    start = evidence / evidence.sum()
    judged = np.flatnonzero(np.isfinite(odds).all(axis=1) & (codes != UNLABELLED))
    outliers = judged[codes[judged] == OUTLIER]
    inliers = judged[codes[judged] != OUTLIER]
    if len(outliers) < MIN_OUTLIERS_PER_HEAD * len(start) or len(inliers) < FOLDS:
        return start, mean_of(odds, start)
    # The tables are small, so several BLAS threads would only wait for each other.
    with one_blas_thread():
        first = np.append(start, logit(len(outliers) / len(judged)))
        point = _learn(odds, outliers, inliers, start, first)
        weights = _weights_of(point)
        mean = mean_of(odds, weights)
        for fold in range(n_folds):
            some = np.s_[fold::n_folds]
            held = np.concatenate([outliers[some], inliers[some]])
            # The optimum of the other folds is near the optimum of all rows, so start there.
            nearby = _learn(odds, np.delete(outliers, some), np.delete(inliers, some), start, point)
            mean[held] = mean_of(odds[held], _weights_of(nearby))
    return weights, mean


def mean_of(odds: NDArray, weights: NDArray) -> NDArray:
    """Return the weighted mean of the heads' log-odds; NaN values are left out of the mean."""
    known = np.isfinite(odds)
    total = np.where(known, weights * odds, 0.0).sum(axis=1)
    known_weights = np.where(known, weights, 0.0).sum(axis=1)
    return np.divide(total, known_weights, out=np.full(len(odds), np.nan), where=known_weights > 0)


def _weights_of(point: NDArray) -> NDArray:
    """Return weights that sum to 1; the last value of ``point`` is an intercept and is left out."""
    return point[:-1] / point[:-1].sum()


def _learn(
    odds: NDArray, outliers: NDArray, inliers: NDArray, start: NDArray, first: NDArray
) -> NDArray:
    """Return the weights and the intercept of the regression.

    A penalty keeps the weights near ``start``. The optimization begins at ``first``.
    """
    from scipy.optimize import minimize

    some = inliers[:: -(-len(inliers) // MOST_INLIERS)]
    table = odds[np.concatenate([outliers, some])]
    targets = np.arange(len(table)) < len(outliers)
    counts = np.where(targets, 1.0, len(inliers) / len(some))
    strength = 0.5 * len(start) ** 2

    def loss(point: NDArray) -> tuple[float, NDArray]:
        away = point[:-1] - start
        z = table @ point[:-1] + point[-1]
        residuals = counts * (expit(z) - targets)
        value = counts @ (np.logaddexp(0.0, z) - targets * z) + strength * (away @ away)
        slopes = residuals @ table + 2.0 * strength * away
        return float(value), np.append(slopes, residuals.sum())

    # The weight of a head is at least a tenth of its first weight.
    bounds = [*((0.1 * weight, None) for weight in start), (None, None)]
    return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
