"""Rank rows, decide which rows are alerts, and judge which of two models ranks rows better.

Rows are ranked by their *suspicion*. The suspicion of most rows is their log-odds. The suspicion of
a novel row is a larger number, which grows with the distance to the training rows. So novel rows
rank first, whatever their log-odds are. If very many rows are novel, the whole table is unlike the
training table, and novelty tells nothing about single rows; they are then ranked by their log-odds.
This module does not need pyarrow, so reports on plain numbers can use it.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import logit, read_threshold
from boreod.ensemble.fitted import Assessment, Explanation
from boreod.ensemble.novelty import Novelty
from boreod.metrics import Compared, compare_rankings
from boreod.neighbors.known_rows import UNKNOWN
from boreod.predictor import Predictor
from boreod.text import show_percent
from boreod.tool.reasons import as_prose

# Probabilities of larger log-odds are 1 in float64, or nearly so.
CERTAIN = 36.0
# The lowest suspicion of a novel row is far above all log-odds.
NOVEL = 1e200
# If the share of novel rows exceeds that of the training rows by more than this, a table is unlike
# the training table. In halves of 23 public tables, at most 0.2 % of the rows are novel to a model
# of the other half. In a file out of unit, nearly all rows are.
MAX_NOVEL = 0.05
# In a smaller table, a few novel rows may be a large share.
MIN_ROWS = 30
# A count is more than chance explains if chance gives such a count with a lower probability.
MAX_CHANCE = 1e-3


@dataclass(frozen=True)
class Cut:
    """Where alerts end, if not at the usual threshold.

    Rows above ``suspicion`` are alerts. Rows with exactly this suspicion are alerts if their row
    number is at most ``last_row``. If rows are ranked by probability alone, their suspicion is
    their log-odds.
    """

    suspicion: float
    last_row: int
    by_probability: bool = field(default=False, repr=False)

    @classmethod
    def find(cls, suspicion: NDArray, alerts: int, by_probability: bool = False) -> "Cut":
        """Return the cut for rows in table order; among equal suspicions, earlier rows come first.

        Examples
        --------
        >>> Cut.find(np.array([0.5, 3.0, 0.5, -1.0]), 2)
        Cut(suspicion=0.5, last_row=1)
        """
        if alerts >= len(suspicion):
            return cls(-np.inf, 0, by_probability)
        lowest = float(np.partition(suspicion, -alerts)[-alerts])
        left = alerts - int(np.count_nonzero(suspicion > lowest))
        last = int(np.flatnonzero(suspicion == lowest)[left - 1]) + 1
        return cls(lowest, last, by_probability)

    def alerts(self, suspicion: NDArray, first_row: int) -> NDArray:
        """Return which rows are alerts; ``first_row`` is the row number of the first row."""
        is_early = np.arange(first_row, first_row + len(suspicion)) <= self.last_row
        return (suspicion > self.suspicion) | ((suspicion == self.suspicion) & is_early)


def count_of_alerts(threshold: Any) -> int | None:
    """Return the number of alerts that ``"alerts:20"`` asks for; None for other thresholds.

    Examples
    --------
    >>> count_of_alerts("alerts:20"), count_of_alerts("alerts:20/5000"), count_of_alerts(0.5)
    (20, None, None)
    """
    if not isinstance(threshold, str):
        return None
    kind, number, rows = read_threshold(threshold)
    return int(number) if kind == "alerts" and rows is None else None


def suspicion_of(log_odds: NDArray, novelty: Novelty | None) -> NDArray:
    """Return suspicions, by which rows are ranked: log-odds, or a larger number for novel rows."""
    if novelty is None:
        return log_odds
    return np.where(novelty.novel, NOVEL * (1.0 + np.log1p(novelty.times_usual)), log_odds)


def is_alert(suspicion: NDArray, threshold: float) -> NDArray:
    """Return which rows are alerts: rows above a probability, and novel rows."""
    return (suspicion > logit(threshold)) | (suspicion >= NOVEL)


def is_more(count: int, rows: int, share: float) -> bool:
    """Return whether a count of rows is larger than the expected share and chance explain."""
    from scipy.special import bdtrc

    return count > 0 and bool(bdtrc(count - 1, rows, min(max(share, 1e-9), 1.0)) < MAX_CHANCE)


def is_unlike_training(model: Predictor, novel: int, rows: int) -> bool:
    """Return whether so many rows of a table are novel that novelty cannot rank them."""
    if rows < MIN_ROWS or novel <= MAX_NOVEL * rows:
        return False
    return is_more(novel, rows, MAX_NOVEL + model.fitted_.seen.novel_training_rows().mean())


def say_unlike(novel: int, rows: int) -> str:
    """Say why rows are ranked by probability, and what to do."""
    return (
        f"This table is unlike the training table: {show_percent(novel / rows)} of its rows "
        f"({novel:,}) are novel. So the probability alone decides ranks and alerts. Look for a "
        "wrong unit or a wrong column (boreod check), and repair it (--scale, --rename)."
    )


def rank(suspicion: NDArray, ascending: NDArray) -> NDArray:
    """Return ranks among all suspicions: 1 for the highest; equal rows share the best rank.

    Examples
    --------
    >>> rank(np.array([0.5, 3.0, 0.5, -1.0]), np.array([-1.0, 0.5, 0.5, 3.0]))
    array([2, 1, 2, 4])
    """
    return len(ascending) - np.searchsorted(ascending, suspicion, side="right") + 1


def top_reasons(explanation: Explanation, number: int) -> list[list[tuple[str, float]]]:
    """Return the columns that change each row's log-odds most; columns that add 0 are left out."""
    return [[pair for pair in row if pair[1] != 0.0] for row in explanation.top(number)]


def write_reason(name: str, contribution: float) -> str:
    """Return a name and its contribution to the log-odds as text.

    Examples
    --------
    >>> write_reason("amount", 2.31), write_reason("knn", 4.0772e150)
    ('amount +2.3', 'knn +4.08e+150')
    """
    form = "+.1f" if abs(contribution) < 1e5 else "+.3g"
    return as_prose(f"{name} {contribution:{form}}")


def judge_rows(
    model: Predictor, rows: NDArray, found: Assessment, start: int = 0
) -> tuple[NDArray, Novelty | None, NDArray]:
    """Return log-odds and novelty for judging a model, and which training row equals each row.

    Rows that the model has learned from are judged out of bag; their log-odds are NaN if every bag
    holds them. For all other rows the index is UNKNOWN. ``start`` is the index of the first row in
    its table.
    """
    novelty = found.novelty
    places = model.record_.learned_rows.find(rows, start)
    known = places != UNKNOWN
    odds = np.where(known, logit(model.oob_proba_[places]), found.log_odds)
    # Larger log-odds cannot be recovered from out-of-bag probabilities, which are rounded.
    odds = np.clip(odds, -CERTAIN, CERTAIN)
    if novelty is not None and known.any():
        novel = model.fitted_.seen.novel_training_rows()[places]
        novelty = replace(novelty, novel=np.where(known, novel, novelty.novel))
    return odds, novelty, places


class ScoreComparison(NamedTuple):
    """The comparison of two models on the same labelled rows.

    ``measures`` are AUC and average precision of both models, with an interval of the difference.
    ``verdict`` is a clause that says which model ranks better, if the difference exceeds chance.
    """

    measures: dict[str, Compared]
    verdict: str


def compare_scores(
    outliers: NDArray,
    first: NDArray,
    second: NDArray,
    names: tuple[str, str],
    *,
    weights: NDArray | None = None,
    seed: int = 0,
) -> ScoreComparison | None:
    """Compare the scores of two models on the same rows; None if all rows are of one class.

    Parameters
    ----------
    outliers
        Which rows are outliers.
    first, second
        Scores of the two models.
    names
        Names of the two models in the verdict.
    weights
        Number of rows that each row stands for. If None, it is 1 for all rows.
    seed
        Random seed of the bootstrap.

    Examples
    --------
    >>> outliers = np.arange(60) < 20
    >>> scores = -np.arange(60.0)
    >>> compare_scores(outliers, np.zeros(60), scores, ("the new model", "the old model")).verdict
    'the old model is better by average precision, by more than chance'
    """
    if not 0 < outliers.sum() < len(outliers):
        return None
    measures = compare_rankings(outliers, first, second, random_state=seed, weights=weights)
    precision = _better(measures["average precision"], names)
    area = _better(measures["AUC"], names)
    verdict = "the models cannot be told apart by average precision"
    if precision is not None:
        verdict = f"{precision} is better by average precision, by more than chance"
    elif area is not None:
        verdict += f", and by AUC {area} is better"
    return ScoreComparison(measures, verdict)


def _better(measure: Compared, names: tuple[str, str]) -> str | None:
    """Return the model whose measure is higher by more than chance; None if there is none."""
    if measure.low > 0.0:
        return names[0]
    return names[1] if measure.high < 0.0 else None


def alert_threshold(
    model: Predictor, spelling: float | str | None = None, novelty: bool = True
) -> float:
    """Return the probability above which a row is an alert.

    ``spelling`` is written like the parameter ``threshold``, such as ``"fpr:0.01"``. If it is None,
    the threshold of the fit is used. If ``novelty`` is True, novel rows are alerts, too, and count
    among alerts and false positives.
    """
    wanted = model.threshold if spelling is None else spelling
    if spelling is None and not (novelty and isinstance(wanted, str)):
        return float(model.threshold_)
    return model.choose_threshold(wanted, novelty)
