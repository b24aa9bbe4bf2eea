"""What a fit keeps of its training, so that other columns and budgets can be learned from it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from boreod.ensemble.bags import Bags, Shares, draw_bags
from boreod.ensemble.calibration import Correction, OutOfBag, calibrate, read_threshold
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import ClassifierHead, Head, LogisticHead, choose_penalty, combine
from boreod.ensemble.novelty import SeenRows
from boreod.parallel import Engine
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import SCALERS, MinMax, Scaler
from boreod.validation import INLIER, OUTLIER, check_choice, is_number

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

    estimator: Any
    penalty: float | str
    aggregation: str
    calibration: str | None
    threshold: float | str

    def check(self) -> None:
        """Raise for what is not allowed."""
        check_choice("aggregation", self.aggregation, ("mean", "log-odds"))
        check_choice("calibration", self.calibration, (None, "oob"))
        read_threshold(self.threshold)
        is_penalty = is_number(self.penalty) and MIN_PENALTY <= float(self.penalty) < np.inf
        if not is_penalty and not (isinstance(self.penalty, str) and self.penalty == "auto"):
            raise ValueError(
                f"`penalty` must be 'auto' or a finite number from {MIN_PENALTY:.0e} on; "
                f"got {self.penalty!r}."
            )
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"`estimator` must have `predict_proba`; {self.estimator!r} has not. "
                "Wrap it in CalibratedClassifierCV."
            )


@dataclass(frozen=True, eq=False)
class Training:
    """Scaled training rows, their labels and bags, and what computes their columns."""

    input_scaler: MinMax | None
    columns: FittedColumns  # all of them
    scaler: Scaler
    table: NDArray  # scaled columns of all training rows
    codes: NDArray  # 1 outlier, 0 inlier, -1 unlabelled
    inliers: NDArray  # which rows count as inliers: those that are labelled so
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
        scalings: tuple[str | None, str],
        bagging: tuple[int, float],
        options: Options,
        seeds: list[int],
    ) -> "Training":
        """Compute and scale the columns of all rows, and draw bags; the representation is fitted.

        ``labels`` are codes, classes, and which part of a larger table the rows are; ``scalings``
        those of raw columns and of all columns; ``bagging`` is the number of bags and the share of
        the smaller class in each; ``seeds`` are those of bags and of what is learned from them.
        """
        codes, classes, shares = labels
        scaler = MinMax.fit(rows) if scalings[0] == "minmax" else None
        inliers = codes == INLIER
        who = np.flatnonzero(codes == OUTLIER), np.flatnonzero(inliers)
        bags = draw_bags(*who, len(rows), *bagging, seeds[0])
        points = rows if scaler is None else scaler.transform(rows)
        table = representation.fit_compute(points, names, len(bags.rows))
        scaling = SCALERS[scalings[1]].fit(table)
        seen = SeenRows(names, rows.min(axis=0), rows.max(axis=0), None, codes, scaler is not None)
        columns = representation.fitted_columns_
        return cls(
            scaler, columns, scaling, scaling.transform(table), codes, inliers, classes, bags,
            shares, seen, options, seeds[1],
        )  # fmt: skip

    def learn(self, names: list[str], engine: Engine) -> tuple[Fitted, OutOfBag]:
        """Solve the bags on some of the columns; nothing is searched again."""
        wanted = set(names)
        places = [place for place, name in enumerate(self.columns.names) if name in wanted]
        columns, scaler, table = self.columns, self.scaler, self.table
        if len(places) < len(columns.names):
            columns = columns.keep([columns.names[place] for place in places])
            scaler, table = scaler.keep(places), table[:, places]
        aggregation = self.options.aggregation
        head = self._solve(table, engine)
        odds = combine(head.log_odds(table), aggregation, ~self.bags.holds)
        balance = self.shares.inliers * self.bags.kept_inliers / self.bags.kept_outliers
        correction = Correction(float(np.log(balance)))
        if self.options.calibration == "oob":
            correction = calibrate(odds, self.codes, self.shares.inliers, correction)
        widest = columns.widest
        fitted = Fitted(
            self.input_scaler,
            columns,
            scaler,
            head,
            table[self.inliers].mean(axis=0),
            correction,
            aggregation,
            self.classes,
            replace(self.seen, isolation=None if widest is None else widest.isolation),
        )
        return fitted, OutOfBag(expit(correction.apply(odds)), self.codes, self.shares)

    def _solve(self, table: NDArray, engine: Engine) -> Head:
        options = self.options
        if options.estimator is not None:
            return ClassifierHead.fit(table, self.bags, options.estimator, self.seed, engine)
        if options.penalty == "auto":
            return choose_penalty(table, self.bags, self.codes, options.aggregation, engine)
        return LogisticHead.fit(table, self.bags, float(options.penalty), engine)

    def place_of(self, names: list[str]) -> NDArray:
        """Return where in the table columns are."""
        place = {name: number for number, name in enumerate(self.columns.names)}
        return np.array([place[name] for name in names])
