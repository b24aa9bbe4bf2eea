"""Decision thresholds from out-of-bag scores: no test labels involved.

=====================  =====================================================================
spelling               an alert is raised for
=====================  =====================================================================
``0.5``                probabilities above this
``"alerts:20"``        as many rows as would give 20 alerts in a table like the training one
``"fpr:0.01"``         at most this share of the inliers
``"precision:0.8"``    as many rows as possible while this share of the alerts are outliers
=====================  =====================================================================
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.validation import is_number

ALLOWED = "a probability, 'alerts:<number>', 'fpr:<share>' or 'precision:<share>'"


def choose_threshold(
    spelling: Any,
    probabilities: NDArray,
    codes: NDArray,
    weights: NDArray | None = None,
    always: NDArray | None = None,
) -> float:
    """Return the threshold for out-of-bag probabilities of the training rows.

    ``weights`` tell for how many rows of a larger table each one stands, ``always`` which of them
    are alerts whatever their probability; these count among alerts and false positives.

    Examples
    --------
    >>> scores, codes = np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 0, 1])
    >>> choose_threshold("alerts:2", scores, codes)
    0.4
    >>> choose_threshold("precision:1.0", scores, codes)
    0.75
    """
    kind, number = read_threshold(spelling)
    judged = np.isfinite(probabilities)
    scores, codes = probabilities[judged], codes[judged]
    weights = np.ones(len(scores)) if weights is None else weights[judged]
    if kind == "probability":
        return number
    if always is not None and kind in ("alerts", "fpr"):
        scores = np.where(always[judged], 1.0, scores)
    needed = {"alerts": codes >= -1, "fpr": codes == 0, "precision": codes == 1}[kind]
    if not needed.any():
        raise ValueError(
            f"The threshold {spelling!r} needs out-of-bag scores, and every labelled row is in "
            "every bag. Pass a probability, or label more rows."
        )
    if kind == "alerts":
        return _for_alerts(int(number), scores, weights)
    if kind == "fpr":
        inliers = np.sort(scores[codes == 0])[::-1]
        allowed = int(number * len(inliers))
        return float(inliers[allowed]) if allowed < len(inliers) else 0.0
    labelled = codes >= 0
    return _for_precision(number, scores[labelled], codes[labelled], weights[labelled])


def read_threshold(spelling: Any) -> tuple[str, float]:
    """Return kind and number of a threshold."""
    if is_number(spelling):
        if 0.0 <= float(spelling) <= 1.0:
            return "probability", float(spelling)
    elif isinstance(spelling, str):
        kind, _, text = spelling.partition(":")
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if (kind == "alerts" and 1 <= number < np.inf) or (
            kind in ("fpr", "precision") and 0.0 <= number <= 1.0
        ):
            return kind, number
    raise ValueError(f"`threshold` must be {ALLOWED}; got {spelling!r}.")


def _for_alerts(wanted: int, scores: NDArray, weights: NDArray) -> float:
    """Return a threshold that rows of about this weight are above."""
    order = np.argsort(-scores, kind="stable")
    alerts = np.cumsum(weights[order])
    count = int(np.searchsorted(alerts, wanted)) + 1
    if 1 < count <= len(alerts) and alerts[count - 1] - wanted > wanted - alerts[count - 2]:
        count -= 1
    return _below(scores[order], count)


def _for_precision(wanted: float, scores: NDArray, codes: NDArray, weights: NDArray) -> float:
    """Return the lowest threshold at which enough of the alerts are outliers."""
    order = np.argsort(-scores, kind="stable")
    ranked, weights = scores[order], weights[order]
    precision = np.cumsum(weights * (codes[order] == 1)) / np.cumsum(weights)
    last_of_tie = np.append(ranked[1:] < ranked[:-1], True)
    good = np.flatnonzero(last_of_tie & (precision >= wanted))
    if len(good) == 0:
        best = precision[last_of_tie].max(initial=0.0)
        raise ValueError(
            f"No threshold reaches a precision of {wanted} on out-of-bag scores; the best is "
            f"{best:.3f}. Lower it."
        )
    return _below(ranked, good[-1] + 1)


def _below(ranked: NDArray, count: int) -> float:
    """Return a threshold that ``count`` of the descending scores are above, ties permitting."""
    if count >= len(ranked):
        return 0.0
    last = ranked[count - 1]
    if ranked[count] < last:
        return float(0.5 * (last + ranked[count]))
    # A tie: take all of it or nothing, whichever comes closer; but never no alert at all.
    above, through = int((ranked > last).sum()), int((ranked >= last).sum())
    takes_none = above > 0 and count - above <= through - count
    return float(last if takes_none else np.nextafter(last, 0.0))
