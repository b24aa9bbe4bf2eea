"""A fitted detector without its training data; it computes log-odds, explanations and novelty.

Model files store this detector, and other processes receive it. It reads float64 rows that have
been checked. This module does not need scikit-learn.
"""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Quantiles
from boreod.ensemble.calibration import Correction
from boreod.ensemble.heads import LogisticHead, TreeHead
from boreod.ensemble.members import Member, average
from boreod.ensemble.novelty import Novelty, SeenRows
from boreod.neighbors import blocks, distinct_rows
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Scaler

# The largest number of rows whose columns are in memory at the same time.
MAX_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Explanation:
    """Contributions of columns to the log-odds of rows."""

    # Names of columns, or of groups of columns.
    columns: list[str]
    # Contributions, (rows, columns); the contributions of a row add up to ``log_odds - base``.
    contributions: NDArray = field(repr=False)
    # Log-odds of the base row.
    base: float
    # Log-odds as ``decision_function`` returns them.
    log_odds: NDArray = field(repr=False)

    def top(self, number: int = 5) -> list[list[tuple[str, float]]]:
        """Return, for each row, the columns with the largest contributions, by absolute value."""
        order = np.argsort(-np.abs(self.contributions), axis=1, kind="stable")[:, :number]
        return [
            [(self.columns[place], float(row[place])) for place in places]
            for row, places in zip(self.contributions, order, strict=True)
        ]

    def grouped(self, families: dict[str, str]) -> "Explanation":
        """Return contributions summed by family; a column without a family is its own group."""
        alone = {name for name in self.columns if name not in families}
        labels = {f: f"{f} scores" if f in alone else f for f in families.values()}
        groups = [labels[families[n]] if n in families else n for n in self.columns]
        names = list(dict.fromkeys(groups))
        sums = np.zeros((len(self.contributions), len(names)))
        for place, group in enumerate(groups):
            sums[:, names.index(group)] += self.contributions[:, place]
        return Explanation(names, sums, self.base, self.log_odds)


class Assessment(NamedTuple):
    """Log-odds and, if requested, the results of ``novelty`` and ``explain(grouped=True)``."""

    log_odds: NDArray
    novelty: Novelty | None
    explanation: Explanation | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """Everything that predictions need.

    Attributes
    ----------
    input_scaler
        Scales the raw columns before neighbors are searched. None leaves them unchanged.
    columns, scaler
        The columns in use, and their scaling.
    members
        The heads and their weights.
    base
        Features of the mean inlier, which is the base row of explanations.
    correction
        The map from log-odds in bags to log-odds in the table.
    classes
        Labels of both classes, inlier first.
    seen
        The facts about training rows that novelty needs.
    """

    input_scaler: Scaler | None
    columns: FittedColumns
    scaler: Scaler
    members: list[Member]
    base: NDArray
    correction: Correction | Quantiles
    classes: NDArray
    seen: SeenRows

    @property
    def searches(self) -> bool:
        """Whether predictions search neighbors; a model with only raw columns does not."""
        return bool(self.columns.views)

    def scale_input(self, rows: NDArray) -> NDArray:
        """Scale raw columns by their training range; values far outside stay finite."""
        return rows if self.input_scaler is None else self.input_scaler.transform(rows)

    def represent(self, rows: NDArray, engine: Engine) -> NDArray:
        """Return the scaled columns that the bags learn from."""
        return self._represent(self.scale_input(rows), engine, isolate=False)[0]

    def log_odds(self, rows: NDArray, engine: Engine, corrected: bool = True) -> NDArray:
        """Return one log-odds per row, for the class shares of the table if ``corrected``."""
        odds = self._score(self.scale_input(rows), engine, isolate=False)[0]
        return self.correction.apply(odds) if corrected else odds

    def explain(self, rows: NDArray, engine: Engine, grouped: bool = False) -> Explanation:
        """Return the contribution of each column to each row's log-odds.

        If ``grouped``, the contributions of scores are summed by family.
        """
        return self._explain(self.represent(rows, engine), grouped)

    def novelty(self, rows: NDArray, engine: Engine) -> Novelty:
        """Return how different each row is from all training rows."""
        return self.seen.compare(rows, self.columns.isolate(self.scale_input(rows), engine))

    def assess(
        self, rows: NDArray, engine: Engine, explain: bool = False, novelty: bool = True
    ) -> Assessment:
        """Return log-odds and, if requested, novelty and explanation, with one neighbor search."""
        points = self.scale_input(rows)
        explanation = None
        if explain:
            table, isolation = self._represent(points, engine, novelty)
            explanation = self._explain(table, grouped=True)
            odds = explanation.log_odds
        else:
            odds, isolation = self._score(points, engine, isolate=novelty)
            odds = self.correction.apply(odds)
        compared = self.seen.compare(rows, isolation) if novelty else None
        return Assessment(odds, compared, explanation)

    def _score(
        self, points: NDArray, engine: Engine, isolate: bool
    ) -> tuple[NDArray, NDArray | None]:
        """Return log-odds of bags and, if ``isolate``, the isolation of rows.

        Large tables are scored in parts. Their copies are scored only once.
        """
        if len(points) <= MAX_ROWS_AT_ONCE:
            table, isolation = self._represent(points, engine, isolate)
            return average(self.members, table, engine), isolation
        distinct, place = distinct_rows(points)
        parts = [
            self._score(points[distinct[part]], engine, isolate)
            for part in blocks(len(distinct), MAX_ROWS_AT_ONCE)
        ]
        odds = np.concatenate([part[0] for part in parts])[place]
        found = [part[1] for part in parts if part[1] is not None]
        return odds, np.concatenate(found)[place] if found else None

    def _represent(
        self, points: NDArray, engine: Engine, isolate: bool
    ) -> tuple[NDArray, NDArray | None]:
        """Return scaled columns and, if ``isolate``, the distance to the 10th reference row."""
        table, isolation = self.columns.compute_and_isolate(points, engine, isolate)
        return self.scaler.transform(table), isolation

    def _explain(self, table: NDArray, grouped: bool) -> Explanation:
        before = average(self.members, table)
        start = average(self.members, self.base[np.newaxis])
        odds = self.correction.apply(before)
        base = float(self.correction.apply(start)[0])
        secants = self.correction.secants(float(start[0]), before)
        change = None
        if len(self.members) == 1 and isinstance(self.correction, Correction):
            change = (odds - base) / secants
        parts = (m.weight * m.contribute(table, self.base, change) for m in self.members)
        by_feature = reduce(add, parts)
        contributions = np.reshape(secants, (-1, 1)) * self._by_column(by_feature)
        result = Explanation(list(self.columns.names), contributions, base, odds)
        return result.grouped(self.columns.families) if grouped else result

    def _by_column(self, by_feature: NDArray) -> NDArray:
        """Add up the contributions of all features (scalings) of each column."""
        n_columns = len(self.columns.names)
        result = np.ascontiguousarray(by_feature[:, :n_columns])
        result[:, self.scaler.sources(n_columns)[n_columns:]] += by_feature[:, n_columns:]
        return result

    @property
    def logistic(self) -> LogisticHead | None:
        """The logistic head, if there is one."""
        heads = (member.head for member in self.members)
        return next((head for head in heads if isinstance(head, LogisticHead)), None)

    @property
    def tree_heads(self) -> dict[str, TreeHead]:
        """The tree heads, by kind."""
        return {m.kind: m.head for m in self.members if isinstance(m.head, TreeHead)}

    @property
    def tree_counts(self) -> dict[str, int]:
        """Total numbers of trees of the tree heads, by kind."""
        return {kind: head.trees.n_trees for kind, head in self.tree_heads.items()}
