"""Members of a detector: several heads, each with what it reads, averaged as log-odds.

Heads differ in scale: trees are shy, a separable logistic regression is sure. A line with a
positive slope, learned out of bag, brings the log-odds of each to the same meaning, those of
classes of equal weight; a row's score depends on that row only, and no line ends above the largest
training value. Weights are learned out of bag, see :mod:`boreod.ensemble.stacking`.

==================  ===========================================================================
kind                what is fitted to every bag, and the features that it reads
==================  ===========================================================================
``logistic``        logistic regression, all features
``trees``           extremely randomized trees, raw columns
``trees+scores``    the same, raw columns and scores
``boosted``         boosted trees, raw columns, on the first bags only
``boosted+scores``  the same, raw columns and scores
==================  ===========================================================================

A detector with one head averages nothing: it is taken as it is. Without labels the members are a
consensus of scores and trees that sharpen it, see :mod:`boreod.ensemble.consensus`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bags
from boreod.ensemble.calibration import Correction, expit
from boreod.ensemble.consensus import ConsensusHead
from boreod.ensemble.explanation import contribute, weigh_bags
from boreod.ensemble.heads import ClassifierHead, LogisticHead, choose_penalty, combine
from boreod.ensemble.stacking import FOLDS, mean_of, stack
from boreod.ensemble.tree_heads import BOOSTED_BAGS, BOOSTED_TREES, TreeHead
from boreod.metrics import average_precision
from boreod.parallel import Engine, Threads
from boreod.validation import OUTLIER, UNLABELLED

Head = LogisticHead | ClassifierHead | TreeHead | ConsensusHead
KINDS = ("logistic", "trees", "trees+scores", "boosted", "boosted+scores")
CONSENSUS = "consensus"
UNCHANGED = Correction(0.0)
NEWTON_STEPS = 100
BLOCK_ROWS = 512  # that a thread scores at once
MIN_SLOPE = 0.01


@dataclass(frozen=True, eq=False)
class Member:
    """One head, the features that it reads, its line and its weight."""

    kind: str
    head: Head
    features: NDArray | None = None  # their places; None for all
    line: Correction = UNCHANGED
    weight: float = 1.0

    def read(self, table: NDArray) -> NDArray:
        """Return the features that the head reads."""
        return table if self.features is None else np.ascontiguousarray(table[:, self._places])

    @cached_property
    def _places(self) -> NDArray | slice | None:
        """The features as a slice if they are the first ones: that is faster."""
        if self.features is None or (self.features != np.arange(len(self.features))).any():
            return self.features
        return slice(len(self.features))

    def log_odds(self, table: NDArray, aggregation: str, use: NDArray | None = None) -> NDArray:
        """Return one log-odds per row, from the bags that may be used."""
        return self.line.apply(self.unlined(table, aggregation, use))

    def unlined(self, table: NDArray, aggregation: str, use: NDArray | None = None) -> NDArray:
        """Return the same before the line."""
        rows = self.read(table)
        if isinstance(self.head, TreeHead | LogisticHead):
            return self.head.combined(rows, aggregation, use)
        return combine(self.head.log_odds(rows), aggregation, use)

    def contribute(
        self, table: NDArray, base: NDArray, aggregation: str, change: NDArray | None = None
    ) -> NDArray:
        """Return what each feature adds to the log-odds of rows, beyond those of the base row.

        ``change`` is the sum of these, if it is known.
        """
        rows, start = self.read(table), self.read(base[np.newaxis])
        of_rows, of_base = self.head.log_odds(rows), self.head.log_odds(start)
        if isinstance(self.head, LogisticHead):
            if change is None:
                change = combine(of_rows, aggregation) - combine(of_base, aggregation)
            bags = self.head.coefficients, self.head.intercepts
            parts = contribute(rows, start[0], *bags, aggregation, change)
        elif isinstance(self.head, TreeHead):
            slopes = np.full(of_rows.shape, 1.0 / of_rows.shape[1])
            if aggregation == "mean" and not self.head.boosted:
                slopes = weigh_bags(of_base[0], of_rows - of_base)
            parts = self.head.contribute(rows, start[0], slopes, of_rows - of_base)
        elif isinstance(self.head, ConsensusHead):
            parts = self.head.contribute(rows, start[0])
        else:
            raise TypeError(
                "Exact contributions exist for boreod's own heads only. Use a permutation "
                "importance, or leave `estimator` out."
            )
        result = np.zeros(table.shape)
        result[:, slice(None) if self.features is None else self.features] = parts
        return self.line.slope * result


def average(
    members: list[Member], table: NDArray, aggregation: str, engine: Engine | None = None
) -> NDArray:
    """Return the weighted mean of the members' log-odds; of many rows by several threads."""
    if len(members) == 1:
        return members[0].log_odds(table, aggregation)
    if len(table) == 1:  # the same sums of plain numbers, which take a tenth of the time
        found = [float(member.unlined(table, aggregation)[0]) for member in members]
        both = zip(members, found, strict=True)
        return np.array([sum_of(m.weight * (m.line.slope * x + m.line.shift) for m, x in both)])
    if isinstance(engine, Threads) and engine.n_threads > 1 and len(table) > BLOCK_ROWS:
        parts = [table[start : start + BLOCK_ROWS] for start in range(0, len(table), BLOCK_ROWS)]
        of_part = partial(average, members, aggregation=aggregation)
        return np.concatenate(engine.map(of_part, parts, "heads"))
    return sum_of(member.weight * member.log_odds(table, aggregation) for member in members)


def sum_of(arrays: Iterable[Any]) -> Any:
    """Add arrays up in their order, or numbers."""
    total, *rest = arrays
    for array in rest:
        total = total + array
    return total


@dataclass(frozen=True)
class Recipe:
    """Which heads are fitted, and how."""

    kinds: tuple[str, ...]
    estimator: Any  # of another library, in the place of all heads
    penalty: float | str
    n_trees: int  # extremely randomized trees a bag; boosted ones in proportion
    aggregation: str

    def trees_of(self, kind: str) -> int:
        """Return how many trees a head of this kind fits to one bag."""
        if kind.startswith("boosted"):
            return max(1, round(BOOSTED_TREES * self.n_trees / 10))
        return self.n_trees if kind.startswith("trees") else 0

    def count_trees(self, kind: str, n_bags: int) -> int:
        """Return how many trees a head of this kind has, in all of its bags."""
        return self.trees_of(kind) * (min(n_bags, BOOSTED_BAGS) if "boosted" in kind else n_bags)


def learn_members(
    recipe: Recipe,
    table: NDArray,
    columns: tuple[int, int],
    bags: Bags,
    codes: NDArray,
    seed: int,
    engine: Engine,
    known: Mapping[str, TreeHead | LogisticHead] | None = None,
    n_folds: int = FOLDS,
) -> tuple[list[Member], NDArray]:
    """Fit all heads; return them and the out-of-bag log-odds of all rows.

    ``columns`` are the numbers of raw columns and of all columns, which are the first features;
    ``codes`` tell which rows are evidence: outliers and those that count as inliers. Heads that are
    ``known`` were fitted to these columns and bags before, to at least as many trees. ``n_folds``
    is that of :func:`boreod.ensemble.stacking.stack`.
    """
    known, outside = known or {}, ~bags.holds
    members, found = [], []
    for kind in _distinct_kinds(recipe, *columns):
        features = _features_of(kind, table.shape[1], *columns)
        if kind in known:
            given = known[kind]
            head: Head = given.keep(recipe.trees_of(kind)) if isinstance(given, TreeHead) else given
        else:
            how = table, features, bags, codes, seed + KINDS.index(kind), engine
            head = _fit_head(kind, recipe, *how)
        member = Member(kind, head, features)
        use = outside[:, :BOOSTED_BAGS] if kind.startswith("boosted") else outside
        odds = member.log_odds(table, recipe.aggregation, use)
        members.append(member)
        found.append(odds)
    if len(members) == 1:
        return members, found[0]
    weighed = [_weigh(*pair, codes) for pair in zip(members, found, strict=True)]
    judged = [place for place, member in enumerate(weighed) if member is not None]
    if judged:  # a head without evidence beside others that have some is left out
        found = [found[place] for place in judged]
    members = [member for member in weighed if member is not None] or members
    if len(members) == 1:
        return [replace(members[0], line=UNCHANGED, weight=1.0)], found[0]
    evidence = np.array([member.weight for member in members])
    weights, mean = stack(_on_lines(members, found), codes, evidence, n_folds)
    pairs = zip(members, weights.tolist(), strict=True)
    return [replace(member, weight=weight) for member, weight in pairs], mean


def learn_consensus(
    recipe: Recipe, table: NDArray, n_raw: int, bags: Bags, seed: int, engine: Engine
) -> tuple[list[Member], NDArray]:
    """Fit a consensus of all scores, and trees that tell its highest rows from the others.

    Members are standardized; their mean is the score of a row.
    """
    members, found = [], []
    if n_raw < table.shape[1]:
        places = np.arange(n_raw, table.shape[1])
        head = ConsensusHead.fit(table[:, places])
        members.append(Member(CONSENSUS, head, places))
        found.append(members[-1].log_odds(table, recipe.aggregation))
    if n_raw and any(kind.startswith(("trees", "boosted")) for kind in recipe.kinds):
        raw = np.arange(n_raw)
        forest = TreeHead.fit(table[:, raw], bags, recipe.n_trees, False, seed, engine)
        members.append(Member("trees", forest, raw))
        odds = members[-1].log_odds(table, recipe.aggregation, ~bags.holds)
        inside = members[-1].log_odds(table, recipe.aggregation)
        found.append(np.where(np.isfinite(odds), odds, inside))
    standard = []
    for member, odds in zip(members, found, strict=True):
        slope = 1.0 / max(float(odds.std()), 1e-12)
        line = Correction(-slope * float(odds.mean()), slope)
        standard.append(replace(member, line=line, weight=1.0 / len(members)))
    weights = np.array([member.weight for member in standard])
    return standard, mean_of(_on_lines(standard, found), weights)


def _distinct_kinds(recipe: Recipe, n_raw: int, n_columns: int) -> list[str]:
    """Leave out heads that would read the same as another, or nothing."""
    if recipe.estimator is not None:
        return ["logistic"]
    if 0 < n_raw < n_columns:
        return list(recipe.kinds)
    return list(dict.fromkeys(kind.partition("+")[0] for kind in recipe.kinds))


def _features_of(kind: str, n_features: int, n_raw: int, n_columns: int) -> NDArray | None:
    if kind == "logistic":
        return None
    number = n_columns if kind.endswith("+scores") or n_raw == 0 else n_raw
    return None if number == n_features else np.arange(number)


def _fit_head(
    kind: str,
    recipe: Recipe,
    table: NDArray,
    features: NDArray | None,
    bags: Bags,
    codes: NDArray,
    seed: int,
    engine: Engine,
) -> Head:
    if recipe.estimator is not None:
        return ClassifierHead.fit(table, bags, recipe.estimator, seed, engine)
    if kind == "logistic":
        if recipe.penalty == "auto":
            return choose_penalty(table, bags, codes, recipe.aggregation, engine)
        return LogisticHead.fit(table, bags, float(recipe.penalty), engine)
    part = table if features is None else table[:, features]
    if kind.startswith("trees"):
        return TreeHead.fit(part, bags, recipe.n_trees, False, seed, engine)
    some = bags.first(BOOSTED_BAGS)
    return TreeHead.fit(part, some, recipe.trees_of(kind), True, seed, engine)


def _weigh(member: Member, odds: NDArray, codes: NDArray) -> Member | None:
    """Learn line and average precision of a member out of bag; None if there is no evidence."""
    judged = np.isfinite(odds) & (codes != UNLABELLED)
    outliers, odds = codes[judged] == OUTLIER, odds[judged]
    if not 0 < outliers.sum() < len(outliers):
        return None
    weights = np.where(outliers, 0.5 / outliers.sum(), 0.5 / (~outliers).sum())
    evidence = average_precision(outliers, odds)
    return replace(member, line=fit_line(odds, outliers, weights), weight=evidence)


def _on_lines(members: list[Member], found: list[NDArray]) -> NDArray:
    """Return what members say, (rows, members)."""
    return np.column_stack(
        [member.line.apply(odds) for member, odds in zip(members, found, strict=True)]
    )


def fit_line(
    log_odds: NDArray,
    outliers: NDArray,
    weights: NDArray,
    counts: tuple[float, float] | None = None,
) -> Correction:
    """Fit a line through log-odds to labels by weighted logistic regression.

    Targets are those of Platt (Probabilistic outputs for support vector machines, 1999): as if one
    more row of each class had been seen, so that few rows that can be told apart do not make a
    line vertical. ``counts`` are the numbers of outliers and inliers that the rows stand for, if
    these are more. A slope that is not positive is none: the line is then almost flat.
    """
    n_outliers, n_inliers = counts or (outliers.sum(), (~outliers).sum())
    targets = np.where(outliers, (n_outliers + 1) / (n_outliers + 2), 1 / (n_inliers + 2))
    design = np.column_stack([np.ones(len(log_odds)), log_odds])
    line = np.array([0.0, 1.0])

    def loss(line: NDArray) -> float:
        z = design @ line
        return float(weights @ (np.logaddexp(0.0, z) - targets * z))

    value = loss(line)
    for _ in range(NEWTON_STEPS):
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
        line, value = line - size * step, moved
    shift, slope = line.tolist()
    if slope < MIN_SLOPE:  # it ranks no better than chance: it has no say
        return Correction(
            float(np.log(weights[outliers].sum() / weights[~outliers].sum())), MIN_SLOPE
        )
    return Correction(shift, slope)
