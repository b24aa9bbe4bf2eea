"""Calibration turns the log-odds of bags into probabilities and decisions.

If a bag holds a share b1 of the outliers and a share b0 of the inliers, adding log(b0 / b1)
corrects its log-odds. Calibration instead fits a slope and an intercept to out-of-bag log-odds, see
:func:`boreod.ensemble.members.fit_line`. Both methods preserve the ranking. Thresholds are chosen
by out-of-bag probabilities, so they need no test labels:

=====================  =====================================================================
spelling               an alert is raised for
=====================  =====================================================================
``0.5``                all rows whose probability is above this number
``"alerts:20"``        about 20 rows of a table like the training table
``"alerts:20/5000"``   about 20 of 5000 rows like the training rows
``"fpr:0.01"``         at most this share of the inliers
``"precision:0.8"``    as many rows as possible, at least this share of them outliers
None                   the rows with the largest expected F1, see :func:`best_threshold`
=====================  =====================================================================
"""

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.ensemble.bags import Shares
from boreod.metrics import auc, average_precision
from boreod.text import count_of
from boreod.validation import INLIER, OUTLIER, UNLABELLED, is_number

# By default there are at most so many alerts for each expected outlier. If no column tells outliers
# from other rows, F1 alone would make a quarter of all rows alerts.
MAX_ALERTS = 3.0


@dataclass(frozen=True)
class Correction:
    """A linear map of log-odds."""

    shift: float
    slope: float = 1.0

    def apply(self, log_odds: NDArray) -> NDArray:
        """Return corrected log-odds."""
        # Fast path for one row: Python numbers take a fifth of the time of arrays.
        if len(log_odds) == 1:
            return np.array([self.slope * float(log_odds[0]) + self.shift])
        return self.slope * log_odds + self.shift

    def secants(self, start: float, ends: NDArray) -> NDArray | float:
        """Return the change of corrected log-odds divided by the change of log-odds."""
        return self.slope


def expit(log_odds: ArrayLike) -> Any:
    """Return probabilities; SciPy is imported at first use."""
    return _special().expit(log_odds)


def logit(probabilities: ArrayLike) -> Any:
    """Return log-odds."""
    return _special().logit(probabilities)


@cache
def _special() -> Any:
    from scipy import special

    return special


def count_as_inliers(labels: NDArray) -> NDArray:
    """Return labels in which unlabelled rows are inliers."""
    return np.where(labels == UNLABELLED, INLIER, labels)


def warn_of_many_outliers(codes: NDArray, shares: Shares, assume: bool) -> None:
    """Warn if there are more outliers than inliers; if ``assume``, unlabelled rows are inliers."""
    n_outliers = int((codes == OUTLIER).sum())
    others = (codes == INLIER) | (assume & (codes == UNLABELLED))
    n_others = round(float(shares.weigh(codes)[others].sum()))
    if n_outliers > n_others:
        warnings.warn(
            f"More rows are labelled outliers ({n_outliers}) than not ({n_others}). Here 1 is an "
            "outlier, 0 an inlier and -1 unlabelled; detectors of scikit-learn call inliers 1 and "
            "outliers -1. If your labels are the other way round, name the label of "
            "outliers: `outlier_label` (--outlier-label), such as outlier_label=-1.",
            UserWarning,
            stacklevel=5,
        )


def warn_without_score(log_odds: NDArray) -> None:
    """Warn of labelled rows that have no out-of-bag probability (NaN)."""
    missing = int(np.isnan(log_odds).sum())
    if missing:
        warnings.warn(
            f"{count_of(missing, 'labelled row')} {'is' if missing == 1 else 'are'} in every bag. "
            "The out-of-bag probability of such a row is NaN. Label more outliers, or use more "
            "bags.",
            UserWarning,
            stacklevel=5,
        )


@dataclass(frozen=True)
class TrainingSummary:
    """Numbers of training rows, and the quality of their out-of-bag ranking.

    ``judged`` is the number of labelled rows with an out-of-bag probability. ``auc`` and
    ``average_precision`` are None if all of these rows belong to one class. ``table_rows`` is the
    number of rows of the table from which the rows were drawn. ``inlier_share`` and
    ``unlabelled_share`` are the shares of its labelled inliers and unlabelled rows that were drawn.
    ``assumed`` says whether unlabelled rows count as inliers. ``left_out`` is the number of
    suspicious rows that no bag holds.
    """

    rows: int
    outliers: int
    inliers: int
    unlabelled: int
    table_rows: int
    inlier_share: float
    unlabelled_share: float
    judged: int
    auc: float | None
    average_precision: float | None
    assumed: bool
    left_out: int


@dataclass(frozen=True)
class OutOfBag:
    """The out-of-bag probabilities of the training rows.

    Attributes
    ----------
    probabilities
        Out-of-bag probabilities; NaN for a row that every bag holds.
    labels
        1 for outliers, 0 for inliers, -1 for unlabelled rows.
    shares
        Shares of inliers and of unlabelled rows of a larger table that were drawn for training.
    assumed
        Whether unlabelled rows count as inliers.
    left_out
        Number of suspicious rows that count as inliers and that no bag holds.
    """

    probabilities: NDArray = field(repr=False)
    labels: NDArray = field(repr=False)
    shares: Shares
    assumed: bool = False
    left_out: int = 0

    @property
    def codes(self) -> NDArray:
        """1 for outliers, 0 for rows that count as inliers, -1 for all other rows."""
        return count_as_inliers(self.labels) if self.assumed else self.labels

    def judged(self) -> tuple[NDArray, NDArray]:
        """Return a mask of outliers and the probabilities of labelled rows that have one."""
        judged = self._judged
        return self.codes[judged] == OUTLIER, self.probabilities[judged]

    @property
    def _judged(self) -> NDArray:
        return np.isfinite(self.probabilities) & (self.codes >= 0)

    def summarize(self) -> TrainingSummary:
        """Return the numbers of rows, and the quality of their ranking."""
        y_true, y_score = self.judged()
        both = 0 < y_true.sum() < len(y_true)
        weights = None
        # A sample of a table has fewer inliers than the table.
        if len(self.codes) < self.shares.n_rows:
            weights = self.shares.weigh(self.labels)[self._judged]
        return TrainingSummary(
            rows=len(self.codes),
            outliers=int((self.labels == OUTLIER).sum()),
            inliers=int((self.labels == INLIER).sum()),
            unlabelled=int((self.labels == UNLABELLED).sum()),
            table_rows=self.shares.n_rows,
            inlier_share=self.shares.inliers,
            unlabelled_share=self.shares.unlabelled,
            judged=len(y_true),
            auc=float(auc(y_true, y_score, weights)) if both else None,
            average_precision=average_precision(y_true, y_score, weights) if both else None,
            assumed=self.assumed,
            left_out=self.left_out,
        )

    def choose_threshold(self, threshold: Any, always: NDArray | None = None) -> float:
        """Return the threshold as a probability, see the function :func:`choose_threshold`.

        None means the largest expected F1 or, if no row is labelled, one alert in a hundred rows.
        """
        unlabelled = bool((self.labels == UNLABELLED).all())
        weights = self.shares.weigh(self.labels)
        if threshold is None and not unlabelled:
            return best_threshold(self.probabilities[self._judged], weights[self._judged])
        if threshold is None:
            threshold = f"alerts:{max(1, self.shares.n_rows // 100)}"
        if unlabelled and read_threshold(threshold)[0] != "alerts":
            raise ValueError(
                "Without labels there is a ranking only, so the threshold must be a number of "
                f"alerts, such as 'alerts:20'; got {threshold!r}."
            )
        return choose_threshold(threshold, self.probabilities, self.codes, weights, always)


def choose_threshold(
    spelling: Any,
    probabilities: NDArray,
    codes: NDArray,
    weights: NDArray | None = None,
    always: NDArray | None = None,
) -> float:
    """Return the threshold as a probability, given out-of-bag probabilities of training rows.

    ``weights`` holds, for each row, the number of rows of a larger table that the row represents.
    Rows in the mask ``always`` are alerts at any probability, so they count as alerts and, if they
    are inliers, as false positives.

    Examples
    --------
    >>> scores, codes = np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 0, 1])
    >>> choose_threshold("alerts:2", scores, codes)
    0.4
    >>> choose_threshold("precision:1.0", scores, codes)
    0.75
    """
    kind, number, rows = read_threshold(spelling)
    if kind == "probability":
        return number
    judged = np.isfinite(probabilities)
    scores = probabilities[judged]
    codes = codes[judged]
    weights = np.ones(len(scores)) if weights is None else weights[judged]
    if always is not None and kind in ("alerts", "fpr"):
        scores = np.where(always[judged], 1.0, scores)
    needed = {"alerts": codes >= -1, "fpr": codes == 0, "precision": codes == 1}[kind]
    if not needed.any():
        raise ValueError(
            f"The threshold {spelling!r} needs out-of-bag scores, and every labelled row is in "
            "every bag. Pass a probability, or label more rows."
        )
    total = float(weights.sum())
    used = np.flatnonzero(codes >= 0 if kind == "precision" else needed)
    used = used[np.argsort(-scores[used], kind="stable")]
    ranked = scores[used]
    weights = weights[used]
    if kind == "fpr":
        return _for_false_positives(number, ranked, weights)
    if kind == "precision":
        return _for_precision(number, ranked, codes[used] == 1, weights)
    wanted = int(number) if rows is None else number / rows * total
    # Less than half a row cannot be measured, so no training row is above the threshold.
    if rows is not None and wanted < 0.5 * float(weights.min()):
        warnings.warn(
            f"{number / rows:.2g} of the rows are to be alerts, less than one of the "
            f"{total:,.0f} training rows. The threshold is the highest of their probabilities; how "
            "many later rows are above it is not known. Fit to more rows, or ask for more alerts.",
            UserWarning,
            stacklevel=2,
        )
        return float(ranked[0])
    return _for_alerts(wanted, ranked, weights)


def best_threshold(probabilities: NDArray, weights: NDArray) -> float:
    """Return the threshold with the largest expected F1 of calibrated probabilities.

    F1 is the harmonic mean of precision and recall. There are at most MAX_ALERTS alerts for each
    expected outlier, and at least one. Without any probability, the threshold is 0.5.

    Examples
    --------
    >>> best_threshold(np.array([0.8, 0.4, 0.04, 0.02]), np.ones(4))
    0.22
    """
    if not len(probabilities):
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    alerts = np.cumsum(weights[order])
    right = np.cumsum(weights[order] * ranked)
    expected = right / (alerts + right[-1])
    expected[1:][alerts[1:] > MAX_ALERTS * right[-1]] = -1.0
    return _below(ranked, int(np.argmax(expected)) + 1)


def read_threshold(spelling: Any) -> tuple[str, float, float | None]:
    """Return the kind of a threshold, its number, and the number of rows to which alerts refer.

    Examples
    --------
    >>> read_threshold("alerts:20/5000"), read_threshold("fpr:0.01")
    (('alerts', 20.0, 5000.0), ('fpr', 0.01, None))
    """
    if is_number(spelling):
        if 0.0 <= float(spelling) <= 1.0:
            return "probability", float(spelling), None
    elif isinstance(spelling, str):
        kind, _, text = spelling.partition(":")
        first, slash, last = text.partition("/")
        try:
            number = float(first)
            rows = float(last) if slash else None
        except ValueError:
            number = -1.0
            rows = None
        if kind == "alerts" and rows is None and 1 <= number < np.inf:
            return kind, number, None
        if kind == "alerts" and rows is not None and 0.0 < number <= rows < np.inf:
            return kind, number, rows
        if kind in ("fpr", "precision") and rows is None and 0.0 <= number <= 1.0:
            return kind, number, None
    raise ValueError(
        "`threshold` must be a probability, 'alerts:<number>', 'alerts:<number>/<rows>', "
        f"'fpr:<share>' or 'precision:<share>'; got {spelling!r}."
    )


def check_alerts(spelling: Any, n_rows: int) -> None:
    """Raise if a threshold asks for more alerts than a table has rows."""
    if spelling is None:
        return
    kind, number, rows = read_threshold(spelling)
    if kind == "alerts" and rows is None and number > n_rows:
        raise ValueError(
            f"`threshold` asks for {number:,.0f} alerts, and the table has {n_rows:,} rows. Ask "
            f"for fewer, such as 'alerts:{max(1, n_rows // 100)}', or say in how many rows they "
            f"are: 'alerts:{number:.0f}/{100 * number:.0f}' (--rows-per-day {100 * number:.0f})."
        )


def _for_alerts(wanted: float, ranked: NDArray, weights: NDArray) -> float:
    """Return a threshold such that the rows above it have about the wanted total weight."""
    alerts = np.cumsum(weights)
    count = int(np.searchsorted(alerts, wanted)) + 1
    if 1 < count <= len(alerts) and alerts[count - 1] - wanted > wanted - alerts[count - 2]:
        count -= 1
    return _below(ranked, count)


def _for_false_positives(share: float, ranked: NDArray, weights: NDArray) -> float:
    """Return the lowest threshold with at most this share of inliers, by weight, above it."""
    allowed = int(share * len(ranked))
    if weights.min() < weights.max():
        above = np.cumsum(weights)
        allowed = int(np.searchsorted(above, share * above[-1] * (1.0 + 1e-12), side="right"))
    return float(ranked[allowed]) if allowed < len(ranked) else 0.0


def _for_precision(wanted: float, ranked: NDArray, outliers: NDArray, weights: NDArray) -> float:
    """Return the lowest threshold whose alerts have at least the wanted precision."""
    precision = np.cumsum(weights * outliers) / np.cumsum(weights)
    last_of_tie = np.append(ranked[1:] < ranked[:-1], True)
    good = np.flatnonzero(last_of_tie & (precision >= wanted))
    if len(good) == 0:
        raise ValueError(
            f"No threshold reaches a precision of {wanted} on out-of-bag scores; the best is "
            f"{precision[last_of_tie].max(initial=0.0):.3f}. Lower it."
        )
    return _below(ranked, good[-1] + 1)


def _below(ranked: NDArray, count: int) -> float:
    """Return a threshold below the first ``count`` descending scores, as far as ties allow."""
    if count >= len(ranked):
        return 0.0
    last = ranked[count - 1]
    if ranked[count] < last:
        return float(0.5 * (last + ranked[count]))
    # Take all rows of a tie or none, whichever is closer to `count`, but at least one row.
    above = int((ranked > last).sum())
    through = int((ranked >= last).sum())
    takes_none = above > 0 and count - above <= through - count
    return float(last if takes_none else np.nextafter(last, 0.0))
