"""The training of a fit, which is kept so that other columns and budgets can be learned."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Assumed, assume_inliers, find_suspicious, widen
from boreod.ensemble.bags import BagPlan, Bags, Shares, draw_bags
from boreod.ensemble.calibration import (
    Correction,
    OutOfBag,
    calibrate,
    expit,
    logit,
    read_threshold,
)
from boreod.ensemble.consensus import ConsensusHead, Quantiles, draw_top
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.members import (
    KINDS,
    BaggedTable,
    Recipe,
    fit_line,
    learn_consensus,
    learn_members,
)
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.stacking import FOLDS
from boreod.ensemble.tree_heads import TreeHead
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import MinMax, Scaler, fit_scaler
from boreod.validation import INLIER, OUTLIER, UNLABELLED, check_choice, is_number

# Only this import needs scikit-learn.
if TYPE_CHECKING:
    from boreod.representation.transformer import OutlierRepresentation

# Smaller penalties vanish beside the rounding errors of the bags.
MIN_PENALTY = 1e-12


class NotStoredError(ValueError, AttributeError):
    """Something was asked of a loaded model that needs its training rows."""

    def __init__(self) -> None:
        super().__init__(
            "This model was loaded from a file, which holds no bags and no columns that are not in "
            "use: `within`, `budget_curve` and `measure_costs` need a model that was fitted in "
            "this session, so fit again, or ask before saving."
        )


@dataclass(frozen=True)
class Options:
    """Parameters of the detector at the time of its fit that learning again needs."""

    recipe: Recipe
    calibration: str | None
    threshold: float | str | None
    prior: float | None = None

    def check(self) -> None:
        """Refuse wrong parameters."""
        recipe = self.recipe
        check_choice("aggregation", recipe.aggregation, ("mean", "log-odds"))
        check_choice("calibration", self.calibration, (None, "oob", "platt"))
        if self.threshold is not None:
            read_threshold(self.threshold)
        penalty = recipe.penalty
        is_penalty = is_number(penalty) and MIN_PENALTY <= float(penalty) < np.inf
        if not is_penalty and not (isinstance(penalty, str) and penalty == "auto"):
            raise ValueError(
                f"`penalty` must be 'auto' or a finite number from {MIN_PENALTY:.0e} on; "
                f"got {penalty!r}."
            )
        if recipe.estimator is not None and not hasattr(recipe.estimator, "predict_proba"):
            raise TypeError(
                f"`estimator` must have `predict_proba`; {recipe.estimator!r} has not. "
                "Wrap it in CalibratedClassifierCV."
            )
        given = recipe.kinds
        if not given or any(given.count(kind) > 1 or kind not in KINDS for kind in given):
            raise ValueError(
                f"`heads` must be some of {list(KINDS)}, each once; got {list(given)!r}."
            )
        if not is_number(recipe.n_trees, Integral) or recipe.n_trees < 1:
            raise ValueError(f"`n_trees` must be a positive integer; got {recipe.n_trees!r}.")
        if self.prior is not None and not (is_number(self.prior) and 0.0 < self.prior < 1.0):
            raise ValueError(f"`prior` must be None or between 0 and 1; got {self.prior!r}.")

    def check_untaught(self) -> None:
        """Refuse parameters that have no meaning without labels."""
        given = {"prior": self.prior, "estimator": self.recipe.estimator}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` has no meaning without labels: rows are ranked by a consensus of "
                    f"scores, and probabilities are quantiles; got {value!r}. Leave it out, or "
                    "label some outliers."
                )


@dataclass(frozen=True)
class Plan:
    """Parameters of the detector that only its fit needs.

    With ``assume`` unlabelled rows may count as inliers, and the most suspicious are left out. With
    ``reference_outliers`` neighbors are searched among labelled outliers, too.
    """

    input_scaling: str | None
    scaling: str
    bagging: BagPlan
    assume: bool
    reference_outliers: bool


class Labels(NamedTuple):
    """Labels of training rows.

    ``codes`` are 1 for outliers, 0 for inliers and -1 for unlabelled rows. ``classes`` are the
    users' labels, inlier first. ``shares`` say which part of a larger table the rows are.
    """

    codes: NDArray
    classes: NDArray
    shares: Shares


@dataclass(frozen=True, eq=False)
class Training:
    """Scaled training rows, their labels and bags, and what computes their columns.

    ``columns`` are all columns and ``table`` holds their features for all training rows. ``seen``
    lacks the isolation of the rows. ``seed`` is that of estimators and random choices.
    """

    input_scaler: MinMax | None
    columns: FittedColumns
    scaler: Scaler
    table: NDArray
    labels: NDArray
    assumed: Assumed
    classes: NDArray
    bags: Bags
    shares: Shares
    seen: SeenRows
    options: Options
    seed: int

    @classmethod
    def fit(
        cls,
        rows: NDArray,
        labels: Labels,
        representation: "OutlierRepresentation",
        names: list[str],
        plan: Plan,
        options: Options,
        seeds: list[int],
        engine: Engine,
    ) -> "Training":
        """Compute and scale the columns of all rows, and draw bags; the representation is fitted.

        ``seeds`` are those of bags and of what is learned from them.
        """
        codes = labels.codes
        taught = bool((codes == OUTLIER).any())
        if not taught:
            options.check_untaught()
        input_scaler = MinMax.fit(rows) if plan.input_scaling == "minmax" else None
        points = rows if input_scaler is None else input_scaler.transform(rows)
        apart = None if plan.reference_outliers else codes == OUTLIER
        table = representation.fit_compute(points, names, plan.bagging.n_bags, apart)
        columns = representation.fitted_columns_
        scaler = fit_scaler(plan.scaling if taught else "minmax", table, columns.n_raw)
        table = scaler.transform(table)
        if taught:
            assumed = assume_inliers(codes, plan.bagging, plan.assume)
            bagging = plan.bagging
            if plan.assume:
                part = table[:, : columns.n_raw or len(columns.names)]
                weights = labels.shares.weigh(codes)
                both_seeds = seeds[0], seeds[1] + KINDS.index("trees")
                n_trees = options.recipe.n_trees
                assumed = find_suspicious(
                    assumed, part, weights, bagging, n_trees, both_seeds, engine
                )
            outliers = np.flatnonzero(assumed.codes == OUTLIER)
            inliers = np.flatnonzero(assumed.codes == INLIER)
            if assumed.complete:
                bagging = widen(bagging, len(outliers))
            left_out = assumed.suspicious_by_group
            bags = draw_bags(outliers, inliers, len(rows), bagging, seeds[0], left_out)
        else:
            scores = table[:, columns.n_raw :]
            consensus = ConsensusHead.fit(scores).log_odds(scores)[:, 0]
            bags, top = draw_top(consensus, plan.bagging, seeds[0])
            assumed = Assumed(codes, False, top)
        low, high = rows.min(axis=0), rows.max(axis=0)
        return cls(
            input_scaler=input_scaler,
            columns=columns,
            scaler=scaler,
            table=table,
            labels=codes,
            assumed=assumed,
            classes=labels.classes,
            bags=bags,
            shares=labels.shares,
            seen=SeenRows(names, low, high, None, codes, input_scaler is not None),
            options=options,
            seed=seeds[1],
        )

    @property
    def taught(self) -> bool:
        """Whether there is any known outlier."""
        return bool((self.labels == OUTLIER).any())

    @property
    def codes(self) -> NDArray:
        """1 for outliers, 0 for rows that count as inliers, -1 for the rest."""
        return self.assumed.codes

    def learn(
        self,
        names: list[str],
        engine: Engine,
        recipe: Recipe | None = None,
        known: Mapping[str, TreeHead | LogisticHead] | None = None,
        n_folds: int = FOLDS,
    ) -> tuple[Fitted, OutOfBag]:
        """Solve the bags on some of the columns; nothing is searched again.

        ``recipe`` names the heads, None for those of the options. ``known`` heads of these columns
        are not fitted again. ``n_folds`` keep weights of heads from flattering the rows that they
        were learned from; 0 is faster.
        """
        recipe = recipe or self.options.recipe
        columns = self.columns
        scaler = self.scaler
        table = self.table
        wanted = set(names)
        places = [place for place, name in enumerate(columns.names) if name in wanted]
        if len(places) < len(columns.names):
            columns = columns.keep([columns.names[place] for place in places])
            scaler = scaler.keep(places)
            table = table[:, self._features(places)]
        evidence = np.where(self.assumed.left_out, UNLABELLED, self.codes)
        n_columns = len(columns.names)
        data = BaggedTable(table, columns.n_raw, n_columns, self.bags, evidence, self.seed)
        correction: Correction | Quantiles
        if self.taught:
            # The trees that looked for suspicious rows had the same bags, columns and seed.
            if known is None and table is self.table and self.assumed.trees is not None:
                known = {"trees": self.assumed.trees}
            members, odds = learn_members(recipe, data, engine, known, n_folds)
            correction = self._correct(odds, len(members) == 1)
        else:
            members, odds = learn_consensus(recipe, data, engine)
            correction = Quantiles.fit(odds)
        ordinary = self.assumed.in_bags if self.taught else ~self.assumed.left_out
        isolation = None if columns.widest is None else columns.widest.isolation
        fitted = Fitted(
            input_scaler=self.input_scaler,
            columns=columns,
            scaler=scaler,
            members=members,
            base=table[ordinary].mean(axis=0),
            correction=correction,
            aggregation=recipe.aggregation,
            classes=self.classes,
            seen=replace(self.seen, isolation=isolation),
        )
        left_out = int(self.taught and self.assumed.left_out.sum())
        probabilities = expit(correction.apply(odds))
        assumed = self.assumed.unlabelled
        return fitted, OutOfBag(probabilities, self.labels, self.shares, assumed, left_out)

    def _features(self, places: list[int]) -> list[int]:
        """Return the places of the features of some columns in the table."""
        n_columns = len(self.columns.names)
        extra = [n_columns + place for place in places if n_columns + place < self.table.shape[1]]
        return places + extra

    def _correct(self, odds: NDArray, alone: bool) -> Correction:
        """Return the line from log-odds of bags, or of averaged members, to those of the table."""
        codes = self.codes
        share = self.shares.inliers
        weights = self.shares.weigh(self.labels)
        # Labelled inliers and unlabelled rows have different shares; take that of both together.
        if self.assumed.unlabelled:
            inliers = codes == INLIER
            share = float(inliers.sum() / weights[inliers].sum())
        n_outliers = (codes == OUTLIER).sum()
        n_inliers = (codes == INLIER).sum() / share
        if alone and not self.assumed.left_out.any():
            balance = self.bags.balance(share)
        else:
            balance = n_outliers / n_inliers
        correction = Correction(float(np.log(balance)))
        judged = np.isfinite(odds) & (codes >= 0)
        outliers = codes[judged] == OUTLIER
        if self.options.calibration == "oob":
            several = weights if self.assumed.unlabelled else None
            correction = calibrate(odds, codes, share, correction, several)
        elif self.options.calibration == "platt" and 0 < outliers.sum() < len(outliers):
            weights = weights[judged]
            counts = float(weights[outliers].sum()), float(weights[~outliers].sum())
            correction = fit_line(odds[judged], outliers, weights / weights.sum(), counts)
        if self.options.prior is not None:
            seen = logit(n_outliers / (n_outliers + n_inliers))
            shift = correction.shift + float(logit(self.options.prior) - seen)
            correction = replace(correction, shift=shift)
        return correction

    def place_of(self, names: list[str]) -> NDArray:
        """Return the places of columns in the table."""
        place = {name: number for number, name in enumerate(self.columns.names)}
        return np.array([place[name] for name in names])
