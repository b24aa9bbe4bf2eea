"""Bags solved on some columns: from rows to one log-odds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import Correction, calibrate, correct_for_balance
from boreod.ensemble.explanation import Explanation, contribute
from boreod.ensemble.heads import ClassifierHead, Head, LogisticHead, choose_penalty, combine
from boreod.ensemble.training import Training
from boreod.parallel import Engine
from boreod.representation.scaling import Scaler
from boreod.representation.transformer import OutlierRepresentation


class Ensemble:
    """The models of all bags, which speak with one voice.

    Parameters
    ----------
    training
        Columns in use, rows, labels and bags.
    classifier
        In the place of logistic regression, or None.
    penalty
        Of the logistic regressions, or ``"auto"``.
    aggregation
        ``"mean"`` or ``"log-odds"``.
    calibration
        None or ``"oob"``.
    engine
        Runs the bags.

    Attributes
    ----------
    head
        The models of the bags.
    oob_log_odds
        Of all training rows, from the bags that did not hold them.
    """

    def __init__(
        self,
        training: Training,
        classifier: Any,
        penalty: float | str,
        aggregation: str,
        calibration: str | None,
        engine: Engine,
    ) -> None:
        self.representation, self.scaler = training.representation, training.scaler
        self.aggregation = aggregation
        self.head: Head
        if classifier is not None:
            self.head = ClassifierHead(
                training.table, training.bags, classifier, training.seed, engine
            )
        elif penalty == "auto":
            self.head = choose_penalty(
                training.table, training.bags, training.codes, aggregation, engine
            )
        else:
            self.head = LogisticHead(training.table, training.bags, float(penalty), engine)
        self.base = training.mean_inlier
        odds = combine(self.head.log_odds(training.table), aggregation, ~training.bags.holds)
        share = training.shares.inliers
        self.correction = correct_for_balance(training.bags, share)
        if calibration == "oob":
            self.correction = calibrate(odds, training.codes, share, self.correction)
        self.oob_log_odds = self.correction.apply(odds)
        self._n_bags = len(training.bags.rows)

    @classmethod
    def restore(
        cls,
        representation: OutlierRepresentation,
        scaler: Scaler,
        head: LogisticHead,
        base: NDArray,
        correction: Correction,
        aggregation: str,
    ) -> "Ensemble":
        """Return an ensemble that was solved before; it has no out-of-bag log-odds."""
        ensemble = object.__new__(cls)
        ensemble.representation, ensemble.scaler, ensemble.head = representation, scaler, head
        ensemble.base, ensemble.correction = base, correction
        ensemble.aggregation, ensemble._n_bags = aggregation, len(head.intercepts)
        return ensemble

    def log_odds(self, table: NDArray, corrected: bool = True) -> NDArray:
        """Return one log-odds per row of a scaled table."""
        odds = combine(self.head.log_odds(table), self.aggregation)
        return self.correction.apply(odds) if corrected else odds

    def explain(self, table: NDArray) -> Explanation:
        """Return what each column added to each row's log-odds."""
        if not isinstance(self.head, LogisticHead):
            raise TypeError(
                "Exact contributions exist for the logistic head only. Use a permutation "
                "importance, or leave `estimator` out."
            )
        odds, base = self.log_odds(table), float(self.log_odds(self.base[np.newaxis])[0])
        slope = self.correction.slope
        contributions = slope * contribute(
            table,
            self.base,
            self.head.coefficients,
            self.head.intercepts,
            self.aggregation,
            (odds - base) / slope,
        )
        return Explanation(list(self.representation.columns_), contributions, base, odds)

    def work_per_row(self, rows: NDArray) -> NDArray:
        """Do what a prediction has to do after its columns are there, however few they are.

        A classifier may wait for any column, so all its work is counted here.
        """
        if isinstance(self.head, LogisticHead):
            odds = np.zeros((len(rows), self._n_bags))
        else:
            odds = self.head.log_odds(np.full((len(rows), len(self.base)), 0.5))
        return self.correction.apply(combine(odds, self.aggregation))
