"""The training data of a fit, which are kept to learn again for other columns and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import (
    Assumed,
    ConsensusHead,
    Quantiles,
    assume_inliers,
    draw_top,
    find_suspicious,
)
from boreod.ensemble.bags import BagPlan, Bags, Shares, draw_bags
from boreod.ensemble.calibration import Correction, OutOfBag, expit, logit
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import LogisticHead, TreeHead
from boreod.ensemble.members import (
    FOLDS,
    KINDS,
    MAX_ROWS_OUT_OF_BAG,
    BaggedTable,
    Recipe,
    fit_line,
    learn_consensus,
    learn_members,
)
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.parameters import Settings
from boreod.ensemble.training_rows import TrainingRows
from boreod.neighbors import blocks
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Scaler, fit_scaler
from boreod.validation import INLIER, OUTLIER, UNLABELLED

# No other import of this module needs scikit-learn.
if TYPE_CHECKING:
    from boreod.representation.transformer import OutlierRepresentation


class NotStoredError(ValueError, AttributeError):
    """A method was called that needs training rows, which this model's file does not hold."""

    def __init__(self) -> None:
        super().__init__(
            "This model was loaded from a file, which holds no bags and no unused columns. "
            "`within`, `budget_curve` and `measure_costs` need both. Fit again and save with "
            "narrowable=True (--narrowable), or call these methods before saving."
        )


@dataclass(frozen=True)
class Options:
    """Parameters of the detector at the time of its fit; ``within`` and others use them again."""

    recipe: Recipe
    calibration: str | None
    threshold: float | str | None
    prior: float | None

    @classmethod
    def of(cls, model: Any, settings: Settings) -> "Options":
        """Return the options of a detector."""
        heads = settings.heads
        fitted = heads.penalty, heads.n_trees, bool(heads.fit_intercept)
        recipe = Recipe(settings.kinds, model.estimator, *fitted)
        return cls(recipe, model.calibration, model.threshold, model.prior)

    def check_untaught(self) -> None:
        """Raise if a parameter is set that has no meaning without labels."""
        for name, value in {"prior": self.prior, "estimator": self.recipe.estimator}.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` has no meaning without labels: rows are ranked by a consensus of "
                    f"scores, and probabilities are quantiles; got {value!r}. Leave it out, or "
                    "label some outliers."
                )


class Represented(NamedTuple):
    """What is fitted before bags are drawn: the columns and their scaling, and facts about rows."""

    input_scaler: Scaler | None
    columns: FittedColumns
    scaler: Scaler
    classes: NDArray
    shares: Shares
    seen: SeenRows


@dataclass(frozen=True, eq=False)
class Training:
    """Scaled training rows, their labels and bags, and the representation that computes columns.

    ``columns`` computes all columns, and ``table`` holds the scaled columns of all training rows.
    ``seen`` does not hold the isolation of the rows, which :meth:`learn` adds. ``seeds`` are the
    seed of the bags, and the seed of estimators and random choices.
    """

    input_scaler: Scaler | None
    columns: FittedColumns
    scaler: Scaler
    classes: NDArray
    shares: Shares
    seen: SeenRows
    table: NDArray
    labels: NDArray
    assumed: Assumed
    bags: Bags
    options: Options
    seeds: list[int]

    @classmethod
    def fit(
        cls,
        found: TrainingRows,
        representation: "OutlierRepresentation",
        settings: Settings,
        model: Any,
        seeds: list[int],
        engine: Engine,
    ) -> "Training":
        """Fit the representation, compute and scale the columns of all rows, and draw bags.

        ``model`` is the detector. ``seeds`` holds one seed for the bags and one seed for the
        estimators.
        """
        if not (found.codes == OUTLIER).any():
            Options.of(model, settings).check_untaught()
        known, table = _represent(found, representation, settings, model)
        return cls.from_table(known, table, settings, model, seeds, engine)

    @classmethod
    def from_table(
        cls,
        known: "Represented",
        table: NDArray,
        settings: Settings,
        model: Any,
        seeds: list[int],
        engine: Engine,
    ) -> "Training":
        """Draw bags, given the scaled columns of all training rows.

        The other parameters are those of :meth:`fit`. The same seeds draw the same bags.
        """
        options = Options.of(model, settings)
        how = settings.bagging
        drawn = how.max_samples, how.ratio, how.min_inliers
        bagging = BagPlan(model.n_estimators, *drawn, settings.assumes_inliers)
        codes = known.seen.codes
        n_raw = known.columns.n_raw
        if (codes == OUTLIER).any():
            assumed = assume_inliers(codes, bagging, settings.assumes_inliers)
            outliers = np.flatnonzero(assumed.codes == OUTLIER)
            inliers = np.flatnonzero(assumed.codes == INLIER)
            draw = partial(draw_bags, outliers, inliers, len(table), seed=seeds[0])
            bags = draw(bagging)
            if settings.assumes_inliers:
                part = table[:, : n_raw or len(known.columns.names)]
                seed = seeds[1] + KINDS.index("trees")
                trees = TreeHead.fit(part, bags, options.recipe.n_trees, False, seed, engine)
                weights = known.shares.weigh(codes)
                # Some rows at a time take less memory.
                rows = blocks(len(part), MAX_ROWS_OUT_OF_BAG)
                odds = np.concatenate([trees.log_odds(part[some]) for some in rows])
                assumed, plan = find_suspicious(assumed, odds, ~bags.holds, weights, bagging)
                if plan is bagging and assumed.suspicious_by_group is None:
                    assumed = replace(assumed, trees=trees)
                else:
                    bags = draw(plan, left_out=assumed.suspicious_by_group)
        else:
            scores = table[:, n_raw:]
            consensus = ConsensusHead.fit(scores).log_odds(scores)[:, 0]
            bags, top = draw_top(consensus, bagging, seeds[0])
            assumed = Assumed(codes, False, top)
        return cls(
            **known._asdict(),
            table=table,
            labels=codes,
            assumed=assumed,
            bags=bags,
            options=options,
            seeds=seeds,
        )

    @property
    def seed(self) -> int:
        """The seed of estimators and random choices."""
        return self.seeds[1]

    @property
    def taught(self) -> bool:
        """Whether any row is labelled an outlier."""
        return bool((self.labels == OUTLIER).any())

    @property
    def codes(self) -> NDArray:
        """1 for outliers, 0 for rows that count as inliers, -1 for all other rows."""
        return self.assumed.codes

    def learn(
        self,
        names: list[str],
        engine: Engine,
        recipe: Recipe | None = None,
        known: Mapping[str, TreeHead | LogisticHead] | None = None,
        n_folds: int = FOLDS,
    ) -> tuple[Fitted, OutOfBag]:
        """Fit heads to the bags on some of the columns, without a new neighbor search.

        ``recipe`` names the heads. None means the recipe of the options. ``known`` holds heads that
        are already fitted to these columns. The weights of heads are learned in ``n_folds`` folds,
        so that no row is scored with weights that were learned from this row; 0 folds are faster.
        """
        recipe = recipe or self.options.recipe
        columns = self.columns
        scaler = self.scaler
        table = self.table
        places = sorted(self.place_of(names).tolist())
        if len(places) < len(columns.names):
            columns = columns.keep([columns.names[place] for place in places])
            scaler = scaler.keep(places)
            table = table[:, np.isin(self.scaler.sources(len(self.columns.names)), places)]
        evidence = np.where(self.assumed.left_out, UNLABELLED, self.codes)
        data = BaggedTable(table, columns.n_raw, len(columns.names), self.bags, evidence, self.seed)
        correction: Correction | Quantiles
        if self.taught:
            # The trees that found suspicious rows have the same bags, columns and seed, so they are
            # reused.
            if known is None and table is self.table and self.assumed.trees is not None:
                known = {"trees": self.assumed.trees}
            members, odds = learn_members(recipe, data, engine, known, n_folds)
            correction = self._correct(odds, len(members) == 1)
        else:
            members, odds = learn_consensus(recipe, data, engine)
            correction = Quantiles.fit(odds)
        ordinary = ~self.assumed.left_out
        if self.taught:
            ordinary &= self.codes == INLIER
        isolation = None if columns.widest is None else columns.widest.isolation
        fitted = Fitted(
            input_scaler=self.input_scaler,
            columns=columns,
            scaler=scaler,
            members=members,
            base=table[ordinary].mean(axis=0),
            correction=correction,
            classes=self.classes,
            seen=replace(self.seen, isolation=isolation),
        )
        left_out = int(self.taught and self.assumed.left_out.sum())
        probabilities = expit(correction.apply(odds))
        return fitted, OutOfBag(
            probabilities, self.labels, self.shares, self.assumed.unlabelled, left_out
        )

    def _correct(self, odds: NDArray, alone: bool) -> Correction:
        """Return the line that maps log-odds of bags or of members to log-odds of the table.

        ``alone`` says whether there is a single member, whose log-odds are those of bags.
        """
        codes = self.codes
        share = self.shares.inliers
        weights = self.shares.weigh(self.labels)
        # Labelled inliers and unlabelled rows have different shares in a sample. Use the share of
        # both together.
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
        if self.options.calibration == "platt" and 0 < outliers.sum() < len(outliers):
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


def _represent(
    found: TrainingRows, representation: "OutlierRepresentation", settings: Settings, model: Any
) -> tuple[Represented, NDArray]:
    """Fit the representation; return it with the scaled columns of all rows.

    This is a function of its own, so that its other arrays are freed before bags are drawn.
    """
    rows = found.rows
    codes = found.codes
    names = found.preparation.names_
    is_scaled = settings.reference.input_scaling == "minmax"
    input_scaler = fit_scaler("minmax", rows) if is_scaled else None
    points = rows if input_scaler is None else input_scaler.transform(rows)
    apart = None if settings.reference.outliers else codes == OUTLIER
    table = representation.fit_compute(points, names, model.n_estimators, apart)
    columns = representation.fitted_columns_
    kind = model.scaling if (codes == OUTLIER).any() else "minmax"
    scaler = fit_scaler(kind, table, columns.n_raw)
    low = np.minimum(rows.min(axis=0), found.later.min(axis=0))
    high = np.maximum(rows.max(axis=0), found.later.max(axis=0))
    seen = SeenRows(names, low, high, None, codes, input_scaler is not None)
    known = Represented(input_scaler, columns, scaler, found.classes, found.shares, seen)
    return known, scaler.transform(table)


@dataclass(frozen=True, eq=False)
class Lessons:
    """What a loaded detector needs to learn again for other columns; a model file may hold it.

    Attributes
    ----------
    seeds
        The seeds of the bags and of the estimators.
    neighbors
        The search that the user asked for.
    others
        (rows, features): scaled columns of the training rows that are no reference rows.
    places
        The place of each training row among the reference rows, followed by the other rows.
    scores
        (rows, scores): the scaled scores of all training rows.
    isolation
        (views, rows): the isolation of all training rows in every view.
    """

    seeds: list[int]
    neighbors: str
    others: NDArray
    places: NDArray
    scores: NDArray
    isolation: NDArray

    @classmethod
    def of(cls, training: Training, neighbors: str) -> "Lessons":
        """Return what a file must hold, so that the training can be restored to the bit."""
        columns = training.columns
        rows = np.arange(len(training.table))
        known = np.zeros(len(rows), dtype=bool)
        for view in columns.views:
            known[rows if view.space.rows is None else view.space.rows] = True
        order = np.concatenate([rows[known], rows[~known]])
        # The isolation may be NaN in a view of ranks, and a file may not hold NaN.
        isolation = np.nan_to_num([view.isolation for view in columns.views])
        return cls(
            training.seeds,
            neighbors,
            training.table[~known],
            np.argsort(order),
            training.table[:, columns.n_raw : len(columns.names)],
            isolation.reshape(-1, len(rows)),
        )

    def restore(self, model: Any, settings: Settings, engine: Engine) -> Training:
        """Return the training of a loaded detector: no neighbors are searched."""
        fitted = model.fitted_
        columns = fitted.columns
        n_reference = len(self.places) - len(self.others)
        reference = np.empty((n_reference, len(fitted.seen.columns)))
        for view, isolation in zip(columns.views, self.isolation, strict=True):
            view.isolation = isolation
            reference[slice(None) if view.space.rows is None else view.space.rows] = view.known.rows
        # Scores of reference rows are replaced below, together with those of the other rows.
        no_scores = [np.zeros((n_reference, len(view.column_names))) for view in columns.views]
        no_scores += [np.zeros((n_reference, 1))] * len(columns.detectors)
        raw = fitted.scaler.transform(columns.assemble(reference, no_scores))
        table = np.concatenate([raw, self.others])[self.places]
        table[:, columns.n_raw : len(columns.names)] = self.scores
        represented = Represented(
            fitted.input_scaler,
            columns,
            fitted.scaler,
            fitted.classes,
            model.oob_.shares,
            fitted.seen,
        )
        return Training.from_table(represented, table, settings, model, self.seeds, engine)
