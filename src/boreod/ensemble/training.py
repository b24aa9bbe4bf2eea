"""What a fit keeps of its training, so that other columns and budgets can be learned from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Assumed, assume_inliers, find_suspicious, widen
from boreod.ensemble.bags import Bagging, Bags, Shares, draw_bags
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
from boreod.ensemble.members import KINDS, Recipe, fit_line, learn_consensus, learn_members
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.stacking import FOLDS
from boreod.ensemble.tree_heads import TreeHead
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import MinMax, Scaler, fit_scaler
from boreod.validation import INLIER, OUTLIER, UNLABELLED, check_choice, is_number

if TYPE_CHECKING:  # it needs scikit-learn, and nothing else here does
    from boreod.representation.transformer import OutlierRepresentation

MIN_PENALTY = 1e-12  # smaller ones vanish beside the rounding errors of the bags


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
    """Parameters of the detector at the time of its fit, as far as learning again needs them."""

    recipe: Recipe
    calibration: str | None
    threshold: float | str | None
    prior: float | None = None

    def check(self) -> None:
        """Raise for what is not allowed."""
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
        """Raise for what has no meaning without labels."""
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
    """How a table becomes bags: parameters of the detector that matter in its fit only."""

    input_scaling: str | None
    scaling: str
    bagging: Bagging
    assume: bool  # whether unlabelled rows may count as inliers, the most suspicious left out
    reference_outliers: bool  # whether neighbors are searched among labelled outliers, too


@dataclass(frozen=True, eq=False)
class Training:
    """Scaled training rows, their labels and bags, and what computes their columns."""

    input_scaler: MinMax | None
    columns: FittedColumns  # all of them
    scaler: Scaler
    table: NDArray  # features of all training rows
    labels: NDArray  # 1 outlier, 0 inlier, -1 unlabelled
    assumed: Assumed  # who counts as an inlier
    classes: NDArray  # inlier first
    bags: Bags
    shares: Shares
    seen: SeenRows  # but for the isolation of the rows
    options: Options
    seed: int  # of estimators and random choices

    @classmethod
    def fit(
        cls,
        rows: NDArray,
        labels: tuple[NDArray, NDArray, Shares],
        representation: "OutlierRepresentation",
        names: list[str],
        plan: Plan,
        options: Options,
        seeds: list[int],
        engine: Engine,
    ) -> "Training":
        """Compute and scale the columns of all rows, and draw bags; the representation is fitted.

        ``labels`` are codes, classes, and which part of a larger table the rows are; ``seeds`` are
        those of bags and of what is learned from them.
        """
        codes, classes, shares = labels
        scaler = MinMax.fit(rows) if plan.input_scaling == "minmax" else None
        assumed = assume_inliers(codes, plan.bagging, plan.assume)
        points = rows if scaler is None else scaler.transform(rows)
        apart = None if plan.reference_outliers else codes == OUTLIER
        table = representation.fit_compute(points, names, plan.bagging.n_bags, apart)
        columns = representation.fitted_columns_
        taught = bool((codes == OUTLIER).any())
        if not taught:
            options.check_untaught()
        scaling = fit_scaler(plan.scaling if taught else "minmax", table, columns.n_raw)
        table = scaling.transform(table)
        if taught and plan.assume:
            part = table[:, : columns.n_raw or len(columns.names)]
            of_trees = seeds[1] + KINDS.index("trees")
            how = plan.bagging, options.recipe.n_trees, (seeds[0], of_trees), engine
            assumed = find_suspicious(assumed, part, shares.weigh(codes), *how)
        if taught:
            who = [np.flatnonzero(assumed.codes == code) for code in (OUTLIER, INLIER)]
            how_drawn = widen(plan.bagging, len(who[0])) if assumed.complete else plan.bagging
            bags = draw_bags(who[0], who[1], len(rows), how_drawn, seeds[0], assumed.of_groups)
        else:
            scores = table[:, columns.n_raw :]
            consensus = ConsensusHead.fit(scores).log_odds(scores)[:, 0]
            bags, top = draw_top(consensus, plan.bagging, seeds[0])
            assumed = Assumed(codes, False, top)
        seen = SeenRows(names, rows.min(axis=0), rows.max(axis=0), None, codes, scaler is not None)
        return cls(
            scaler, columns, scaling, table, codes, assumed, classes, bags, shares, seen, options,
            seeds[1],
        )  # fmt: skip

    @property
    def taught(self) -> bool:
        """Whether there is any known outlier."""
        return bool((self.labels == OUTLIER).any())

    @property
    def codes(self) -> NDArray:
        """1 for outliers, 0 for what counts as an inlier, -1 for the rest."""
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

        ``recipe`` tells which heads are fitted, if not those of the options; heads that are
        ``known`` for these columns are taken as they are. ``n_folds`` keep weights of heads from
        flattering the rows that they were learned from; 0 is faster.
        """
        recipe = recipe or self.options.recipe
        wanted = set(names)
        places = [place for place, name in enumerate(self.columns.names) if name in wanted]
        columns, scaler, table = self.columns, self.scaler, self.table
        if len(places) < len(columns.names):
            columns = columns.keep([columns.names[place] for place in places])
            scaler, table = scaler.keep(places), table[:, self._features(places)]
        counts = columns.n_raw, len(columns.names)
        evidence = np.where(self.assumed.left_out, UNLABELLED, self.codes)
        correction: Correction | Quantiles
        if self.taught:
            if known is None and table is self.table and self.assumed.trees is not None:
                known = {"trees": self.assumed.trees}  # the same bags, columns and seed
            how = self.bags, evidence, self.seed, engine, known, n_folds
            members, odds = learn_members(recipe, table, counts, *how)
            correction = self._correct(odds, len(members) == 1)
        else:
            members, odds = learn_consensus(
                recipe, table, columns.n_raw, self.bags, self.seed, engine
            )
            correction = Quantiles.fit(odds)
        widest = columns.widest
        fitted = Fitted(
            self.input_scaler,
            columns,
            scaler,
            members,
            table[self.assumed.in_bags if self.taught else ~self.assumed.left_out].mean(axis=0),
            correction,
            recipe.aggregation,
            self.classes,
            replace(self.seen, isolation=None if widest is None else widest.isolation),
        )
        oob = OutOfBag(
            expit(correction.apply(odds)), self.labels, self.shares,
            self.assumed.unlabelled, int(self.taught and self.assumed.left_out.sum()),
        )  # fmt: skip
        return fitted, oob

    def _features(self, places: list[int]) -> list[int]:
        """Return where in the table the features of some columns are."""
        n_columns = len(self.columns.names)
        extra = [n_columns + place for place in places if n_columns + place < self.table.shape[1]]
        return places + extra

    def _correct(self, odds: NDArray, alone: bool) -> Correction:
        """Return the line from log-odds of bags, or of averaged members, to those of the table."""
        codes, share = self.codes, self.shares.inliers
        if self.assumed.unlabelled:  # of labelled inliers and unlabelled rows together
            inliers = codes == INLIER
            share = float(inliers.sum() / self.shares.weigh(self.labels)[inliers].sum())
        n_outliers, n_inliers = (codes == OUTLIER).sum(), (codes == INLIER).sum() / share
        whole = alone and not self.assumed.left_out.any()
        balance = self.bags.balance(share) if whole else n_outliers / n_inliers
        correction = Correction(float(np.log(balance)))
        judged = np.isfinite(odds) & (codes >= 0)
        outliers = codes[judged] == OUTLIER
        if self.options.calibration == "oob":
            rows = self.shares.weigh(self.labels) if self.assumed.unlabelled else None
            correction = calibrate(odds, codes, share, correction, rows)
        elif self.options.calibration == "platt" and 0 < outliers.sum() < len(outliers):
            weights = self.shares.weigh(self.labels)[judged]
            counts = float(weights[outliers].sum()), float(weights[~outliers].sum())
            correction = fit_line(odds[judged], outliers, weights / weights.sum(), counts)
        if self.options.prior is not None:
            seen = logit(n_outliers / (n_outliers + n_inliers))
            shift = correction.shift + float(logit(self.options.prior) - seen)
            correction = replace(correction, shift=shift)
        return correction

    def place_of(self, names: list[str]) -> NDArray:
        """Return where in the table columns are."""
        place = {name: number for number, name in enumerate(self.columns.names)}
        return np.array([place[name] for name in names])
